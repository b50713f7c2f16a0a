//! Recommended next steps: the seed's sentences, from where the vectors ended.

use super::confidence::round4;
use crate::model::handoff::Calibration;
use crate::model::{Vector, Vectors};

/// The sentences that apply, verbatim, in the seed's order (`_generate_recommendations`). `after` is the last
/// assessment; without one only the number of unknowns speaks.
pub fn steps(after: Option<&Vectors>, unknowns: usize, calibration: Calibration) -> Vec<String> {
    let value = |vector| after.and_then(|v| v.get(vector)).map(round4);
    let (uncertainty, know) = (value(Vector::Uncertainty), value(Vector::Know));
    let mut out = Vec::new();
    if uncertainty.is_some_and(|u| u > 0.40) {
        out.push("Continue investigation - uncertainty still elevated".to_owned());
    }
    if unknowns > 0 {
        out.push(format!("Address {unknowns} remaining unknowns"));
    }
    match calibration {
        Calibration::Overconfident => out.push("Validate assumptions - showing overconfidence pattern".to_owned()),
        Calibration::Underconfident => out.push("Consider execution - showing underconfidence pattern".to_owned()),
        Calibration::WellCalibrated | Calibration::NotAssessable => {}
    }
    if uncertainty.is_some_and(|u| u < 0.30) && know.is_some_and(|k| k > 0.80) {
        out.push("Ready for execution - strong epistemic foundation".to_owned());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Vectors {
        let mut v = Vectors::default();
        v.add_pairs(text).unwrap();
        v
    }

    #[test]
    fn each_sentence_on_both_sides_of_its_edge() {
        let w = Calibration::WellCalibrated;
        assert_eq!(
            steps(Some(&at("uncertainty=0.4001")), 0, w),
            ["Continue investigation - uncertainty still elevated"]
        );
        assert!(steps(Some(&at("uncertainty=0.40")), 0, w).is_empty());
        assert_eq!(steps(None, 2, Calibration::NotAssessable), ["Address 2 remaining unknowns"]);
        assert_eq!(
            steps(Some(&at("uncertainty=0.29,know=0.81")), 0, w),
            ["Ready for execution - strong epistemic foundation"]
        );
        assert!(steps(Some(&at("uncertainty=0.30,know=0.9")), 0, w).is_empty());
        assert!(steps(Some(&at("uncertainty=0.1,know=0.80")), 0, w).is_empty());
        assert_eq!(
            steps(None, 0, Calibration::Overconfident),
            ["Validate assumptions - showing overconfidence pattern"]
        );
        assert_eq!(
            steps(None, 0, Calibration::Underconfident),
            ["Consider execution - showing underconfidence pattern"]
        );
    }
}
