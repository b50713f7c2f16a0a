//! When records are written, where they then are, and what became of them.

use empirica_secrets::Replaced;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Error;
use crate::model::Record;

/// Where records are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Storage {
    /// In the notes.
    GitNotes,
    /// In the repository's log, from where the next flush writes them to the notes.
    Log,
    /// In the log of the user's state folder, because the repository's could not be written.
    UserState,
}

impl Storage {
    /// The word of it.
    pub fn name(self) -> &'static str {
        match self {
            Storage::GitNotes => "git_notes",
            Storage::Log => "log",
            Storage::UserState => "user_state",
        }
    }
}

/// When records shall be in the notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlushTiming {
    /// With the next flush; before that when the log has grown to 64 KB.
    Later,
    /// Before the command ends.
    Now,
}

/// What became of an append. The records are safe in every case.
#[derive(Debug, Default)]
pub struct WriteOutcome {
    /// The records as stored, after secrets were replaced.
    pub records: Vec<Record>,
    /// The secrets that were replaced.
    pub redacted: Vec<Replaced>,
    /// The secrets that were stored as they are, because their author said so.
    pub allowed: Vec<Replaced>,
    /// Where the records are now; `None` when there were none to store.
    pub storage: Option<Storage>,
    /// Why the records are not where they should be: the notes could not be written, or the repository's log.
    pub degraded: Option<Error>,
    /// What else went wrong without losing anything.
    pub warnings: Vec<String>,
}
