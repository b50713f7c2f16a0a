//! The gates: whether to investigate first, and whether to act.

use crate::fold::assessment::confidence::{overall, round4};
use crate::fold::assessment::drift::{Drift, EvidenceGained, Severity, of_session};
use empirica_notes::model::{Assessment, Envelope, Vector, Vectors};
use schemars::JsonSchema;
use serde::Serialize;

/// Most uncertainty to proceed.
const UNCERTAIN: f64 = 0.6;
/// Least values of `know` and `state` to proceed without investigating.
const KNOWING: f64 = 0.7;
const STATE: f64 = 0.6;
/// Least confidence to act.
const CONFIDENT: f64 = 0.70;

/// Whether an uncertainty above 0.6 is given.
pub fn is_uncertain(vectors: &Vectors) -> bool {
    vectors.get(Vector::Uncertainty).is_some_and(|value| round4(value) > UNCERTAIN)
}

/// The given vectors that recommend investigating first: uncertainty above 0.6, know below 0.7, state below 0.6.
pub fn triggers(vectors: &Vectors) -> Vec<Vector> {
    let below = |vector, least: f64| vectors.get(vector).is_some_and(|value| round4(value) < least);
    [
        (Vector::Know, below(Vector::Know, KNOWING)),
        (Vector::State, below(Vector::State, STATE)),
        (Vector::Uncertainty, is_uncertain(vectors)),
    ]
    .into_iter()
    .filter_map(|(vector, on)| on.then_some(vector))
    .collect()
}

empirica_notes::named_enum! {
    pub enum GateDecision {
        Proceed = "proceed",
        Investigate = "investigate",
    }
}

/// The confidence to act of an assessment: as claimed, otherwise its overall confidence. `None` if it claims none and has
/// no vector but uncertainty.
pub fn confidence(assessment: &Assessment) -> Option<f64> {
    assessment.confidence.or_else(|| overall(&assessment.vectors))
}

/// Whether to act, by the last assessment.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Gate {
    /// How confidence moved.
    #[serde(rename = "drift_analysis")]
    pub drift: Drift,
    /// Whether the drift is not severe; if it is, the exit code is 3.
    pub safe_to_proceed: bool,
    /// `proceed` if `confidence` (else `overall_confidence`) is 0.70 or more, the drift is not severe and the session's newest
    /// uncertainty is 0.6 or less; null without an assessment.
    pub decision: Option<GateDecision>,
    /// Why, with the value: `uncertainty 0.99 is above 0.60`; null without an assessment.
    #[serde(rename = "decision_reason")]
    pub reason: Option<String>,
    /// proceed, investigate, recalibrate_before_acting or stop; `None` without an assessment.
    #[serde(skip)]
    pub recommendation: Option<&'static str>,
}

/// The gate after the last of a session's assessments. An assessment without uncertainty leaves the newest one in effect.
pub fn gate(steps: &[(&Envelope, &Assessment, EvidenceGained)], window: usize) -> Gate {
    let drift = of_session(steps, window);
    let safe_to_proceed = drift.is_safe();
    let Some((_, last, _)) = steps.last() else {
        return Gate { drift, safe_to_proceed, decision: None, reason: None, recommendation: None };
    };
    let doubt = steps.iter().rev().find_map(|(_, a, _)| Some((a.vectors.get(Vector::Uncertainty)?, *a)));
    let (decision, reason) = decide(last, doubt, &drift);
    let recommendation = Some(recommend(decision, &drift));
    Gate { drift, safe_to_proceed, decision: Some(decision), reason: Some(reason), recommendation }
}

/// Proceeds from a confidence of 0.70 on, unless the drift is severe or the uncertainty above 0.6. `doubt` is the newest
/// uncertainty with its assessment.
fn decide(last: &Assessment, doubt: Option<(f64, &Assessment)>, drift: &Drift) -> (GateDecision, String) {
    if !drift.is_safe() {
        return (GateDecision::Investigate, "the drift is severe".to_owned());
    }
    if let Some((value, from)) = doubt.filter(|(value, _)| round4(*value) > UNCERTAIN) {
        let of = if from == last { String::new() } else { format!(" of {} {}", from.phase.name(), from.round) };
        return (GateDecision::Investigate, format!("uncertainty {}{of} is above 0.60", near(value, UNCERTAIN)));
    }
    let Some(value) = confidence(last) else {
        return (GateDecision::Investigate, "there is no confidence to act on".to_owned());
    };
    let name = if last.confidence.is_some() { "confidence" } else { "overall confidence" };
    let shown = near(value, CONFIDENT);
    match round4(value) >= CONFIDENT {
        true => (GateDecision::Proceed, format!("{name} {shown} is 0.70 or more")),
        false => (GateDecision::Investigate, format!("{name} {shown} is below 0.70")),
    }
}

/// A value with two decimals, or four near a threshold, to show its side.
fn near(value: f64, edge: f64) -> String {
    if (value - edge).abs() < 0.005 { format!("{:.4}", round4(value)) } else { format!("{value:.2}") }
}

