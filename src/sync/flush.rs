//! Writing to the notes what waits in the logs.

use crate::context::CommandContext;
use empirica_notes::error::{Error, Result};
use empirica_notes::store::Rescued;

/// What a flush did.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct FlushOutcome {
    pub flushed: usize,
    /// How many records still wait.
    pub waiting: usize,
    /// Why the notes could not be written, or what waits not be taken to them.
    pub degraded: Option<Error>,
    pub warnings: Vec<String>,
    /// The refs that were written anew without what is damaged; `None` when that was not asked for.
    pub rescued: Option<Vec<Rescued>>,
}

/// Flushes the logs of all worktrees. `without_damaged` first writes refs anew that lead to objects which are damaged or not here.
pub fn run(context: &CommandContext<'_>, without_damaged: bool) -> Result<FlushOutcome> {
    let mut warnings = Vec::new();
    let rescued = without_damaged.then(|| context.store.rescue(&mut warnings)).transpose()?;
    warnings.extend(context.store.reconcile());
    let flushed = context.store.flush();
    warnings.extend(flushed.warnings);
    let mut left = flushed.left.into_iter().map(|log| log.untaken());
    let degraded = flushed.degraded.or_else(|| left.next());
    warnings.extend(left.map(|error| error.in_one_line()));
    Ok(FlushOutcome { flushed: flushed.records, waiting: context.store.unflushed(), degraded, warnings, rescued })
}
