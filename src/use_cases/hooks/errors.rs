//! Failures of hooks, one line each.

use empirica_notes::error::Error;
use empirica_notes::store::WriteOutcome;

/// The failures and warnings of a write.
pub(crate) fn errors_of(written: WriteOutcome) -> Vec<String> {
    written.degraded.iter().map(in_one_line).chain(written.warnings).collect()
}

/// An error with its reason and a recovery command.
pub(crate) fn in_one_line(error: &Error) -> String {
    let command = error.commands().first().map(|command| format!(" ({command})"));
    format!("{}{}", error.with_reason(), command.unwrap_or_default())
}
