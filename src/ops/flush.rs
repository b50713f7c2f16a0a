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
    /// Why the notes could not be written, or what waits not be taken to them.
    pub degraded: Option<Error>,
    pub warnings: Vec<String>,
}

/// Flushes the logs of all worktrees.
pub fn run(context: &Context<'_>) -> Outcome {
    let mut warnings = context.store.settle();
    let flushed = context.store.flush();
    warnings.extend(flushed.warnings);
    let mut left = flushed.left.into_iter().map(|log| log.untaken());
    let degraded = flushed.degraded.or_else(|| left.next());
    warnings.extend(left.map(|error| error.in_one_line()));
    Outcome { flushed: flushed.records, waiting: context.store.unflushed(), degraded, warnings }
}
