//! `deinit`.

use crate::cli::commands::prelude::*;
use crate::setup::{deinit, view};

/// Take back what init and instructions --write did; the records stay
///
/// Only what is still as it was written is changed: hooks and blocks that were edited and settings that have another value
/// now are kept. The notes, and pending records stay.
#[derive(Debug, Args)]
pub struct Deinit {
    /// Show every change and make none
    #[arg(long)]
    pub dry_run: bool,
}

impl Deinit {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        Ok(view::taken_back(&deinit::run(context.repo()?, self.dry_run)?))
    }
}
