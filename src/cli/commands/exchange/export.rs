//! `export`, which writes each line when it reads it.

use clap::ArgGroup;
use std::path::PathBuf;

use crate::cli::commands::prelude::*;
use crate::cli::progress::Progress;
use crate::use_cases::import::{lines, markdown, view};

/// Export all records as lines of JSON, or handoffs as Markdown files
///
/// With --jsonl, writes a backup to standard output: each record byte for byte, with the object that it annotates:
/// {"commit":…,"record":{…}}. Includes records of unknown versions and kinds, lines of other tools in the notes, and
/// redactions. The lines are sorted: clones with the same records export the same bytes.
///
/// With --markdown, writes files below a folder: DIR/<ai>/<session>.md holds the handoffs in force of a session, oldest first,
/// and DIR/<ai>/<session>.json the same for programs. An agent whose name cannot name a folder gets another folder, which
/// the answer reports. Replaces existing files; keeps others.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true))]
pub struct Export {
    /// Everything, as JSON lines
    #[arg(long, group = "what", conflicts_with = "json")]
    pub jsonl: bool,
    /// Handoffs, as files below this folder, which is created
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
