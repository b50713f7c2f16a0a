//! `deinit`.

use crate::cli::commands::install::init::Changes;
use crate::cli::commands::prelude::*;
use crate::setup::{deinit, view};

/// Take back what init and instructions --write did; the records stay
///
/// Only what is still as it was written is changed: hooks and blocks that were edited and settings that have another value
/// now are kept. The notes, and pending records stay.
#[derive(Debug, Args)]
pub struct Deinit {
    #[command(flatten)]
    pub changes: Changes,
}

impl Deinit {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        Ok(view::reverted(&deinit::run(context.repo()?, self.changes.dry_run)?))
    }
}
