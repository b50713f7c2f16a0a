//! The answers of the workflow: assessments with their goals and gates, and drift.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::fold::assessment::drift::Drift;
use crate::render::answer::Answer;
use crate::render::drift::drift_line;
use crate::render::template::Templates;
use crate::render::{format, safe};
use crate::use_cases::assess::drift::DriftOutcome;
use crate::use_cases::assess::goal_suggestions::{GoalSuggestions, SuggestedGoal};
use crate::use_cases::assess::submit::AssessOutcome;
use crate::use_cases::handoff::view::{WrittenView, hint_missing, outcome_json};
use empirica_notes::error::Result;
use empirica_notes::model::Phase;

fn goal_lines(goals: &[SuggestedGoal]) -> String {
    let line = |goal: &SuggestedGoal| {
        let why = goal.rationale.as_ref().map(|why| format!("\n      {}", safe::indented(why, 6))).unwrap_or_default();
        format!("  {} {:<6} {}{why}\n", goal.id.short(), goal.priority.name(), safe::line(&goal.description))
    };
    let list: String = goals.iter().map(line).collect();
    if list.is_empty() { list } else { format!("Suggested goals:\n{list}") }
}

/// Drift with the assessments it was measured over.
fn drift_lines(drift: &Drift) -> String {
    let line = drift_line(drift);
    if drift.analyzed < 2 {
        return line + "\n";
    }
    let learned = match (drift.is_undersupported && drift.is_safe(), drift.learned.is_nothing()) {
        (true, _) => "; a gain above 0.30 needs evidence that passed or 3 claims",
        (false, true) => "; nothing was learned since the last one",
        (false, false) => "",
    };
    if drift.deltas.is_empty() {
        return format!("{line}: no vector that counts is in the newest assessment and in one before it\n");
    }
    format!("{line}\n  over {} assessments: {}{learned}\n", drift.analyzed, format::moves(&drift.deltas))
}

/// The answer of a suggestion of goals, weakest vector first.
pub fn proposed(outcome: &GoalSuggestions) -> Answer {
    let answer = Answer::new(outcome).text(goal_lines(&outcome.goals)).stored(&outcome.stored);
    match outcome.goals.is_empty() {
        true => answer.say("No vector is weak enough for a goal."),
        false => answer,
    }
}

/// The answer of `check --drift`.
pub fn drifted(outcome: &DriftOutcome) -> Answer {
    let gate = &outcome.gate;
    let mut text = drift_lines(&gate.drift);
    if let Some(recommendation) = outcome.recommendation {
        text.push_str(&format!("Recommendation: {}\n", recommendation.replace('_', " ")));
    }
    let mut answer = Answer::new(outcome).text(text).warn(outcome.warnings.clone());
    answer.stops = !gate.drift.is_safe();
    answer
}

/// The handoff of a POSTFLIGHT.
#[derive(Serialize, JsonSchema)]
pub struct HandedOverView {
    /// The handoff; null with `--no-handoff`, or with a warning when it failed.
    #[schemars(with = "Option<WrittenView<'_>>")]
    handoff: Option<Map<String, Value>>,
}

/// The answer of `preflight`, `check`, `postflight`.
pub fn assessed(outcome: &AssessOutcome) -> Result<Answer> {
    let mut text = format!(
        "{} {} of session {}: overall confidence {}\n{}\n",
        outcome.phase.name(),
        outcome.round,
        outcome.session_id.short(),
        format::value(outcome.overall_confidence),
        format::vectors(&outcome.vectors)
    );
    if let Some(recommendation) = outcome.recommendation {
        text.push_str(&format!("Recommendation: {}\n", recommendation.replace('_', " ")));
    }
    text.push_str(&goal_lines(outcome.auto_generated_goals.as_deref().unwrap_or_default()));
    for done in outcome.goals_reached.iter().flatten() {
        let evidence = done.evidence.as_deref().unwrap_or_default();
        text.push_str(&format!("Goal reached: {} ({})\n", done.id.short(), safe::line(evidence)));
    }
    if let Some(since) = &outcome.since_compaction {
        text.push_str(&format!(
            "Since checkpoint {}, before the compaction: {}\n",
            since.pre_checkpoint_id.short(),
            since.vector_deltas.as_ref().map(format::moves).unwrap_or_default()
        ));
    }
    if let Some(gate) = &outcome.gate {
        if let Some(decision) = gate.decision {
            text.push_str(&format!("Decision: {} ({})\n", decision.name(), gate.reason.as_deref().unwrap_or_default()));
        }
        text.push_str(&drift_lines(&gate.drift));
    }
    let since = format::deltas(outcome.since.as_deref().unwrap_or_default());
    if !since.is_empty() {
        text.push_str(&format!("Since PREFLIGHT: {since}\n"));
    }
    if let Some(calibration) = outcome.calibration_status {
        text.push_str(&format!("Self-assessment: {}\n", calibration.word()));
    }
    // the handoff is stored after the assessment, and its place is the place of both
    let mut answer = Answer::new(outcome).stored(&outcome.stored);
    answer.stops = outcome.gate.as_ref().is_some_and(|gate| !gate.drift.is_safe());
    if outcome.phase == Phase::Postflight {
        let written = outcome.handoff.as_ref().and_then(|handoff| handoff.as_ref().ok());
        let whole = |handoff: &Box<_>| outcome_json(handoff, &mut Templates::built_in()).map(|(json, _)| json);
        answer = answer.with(HandedOverView { handoff: written.map(whole).transpose()? });
    }
    match &outcome.handoff {
        None => {}
        Some(Ok(handoff)) => {
            text.push_str(&format!("Handoff: {}\n", handoff.record.envelope.id.short()));
            answer = hint_missing(answer.stored(&handoff.stored), handoff, "/handoff");
        }
        Some(Err(error)) => {
            let causes = error.causes().iter().map(|cause| format!(": {cause}")).collect::<String>();
            answer =
                answer.warn([format!("the assessment is stored, but the handoff was not written: {error}{causes}")]);
        }
    }
    let kind = format!("{} {}", outcome.phase.name(), outcome.recommendation.unwrap_or_default());
    let answer = answer.text(text).remedy("/next_step", outcome.next_step.clone());
    Ok(answer.hint_once(&outcome.session_id, kind, outcome.next_step.clone()))
}
