//! What is to be assessed, and how a session stands.

use serde_json::{Map, Value, json};

use crate::assess::guide::GuideOutcome;
use crate::assess::view::DriftView;
use crate::fold::assessment::confidence::overall;
use crate::render::answer::Answer;
use crate::render::safe;
use empirica_notes::model::handoff::Item;
use empirica_notes::model::{Phase, Vector};

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

fn items(items: &[Item]) -> Vec<Value> {
    items.iter().map(|item| json!({"id": item.id, "text": item.text})).collect()
}

/// What is the same for both: session, task, what is open, and how confidence moved.
fn state(outcome: &GuideOutcome) -> Map<String, Value> {
    let (gathered, gate) = (&outcome.gathered, &outcome.gate);
    let goal = |goal: &empirica_notes::model::goal::GoalState| json!({"id": goal.id, "description": goal.text, "priority": goal.priority, "progress": goal.progress()});
    let json = json!({
        "session_id": gathered.session.id,
        "ai_id": gathered.session.ai,
        "active": gathered.session.is_active(),
        "task": outcome.task,
        "open_goals": outcome.goals().map(goal).collect::<Vec<_>>(),
        "remaining_unknowns": items(outcome.unknowns()),
        "key_findings": items(&gathered.findings),
        "dead_ends": gathered.dead_ends,
        "drift_analysis": DriftView::from(&gate.drift),
        "safe_to_proceed": gate.drift.is_safe(),
    });
    match json {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// What is to be assessed in a phase: each vector with its meaning, the task, and what is open.
pub fn to_assess(outcome: &GuideOutcome, phase: Phase) -> Answer {
    let vector = |vector: Vector| {
        let better = if vector.less_is_better() { "lower" } else { "higher" };
        json!({"name": vector.name(), "at_1": vector.meaning(), "better": better})
    };
    let mut json = state(outcome);
    json.insert("phase".to_owned(), json!(phase));
    json.insert("round".to_owned(), json!(outcome.gathered.next_round(phase)));
    json.insert("question".to_owned(), json!(question(phase)));
    if phase == Phase::Check {
        json.insert("recommendation".to_owned(), json!(outcome.gate.recommendation));
    }
    json.insert("vectors".to_owned(), json!(Vector::ALL.map(vector)));
    // the earlier values would be an anchor: whoever wants them asks for the state
    Answer::new(Value::Object(json)).text(text(outcome)).warn(outcome.warnings.clone())
}

/// How a session stands: its last vectors, what is open, and whether it is safe to act.
pub fn stands(outcome: &GuideOutcome) -> Answer {
    let mut json = state(outcome);
    let vectors = outcome.vectors();
    json.insert("vectors".to_owned(), json!(vectors));
    json.insert("overall_confidence".to_owned(), json!(overall(&vectors)));
    json.insert("recommendation".to_owned(), json!(outcome.gate.recommendation));
    json.insert("decision".to_owned(), json!(outcome.gate.decision.map(|decision| decision.name())));
    let last = outcome.last();
    json.insert("phase".to_owned(), json!(last.map(|(_, assessment)| assessment.phase)));
    json.insert("round".to_owned(), json!(last.map(|(_, assessment)| assessment.round)));
    json.insert("checkpoint_id".to_owned(), json!(last.map(|(head, _)| &head.id)));
    json.insert("timestamp".to_owned(), json!(last.map(|(head, _)| &head.at)));
    json.insert("assessments".to_owned(), json!(outcome.gathered.assessments.len()));
    Answer::new(Value::Object(json)).text(text(outcome)).warn(outcome.warnings.clone())
}

fn text(outcome: &GuideOutcome) -> String {
    let task = outcome.task.as_deref().map_or_else(|| "no task was named".to_owned(), safe::line);
    format!("Session {}: {task}\n", outcome.gathered.session.id.short())
}
