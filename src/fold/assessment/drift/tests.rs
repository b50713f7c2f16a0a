//! Tests drift: every edge on both sides, what counts, and invariants.

use proptest::prelude::*;

use crate::fold::assessment::drift::*;

fn vectors(text: &str) -> Vectors {
    let mut v = Vectors::default();
    v.add_pairs(text).unwrap();
    v
}

fn drift(series: &[(&str, bool)], window: usize) -> Drift {
    let series: Vec<(Vectors, bool)> = series.iter().map(|(text, learned)| (vectors(text), *learned)).collect();
    let steps: Vec<AssessmentStep<'_>> =
        series.iter().map(|(vectors, learned)| AssessmentStep { vectors, learned: claim(*learned) }).collect();
    analyze(&steps, window)
}

/// A claim, or nothing.
fn claim(learned: bool) -> EvidenceGained {
    EvidenceGained { claims: usize::from(learned), passed: false }
}

#[test]
fn both_sides_of_each_edge_in_a_fall_and_in_a_gain() {
    for (size, severity) in [
        (0.0, Severity::None),
        (0.0499, Severity::None),
        (0.05, Severity::Minor),
        (0.1499, Severity::Minor),
        (0.15, Severity::Moderate),
        (0.30, Severity::Moderate),
        (0.3001, Severity::Severe),
    ] {
        let (low, high) = (format!("know={}", 0.5 - size), format!("know={}", 0.5 + size));
        let fall = drift(&[("know=0.5", false), (&low, false)], 3);
        assert_eq!((fall.severity, fall.detected), (severity, severity != Severity::None), "a fall of {size}");
        let gain = drift(&[("know=0.5", false), (&high, false)], 3);
        assert_eq!(gain.severity, severity, "a gain of {size}");
        assert_eq!(gain.is_safe(), severity != Severity::Severe);
        let learned = drift(&[("know=0.5", false), (&high, true)], 3);
        let severity_learned = if size > 0.30 { Severity::Moderate } else { Severity::None };
        assert_eq!(learned.severity, severity_learned, "a gain of {size} with one claim");
        let doubt = drift(&[("uncertainty=0.3", false), (&format!("uncertainty={}", 0.3 + size), true)], 3);
        assert_eq!(doubt.severity, severity, "a doubt that grew by {size}");
    }
}

#[test]
fn the_baseline_is_the_mean_of_the_earlier_ones_in_the_window() {
    let series = [("know=0.1", false), ("know=0.6", false), ("know=0.8", false), ("know=0.5", false)];
    assert_eq!(drift(&series, 3).deltas, [(Vector::Know, -0.2)].into());
    assert_eq!(drift(&series, 3).analyzed, 3);
    assert_eq!(drift(&series, 2).deltas, [(Vector::Know, -0.3)].into());
    assert_eq!(drift(&series, 9).deltas, [(Vector::Know, 0.0)].into());
    assert_eq!((drift(&series, 9).analyzed, drift(&series, 9).window), (4, 9));
    // an assessment without the vector does not count
    assert_eq!(
        drift(&[("know=0.8", false), ("do=0.1", false), ("know=0.5", false)], 3).deltas,
        [(Vector::Know, -0.3)].into()
    );
}

#[test]
fn a_gain_counts_from_where_nothing_was_learned_any_more() {
    // what was learned before the assessment in between founds its gain
    let founded = drift(&[("know=0.4", false), ("know=0.7", true), ("know=0.72", false)], 3);
    assert_eq!((founded.severity, founded.deltas[&Vector::Know]), (Severity::None, 0.17));
    let creeping = drift(&[("know=0.4", false), ("know=0.6", false), ("know=0.85", false)], 3);
    assert_eq!((creeping.severity, creeping.kind), (Severity::Severe, DriftKind::Overconfidence));
    let partly = drift(&[("know=0.4", false), ("know=0.5", true), ("know=0.7", false)], 3);
    assert_eq!((partly.severity, partly.kind), (Severity::Moderate, DriftKind::Overconfidence));
}

#[test]
fn a_large_gain_needs_a_check_that_passed_or_three_claims() {
    let grown = |claims, passed| {
        let (before, after) = (vectors("know=0.3"), vectors("know=0.95"));
        let now = AssessmentStep { vectors: &after, learned: EvidenceGained { claims, passed } };
        let drift = analyze(&[AssessmentStep { vectors: &before, learned: claim(false) }, now], 3);
        (drift.severity, drift.kind, drift.is_undersupported)
    };
    assert_eq!(grown(0, false), (Severity::Severe, DriftKind::Overconfidence, false));
    assert_eq!(grown(1, false), (Severity::Moderate, DriftKind::Overconfidence, true));
    assert_eq!(grown(2, false), (Severity::Moderate, DriftKind::Overconfidence, true));
    assert_eq!(grown(3, false), (Severity::None, DriftKind::Learning, false));
    assert_eq!(grown(0, true), (Severity::None, DriftKind::Learning, false));
    // claims made before the assessment it rose from do not support it
    let (low, high) = (vectors("know=0.3"), vectors("know=0.95"));
    let series = [(&low, 0), (&low, 5), (&high, 1)];
    let steps =
        series.map(|(vectors, claims)| AssessmentStep { vectors, learned: EvidenceGained { claims, passed: false } });
    assert_eq!(analyze(&steps, 3).severity, Severity::Moderate);
}

