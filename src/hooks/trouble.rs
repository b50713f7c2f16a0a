//! What went wrong in a hook, in a line.

use empirica_notes::error::Error;
use empirica_notes::store::WriteOutcome;

/// What an append left to say, for the log of troubles.
pub(crate) fn troubles(written: WriteOutcome) -> Vec<String> {
    written.degraded.iter().map(in_one_line).chain(written.warnings).collect()
}

/// What went wrong, why, and the command that helps.
pub(crate) fn in_one_line(error: &Error) -> String {
    let command = error.commands().first().map(|command| format!(" ({command})"));
    format!("{}{}", error.with_reason(), command.unwrap_or_default())
}
