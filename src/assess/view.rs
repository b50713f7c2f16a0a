//! The answers of the workflow: assessments with their goals and gates, and drift.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::assess;
use crate::assess::drift;
use crate::assess::drift::Drift;
use crate::assess::drift::current as drifts;
use crate::assess::gate::Gate;
use crate::assess::goal_suggestions;
use crate::checkpoint::diff::view::deltas_json;
use crate::fold::assessment::trajectory;
use crate::handoff::view::{hint_missing, markdown, outcome_json};
use crate::render::answer::Answer;
use crate::render::pairs::Pairs;
use crate::render::template::Templates;
use crate::render::{format, safe};
use empirica_notes::error::Result;
use empirica_notes::model::goal::{GoalDone, GoalState};
use empirica_notes::model::{Phase, Vector};

/// A goal that a PREFLIGHT proposed, as JSON.
fn goal_json(goal: &GoalState) -> Value {
    json!({
        "id": goal.id,
        "description": goal.text,
        "priority": goal.priority,
        "rationale": goal.rationale,
    })
}

fn goal_lines(goals: &[GoalState]) -> String {
    let line = |goal: &GoalState| {
        let why = goal.rationale.as_ref().map(|why| format!("\n      {}", safe::indented(why, 6))).unwrap_or_default();
        format!("  {} {:<6} {}{why}\n", goal.id.short(), goal.priority.name(), safe::line(&goal.text))
    };
    let list: String = goals.iter().map(line).collect();
    if list.is_empty() { list } else { format!("Suggested goals:\n{list}") }
}

/// How confidence moved: the newest assessment of the window against the mean of those before it. Counted are engagement, know, do,
/// context, clarity, coherence, signal and uncertainty. A fall counts; a gain counts as far as it goes beyond the assessments since
/// which nothing was learned (no finding, answer, decision or source with a new text, and no evidence that passed). Where
/// something was learned, a gain above 0.30 counts unless evidence passed or three such claims were logged since.
#[derive(Serialize, JsonSchema)]
pub struct DriftView {
    /// Whether a counted move is 0.05 or more.
    detected: bool,
    /// The sort of move.
    #[serde(rename = "type")]
    kind: drift::Kind,
    /// The sort of move, a sentence.
    pattern: &'static str,
    /// By the largest counted move: minor below 0.15, moderate to 0.30, severe above.
    severity: drift::Severity,
    /// How many assessments were to be compared.
    window_size: usize,
    /// How many were there.
    assessments_analyzed: usize,
    /// The moves of the counted vectors that are given on both sides.
    vector_deltas: Pairs<Vector, f64>,
}

impl From<&Drift> for DriftView {
    fn from(drift: &Drift) -> Self {
        DriftView {
            detected: drift.detected,
            kind: drift.kind,
            pattern: drift.pattern(),
            severity: drift.severity,
            window_size: drift.window,
            assessments_analyzed: drift.analyzed,
            vector_deltas: Pairs(drift.deltas.clone()),
        }
    }
}

/// Drift in a line.
pub fn drift_line(drift: &Drift) -> String {
    match (drift.analyzed, drift.detected) {
        (0 | 1, _) => "Drift: none yet; it takes two assessments".to_owned(),
        (_, false) => format!("Drift: none: {}", drift.pattern()),
        (_, true) => {
            let kind = drift.kind.name().replace('_', " ");
            format!("Drift: {}, {kind}: {}", drift.severity.name(), drift.pattern())
        }
    }
}

/// Drift with what it was seen from.
fn drift_lines(drift: &Drift) -> String {
    let line = drift_line(drift);
    if drift.analyzed < 2 {
        return line + "\n";
    }
    let deltas: Vec<String> =
        drift.deltas.iter().map(|(vector, delta)| format!("{vector} {}", format::signed(Some(*delta)))).collect();
    let learned = match (drift.is_undersupported && drift.is_safe(), drift.learned.is_nothing()) {
        (true, _) => "; a gain above 0.30 needs evidence that passed or 3 claims",
        (false, true) => "; nothing was learned since the last one",
        (false, false) => "",
    };
    if deltas.is_empty() {
        return format!("{line}: no vector that counts is in the newest assessment and in one before it\n");
    }
    format!("{line}\n  over {} assessments: {}{learned}\n", drift.analyzed, deltas.join(", "))
}

fn add_gate(json: &mut Value, gate: &Gate) {
    json["drift_analysis"] = json!(DriftView::from(&gate.drift));
    json["safe_to_proceed"] = json!(gate.drift.is_safe());
    json["decision"] = json!(gate.decision.map(|decision| decision.name()));
    json["decision_reason"] = json!(gate.decision.map(|_| &gate.reason));
}

/// Goals that were proposed for the weak vectors, weakest first.
pub fn proposed(outcome: &goal_suggestions::GoalSuggestions) -> Answer {
    let json = json!({
        "session_id": outcome.session_id,
        "goals": outcome.goals.iter().map(goal_json).collect::<Vec<_>>(),
        "vectors": outcome.vectors,
    });
    let answer = Answer::new(json).text(goal_lines(&outcome.goals)).stored(&outcome.stored);
    match outcome.goals.is_empty() {
        true => answer.say("No vector is weak enough for a goal."),
        false => answer,
    }
}

