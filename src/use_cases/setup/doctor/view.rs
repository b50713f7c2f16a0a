//! The answer of `doctor`: a line a check, and below it the commands that fix it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::render::answer::Answer;
use crate::render::{format, safe};
use crate::use_cases::setup;
use crate::use_cases::setup::doctor::DoctorOutcome;
use crate::use_cases::setup::doctor::check::DoctorCheck;
use crate::use_cases::setup::view::ChangeView;
use crate::use_cases::sync::repair;
use crate::use_cases::sync::repair::view::RepairView;
use empirica_notes::error::{Command, Error};

/// The state of the setup and the records. If something is wrong, the exit code is 1 and the document is a failure that has these
/// keys, too.
#[derive(Serialize, JsonSchema)]
pub struct DoctorView<'a> {
    /// Whether `init` set this clone up.
    set_up: bool,
    /// How many checks failed.
    wrong: usize,
    /// The checks; one with several findings comes several times.
    checks: &'a [DoctorCheck],
    /// Handoffs whose commits vanished, as of `doctor --repairs`.
    repairs: Vec<RepairView<'a>>,
    /// With `--fix`: the changes that were made.
    changes: Vec<ChangeView<'a>>,
    /// With `--fix`: how many records were written to the notes.
    flushed: usize,
}

fn check_text(check: &DoctorCheck) -> String {
    let state = match (check.ok, check.commands.is_empty()) {
        (false, _) => "wrong",
        (true, false) => "note",
        (true, true) => "ok",
    };
    let mut out = format!("{state:<5}  {:<9} {}\n", check.check, safe::line(&check.what));
    for command in &check.commands {
        out.push_str(&format!("{:17}{}\n", "", safe::clean(&command.to_string()).replace('\n', "␊")));
    }
    out
}

/// Answers. Something wrong makes the command fail.
pub fn answer(outcome: &DoctorOutcome) -> Answer {
    let wrong: Vec<&DoctorCheck> = outcome.checks.iter().filter(|check| !check.ok).collect();
    let (repairs, listed) = repair::view::listed(&outcome.repairs);
    let (changes, made) = setup::view::changes(&outcome.steps, false);
    let checks: String = outcome.checks.iter().map(check_text).collect();
    let text = [made, checks, listed].concat();
    let view = DoctorView {
        set_up: outcome.set_up,
        wrong: wrong.len(),
        checks: &outcome.checks,
        repairs,
        changes,
        flushed: outcome.flushed,
    };
    let mut answer = Answer::new(view).text(text).warn(outcome.repairs.stored.warnings.clone());
    if outcome.flushed > 0 {
        answer = answer.say(format!("{} written to the notes.", format::count(outcome.flushed, "record")));
    }
    answer = repair::view::summarize(&outcome.repairs, answer);
    if wrong.is_empty() {
        return answer.say("Nothing is wrong.");
    }
    let many = if wrong.len() == 1 { "is" } else { "are" };
    let message = format!("{} {many} wrong", format::count(wrong.len(), "thing"));
    let reasons: Vec<&str> = wrong.iter().map(|check| check.what.as_str()).collect();
    let error =
        Error::refused(message.clone()).reason(reasons.join("; ")).suggest("Run the commands, then check again.");
    let mut commands: Vec<Command> = Vec::new();
    for command in wrong.iter().flat_map(|check| &check.commands) {
        if !commands.contains(command) {
            commands.push(command.clone());
        }
    }
    answer.failed = Some(error.commands_of(commands));
    let each = if wrong.len() == 1 { "" } else { "each " };
    answer.say(format!("{message}, {each}with the command that fixes it."))
}
