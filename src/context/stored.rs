//! What storing records left to tell: where they are, warnings, remedies, replaced secrets.

use empirica_notes::error::{Command, Text};
use empirica_notes::model::SessionId;
use empirica_notes::store::{Storage, WriteOutcome};
use empirica_secrets::Replaced;

/// What storing something left to say.
#[derive(Debug, Default)]
pub struct StoreReport {
    /// The records are not where they should be: the notes could not be written, or not even the repository's log.
    pub degraded_mode: bool,
    /// Where the records are now; `None` when nothing was stored.
    pub storage: Option<Storage>,
    /// What to do when they are not where they should be, and the commands that do it or show more.
    pub remedies: Vec<(Text, Vec<Command>)>,
    /// What the user should know, a sentence each.
    pub warnings: Vec<String>,
    /// The session that began with it, and its agent.
    pub session_started: Option<(SessionId, String)>,
    /// The secrets that were replaced.
    pub redacted: Vec<Replaced>,
    /// The secrets that were stored as they are.
    pub allowed: Vec<Replaced>,
}

impl StoreReport {
    /// Puts before this what storing something earlier in the same command left to say.
    pub fn after(&mut self, earlier: StoreReport) {
        self.session_started = earlier.session_started.or(self.session_started.take());
        self.warnings.splice(0..0, earlier.warnings);
        self.redacted.splice(0..0, earlier.redacted);
        self.allowed.splice(0..0, earlier.allowed);
    }

    /// Puts behind this what storing something later in the same command left to say.
    pub fn before(&mut self, later: StoreReport) {
        self.session_started = self.session_started.take().or(later.session_started);
        self.warnings.extend(later.warnings);
        self.redacted.extend(later.redacted);
        self.allowed.extend(later.allowed);
    }

    /// Takes in what one append left to say. A later one that reached the notes took the earlier records along.
    pub fn add(&mut self, written: &mut WriteOutcome) {
        if let Some(error) = &written.degraded {
            self.degraded_mode = true;
            let (what, place) = match written.storage {
                Some(Storage::UserState) => {
                    ("the repository cannot take the record", "the log of the user's state folder")
                }
                _ => ("the notes could not be written", "the log"),
            };
            self.warnings.push(format!(
                "{what} ({}); the record waits in {place} and the next command writes it",
                error.in_one_line()
            ));
            self.remedies.push((error.suggestion_text(), error.commands().to_vec()));
        }
        self.storage = match (written.storage, self.storage) {
            (Some(Storage::Log), Some(Storage::UserState)) => Some(Storage::UserState),
            (now, before) => now.or(before),
        };
        if self.storage == Some(Storage::GitNotes) {
            self.degraded_mode = false;
        }
        self.warnings.append(&mut written.warnings);
        for replaced in &written.redacted {
            let text = format!(
                "{}: a secret was replaced by [redacted:{}]; if it was real, change it",
                replaced.field, replaced.rule
            );
            self.warnings.push(text);
        }
        for Replaced { field, rule } in &written.allowed {
            self.warnings
                .push(format!("{field}: a secret was stored as it is (rule {rule}), and leaves with the next push"));
        }
        self.redacted.append(&mut written.redacted);
        self.allowed.append(&mut written.allowed);
    }
}
