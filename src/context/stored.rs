//! Outcome of storing records: place, warnings, remedies, replaced secrets.

use empirica_notes::error::{Command, Text};
use empirica_notes::model::SessionId;
use empirica_notes::store::{Storage, WriteOutcome};
use empirica_secrets::Replaced;

/// Outcome of storing records.
#[derive(Debug, Default)]
pub struct StoreReport {
    /// Whether the notes, or even the repository's log, cannot be written.
    pub degraded_mode: bool,
    /// Where the records are now; `None` if nothing was stored.
    pub storage: Option<Storage>,
    /// Remedies for the degraded mode, with their commands.
    pub remedies: Vec<(Text, Vec<Command>)>,
    /// Warnings, a sentence each.
    pub warnings: Vec<String>,
    /// Session started with the records, and its agent.
    pub session_started: Option<(SessionId, String)>,
    pub redacted: Vec<Replaced>,
    /// Secrets stored unchanged.
    pub allowed: Vec<Replaced>,
}

impl StoreReport {
    /// Prepends the outcome of an earlier step of the command.
    pub fn prepend(&mut self, earlier: StoreReport) {
        self.session_started = earlier.session_started.or(self.session_started.take());
        self.warnings.splice(0..0, earlier.warnings);
        self.redacted.splice(0..0, earlier.redacted);
        self.allowed.splice(0..0, earlier.allowed);
    }

    /// Appends the outcome of a later step of the command.
    pub fn append(&mut self, later: StoreReport) {
        self.session_started = self.session_started.take().or(later.session_started);
        self.warnings.extend(later.warnings);
        self.redacted.extend(later.redacted);
        self.allowed.extend(later.allowed);
    }

    /// Adds the outcome of an append. If a later one reached the notes, so did the earlier records.
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
        if written.storage.is_none() && !written.records.is_empty() {
            self.warnings.push("the session logged this before: nothing more was stored".to_owned());
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
            self.warnings.push(format!("{field}: a secret was stored unchanged (rule {rule}) and will be pushed"));
        }
        self.redacted.append(&mut written.redacted);
        self.allowed.append(&mut written.allowed);
    }
}
