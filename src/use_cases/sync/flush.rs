//! Writes pending records to the notes.

use crate::context::CommandContext;
use empirica_notes::error::{Error, Result};
use empirica_notes::store::{Rescued, Store};

#[derive(Debug)]
pub struct FlushOutcome {
    pub flushed: usize,
    /// Number of records still pending.
    pub waiting: usize,
    /// Why notes or pending records could not be written.
    pub degraded: Option<Error>,
    pub warnings: Vec<String>,
    /// Refs rewritten without damaged objects; `None` if not requested.
    pub rescued: Option<Vec<Rescued>>,
}

/// Writes the pending records of all worktrees, and updates the index for the next reader. `without_damaged` first rewrites
/// refs that reach damaged or missing objects.
pub fn run(context: &CommandContext<'_>, without_damaged: bool) -> Result<FlushOutcome> {
    let mut warnings = Vec::new();
    let rescued = without_damaged.then(|| context.store.recovery().rescue(&mut warnings)).transpose()?;
    warnings.extend(context.store.reconcile());
    let flushed = context.store.writer().flush();
    warnings.extend(flushed.warnings);
    let mut left = flushed.left.into_iter().map(|log| log.into_error());
    let degraded = flushed.degraded.or_else(|| left.next());
    warnings.extend(left.map(|error| error.in_one_line()));
    if flushed.records > 0 && context.repo.config_bool("empirica.index") != Some(false) {
        // its next reader tells what is wrong with it
        let _ = context.index();
    }
    Ok(FlushOutcome {
        flushed: flushed.records,
        waiting: context.store.log().counts().total(),
        degraded,
        warnings,
        rescued,
    })
}

/// Writes pending records; returns why not all are in the notes.
pub(crate) fn write_pending(store: &Store<'_>, warnings: &mut Vec<String>) -> Option<Error> {
    let flushed = store.writer().flush();
    warnings.extend(flushed.warnings);
    flushed.degraded.or_else(|| flushed.left.into_iter().next().map(|log| log.into_error()))
}

/// Writes pending records. Returns the warnings, a failure as `describe` words it.
pub(crate) fn flush_pending(store: &Store<'_>, describe: impl Fn(&Error) -> String) -> Vec<String> {
    let flushed = store.writer().flush();
    flushed.warnings.into_iter().chain(flushed.degraded.iter().map(describe)).collect()
}
