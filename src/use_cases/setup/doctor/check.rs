//! A check of the doctor.

use schemars::JsonSchema;
use serde::Serialize;

use empirica_notes::error::{Command, Error};

/// A check of the setup or the records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "DoctorCheck")]
pub struct DoctorCheck {
    /// git, program, setup, hooks, display, fetch, remote, refspecs, rewrite, config, identity, refs, locks, log, sync, store, hook-errors,
    /// agents, claims or secrets (only while `empirica.redact` is off, and with `--secrets`).
    pub check: &'static str,
    /// Whether nothing is wrong.
    pub ok: bool,
    /// The finding, without a final stop. Of a secret: the record, the object whose note it is in, the field and the rule.
    pub what: String,
    /// Commands that fix it; without a fault, those that do the remaining work.
    #[schemars(with = "Vec<String>")]
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
        DoctorCheck::unreadable(check, error).commands(error.commands())
    }

    /// As `failed`, without the commands of the error.
    pub(crate) fn unreadable(check: &'static str, error: &Error) -> Self {
        let causes: String = error.causes().iter().map(|cause| format!(": {cause}")).collect();
        DoctorCheck::wrong(check, format!("{error}{causes}"))
    }

    pub(crate) fn commands<'a>(mut self, commands: impl IntoIterator<Item = &'a Command>) -> Self {
        self.commands.extend(commands.into_iter().cloned());
        self
    }

    pub(crate) fn command(mut self, command: impl Into<Command>) -> Self {
        self.commands.push(command.into());
        self
    }
}
