//! `export`, which writes lines as they are read.

use clap::ArgGroup;
use std::path::PathBuf;

use crate::cli::commands::prelude::*;
use crate::cli::progress::Progress;
use crate::import::{lines, markdown, view};

/// Export all records as lines of JSON, or handoffs as Markdown files
///
/// With --jsonl, on standard output, for backups: records come as the bytes they are, each with the object it stands on:
/// {"commit":…,"record":{…}}. Records of versions and kinds that this program does not know, and lines that other tools wrote into
/// the notes, come along, and what was redacted is told. The lines are sorted, so that two clones with the same records give the same bytes.
///
/// With --markdown, below a folder: DIR/<ai>/<session>.md holds the handoffs of a session that are in force, oldest first, and
/// DIR/<ai>/<session>.json the same for programs. Where the name of an agent is no good name for a folder, its folder has another one,
/// which is told. Files that are there are replaced; others stay.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true))]
pub struct Export {
    /// Everything, as JSON lines
    #[arg(long, group = "what", conflicts_with = "json")]
    pub jsonl: bool,
    /// Handoffs, as files below this folder, which is made
    #[arg(long, value_name = "DIR", group = "what")]
    pub markdown: Option<PathBuf>,
}

impl Export {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let opened = context.open(Selection::default())?;
        if let Some(folder) = self.markdown {
            let progress = Progress::new(context.output, "writing");
            let mut render = |handoffs: &[_]| view::page(handoffs);
            let outcome = markdown::run(&opened, &folder, &mut render, &mut |done, all| progress.set(done, all))?;
            return Ok(view::exported(&outcome));
        }
        let exported = lines::export(&opened, &mut |line| context.output.write(line))?;
        context.output.flush()?;
        if exported.lines == 0 {
            context.output.say("Nothing is stored here.")?;
        }
        Ok(Answer::default().warn(exported.warnings))
    }
}
