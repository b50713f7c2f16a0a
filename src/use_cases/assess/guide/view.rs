//! The answers before an assessment: what to rate, and the state of a session.

use serde::Serialize;

use crate::fold::assessment::confidence::overall;
use crate::fold::assessment::drift::Drift;
use crate::fold::assessment::gate::GateDecision;
use crate::render::answer::Answer;
use crate::render::safe;
use crate::use_cases::assess::guide::GuideOutcome;
use empirica_notes::model::goal::{GoalState, GoalStatus, Priority};
use empirica_notes::model::handoff::Item;
use empirica_notes::model::journal::DeadEnd;
use empirica_notes::model::{Id, Phase, SessionId, Vector, Vectors};

fn question(phase: Phase) -> &'static str {
    match phase {
        Phase::Preflight => {
            "Before the work: how sure are you now, honestly, with what you have seen so far? Do not rate what you expect to know later."
        }
        Phase::Check => {
            "Before acting: how sure are you now, after what you investigated? A vector may rise only with what you learned since."
        }
        Phase::Act | Phase::Postflight => {
            "After the work: how sure are you now? Rate the present state alone, without looking at your earlier values."
        }
    }
}

#[derive(Serialize)]
struct OpenGoalView<'a> {
    id: &'a Id,
    description: &'a str,
    priority: Priority,
    progress: Option<String>,
}

impl<'a> From<&'a GoalState> for OpenGoalView<'a> {
    fn from(goal: &'a GoalState) -> Self {
        OpenGoalView { id: &goal.id, description: &goal.text, priority: goal.priority, progress: goal.progress() }
    }
}

/// Session, task, what is open, and how confidence moved.
#[derive(Serialize)]
struct StateView<'a> {
    session_id: &'a SessionId,
    ai_id: &'a str,
    active: bool,
    task: Option<&'a str>,
    open_goals: Vec<OpenGoalView<'a>>,
    remaining_unknowns: &'a [Item],
    key_findings: &'a [Item],
    dead_ends: &'a [DeadEnd],
    drift_analysis: &'a Drift,
    safe_to_proceed: bool,
}

impl<'a> From<&'a GuideOutcome> for StateView<'a> {
    fn from(outcome: &'a GuideOutcome) -> Self {
        let GuideOutcome { records, gate, .. } = outcome;
        let open = records.goals.iter().filter(|goal| goal.status == GoalStatus::Open);
        StateView {
            session_id: &records.session.id,
            ai_id: &records.session.ai,
            active: records.session.is_active(),
            task: outcome.task.as_deref(),
            open_goals: open.map(OpenGoalView::from).collect(),
            remaining_unknowns: &records.unknowns,
            key_findings: &records.findings,
            dead_ends: &records.dead_ends,
            drift_analysis: &gate.drift,
            safe_to_proceed: gate.drift.is_safe(),
        }
    }
}

#[derive(Serialize)]
struct VectorView {
    name: &'static str,
    at_1: &'static str,
    better: &'static str,
}

#[derive(Serialize)]
struct GuideView<'a> {
    #[serde(flatten)]
    state: StateView<'a>,
    phase: Phase,
    round: u32,
    question: &'a str,
    /// Of a CHECK.
    #[serde(skip_serializing_if = "Option::is_none")]
    recommendation: Option<Option<&'a str>>,
    vectors: [VectorView; 13],
}

/// The answer of an assessment to come: each vector with its meaning, the task, and what is open.
pub fn to_assess(outcome: &GuideOutcome, phase: Phase) -> Answer {
    let vector = |vector: Vector| {
        let better = if vector.less_is_better() { "lower" } else { "higher" };
        VectorView { name: vector.name(), at_1: vector.meaning(), better }
    };
    let view = GuideView {
        state: StateView::from(outcome),
        phase,
        round: outcome.records.next_round(phase),
        question: question(phase),
        recommendation: (phase == Phase::Check).then_some(outcome.gate.recommendation),
        // without the earlier values, which would be an anchor
        vectors: Vector::ALL.map(vector),
    };
    Answer::new(view).text(text(outcome)).warn(outcome.warnings.clone())
}

#[derive(Serialize)]
struct SessionStateView<'a> {
    #[serde(flatten)]
    state: StateView<'a>,
    vectors: &'a Vectors,
    overall_confidence: Option<f64>,
    recommendation: Option<&'a str>,
    decision: Option<GateDecision>,
    phase: Option<Phase>,
    round: Option<u32>,
    checkpoint_id: Option<&'a Id>,
    timestamp: Option<&'a str>,
    assessments: usize,
}

/// The state of a session: its last vectors, what is open, and whether it is safe to act.
pub fn state(outcome: &GuideOutcome) -> Answer {
    let (head, last) = outcome.records.assessments.last().map(|(head, assessment)| (head, assessment)).unzip();
    let vectors = last.map(|assessment| assessment.vectors.clone()).unwrap_or_default();
    let view = SessionStateView {
        state: StateView::from(outcome),
        overall_confidence: overall(&vectors),
        vectors: &vectors,
        recommendation: outcome.gate.recommendation,
        decision: outcome.gate.decision,
        phase: last.map(|assessment| assessment.phase),
        round: last.map(|assessment| assessment.round),
        checkpoint_id: head.map(|head| &head.id),
        timestamp: head.map(|head| head.at.as_str()),
        assessments: outcome.records.assessments.len(),
    };
    Answer::new(view).text(text(outcome)).warn(outcome.warnings.clone())
}

fn text(outcome: &GuideOutcome) -> String {
    let task = outcome.task.as_deref().map_or_else(|| "no task was named".to_owned(), safe::line);
    format!("Session {}: {task}\n", outcome.records.session.id.short())
}
