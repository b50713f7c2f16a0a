//! Writing to the notes what waits in the logs.

use super::context::Context;
use crate::error::Error;

/// What a flush did.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Outcome {
    pub flushed: usize,
    /// How many records still wait.
    pub waiting: usize,
    /// Why the notes could not be written.
    pub degraded: Option<Error>,
    pub warnings: Vec<String>,
}

/// Flushes the logs of all worktrees.
pub fn run(context: &Context<'_>) -> Outcome {
    let mut warnings = context.store.settle();
    let flushed = context.store.flush();
    warnings.extend(flushed.warnings);
    Outcome { flushed: flushed.records, waiting: context.store.unflushed(), degraded: flushed.degraded, warnings }
}
