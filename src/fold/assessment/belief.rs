//! Belief: an agent's bias per vector, from its assessments before and after.

use schemars::JsonSchema;
use serde::Serialize;

use crate::fold::assessment::confidence::round4;
use crate::fold::session_records::SessionRecords;
use empirica_notes::model::{Phase, Vector};

/// Standard deviation of the prior, whose mean is 0: no bias is assumed in advance.
const PRIOR_SD: f64 = 0.2;

/// Fewest sessions for a conclusion.
pub const FEWEST: usize = 3;

empirica_notes::named_enum! {
    /// Conclusion about a bias.
    pub enum Tendency {
        /// The mean is more than 2 sd above 0.
        Overestimates = "overestimates",
        /// The mean is more than 2 sd below 0.
        Underestimates = "underestimates",
        /// The mean is nearer to 0.
        NoClearBias = "no_clear_bias",
        /// Fewer than 3 observations.
        TooFew = "too_few",
    }
}

/// The bias of a vector. An observation is the value before acting (of the last CHECK that gave it, else of the last PREFLIGHT that
/// did) minus that of the POSTFLIGHT that ended the work, the sign turned for uncertainty and density: positive where the agent
/// rated itself better before than after. Numbers have 4 decimals.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "VectorBias")]
pub struct Belief {
    /// The vector.
    pub vector: Vector,
    /// How many observations, at least 1.
    pub n: usize,
    /// Their mean, from -1 to 1.
    pub bias: f64,
    /// The mean of the belief, a normal update with prior mean 0 and sd 0.2, sd of an observation 0.2: Σx / (n + 1).
    pub mean: f64,
    /// Its standard deviation: 0.2 / √(n + 1).
    pub sd: f64,
    /// The conclusion.
    pub tendency: Tendency,
}

/// The differences of a session per vector: its value before acting (from the last CHECK with it, otherwise the last
/// PREFLIGHT with it) minus its value in the POSTFLIGHT that ended the work. The sign is inverted where less is
/// better (uncertainty, density), so that positive always means a higher rating before than after. Empty without such
/// a POSTFLIGHT; a vector missing on either side is omitted.
pub fn differences(session: &SessionRecords) -> Vec<(Vector, f64)> {
    let Some(after) = session.after() else { return Vec::new() };
    let before = |vector: Vector| {
        let last = |phase: Phase| {
            let of_phase = session.assessments.iter().rev().filter(|(_, a)| a.phase == phase);
            of_phase.filter_map(|(_, a)| a.vectors.get(vector)).next()
        };
        last(Phase::Check).or_else(|| last(Phase::Preflight))
    };
    let differ = |(vector, after): (Vector, f64)| {
        let fall = before(vector)? - after;
        Some((vector, if vector.less_is_better() { -fall } else { fall }))
    };
    after.iter().filter_map(differ).collect()
}

/// Beliefs from the differences of all sessions, in display order; vectors without differences are omitted.
///
/// A normal update: with prior mean 0 and standard deviation 0.2, and 0.2 for each observation, n
/// observations x give the mean Σx / (n + 1) and the standard deviation 0.2 / √(n + 1). From 3 observations on, a
/// mean more than two (rounded) standard deviations from 0 is a bias.
pub fn beliefs<'a>(differences: impl IntoIterator<Item = &'a (Vector, f64)>) -> Vec<Belief> {
    let mut sums = [(0usize, 0.0f64); Vector::ALL.len()];
    for (vector, x) in differences {
        let (n, sum) = &mut sums[*vector as usize];
        *n += 1;
        *sum += x;
    }
    let believed = |vector: Vector| {
        let (n, sum) = sums[vector as usize];
        if n == 0 {
            return None;
        }
        // + 0.0 turns -0.0 into 0.0
        let mean = round4(sum / (n + 1) as f64) + 0.0;
        let sd = round4(PRIOR_SD / ((n + 1) as f64).sqrt());
        let bias = round4(sum / n as f64) + 0.0;
        Some(Belief { vector, n, bias, mean, sd, tendency: tendency(n, mean, sd) })
    };
    Vector::ALL.into_iter().filter_map(believed).collect()
}

fn tendency(n: usize, mean: f64, sd: f64) -> Tendency {
    let clear = mean.abs() > round4(2.0 * sd);
    match (n < FEWEST, clear, mean > 0.0) {
        (true, ..) => Tendency::TooFew,
        (_, true, true) => Tendency::Overestimates,
        (_, true, false) => Tendency::Underestimates,
        (_, false, _) => Tendency::NoClearBias,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(differences: &[f64]) -> Belief {
        let all: Vec<(Vector, f64)> = differences.iter().map(|x| (Vector::Know, *x)).collect();
        let beliefs = beliefs(&all);
        assert_eq!(beliefs.len(), 1);
        beliefs.into_iter().next().unwrap()
    }

    #[test]
    fn the_update_is_that_of_a_normal_prior() {
        // 0.3 / 2 and 0.2 / √2
        let one = of(&[0.3]);
        assert_eq!((one.n, one.bias, one.mean, one.sd), (1, 0.3, 0.15, 0.1414));
        // (0.3 − 0.1) / 3 and 0.2 / √3
        let two = of(&[0.3, -0.1]);
        assert_eq!((two.n, two.bias, two.mean, two.sd), (2, 0.1, 0.0667, 0.1155));
        assert!(beliefs(&[]).is_empty(), "a vector without differences is not listed");
    }

    #[test]
    fn a_bias_is_called_one_from_three_sessions_on() {
        assert_eq!(of(&[1.0]).tendency, Tendency::TooFew);
        assert_eq!(of(&[1.0, 1.0]).tendency, Tendency::TooFew);
        assert_eq!(of(&[1.0, 1.0, 1.0]).tendency, Tendency::Overestimates);
    }

    #[test]
    fn a_bias_is_called_one_beyond_two_standard_deviations() {
        // n = 3: sd = 0.1, so the mean must be over 0.2, the sum over 0.8
        for (sum, expected) in [
            (0.8, Tendency::NoClearBias),
            (0.8004, Tendency::Overestimates),
            (-0.8, Tendency::NoClearBias),
            (-0.8004, Tendency::Underestimates),
            (0.0, Tendency::NoClearBias),
        ] {
            assert_eq!(of(&[sum, 0.0, 0.0]).tendency, expected, "{sum}");
        }
    }

    #[test]
    fn vectors_are_apart_and_in_the_order_they_are_shown() {
        let all = [(Vector::Uncertainty, 0.2), (Vector::Engagement, 0.4), (Vector::Uncertainty, 0.1)];
        let got: Vec<(Vector, usize, f64)> = beliefs(&all).iter().map(|b| (b.vector, b.n, b.mean)).collect();
        assert_eq!(got, [(Vector::Engagement, 1, 0.2), (Vector::Uncertainty, 2, 0.1)]);
    }
}
