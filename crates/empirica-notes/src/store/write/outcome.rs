//! When records are written, where they are stored, and the outcome.

use empirica_secrets::Replaced;

use crate::error::Error;
use crate::model::Record;

crate::named_enum! {
    /// Where records are stored.
    pub enum Storage {
        /// In the notes.
        GitNotes = "git_notes",
        /// In the repository's log, from where the next flush writes them to the notes.
        Log = "log",
        /// In the log of the user's state folder, because the repository's could not be written.
        UserState = "user_state",
    }
}

/// When to write records to the notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlushTiming {
    /// With the next flush, or if the log has reached 64 KB.
    Later,
    /// Before the command ends.
    Now,
}

/// The outcome of an append. The records are stored in any case.
#[derive(Debug, Default)]
pub struct WriteOutcome {
    /// The records as stored, after secrets were replaced.
    pub records: Vec<Record>,
    /// The secrets replaced.
    pub redacted: Vec<Replaced>,
    /// The secrets stored unchanged, as their author allowed.
    pub allowed: Vec<Replaced>,
    /// Where the records are; `None` if there were none to store, or the session had logged the same.
    pub storage: Option<Storage>,
    /// The error if the notes, or the repository's log, could not be written.
    pub degraded: Option<Error>,
    /// Problems that lost nothing.
    pub warnings: Vec<String>,
}