/// Stop on severe drift, recalibrate on moderate drift, otherwise the decision.
fn recommend(decision: GateDecision, drift: &Drift) -> &'static str {
    match drift.severity {
        Severity::Severe => "stop",
        Severity::Moderate => "recalibrate_before_acting",
        Severity::None | Severity::Minor => decision.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use empirica_notes::model::Phase;

    fn vectors(text: &str) -> Vectors {
        let mut v = Vectors::default();
        v.add_pairs(text).unwrap();
        v
    }

    #[test]
    fn both_sides_of_each_threshold() {
        for (text, expected) in [
            ("uncertainty=0.6", vec![]),
            ("uncertainty=0.60004", vec![]),
            ("uncertainty=0.6001", vec![Vector::Uncertainty]),
            ("know=0.7", vec![]),
            ("know=0.69996", vec![]),
            ("know=0.6999", vec![Vector::Know]),
            ("state=0.6", vec![]),
            ("state=0.5999", vec![Vector::State]),
            ("do=0.1,clarity=0.1", vec![]),
            ("know=0.1,state=0.1,uncertainty=0.9", vec![Vector::Know, Vector::State, Vector::Uncertainty]),
        ] {
            assert_eq!(triggers(&vectors(text)), expected, "{text}");
        }
    }

    fn check(text: &str, confidence: Option<f64>) -> Assessment {
        let vectors = vectors(text);
        Assessment {
            phase: Phase::Check,
            round: 1,
            vectors,
            confidence,
            reasoning: None,
            task: None,
            cycle: None,
            scope: None,
            tags: Vec::new(),
            meta: Default::default(),
        }
    }

    fn decided(checks: &[(&str, Option<f64>)]) -> (GateDecision, String) {
        let head = Envelope {
            v: 1,
            id: empirica_notes::model::Id::at(1),
            session: None,
            ai: "a".into(),
            at: String::new(),
            commit: None,
            tree: None,
        };
        let all: Vec<Assessment> = checks.iter().map(|(text, confidence)| check(text, *confidence)).collect();
        let steps: Vec<_> = all.iter().map(|a| (&head, a, EvidenceGained::default())).collect();
        let gate = gate(&steps, 3);
        (gate.decision.unwrap(), gate.reason.unwrap())
    }

    #[test]
    fn acting_needs_confidence_without_much_doubt() {
        let of = |text: &str, confidence| decided(&[(text, confidence)]);
        let (yes, no) = (GateDecision::Proceed, GateDecision::Investigate);
        for (text, confidence, decision, reason) in [
            ("know=0.7", None, yes, "overall confidence 0.7000 is 0.70 or more"),
            ("know=0.69996", None, yes, "overall confidence 0.7000 is 0.70 or more"),
            ("know=0.6999", None, no, "overall confidence 0.6999 is below 0.70"),
            ("know=0.2", Some(0.9), yes, "confidence 0.90 is 0.70 or more"),
            ("uncertainty=0.2", None, no, "there is no confidence to act on"),
            ("know=0.9,uncertainty=0.60004", None, yes, "overall confidence 0.90 is 0.70 or more"),
            ("know=0.9,uncertainty=0.6001", None, no, "uncertainty 0.6001 is above 0.60"),
            ("know=0.9,uncertainty=0.99", Some(0.95), no, "uncertainty 0.99 is above 0.60"),
        ] {
            assert_eq!(of(text, confidence), (decision, reason.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_doubt_lasts_until_another_uncertainty_is_given() {
        let (decision, reason) = decided(&[("know=0.8,uncertainty=0.9", None), ("know=0.8", None)]);
        assert_eq!(
            (decision, reason.as_str()),
            (GateDecision::Investigate, "uncertainty 0.90 of CHECK 1 is above 0.60")
        );
        let lower = [("know=0.8,uncertainty=0.7", None), ("know=0.8,uncertainty=0.6", None), ("know=0.8", None)];
        assert_eq!(decided(&lower).0, GateDecision::Proceed);
    }

    #[test]
    fn severe_drift_stops_and_moderate_drift_asks_to_recalibrate() {
        let drift = |severity| Drift { severity, ..Drift::default() };
        let sure = check("know=0.9", None);
        assert_eq!(decide(&sure, None, &drift(Severity::Moderate)).0, GateDecision::Proceed);
        assert_eq!(
            decide(&sure, None, &drift(Severity::Severe)),
            (GateDecision::Investigate, "the drift is severe".to_owned())
        );
        assert_eq!(recommend(GateDecision::Proceed, &drift(Severity::Minor)), "proceed");
        assert_eq!(recommend(GateDecision::Investigate, &drift(Severity::None)), "investigate");
        assert_eq!(recommend(GateDecision::Proceed, &drift(Severity::Moderate)), "recalibrate_before_acting");
        assert_eq!(recommend(GateDecision::Investigate, &drift(Severity::Severe)), "stop");
    }
}
