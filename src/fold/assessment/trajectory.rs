//! The trajectory table: each vector before and after, its delta and interpretation.

use std::cmp::Ordering;

use crate::fold::assessment::confidence::{compared, overall, round4};
use empirica_notes::model::handoff::{Calibration, Trajectory};
use empirica_notes::model::{Vector, Vectors};

/// Row of overall confidence.
pub const OVERALL: &str = "overall_confidence";
/// Shown instead of a delta if two assessments share no vector.
pub const NOTHING_SHARED: &str = "no vector in common";

/// A row per vector given before or after, then overall confidence if either side has one: over the common vectors,
/// or without any, each side's own and no delta. Empty without assessments.
pub fn rows(before: Option<&Vectors>, after: Option<&Vectors>, calibration: Calibration) -> Vec<Trajectory> {
    let mut out: Vec<Trajectory> = Vector::ALL
        .into_iter()
        .filter_map(|vector| {
            let (b, a) = (before.and_then(|v| v.get(vector)), after.and_then(|v| v.get(vector)));
            (b.is_some() || a.is_some()).then(|| row(vector.name(), b, a, |delta| word(vector, delta)))
        })
        .collect();
    let own = (before.and_then(overall), after.and_then(overall));
    let both = before.zip(after).and_then(|(b, a)| compared(b, a));
    let (b, a) = both.map_or(own, |(b, a)| (Some(b), Some(a)));
    if b.is_some() || a.is_some() {
        let mut last = row(OVERALL, b, a, |_| calibration.name());
        if both.is_none() && last.delta.take().is_some() {
            last.status = NOTHING_SHARED.to_owned();
        }
        out.push(last);
    }
    out
}

fn row(name: &str, before: Option<f64>, after: Option<f64>, status: impl Fn(f64) -> &'static str) -> Trajectory {
    // + 0.0 turns -0.0 into 0.0
    let delta = before.zip(after).map(|(b, a)| round4(a - b) + 0.0);
    Trajectory {
        vector: name.to_owned(),
        before,
        after,
        delta,
        status: delta.map_or("not assessed", status).to_owned(),
    }
}

/// Word for a change of this vector.
pub fn word(vector: Vector, delta: f64) -> &'static str {
    match (delta.total_cmp(&0.0), vector.less_is_better()) {
        (Ordering::Equal, _) => "unchanged",
        (Ordering::Less, true) => "reduced",
        (Ordering::Greater, true) => "increased",
        (Ordering::Greater, false) => "improved",
        (Ordering::Less, false) => "declined",
    }
}

/// The vector of the overall confidence's delta, if it is based on a single one.
pub fn alone(rows: &[Trajectory]) -> Option<Vector> {
    let tiered = |row: &Trajectory| row.vector.parse().ok().filter(|vector: &Vector| vector.tier().is_some());
    let mut basis = rows.iter().filter(|row| row.delta.is_some()).filter_map(tiered);
    basis.next().filter(|_| basis.next().is_none())
}

/// Deltas by vector name, `overall_confidence` last; only rows with both sides.
pub fn deltas(rows: &[Trajectory]) -> Vec<(String, f64)> {
    rows.iter().filter_map(|row| row.delta.map(|delta| (row.vector.clone(), delta))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_vector_given_has_a_row() {
        let (mut b, mut a) = (Vectors::default(), Vectors::default());
        b.add_pairs("know=0.7,do=0.9,uncertainty=0.65,density=0.4,clarity=0.5").unwrap();
        a.add_pairs("know=0.95,do=0.9,uncertainty=0.2,density=0.6,signal=0.5,clarity=0.3").unwrap();
        let rows = rows(Some(&b), Some(&a), Calibration::WellCalibrated);
        let got: Vec<(&str, Option<f64>, &str)> =
            rows.iter().map(|r| (r.vector.as_str(), r.delta, r.status.as_str())).collect();
        assert_eq!(
            got,
            [
                ("know", Some(0.25), "improved"),
                ("do", Some(0.0), "unchanged"),
                ("clarity", Some(-0.2), "declined"),
                ("signal", None, "not assessed"),
                ("density", Some(0.2), "increased"),
                ("uncertainty", Some(-0.45), "reduced"),
                (
                    "overall_confidence",
                    Some(round4(rows[6].after.unwrap() - rows[6].before.unwrap())),
                    "well_calibrated"
                ),
            ]
        );
    }

    #[test]
    fn overall_confidence_is_over_what_both_sides_give() {
        let of = |before: &str, after: &str| {
            let (mut b, mut a) = (Vectors::default(), Vectors::default());
            b.add_pairs(before).unwrap();
            a.add_pairs(after).unwrap();
            let rows = rows(Some(&b), Some(&a), Calibration::WellCalibrated);
            let last = rows.last().unwrap().clone();
            (alone(&rows), last.before, last.after, last.delta, last.status)
        };
        assert_eq!(
            of("know=0.8,uncertainty=0.3,engagement=0.3,completion=0", "know=0.8,uncertainty=0.3"),
            (Some(Vector::Know), Some(0.8), Some(0.8), Some(0.0), "well_calibrated".into())
        );
        assert_eq!(of("know=0.8", "do=0.3"), (None, Some(0.8), Some(0.3), None, NOTHING_SHARED.into()));
        assert_eq!(of("know=0.8,do=0.5", "know=0.9,do=0.5").0, None);
    }

    #[test]
    fn without_assessments_there_is_no_row() {
        assert!(rows(None, None, Calibration::NotAssessable).is_empty());
    }
}
