//! Calibration of one session: did knowing and doubting move together?

use super::confidence::round4;
use crate::model::handoff::Calibration;
use crate::model::{Vector, Vectors};

/// Compares the gain in `know` with the fall in `uncertainty` (DESIGN §3): with k = Δknow and u = −Δuncertainty,
/// |k − u| < 0.15 is well calibrated, u > k + 0.20 overconfident, k > u + 0.20 underconfident, else well calibrated.
/// Without both vectors in both assessments it is not assessable.
pub fn status(before: Option<&Vectors>, after: Option<&Vectors>) -> Calibration {
    let delta = |vector: Vector| Some(after?.get(vector)? - before?.get(vector)?);
    let (Some(know), Some(uncertainty)) = (delta(Vector::Know), delta(Vector::Uncertainty)) else {
        return Calibration::NotAssessable;
    };
    let lead = round4(-uncertainty - know);
    if lead > 0.20 {
        Calibration::Overconfident
    } else if lead < -0.20 {
        Calibration::Underconfident
    } else {
        Calibration::WellCalibrated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(know: f64, uncertainty: f64) -> Vectors {
        let mut v = Vectors::default();
        assert!(v.set(Vector::Know, know) && v.set(Vector::Uncertainty, uncertainty));
        v
    }

    #[test]
    fn both_sides_of_each_edge() {
        let before = at(0.5, 0.6);
        let cases = [
            (at(0.7, 0.4), Calibration::WellCalibrated),
            (at(0.5, 0.4), Calibration::WellCalibrated), // u − k = 0.20 exactly
            (at(0.5, 0.3999), Calibration::Overconfident),
            (at(0.7, 0.6), Calibration::WellCalibrated), // k − u = 0.20 exactly
            (at(0.7001, 0.6), Calibration::Underconfident),
        ];
        for (after, expected) in cases {
            assert_eq!(status(Some(&before), Some(&after)), expected, "{after:?}");
        }
    }

    #[test]
    fn a_missing_assessment_or_vector_is_not_assessable() {
        let v = at(0.5, 0.5);
        let mut half = Vectors::default();
        half.add_pairs("know=0.5").unwrap();
        assert_eq!(status(None, Some(&v)), Calibration::NotAssessable);
        assert_eq!(status(Some(&v), None), Calibration::NotAssessable);
        assert_eq!(status(Some(&v), Some(&half)), Calibration::NotAssessable);
    }
}
