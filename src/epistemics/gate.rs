//! The gates: may one go on without investigating, may one act?

use super::confidence::{overall, round4};
use super::drift::{Drift, Severity};
use crate::model::{Assessment, Vector, Vectors};

/// Above this the uncertainty is high (DESIGN §3).
const UNCERTAIN: f64 = 0.6;
/// Below this too little is known to proceed.
const KNOWING: f64 = 0.7;
/// Below this the state of things is too little understood to proceed.
const STATE: f64 = 0.6;
/// From this confidence on one may act.
const CONFIDENT: f64 = 0.70;

/// Whether the uncertainty is above 0.6. Not given, it is not.
pub fn is_uncertain(vectors: &Vectors) -> bool {
    vectors.get(Vector::Uncertainty).is_some_and(|value| round4(value) > UNCERTAIN)
}

/// The vectors that recommend to investigate before the work: uncertainty above 0.6, know below 0.7, state below 0.6,
/// of those given. Empty: proceed.
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

/// What a check decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Decision {
    Proceed,
    Investigate,
}

impl Decision {
    /// The word used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Decision::Proceed => "proceed",
            Decision::Investigate => "investigate",
        }
    }
}

/// The confidence an assessment would act with: the one it claims, else its overall confidence. `None` when it claims
/// none and gives nothing but uncertainty.
pub fn confidence(assessment: &Assessment) -> Option<f64> {
    assessment.confidence.or_else(|| overall(&assessment.vectors))
}

/// Proceed from a confidence of 0.70, unless the drift is severe. Without any confidence there is nothing to act on.
pub fn decide(confidence: Option<f64>, drift: &Drift) -> Decision {
    let confident = confidence.is_some_and(|confidence| round4(confidence) >= CONFIDENT);
    if confident && drift.is_safe() { Decision::Proceed } else { Decision::Investigate }
}

/// What to do now: stop on severe drift, recalibrate on moderate, else as decided.
pub fn recommend(decision: Decision, drift: &Drift) -> &'static str {
    match drift.severity {
        Severity::Severe => "stop",
        Severity::Moderate => "recalibrate_before_acting",
        Severity::None | Severity::Minor => decision.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vectors(text: &str) -> Vectors {
        let mut v = Vectors::default();
        v.add_pairs(text).unwrap();
        v
    }

    #[test]
    fn both_sides_of_each_threshold() {
        for (given, expected) in [
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
            assert_eq!(triggers(&vectors(given)), expected, "{given}");
        }
    }

    #[test]
    fn one_acts_with_confidence_and_without_severe_drift() {
        let calm = Drift::default();
        let severe = Drift { severity: Severity::Severe, ..Drift::default() };
        let moderate = Drift { severity: Severity::Moderate, ..Drift::default() };
        assert_eq!(decide(Some(0.7), &calm), Decision::Proceed);
        assert_eq!(decide(Some(0.69996), &calm), Decision::Proceed);
        assert_eq!(decide(Some(0.6999), &calm), Decision::Investigate);
        assert_eq!(decide(None, &calm), Decision::Investigate);
        assert_eq!(decide(Some(0.9), &moderate), Decision::Proceed);
        assert_eq!(decide(Some(0.9), &severe), Decision::Investigate);
        assert_eq!(recommend(Decision::Proceed, &calm), "proceed");
        assert_eq!(recommend(Decision::Investigate, &calm), "investigate");
        assert_eq!(recommend(Decision::Proceed, &moderate), "recalibrate_before_acting");
        assert_eq!(recommend(Decision::Investigate, &severe), "stop");
    }
}
