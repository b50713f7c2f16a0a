//! `import`.

use std::path::PathBuf;

use crate::cli::commands::prelude::*;
use crate::cli::input;
use crate::cli::progress::Progress;
use crate::use_cases::import::{lines, python, view};

/// Import an export, or the notes of the Python tool empirica
///
/// Without --jsonl, converts the notes of the Python tool below refs/notes/empirica/ to records, on the commits they
/// annotate, with their own times and, under the key foreign, their whole content. Keeps its notes unchanged. Importing
/// twice changes nothing, and clones that both import have the same records. Lists entries that it cannot convert.
///
/// With --jsonl, imports the lines of export: all of them or, if one is invalid, none. Equivalent JSON is accepted: stores
/// records in canonical form, other lines unchanged, in one commit per ref, and renders the Markdown of handoffs.
///
/// Records that exist are not duplicated. Commits that records annotate may be missing.
#[derive(Debug, Args)]
pub struct Import {
    /// JSON lines as export writes them: a file, or - for standard input
    #[arg(long, value_name = "FILE")]
    pub jsonl: Option<PathBuf>,
    /// Count the records of the Python tool, and store nothing
    #[arg(long, conflicts_with = "jsonl")]
    pub dry_run: bool,
}

impl Import {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let opened = context.open(Selection::default())?;
        let progress = Progress::new(context.output, "importing");
        let mut on_progress = |done, total| progress.set(done, total);
        let Some(jsonl) = self.jsonl else {
            return Ok(python::view::imported(&python::run(&opened, self.dry_run, &mut on_progress)?));
        };
        let (mut input, name) = input::lines(context.output.stdin(), &jsonl)?;
        Ok(view::imported(&lines::import(&opened, &mut input, &name, &mut on_progress)?))
    }
}
