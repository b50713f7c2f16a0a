//! What is to be assessed, and how a session stands.

use serde::Serialize;

use crate::assess::guide::GuideOutcome;
use crate::fold::assessment::confidence::overall;
use crate::fold::assessment::drift::Drift;
use crate::fold::assessment::gate::GateDecision;
use crate::render::answer::Answer;
use crate::render::safe;
use empirica_notes::model::goal::{GoalState, Priority};
use empirica_notes::model::handoff::{HandoffDeadEnd, Item};
use empirica_notes::model::{Id, Phase, SessionId, Vector, Vectors};

/// What a phase asks, in a sentence.
fn question(phase: Phase) -> &'static str {
    match phase {
        Phase::Preflight => {
            "Before the work: how sure are you now, honestly, with what you have seen so far? Do not rate what you expect to know later."
        }
        Phase::Check => {
            "Before acting: how sure are you now, after what you investigated? A vector may rise only with what you learned since."
        }
        Phase::Act | Phase::Postflight => {
            "After the work: how sure are you now? Rate the present state alone, without looking at what you said before."
        }
    }
}

/// A goal that is open.
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

/// What is the same for both: session, task, what is open, and how confidence moved.
#[derive(Serialize)]
struct StateView<'a> {
    session_id: &'a SessionId,
    ai_id: &'a str,
    active: bool,
    task: Option<&'a str>,
    open_goals: Vec<OpenGoalView<'a>>,
    remaining_unknowns: &'a [Item],
    key_findings: &'a [Item],
    dead_ends: &'a [HandoffDeadEnd],
    drift_analysis: &'a Drift,
    safe_to_proceed: bool,
}

impl<'a> From<&'a GuideOutcome> for StateView<'a> {
    fn from(outcome: &'a GuideOutcome) -> Self {
        let GuideOutcome { gathered, gate, .. } = outcome;
        StateView {
            session_id: &gathered.session.id,
            ai_id: &gathered.session.ai,
            active: gathered.session.is_active(),
            task: outcome.task.as_deref(),
            open_goals: outcome.goals().map(OpenGoalView::from).collect(),
            remaining_unknowns: outcome.unknowns(),
            key_findings: &gathered.findings,
            dead_ends: &gathered.dead_ends,
            drift_analysis: &gate.drift,
            safe_to_proceed: gate.drift.is_safe(),
        }
    }
}

/// A vector to be rated.
#[derive(Serialize)]
struct VectorView {
    name: &'static str,
    at_1: &'static str,
    better: &'static str,
}

/// What is to be assessed.
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

/// What is to be assessed in a phase: each vector with its meaning, the task, and what is open.
pub fn to_assess(outcome: &GuideOutcome, phase: Phase) -> Answer {
    let vector = |vector: Vector| {
        let better = if vector.less_is_better() { "lower" } else { "higher" };
        VectorView { name: vector.name(), at_1: vector.meaning(), better }
    };
    let view = GuideView {
        state: StateView::from(outcome),
        phase,
        round: outcome.gathered.next_round(phase),
        question: question(phase),
        recommendation: (phase == Phase::Check).then_some(outcome.gate.recommendation),
        // the earlier values would be an anchor: whoever wants them asks for the state
        vectors: Vector::ALL.map(vector),
    };
    Answer::new(view).text(text(outcome)).warn(outcome.warnings.clone())
}

/// How a session stands.
#[derive(Serialize)]
struct StandingView<'a> {
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

/// How a session stands: its last vectors, what is open, and whether it is safe to act.
pub fn stands(outcome: &GuideOutcome) -> Answer {
    let vectors = outcome.vectors();
    let (head, last) = outcome.last().map(|(head, assessment)| (head, assessment)).unzip();
    let view = StandingView {
        state: StateView::from(outcome),
        overall_confidence: overall(&vectors),
        vectors: &vectors,
        recommendation: outcome.gate.recommendation,
        decision: outcome.gate.decision,
        phase: last.map(|assessment| assessment.phase),
        round: last.map(|assessment| assessment.round),
        checkpoint_id: head.map(|head| &head.id),
        timestamp: head.map(|head| head.at.as_str()),
        assessments: outcome.gathered.assessments.len(),
    };
    Answer::new(view).text(text(outcome)).warn(outcome.warnings.clone())
}

fn text(outcome: &GuideOutcome) -> String {
    let task = outcome.task.as_deref().map_or_else(|| "no task was named".to_owned(), safe::line);
    format!("Session {}: {task}\n", outcome.gathered.session.id.short())
}
