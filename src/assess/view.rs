//! The answers of the workflow: assessments with their goals and gates, and drift.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::assess::drift::DriftOutcome;
use crate::assess::goal_suggestions::GoalSuggestions;
use crate::assess::submit::AssessOutcome;
use crate::fold::assessment::confidence::overall;
use crate::fold::assessment::drift::Drift;
use crate::fold::assessment::gate::{self, Gate};
use crate::handoff::view::{WrittenView, delta_map, hint_missing, outcome_json};
use crate::render::answer::Answer;
use crate::render::drift::drift_line;
use crate::render::template::Templates;
use crate::render::{format, safe};
use crate::session::compaction::SinceSnapshot;
use empirica_notes::error::{Result, Text};
use empirica_notes::model::goal::{GoalState, Priority};
use empirica_notes::model::handoff::Calibration;
use empirica_notes::model::{Id, Phase, SessionId, Vector, Vectors};

/// A goal that was suggested for a weak vector.
#[derive(Serialize, JsonSchema)]
struct SuggestedGoalView<'a> {
    /// The goal.
    id: &'a Id,
    /// Its text.
    description: &'a str,
    /// Of know, uncertainty and state high where they recommend to investigate; of other vectors high below 0.50, medium below 0.60.
    priority: Priority,
    /// Why it was suggested.
    rationale: Option<&'a str>,
}

impl<'a> From<&'a GoalState> for SuggestedGoalView<'a> {
    fn from(GoalState { id, text, priority, rationale, .. }: &'a GoalState) -> Self {
        SuggestedGoalView { id, description: text, priority: *priority, rationale: rationale.as_deref() }
    }
}

fn goal_lines(goals: &[GoalState]) -> String {
    let line = |goal: &GoalState| {
        let why = goal.rationale.as_ref().map(|why| format!("\n      {}", safe::indented(why, 6))).unwrap_or_default();
        format!("  {} {:<6} {}{why}\n", goal.id.short(), goal.priority.name(), safe::line(&goal.text))
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

/// Goals that were suggested outside a PREFLIGHT.
#[derive(Serialize)]
struct ProposedView<'a> {
    session_id: &'a SessionId,
    goals: Vec<SuggestedGoalView<'a>>,
    vectors: &'a Vectors,
}

/// The answer of a suggestion of goals, weakest vector first.
pub fn proposed(outcome: &GoalSuggestions) -> Answer {
    let GoalSuggestions { session_id, goals, vectors, .. } = outcome;
    let answer = Answer::new(ProposedView { session_id, goals: goals.iter().map(Into::into).collect(), vectors })
        .text(goal_lines(&outcome.goals))
        .stored(&outcome.stored);
    match outcome.goals.is_empty() {
        true => answer.say("No vector is weak enough for a goal."),
        false => answer,
    }
}

/// How the confidence of a session moved over its last `--window` assessments (3): the newest against the mean of those before
/// it. Nothing is recorded.
#[derive(Serialize, JsonSchema)]
pub struct DriftedView<'a> {
    /// The session.
    session_id: &'a SessionId,
    /// Its agent.
    ai_id: &'a str,
    #[serde(flatten)]
    gate: &'a Gate,
    /// `proceed`, `investigate`, `recalibrate_before_acting` or `stop`; null without an assessment.
    recommendation: Option<&'a str>,
}

pub fn drifted(outcome: &DriftOutcome) -> Answer {
    let gate = &outcome.gate;
    let view = DriftedView {
        session_id: &outcome.session_id,
        ai_id: &outcome.ai_id,
        gate,
        recommendation: gate.recommendation,
    };
    let mut text = drift_lines(&gate.drift);
    if let Some(recommendation) = gate.recommendation {
        text.push_str(&format!("Recommendation: {}\n", recommendation.replace('_', " ")));
    }
    let mut answer = Answer::new(view).text(text).warn(outcome.warnings.clone());
    answer.stops = !gate.drift.is_safe();
    answer
}

/// A goal of a PREFLIGHT that is done.
#[derive(Serialize, JsonSchema)]
struct GoalReachedView<'a> {
    /// The goal.
    id: &'a Id,
    /// The assessment that ended it.
    evidence: Option<&'a str>,
}

