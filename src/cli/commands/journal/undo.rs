//! `undo`.

use crate::claim::{undo, view};
use crate::cli::commands::prelude::*;

/// Take back the last thing this session logged
///
/// It is gone if it still waits in the log; else it stays in the notes, marked, and nothing but show shows it. The next undo
/// takes back the one before. A handoff is not undone: hand over again, and the new one takes its place. What must be gone
/// everywhere, redact removes.
#[derive(Debug, Args)]
pub struct Undo {
    #[command(flatten)]
    pub identity: Identity,
}

impl Undo {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        Ok(view::undone(&undo::run(&context.open(self.identity)?)?))
    }
}
