//! Looking at everything that must be right for records to travel, and mending what needs no choice when that is asked.

mod installation;
mod refs;
mod secrets;
mod settings;
pub mod view;

use crate::context::CommandContext;
use crate::setup::init;
use crate::setup::steps::SetupStep;
use crate::sync::{flush, repair};
use empirica_notes::error::{Command, Error, Result};

pub use crate::setup::doctor::secrets::secrets;

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
    fn right(check: &'static str, what: impl Into<String>) -> Self {
        DoctorCheck { check, ok: true, what: what.into(), commands: Vec::new() }
    }

    fn wrong(check: &'static str, what: impl Into<String>) -> Self {
        DoctorCheck { ok: false, ..DoctorCheck::right(check, what) }
    }

    fn failed(check: &'static str, error: &Error) -> Self {
        let causes: String = error.causes().iter().map(|cause| format!(": {cause}")).collect();
        DoctorCheck { commands: error.commands().to_vec(), ..DoctorCheck::wrong(check, format!("{error}{causes}")) }
    }

    fn command(mut self, command: impl Into<Command>) -> Self {
        self.commands.push(command.into());
        self
    }
}

/// What was found.
#[derive(Debug)]
pub struct DoctorOutcome {
    /// Whether `init` has been here. Without it much is not looked at: it is no fault.
    pub set_up: bool,
    /// Every check; one that found several things comes several times.
    pub checks: Vec<DoctorCheck>,
    /// Handoffs whose commits vanished.
    pub repairs: repair::RepairOutcome,
    /// What was changed: hooks and settings, and how many records were written to the notes.
    pub steps: Vec<SetupStep>,
    /// How many records were written to the notes.
    pub flushed: usize,
}

/// Looks at everything; mends first, when the repairs are to be applied.
pub fn run(context: &CommandContext<'_>, repairs: &repair::RepairRequest) -> Result<DoctorOutcome> {
    let (mut steps, mut flushed, mut warnings) = (Vec::new(), 0, Vec::new());
    if repairs.apply {
        steps = init::mend(context.repo)?;
        let outcome = flush::run(context, false)?;
        (flushed, warnings) = (outcome.flushed, outcome.warnings);
    }
    let found = repair::look(context, repairs);
    let (set_up, mut checks) = installation::checks(context);
    let known = refs::any(context);
    checks.extend(settings::checks(context, set_up || known));
    checks.extend(refs::checks(context));
    let mut repairs = match found {
        Ok(found) => found,
        // what cannot be read is found above
        Err(_) if !repairs.apply && repairs.to.is_empty() && checks.iter().any(|check| !check.ok) => Default::default(),
        Err(error) => return Err(error),
    };
    repairs.stored.warnings.splice(0..0, warnings);
    Ok(DoctorOutcome { set_up, checks, repairs, steps, flushed })
}
