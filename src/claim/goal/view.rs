//! The answers about goals.

use serde_json::{Value, json};

use crate::claim::goal;
use crate::fold::journal::OwnedGoal;
use crate::render::answer::Answer;
use crate::render::{format, safe};
use empirica_notes::model::goal::{GoalStatus, completion_rate, reached};

fn goal_json(owned: &OwnedGoal) -> Value {
    let mut json = json!(owned.goal);
    json["session_id"] = json!(owned.session);
    json["progress"] = json!(owned.goal.progress());
    json
}

/// A goal and its steps; with `proof` what shows that the steps are done, too.
fn goal_lines(owned: &OwnedGoal, proof: bool) -> String {
    let goal = &owned.goal;
    let progress = goal.progress().map(|p| format!(" ({p})")).unwrap_or_default();
    let mut text = format!(
        "{} {:<7} {:<6} {}{progress}\n",
        goal.id.short(),
        goal.status.name(),
        goal.priority.name(),
        safe::line(&goal.text)
    );
    for subtask in &goal.subtasks {
        text.push_str(&format!(
            "  {} {:<7} {}\n",
            subtask.id.short(),
            subtask.status.name(),
            safe::line(&subtask.text)
        ));
        if let Some(evidence) = subtask.evidence.as_ref().filter(|_| proof) {
            text.push_str(&evidence_line(subtask.status, evidence, 4));
        }
    }
    text
}

/// What shows that it is done, or why it was dropped.
fn evidence_line(status: GoalStatus, evidence: &str, indent: usize) -> String {
    let title = if status == GoalStatus::Dropped { "why" } else { "evidence" };
    format!("{:indent$}{title}: {}\n", "", safe::indented(evidence, indent))
}

/// The answer of `goal add|sub|done|drop|take`.
pub fn changed(outcome: &goal::GoalOutcome) -> Answer {
    let json = json!({
        "id": outcome.id,
        "kind": outcome.kind,
        "session_id": outcome.session_id,
        "goals": outcome.goals.iter().map(goal_json).collect::<Vec<_>>(),
    });
    let said: String = outcome.goals.iter().map(|goal| goal_lines(goal, false)).collect();
    Answer::new(json).text(format!("{}\n", outcome.id.short())).say(said.trim_end().to_owned()).stored(&outcome.stored)
}

/// The answer of `goal list`.
pub fn list(goals: &[OwnedGoal], warnings: Vec<String>) -> Answer {
    let (done, counted) = reached(goals.iter().map(|owned| &owned.goal));
    let json = json!({
        "goals": goals.iter().map(goal_json).collect::<Vec<_>>(),
        "total_found": goals.len(),
        "completion_rate": completion_rate(goals.iter().map(|owned| &owned.goal)),
    });
    let answer = Answer::new(json)
        .text(goals.iter().map(|goal| goal_lines(goal, false)).collect::<String>())
        .warn(warnings)
        .paged();
    match counted {
        _ if goals.is_empty() => answer.say("There is no goal."),
        0 => answer,
        _ => answer.say(format!("{done} of {} done.", format::count(counted, "goal"))),
    }
}

/// The answer of `goal show`.
pub fn shown(owned: &OwnedGoal, warnings: Vec<String>) -> Answer {
    let mut text = goal_lines(owned, true);
    if let Some(rationale) = &owned.goal.rationale {
        text.push_str(&format!("  rationale: {}\n", safe::lines(rationale)));
    }
    for criterion in &owned.goal.criteria {
        text.push_str(&format!("  criterion: {}\n", safe::lines(criterion)));
    }
    if let Some(evidence) = &owned.goal.evidence {
        text.push_str(&evidence_line(owned.goal.status, evidence, 2));
    }
    Answer::new(json!({"goal": goal_json(owned)})).text(text).warn(warnings)
}
