//! The answer of `doctor`: a line a check, and below it the commands that mend it.

use serde_json::{Value, json};

use crate::render::answer::Answer;
use crate::render::{format, safe};
use crate::setup;
use crate::setup::doctor::DoctorOutcome;
use crate::setup::doctor::check::DoctorCheck;
use crate::sync::repair;
use empirica_notes::error::{Command, Error};

fn check_json(check: &DoctorCheck) -> Value {
    json!({"check": check.check, "ok": check.ok, "what": check.what, "commands": check.commands})
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
    let json = json!({
        "set_up": outcome.set_up,
        "wrong": wrong.len(),
        "checks": outcome.checks.iter().map(check_json).collect::<Vec<_>>(),
        "repairs": repairs,
        "changes": changes,
        "flushed": outcome.flushed,
    });
    let mut answer = Answer::new(json).text(text).warn(outcome.repairs.stored.warnings.clone());
    if outcome.flushed > 0 {
        answer = answer.say(format!("{} written to the notes.", format::count(outcome.flushed, "record")));
    }
    answer = repair::view::told(&outcome.repairs, answer);
    if wrong.is_empty() {
        return answer.say("Nothing is wrong.");
    }
    let many = if wrong.len() == 1 { "is" } else { "are" };
    let said = format!("{} {many} wrong", format::count(wrong.len(), "thing"));
    let reasons: Vec<&str> = wrong.iter().map(|check| check.what.as_str()).collect();
    let error = Error::refused(said.clone()).reason(reasons.join("; ")).suggest("Run the commands, then look again.");
    let mut commands: Vec<&Command> = Vec::new();
    for command in wrong.iter().flat_map(|check| &check.commands) {
        if !commands.contains(&command) {
            commands.push(command);
        }
    }
    answer.failed = Some(error.commands_of(commands.into_iter().cloned()));
    answer.say(format!("{said}, each with the command that mends it."))
}
