//! `undo`.

use crate::cli::commands::prelude::*;
use crate::use_cases::claim::{undo, view};

/// Undo the last entry of this session
///
/// Removes a pending entry from the log; marks an entry in the notes as retracted, so that only show still shows it. The next
/// undo retracts the entry before it. A handoff cannot be undone: a newer one supersedes it. redact removes a record
/// everywhere.
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
