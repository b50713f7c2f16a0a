//! `import`.

use std::path::PathBuf;

use crate::cli::commands::prelude::*;
use crate::cli::input;
use crate::cli::progress::Progress;
use crate::import::{lines, python, view};

/// Import what export wrote, or the notes of the Python tool empirica
///
/// Without --jsonl, reads the notes of the Python tool below refs/notes/empirica/ and makes records of them, on the commits they
/// annotate, with their own times and, under the key foreign, all that was said. Its notes stay as they are. A second time
/// changes nothing, and clones that both import have the same records. What is not understood is listed.
///
/// With --jsonl, takes in what export wrote: all lines or, when one is wrong, none. Any JSON that says the same will do:
/// records are stored as this program writes them, other lines as they are, in one commit a ref, and the Markdown of handoffs is rendered.
///
/// What is here already changes nothing. The commits that records stand on need not be here.
#[derive(Debug, Args)]
pub struct Import {
    /// JSON lines as export writes them: a file, or - for standard input
    #[arg(long, value_name = "FILE")]
    pub jsonl: Option<PathBuf>,
    /// Count what the Python tool kept, and store nothing
    #[arg(long, conflicts_with = "jsonl")]
    pub dry_run: bool,
}

impl Import {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let opened = context.open(Selection::default())?;
        let progress = Progress::new(context.output, "importing");
        let mut told = |done, total| progress.set(done, total);
        let Some(jsonl) = self.jsonl else {
            return Ok(python::view::imported(&python::run(&opened, self.dry_run, &mut told)?));
        };
        let (mut input, name) = input::lines(context.output.stdin(), &jsonl)?;
        Ok(view::imported(&lines::import(&opened, &mut input, &name, &mut told)?))
    }
}
