//! The results of the checks of a handoff in its answer.

use schemars::JsonSchema;
use serde::Serialize;

use crate::render::answer::Answer;
use crate::render::{format, safe};
use crate::use_cases::handoff::check::rules::{Check, Level};
use empirica_notes::error::{Error, empirica, text};

fn count(checks: &[Check], level: Level) -> usize {
    checks.iter().filter(|check| check.level == level).count()
}

/// Whether a check has an error.
pub fn stops(checks: Option<&[Check]>) -> bool {
    checks.is_some_and(|checks| count(checks, Level::Error) > 0)
}

/// The results of the checks of a handoff.
#[derive(Serialize, JsonSchema)]
pub struct ValidationView<'a> {
    /// Whether no check has an error.
    passed: bool,
    /// How many checks have an error.
    errors: usize,
    /// How many checks have a warning.
    warnings: usize,
    /// The checks.
    checks: &'a [Check],
}

pub fn json_of(checks: &[Check]) -> ValidationView<'_> {
    ValidationView {
        passed: !stops(Some(checks)),
        errors: count(checks, Level::Error),
        warnings: count(checks, Level::Warning),
        checks,
    }
}

/// Adds the results to the answer of `handoff`, which fails if one is an error.
pub fn added(mut answer: Answer, checks: &[Check]) -> Answer {
    let retry = || empirica("handoff").flag("--validate").flag("--dry-run");
    for check in checks.iter().filter(|check| check.level >= Level::Warning) {
        answer = answer.say(format!("{} {}: {}", check.level.name(), check.name, safe::line(&check.message)));
    }
    if let Some(first) = checks.iter().find(|check| check.level == Level::Error) {
        answer.stops = true;
        answer.failed = Some(
            Error::refused(format!("cannot store the handoff: the check {} has an error", first.name))
                .reason(&*first.message)
                .suggest("Correct what the checks name, and check again.")
                .command(retry()),
        );
        answer = answer.hint(text!["Correct what the checks name, and check again: ", retry()]);
    }
    let (errors, warnings) = (count(checks, Level::Error), count(checks, Level::Warning));
    answer.say(format!(
        "Checked: {}, {} of {}.",
        format::count(errors, "error"),
        format::count(warnings, "warning"),
        format::count(checks.len(), "check")
    ))
}