#[test]
fn other_vectors_do_not_count_and_fewer_than_two_show_nothing() {
    let calm = drift(&[("state=0.9,density=0.1,impact=0.9", false), ("state=0.1,density=0.9,impact=0.1", false)], 3);
    assert_eq!((calm.detected, calm.deltas.len()), (false, 0));
    let one = drift(&[("know=0.1", false)], 3);
    assert_eq!((one.detected, one.analyzed), (false, 1));
    assert_eq!(drift(&[], 3).analyzed, 0);
}

#[test]
fn each_label() {
    let kind = |before: &str, after: &str, learned| drift(&[(before, false), (after, learned)], 3).kind;
    assert_eq!(kind("know=0.5", "know=0.52", false), DriftKind::None);
    assert_eq!(kind("know=0.5", "know=0.8", true), DriftKind::Learning);
    assert_eq!(kind("know=0.5", "know=0.8", false), DriftKind::Overconfidence);
    assert_eq!(
        kind("know=0.8,clarity=0.8,context=0.8", "know=0.6,clarity=0.6,context=0.6", true),
        DriftKind::TrueDrift
    );
    assert_eq!(kind("know=0.8,clarity=0.8,context=0.8", "know=0.6,clarity=0.6,context=0.65", true), DriftKind::Decline);
    assert_eq!(kind("know=0.8,clarity=0.5", "know=0.6,clarity=0.7", true), DriftKind::Learning);
    assert_eq!(kind("know=0.8,uncertainty=0.3", "know=0.6,uncertainty=0.5", true), DriftKind::ScopeDrift);
    assert_eq!(kind("engagement=0.8", "engagement=0.6", true), DriftKind::Decline);
    // the larger move gives the label
    assert_eq!(kind("know=0.8,do=0.2", "know=0.7,do=0.5", false), DriftKind::Overconfidence);
    assert_eq!(kind("know=0.8,do=0.2", "know=0.4,do=0.5", false), DriftKind::Decline);
}

prop_compose! {
    fn some_vectors()(values in proptest::collection::vec(proptest::option::of(0.0..=1.0f64), 13)) -> Vectors {
        let mut v = Vectors::default();
        for (vector, value) in Vector::ALL.into_iter().zip(values) {
            if let Some(value) = value {
                v.set(vector, value);
            }
        }
        v
    }
}

proptest! {
    #[test]
    fn constant_vectors_do_not_drift(v in some_vectors(), n in 1..6usize, learned: bool, window in 2..6usize) {
        let steps: Vec<AssessmentStep<'_>> = (0..n).map(|_| AssessmentStep { vectors: &v, learned: claim(learned) }).collect();
        let drift = analyze(&steps, window);
        prop_assert!(!drift.detected && drift.kind == DriftKind::None);
        prop_assert!(drift.deltas.values().all(|delta| *delta == 0.0));
    }

    #[test]
    fn a_deeper_fall_is_no_less_severe(v in some_vectors(), at in 0..8usize, a in 0.0..=1.0f64, b in 0.0..=1.0f64) {
        let vector = COUNTED[at];
        let severity = |value: f64| {
            let mut before = v.clone();
            before.set(vector, if vector.less_is_better() { 0.0 } else { 1.0 });
            let mut after = before.clone();
            after.set(vector, value);
            analyze(&[AssessmentStep { vectors: &before, learned: claim(true) }, AssessmentStep { vectors: &after, learned: claim(true) }], 3).severity
        };
        let (worse, better) = if (a < b) ^ vector.less_is_better() { (a, b) } else { (b, a) };
        prop_assert!(severity(worse) >= severity(better));
    }

    #[test]
    fn a_vector_that_is_not_given_changes_nothing(series in proptest::collection::vec((some_vectors(), any::<bool>()), 2..5), at in 0..13usize) {
        let vector = Vector::ALL[at];
        let without = |vectors: &Vectors| {
            let mut out = Vectors::default();
            vectors.iter().filter(|(v, _)| *v != vector).for_each(|(v, value)| { out.set(v, value); });
            out
        };
        let bare: Vec<(Vectors, bool)> = series.iter().map(|(v, learned)| (without(v), *learned)).collect();
        let mut given_once = bare.clone();
        // given on one side only, it cannot be compared
        given_once.last_mut().unwrap().0.set(vector, 0.5);
        let of = |series: &[(Vectors, bool)]| {
            let steps: Vec<AssessmentStep<'_>> = series.iter().map(|(vectors, learned)| AssessmentStep { vectors, learned: claim(*learned) }).collect();
            analyze(&steps, 3)
        };
        prop_assert_eq!(of(&bare), of(&given_once));
    }
}