/// An assessment that was stored.
#[derive(Serialize, JsonSchema)]
pub struct AssessedView<'a> {
    /// The session.
    session_id: &'a SessionId,
    /// The assessment.
    checkpoint_id: &'a Id,
    /// When in the workflow.
    phase: Phase,
    /// Which one of its phase, from 1.
    round: u32,
    /// Its values.
    vectors: &'a Vectors,
    /// From 0 to 1, 4 decimals; null when only uncertainty was given.
    overall_confidence: Option<f64>,
    /// Whether uncertainty is above 0.6.
    uncertainty_detected: bool,
    /// Uncertainty, from 0 to 1; null when it was not given.
    uncertainty_score: Option<f64>,
    /// The next step, a sentence.
    #[schemars(with = "String")]
    next_step: &'a Text,
    /// Preflight: `investigate` or `proceed`; check: also `recalibrate_before_acting` or `stop`.
    #[serde(skip_serializing_if = "Option::is_none")]
    recommendation: Option<&'a str>,
    /// Preflight: the goals that were suggested, or that an earlier one suggested alike, at most 5; empty with `proceed`. First of
    /// know, uncertainty and state where they recommend to investigate; then of other vectors under 0.70 but completion, change
    /// and impact, weakest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    auto_generated_goals: Option<Vec<SuggestedGoalView<'a>>>,
    /// Check, postflight: open goals of a PREFLIGHT that are done now: their vector is 0.70 or more (uncertainty, density: 0.30 or
    /// less), something was learned since they were set, no step of theirs is open, and there is no overconfidence of 0.15 or
    /// more; that of uncertainty not while the session has an open question.
    #[serde(skip_serializing_if = "Option::is_none")]
    goals_reached: Option<Vec<GoalReachedView<'a>>>,
    /// The first assessment after a compaction: the change of the vectors; absent when the checkpoint after it had its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    since_compaction: Option<&'a SinceSnapshot>,
    // of a check
    #[serde(flatten)]
    gate: Option<&'a Gate>,
    /// Check, postflight: the confidence that it claims to act with, from 0 to 1; null when none was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<Option<f64>>,
    /// Check, postflight: against the first PREFLIGHT, of the vectors both give; `overall_confidence` last, over these alone, and
    /// absent when they have none in common but uncertainty.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BTreeMap<String, f64>>")]
    deltas: Option<Map<String, Value>>,
    /// Postflight: whether knowing and doubting moved together.
    #[serde(skip_serializing_if = "Option::is_none")]
    calibration_status: Option<Calibration>,
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
    let (is_first, is_last) = (outcome.phase == Phase::Preflight, outcome.phase == Phase::Postflight);
    let reached = outcome.goals_reached.iter();
    let reached = reached.map(|done| GoalReachedView { id: &done.of, evidence: done.evidence.as_deref() });
    let view = AssessedView {
        session_id: &outcome.session_id,
        checkpoint_id: &outcome.checkpoint_id,
        phase: outcome.phase,
        round: outcome.round,
        vectors: &outcome.vectors,
        overall_confidence: overall(&outcome.vectors),
        uncertainty_detected: gate::is_uncertain(&outcome.vectors),
        uncertainty_score: outcome.vectors.get(Vector::Uncertainty),
        next_step: &outcome.next_step,
        recommendation: outcome.recommendation,
        auto_generated_goals: is_first.then(|| outcome.goals.iter().map(Into::into).collect()),
        goals_reached: (!is_first).then(|| reached.collect()),
        since_compaction: outcome.compaction.as_ref(),
        gate: outcome.gate.as_ref(),
        confidence: (!is_first).then_some(outcome.confidence),
        deltas: (!is_first).then(|| delta_map(&outcome.since)),
        calibration_status: outcome.calibration_status,
    };
    let mut text = format!(
        "{} {} of session {}: overall confidence {}\n{}\n",
        outcome.phase.name(),
        outcome.round,
        outcome.session_id.short(),
        format::value(view.overall_confidence),
        format::vectors(&outcome.vectors)
    );
    if let Some(recommendation) = outcome.recommendation {
        text.push_str(&format!("Recommendation: {}\n", recommendation.replace('_', " ")));
    }
    if is_first {
        text.push_str(&goal_lines(&outcome.goals));
    }
    for done in view.goals_reached.iter().flatten() {
        let evidence = done.evidence.unwrap_or_default();
        text.push_str(&format!("Goal reached: {} ({})\n", done.id.short(), safe::line(evidence)));
    }
    if let Some(since) = &view.since_compaction {
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
    let since = format::deltas(&outcome.since);
    if !is_first && !since.is_empty() {
        text.push_str(&format!("Since PREFLIGHT: {since}\n"));
    }
    if let Some(calibration) = outcome.calibration_status {
        text.push_str(&format!("Self-assessment: {}\n", calibration.word()));
    }
    // the handoff is stored after the assessment, and its place is the place of both
    let mut answer = Answer::new(view).stored(&outcome.stored);
    answer.stops = outcome.gate.as_ref().is_some_and(|gate| !gate.drift.is_safe());
    if is_last {
        let written = outcome.handoff.as_ref().and_then(|handoff| handoff.as_ref().ok());
        let whole = |handoff: &Box<_>| outcome_json(handoff, &mut Templates::built_in()).map(|(json, _)| json);
        answer = answer.with(HandedOverView { handoff: written.map(whole).transpose()? });
    }
    match &outcome.handoff {
        None => {}
        Some(Ok(handoff)) => {
            text.push_str(&format!("Handoff: {}\n", handoff.record.head.id.short()));
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
