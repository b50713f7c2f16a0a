//! Looking at everything that must be right for records to travel, without changing any of it.

mod refs;
mod secrets;
mod settings;
mod setup;

use super::Context;
use crate::error::Error;

pub use secrets::secrets;

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Its name, one word.
    pub check: &'static str,
    /// Whether it is right.
    pub ok: bool,
    /// What was found, without a final stop.
    pub what: String,
    /// The commands that mend it; where it is right, those that do what is left.
    pub commands: Vec<String>,
}

impl Check {
    fn right(check: &'static str, what: impl Into<String>) -> Self {
        Check { check, ok: true, what: what.into(), commands: Vec::new() }
    }

    fn wrong(check: &'static str, what: impl Into<String>) -> Self {
        Check { ok: false, ..Check::right(check, what) }
    }

    fn failed(check: &'static str, error: &Error) -> Self {
        let causes: String = error.causes().iter().map(|cause| format!(": {cause}")).collect();
        Check { commands: error.commands().to_vec(), ..Check::wrong(check, format!("{error}{causes}")) }
    }

    fn command(mut self, command: impl Into<String>) -> Self {
        self.commands.push(command.into());
        self
    }
}

/// What was found.
#[derive(Debug)]
pub struct Outcome {
    /// Whether `init` has been here. Without it much is not looked at: it is no fault.
    pub set_up: bool,
    /// Every check; one that found several things comes several times.
    pub checks: Vec<Check>,
}

/// Looks at everything.
pub fn run(context: &Context<'_>) -> Outcome {
    let (set_up, mut checks) = setup::checks(context);
    let known = refs::any(context);
    checks.extend(settings::checks(context, set_up || known));
    checks.extend(refs::checks(context));
    Outcome { set_up, checks }
}
