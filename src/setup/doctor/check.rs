//! One thing that was looked at.

use empirica_notes::error::{Command, Error};

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoctorCheck {
    /// Its name, one word.
    pub check: &'static str,
    /// Whether it is right.
    pub ok: bool,
    /// What was found, without a final stop.
    pub what: String,
    /// The commands that mend it; where it is right, those that do what is left.
    pub commands: Vec<Command>,
}

impl DoctorCheck {
    pub(crate) fn right(check: &'static str, what: impl Into<String>) -> Self {
        DoctorCheck { check, ok: true, what: what.into(), commands: Vec::new() }
    }

    pub(crate) fn wrong(check: &'static str, what: impl Into<String>) -> Self {
        DoctorCheck { ok: false, ..DoctorCheck::right(check, what) }
    }

    pub(crate) fn failed(check: &'static str, error: &Error) -> Self {
        let causes: String = error.causes().iter().map(|cause| format!(": {cause}")).collect();
        DoctorCheck { commands: error.commands().to_vec(), ..DoctorCheck::wrong(check, format!("{error}{causes}")) }
    }

    pub(crate) fn command(mut self, command: impl Into<Command>) -> Self {
        self.commands.push(command.into());
        self
    }
}
