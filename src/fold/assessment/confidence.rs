//! Overall confidence: four weighted tiers of vectors.

use empirica_notes::model::vectors::Tier;
use empirica_notes::model::{Vector, Vectors};

/// The weights of the tiers (after the Python tool's documented formula).
const WEIGHTS: [(Tier, f64); 4] =
    [(Tier::Foundation, 0.35), (Tier::Comprehension, 0.25), (Tier::Execution, 0.25), (Tier::Engagement, 0.15)];

/// Rounds to 4 decimals, as thresholds compare values.
pub fn round4(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}

/// Overall confidence in [0, 1], rounded to 4 decimals: each tier is the mean of its given vectors (density
/// inverted), and weights are normalized over the present tiers. `None` without vectors of any tier; uncertainty
/// belongs to none.
pub fn overall(vectors: &Vectors) -> Option<f64> {
    let (mut sum, mut weights) = (0.0, 0.0);
    for (tier, weight) in WEIGHTS {
        let values: Vec<f64> = vectors
            .iter()
            .filter(|(vector, _)| vector.tier() == Some(tier))
            .map(|(vector, value)| if vector == Vector::Density { 1.0 - value } else { value })
            .collect();
        if !values.is_empty() {
            sum += weight * values.iter().sum::<f64>() / values.len() as f64;
            weights += weight;
        }
    }
    (weights > 0.0).then(|| round4(sum / weights))
}

/// Overall confidences of two assessments over their common vectors, so that omissions have no effect; `None` without
/// common vectors.
pub fn compared(before: &Vectors, after: &Vectors) -> Option<(f64, f64)> {
    Some((overall(&before.shared(after))?, overall(&after.shared(before))?))
}

/// The vector of a series of overall confidences, if it is based on a single one and has several values.
pub fn alone<'a>(all: impl IntoIterator<Item = &'a Vectors>) -> Option<Vector> {
    let tiered = |vectors: &&Vectors| overall(vectors).is_some();
    let all: Vec<&Vectors> = all.into_iter().filter(tiered).collect();
    let [first, .., last] = all.as_slice() else { return None };
    let common = first.shared(last);
    let mut tiered = common.iter().filter(|(vector, _)| vector.tier().is_some());
    tiered.next().filter(|_| tiered.next().is_none()).map(|(vector, _)| vector)
}

/// Comparable overall confidences of a session's assessments, over the vectors common to the first and the last with
/// any. `None` for one that lacks any of these; a single assessment is taken as it is.
pub fn series<'a>(all: impl IntoIterator<Item = &'a Vectors>) -> Vec<Option<f64>> {
    let all: Vec<&Vectors> = all.into_iter().collect();
    let tiered = || all.iter().filter(|vectors| overall(vectors).is_some());
    let (Some(first), Some(last)) = (tiered().next(), tiered().next_back()) else { return vec![None; all.len()] };
    let common = first.shared(last);
    let counted = |vectors: &Vectors| vectors.iter().filter(|(vector, _)| vector.tier().is_some()).count();
    let comparable = |vectors: &&Vectors| {
        let own = vectors.shared(&common);
        (counted(&own) == counted(&common)).then(|| overall(&own)).flatten()
    };
    all.iter().map(comparable).collect()
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
    fn a_full_set_is_weighted() {
        let v = vectors(
            "engagement=0.8,know=0.7,do=0.9,context=0.8,clarity=0.6,coherence=0.7,signal=0.8,density=0.5,\
             state=0.6,change=0.5,completion=0.4,impact=0.7,uncertainty=0.65",
        );
        // 0.35*0.8 + 0.25*(0.6+0.7+0.8+0.5)/4 + 0.25*0.55 + 0.15*0.8
        assert_eq!(overall(&v), Some(0.7));
    }

    #[test]
    fn weights_are_renormalized_over_what_is_given() {
        assert_eq!(overall(&vectors("know=0.6")), Some(0.6));
        assert_eq!(overall(&vectors("density=0.25")), Some(0.75));
        // (0.35*0.6 + 0.15*1.0) / 0.5
        assert_eq!(overall(&vectors("know=0.6,engagement=1")), Some(0.72));
    }

    #[test]
    fn only_what_both_give_is_compared() {
        let before = vectors("know=0.8,uncertainty=0.3,engagement=0.3,completion=0,clarity=0.3");
        assert_eq!(compared(&before, &vectors("know=0.8,uncertainty=0.3")), Some((0.8, 0.8)));
        assert_eq!(compared(&before, &vectors("do=0.9,uncertainty=0.3")), None);
        assert_eq!(compared(&before, &vectors("know=0.6,do=0.1")), Some((0.8, 0.6)));
    }

    #[test]
    fn a_series_is_over_what_its_ends_share() {
        let of = |texts: &[&str]| series(&texts.iter().map(|text| vectors(text)).collect::<Vec<_>>());
        assert_eq!(of(&["know=0.5,do=0.9", "know=0.6", "know=0.7,do=0.9"]), [Some(0.7), None, Some(0.8)]);
        assert_eq!(of(&["know=0.5,clarity=0.1", "know=0.6", "uncertainty=0.1"]), [Some(0.5), Some(0.6), None]);
        assert_eq!(of(&["know=0.5,uncertainty=1", "know=0.6", "know=0.7,uncertainty=0"])[1], Some(0.6));
        assert_eq!(of(&["know=0.5", "do=0.7"]), [None, None]);
        let alone = |texts: &[&str]| alone(&texts.iter().map(|text| vectors(text)).collect::<Vec<_>>());
        assert_eq!(alone(&["know=0.5,do=0.5", "uncertainty=1,know=0.6"]), Some(Vector::Know));
        assert_eq!(alone(&["know=0.5,do=0.5", "do=0.1,know=0.6"]), None);
        assert_eq!(alone(&["know=0.5"]), None);
        assert_eq!(of(&["uncertainty=0.5"]), [None]);
        assert_eq!(of(&["uncertainty=0.5", "know=0.7"]), [None, Some(0.7)]);
    }

    #[test]
    fn uncertainty_alone_gives_none() {
        assert_eq!(overall(&vectors("uncertainty=0.2")), None);
        assert_eq!(overall(&Vectors::default()), None);
    }
}
