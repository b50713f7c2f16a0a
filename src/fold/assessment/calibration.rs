//! Self-assessment of a session: whether know and uncertainty moved together. `track_record.rs` compares forecasts with
//! outcomes.

use crate::fold::assessment::confidence::round4;
use empirica_notes::model::handoff::Calibration;
use empirica_notes::model::{Vector, Vectors};

/// Self-assessment of a session, with its grounds.
#[derive(Debug, Clone, PartialEq)]
pub struct CalibrationResult {
    pub status: Calibration,
    /// Δknow, rounded to 4 decimals; `None` if missing on either side.
    pub know: Option<f64>,
    /// −Δuncertainty, rounded to 4 decimals; `None` likewise.
    pub uncertainty: Option<f64>,
    /// Both numbers and their difference, or the missing ones: a sentence without a full stop.
    pub why: String,
}

/// Compares the gain in `know` with the fall in `uncertainty`: with k = Δknow and u = −Δuncertainty,
/// |k − u| < 0.15 is well calibrated, u > k + 0.20 overconfident, k > u + 0.20 underconfident, else well calibrated.
/// Without both vectors in both assessments it is not assessable.
pub fn status(before: Option<&Vectors>, after: Option<&Vectors>) -> Calibration {
    calibrate(before, after).status
}

/// Same, with numbers and grounds. `before` has the vectors of the first PREFLIGHT, `after` those of the POSTFLIGHT
/// that ended the work.
pub fn calibrate(before: Option<&Vectors>, after: Option<&Vectors>) -> CalibrationResult {
    let delta = |vector: Vector| Some(after?.get(vector)? - before?.get(vector)?);
    let (know, uncertainty) = (delta(Vector::Know), delta(Vector::Uncertainty).map(|delta| -delta));
    // + 0.0 turns -0.0 into 0.0
    let shown = |delta: Option<f64>| delta.map(|delta| round4(delta) + 0.0);
    let (status, why) = match (know, uncertainty) {
        (Some(k), Some(u)) => {
            let lead = round4(u - k);
            let numbers =
                format!("Δknow {} and −Δuncertainty {} are {} apart", signed(k), signed(u), exact(lead.abs()));
            if lead > 0.20 {
                (Calibration::Overconfident, format!("{numbers}: doubt fell by over 0.20 more than knowledge grew"))
            } else if lead < -0.20 {
                (Calibration::Underconfident, format!("{numbers}: knowledge grew by over 0.20 more than doubt fell"))
            } else {
                (Calibration::WellCalibrated, format!("{numbers}, 0.20 at most: knowing and doubting moved together"))
            }
        }
        _ => (Calibration::NotAssessable, missing(before, after)),
    };
    CalibrationResult { status, know: shown(know), uncertainty: shown(uncertainty), why }
}

fn missing(before: Option<&Vectors>, after: Option<&Vectors>) -> String {
    let mut out = Vec::new();
    for (vectors, absent, name) in [
        (before, "there is no PREFLIGHT", "the first PREFLIGHT"),
        (after, "there is no POSTFLIGHT that ended the work", "the POSTFLIGHT"),
    ] {
        let Some(vectors) = vectors else {
            out.push(absent.to_owned());
            continue;
        };
        let lacks = [Vector::Know, Vector::Uncertainty].into_iter().filter(|vector| vectors.get(*vector).is_none());
        let lacks: Vec<&str> = lacks.map(Vector::name).collect();
        if !lacks.is_empty() {
            out.push(format!("{name} gave no {}", lacks.join(" and no ")));
        }
    }
    out.join("; ")
}

/// Two to four decimals, to show which side of a threshold a value is on.
fn exact(value: f64) -> String {
    let text = format!("{:.4}", round4(value) + 0.0);
    text.strip_suffix("00").or(text.strip_suffix('0')).map_or(text.clone(), str::to_owned)
}

fn signed(value: f64) -> String {
    let text = exact(value);
    if text.starts_with('-') { text } else { format!("+{text}") }
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

    #[test]
    fn the_reason_has_both_numbers_or_says_what_is_missing() {
        let before = at(0.5, 0.6);
        let why = |after: &Vectors| calibrate(Some(&before), Some(after)).why;
        assert_eq!(
            why(&at(0.8, 0.3)),
            "Δknow +0.30 and −Δuncertainty +0.30 are 0.00 apart, 0.20 at most: knowing and doubting moved together"
        );
        assert_eq!(
            why(&at(0.4, 0.4999)),
            "Δknow -0.10 and −Δuncertainty +0.1001 are 0.2001 apart: doubt fell by over 0.20 more than knowledge grew"
        );
        assert_eq!(
            why(&at(0.75, 0.625)),
            "Δknow +0.25 and −Δuncertainty -0.025 are 0.275 apart: knowledge grew by over 0.20 more than doubt fell"
        );
        let mut half = Vectors::default();
        half.add_pairs("do=0.5").unwrap();
        assert_eq!(
            calibrate(Some(&half), None).why,
            "the first PREFLIGHT gave no know and no uncertainty; there is no POSTFLIGHT that ended the work"
        );
        half.add_pairs("know=0.7").unwrap();
        let incomplete = calibrate(None, Some(&half));
        assert_eq!(incomplete.why, "there is no PREFLIGHT; the POSTFLIGHT gave no uncertainty");
        let incomplete = calibrate(Some(&before), Some(&half));
        assert_eq!((incomplete.know, incomplete.uncertainty), (Some(0.2), None));
    }
}
