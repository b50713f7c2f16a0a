//! `flush`.

use crate::cli::commands::prelude::*;
use crate::sync::{flush, view};

/// Write pending records to the notes
///
/// Where objects of the notes are damaged or not here, doctor names them, and the command that puts a damaged file aside. With
/// --without-damaged the notes are then rewritten from what is left of them here: older versions in their history, what the
/// reflog leads to, objects that nothing leads to any more. What a remote has comes back with the next sync.
#[derive(Debug, Args)]
pub struct Flush {
    /// First rewrite notes that lead to objects which are damaged or not here, without these
    #[arg(long)]
    pub without_damaged: bool,
}

impl Flush {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        Ok(view::flushed(&flush::run(&context.open(Selection::default())?, self.without_damaged)?))
    }
}
