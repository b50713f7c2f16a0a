//! Looking at everything that must be right for records to travel, and mending what needs no choice when that is asked.

pub mod check;
mod installation;
mod refs;
mod secrets;
mod settings;
pub mod view;

use crate::context::CommandContext;
use crate::setup::doctor::check::DoctorCheck;
use crate::setup::init;
use crate::setup::steps::SetupStep;
use crate::sync::{flush, repair};
use empirica_notes::error::Result;

pub use crate::setup::doctor::secrets::secrets;

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