/// The answer of `check --drift`.
pub fn drifted(outcome: &drifts::DriftOutcome) -> Answer {
    let gate = &outcome.gate;
    let mut json = json!({"session_id": outcome.session_id, "ai_id": outcome.ai_id});
    add_gate(&mut json, gate);
    json["recommendation"] = json!(gate.recommendation);
    let mut text = drift_lines(&gate.drift);
    if let Some(recommendation) = gate.recommendation {
        text.push_str(&format!("Recommendation: {}\n", recommendation.replace('_', " ")));
    }
    let mut answer = Answer::new(json).text(text).warn(outcome.warnings.clone());
    answer.stops = !gate.drift.is_safe();
    answer
}

/// The answer of `preflight`, `check`, `postflight`.
pub fn assessed(outcome: &assess::submit::AssessOutcome) -> Result<Answer> {
    let mut json = json!({
        "session_id": outcome.session_id,
        "checkpoint_id": outcome.checkpoint_id,
        "phase": outcome.phase,
        "round": outcome.round,
        "vectors": outcome.vectors,
        "overall_confidence": outcome.overall_confidence,
        "uncertainty_detected": outcome.uncertainty_detected,
        "uncertainty_score": outcome.uncertainty_score,
        "next_step": outcome.next_step,
    });
    let mut text = format!(
        "{} {} of session {}: overall confidence {}\n{}\n",
        outcome.phase.name(),
        outcome.round,
        outcome.session_id.short(),
        format::value(outcome.overall_confidence),
        format::vectors(&outcome.vectors)
    );
    if let Some(recommendation) = outcome.recommendation {
        json["recommendation"] = json!(recommendation);
        text.push_str(&format!("Recommendation: {}\n", recommendation.replace('_', " ")));
    }
    if outcome.phase == Phase::Preflight {
        json["auto_generated_goals"] = outcome.goals.iter().map(goal_json).collect();
        text.push_str(&goal_lines(&outcome.goals));
    }
    if outcome.phase != Phase::Preflight {
        let ended = |done: &GoalDone| json!({"id": done.of, "evidence": done.evidence});
        json["goals_reached"] = outcome.goals_reached.iter().map(ended).collect();
        for done in &outcome.goals_reached {
            let evidence = done.evidence.as_deref().unwrap_or_default();
            text.push_str(&format!("Goal reached: {} ({})\n", done.of.short(), safe::line(evidence)));
        }
    }
    if let Some(since) = &outcome.compaction {
        json["since_compaction"] = json!({
            "pre_checkpoint_id": since.pre_checkpoint,
            "post_checkpoint_id": since.post_checkpoint,
            "summary": since.comparison.summary,
            "vector_deltas": deltas_json(&since.comparison),
        });
        let shown = since.comparison.vector_deltas.iter().flatten();
        let shown: Vec<String> =
            shown.map(|(vector, delta)| format!("{vector} {}", format::signed(Some(*delta)))).collect();
        text.push_str(&format!(
            "Since checkpoint {}, before the compaction: {}\n",
            since.pre_checkpoint.short(),
            shown.join(", ")
        ));
    }
    if let Some(gate) = &outcome.gate {
        add_gate(&mut json, gate);
        if let Some(decision) = gate.decision {
            text.push_str(&format!("Decision: {} ({})\n", decision.name(), gate.reason));
        }
        text.push_str(&drift_lines(&gate.drift));
    }
    if outcome.phase != Phase::Preflight {
        json["confidence"] = json!(outcome.confidence);
        let shown = format::deltas(&outcome.since);
        if !shown.is_empty() {
            text.push_str(&format!("Since PREFLIGHT: {shown}\n"));
        }
        let deltas = trajectory::deltas(&outcome.since);
        json["deltas"] = deltas.into_iter().map(|(name, delta)| (name, json!(delta))).collect::<Map<_, _>>().into();
    }
    if let Some(calibration) = outcome.calibration_status {
        json["calibration_status"] = json!(calibration);
        text.push_str(&format!("Self-assessment: {}\n", calibration.word()));
    }
    // the handoff is stored after the assessment: it says where both are
    let mut answer = Answer::new(json).stored(&outcome.stored);
    answer.stops = outcome.gate.as_ref().is_some_and(|gate| !gate.drift.is_safe());
    match &outcome.handoff {
        None if outcome.phase == Phase::Postflight => {
            answer.json.insert("handoff".to_owned(), Value::Null);
        }
        None => {}
        Some(Ok(handoff)) => {
            let built_in = markdown(&mut Templates::built_in(), &handoff.record)?;
            answer.json.insert("handoff".to_owned(), outcome_json(handoff, &built_in).into());
            text.push_str(&format!("Handoff: {}\n", handoff.record.head.id.short()));
            answer = answer.stored(&handoff.stored);
            answer = hint_missing(answer, handoff, "/handoff");
        }
        Some(Err(error)) => {
            answer.json.insert("handoff".to_owned(), Value::Null);
            let causes = error.causes().iter().map(|cause| format!(": {cause}")).collect::<String>();
            answer =
                answer.warn([format!("the assessment is stored, but the handoff was not written: {error}{causes}")]);
        }
    }
    let kind = format!("{} {}", outcome.phase.name(), outcome.recommendation.unwrap_or_default());
    let answer = answer.text(text).remedy("/next_step", outcome.next_step.clone());
    Ok(answer.hint_once(&outcome.session_id, kind, outcome.next_step.clone()))
}
