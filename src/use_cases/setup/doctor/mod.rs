//! Checks everything that synchronization needs, and on request fixes what needs no decision.

mod agents;
pub mod check;
mod code;
mod installation;
mod refs;
mod secrets;
mod settings;
pub mod version;
pub mod view;

use crate::context::CommandContext;
use crate::use_cases::setup::doctor::check::DoctorCheck;
use crate::use_cases::setup::init;
use crate::use_cases::setup::steps::SetupStep;
use crate::use_cases::sync::{flush, repair};
use empirica_notes::error::Result;

pub use crate::use_cases::setup::doctor::secrets::secrets;

#[derive(Debug)]
pub struct DoctorOutcome {
    /// Whether the repository is set up. If not, fewer checks run, and this is not a problem.
    pub set_up: bool,
    /// All checks; one with several findings occurs several times.
    pub checks: Vec<DoctorCheck>,
    pub repairs: repair::RepairOutcome,
    pub steps: Vec<SetupStep>,
    pub flushed: usize,
}

/// Runs all checks, after fixing what can be fixed if repairs are to be applied.
pub fn run(context: &CommandContext<'_>, repairs: &repair::RepairRequest) -> Result<DoctorOutcome> {
    let (mut steps, mut flushed, mut warnings) = (Vec::new(), 0, Vec::new());
    if repairs.apply {
        steps = init::repair(context.repo)?;
        let outcome = flush::run(context, false)?;
        (flushed, warnings) = (outcome.flushed, outcome.warnings);
    }
    let found = repair::find_repairs(context, repairs);
    let (set_up, mut checks) = installation::checks(context);
    checks.extend(settings::checks(context, set_up || refs::any(context)));
    checks.extend(refs::checks(context));
    checks.extend(agents::checks(context));
    checks.extend(code::checks(context));
    let mut repairs = match found {
        Ok(found) => found,
        // the checks already report what cannot be read
        Err(_) if !repairs.apply && repairs.to.is_empty() && checks.iter().any(|check| !check.ok) => Default::default(),
        Err(error) => return Err(error),
    };
    repairs.stored.warnings.splice(0..0, warnings);
    Ok(DoctorOutcome { set_up, checks, repairs, steps, flushed })
}
