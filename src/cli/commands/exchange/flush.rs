//! `flush`.

use crate::cli::commands::prelude::*;
use crate::use_cases::sync::{flush, view};

/// Write pending records to the notes
///
/// If objects of the notes are damaged or missing, doctor names them, and the command that moves a damaged file away. Then
/// --without-damaged rewrites the notes from their remains: older versions in their history, entries of the reflog,
/// unreachable objects. The next sync restores records that a remote has.
#[derive(Debug, Args)]
pub struct Flush {
    /// First rewrite notes without their damaged or missing objects
    #[arg(long)]
    pub without_damaged: bool,
}

impl Flush {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        Ok(view::flushed(&flush::run(&context.open(Selection::default())?, self.without_damaged)?))
    }
}
