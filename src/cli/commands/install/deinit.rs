//! `deinit`.

use crate::cli::commands::prelude::*;
use crate::use_cases::setup::{deinit, view};

/// Revert the changes of init and instructions --write; the records stay
///
/// Reverts only unmodified changes: keeps edited hooks and blocks, and settings with another value. The notes and pending
/// records stay.
#[derive(Debug, Args)]
pub struct Deinit {
    /// Show every change and make none
    #[arg(long)]
    pub dry_run: bool,
}

impl Deinit {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        Ok(view::reverted(&deinit::run(context.repo()?, self.dry_run)?))
    }
}
