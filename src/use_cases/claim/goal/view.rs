//! The answers about goals.

use schemars::JsonSchema;
use serde::Serialize;

use crate::fold::journal::OwnedGoal;
use crate::render::answer::Answer;
use crate::render::{format, safe};
use crate::use_cases::claim::goal;
use empirica_notes::model::goal::{GoalStatus, completion_rate, reached};

/// The goals that fit.
#[derive(Serialize, JsonSchema)]
pub struct ListView<'a> {
    /// The goals, oldest first.
    goals: &'a [OwnedGoal],
    /// How many they are.
    total_found: usize,
    /// The share of those not dropped that is done, from 0 to 1, 2 decimals; null when there is none.
    completion_rate: Option<f64>,
}

/// One goal.
#[derive(Serialize, JsonSchema)]
pub struct ShownView<'a> {
    /// The goal.
    goal: &'a OwnedGoal,
}

fn goal_lines(owned: &OwnedGoal, with_evidence: bool) -> String {
    let goal = &owned.goal;
    let progress = owned.progress.as_ref().map(|p| format!(" ({p})")).unwrap_or_default();
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
        if let Some(evidence) = subtask.evidence.as_ref().filter(|_| with_evidence) {
            text.push_str(&evidence_line(subtask.status, evidence, 4));
        }
    }
    text
}

/// The evidence of a goal that is done, or the reason of a dropped one.
fn evidence_line(status: GoalStatus, evidence: &str, indent: usize) -> String {
    let title = if status == GoalStatus::Dropped { "why" } else { "evidence" };
    format!("{:indent$}{title}: {}\n", "", safe::indented(evidence, indent))
}

/// The answer of `goal add|sub|done|drop|take`.
pub fn changed(outcome: &goal::GoalOutcome) -> Answer {
    let lines: String = outcome.goals.iter().map(|goal| goal_lines(goal, false)).collect();
    Answer::new(outcome)
        .text(format!("{}\n", outcome.id.short()))
        .say(lines.trim_end().to_owned())
        .stored(&outcome.stored)
}

pub fn list(goals: &[OwnedGoal], warnings: Vec<String>) -> Answer {
    let (done, counted) = reached(goals.iter().map(|owned| &owned.goal));
    let view = ListView {
        goals,
        total_found: goals.len(),
        completion_rate: completion_rate(goals.iter().map(|owned| &owned.goal)),
    };
    let answer = Answer::new(view)
        .text(goals.iter().map(|goal| goal_lines(goal, false)).collect::<String>())
        .warn(warnings)
        .paged();
    match counted {
        _ if goals.is_empty() => answer.say("There is no goal."),
        0 => answer,
        _ => answer.say(format!("{done} of {} done.", format::count(counted, "goal"))),
    }
}

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
    Answer::new(ShownView { goal: owned }).text(text).warn(warnings)
}
