//! Track record: forecasts of sessions, their outcomes, and how well these agree.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fold::assessment::confidence::{overall, round4};
use crate::fold::session_records::SessionRecords;
use empirica_notes::model::goal::GoalStatus;
use empirica_notes::model::{Id, Phase};

/// Judged sessions needed for a sufficient sample.
pub const ENOUGH: usize = 10;
/// Judged sessions needed for a trend: two halves of two.
const FEWEST_FOR_TREND: usize = 4;
/// Minimum difference of Brier scores for a trend.
const TREND: f64 = 0.05;
/// Number of bins in the reliability table.
pub const BINS: usize = 5;

empirica_notes::named_enum! {
    pub enum ForecastSource {
        /// `--confidence` of the last CHECK.
        Confidence = "check_confidence",
        /// The vectors of the last CHECK.
        Check = "check_vectors",
        /// The vectors of the last PREFLIGHT.
        Preflight = "preflight_vectors",
    }
}

/// Forecast probability of success.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    /// In [0, 1], rounded to 4 decimals.
    pub value: f64,
    pub source: ForecastSource,
}

/// The forecast of a session: `--confidence` of its last CHECK, otherwise that CHECK's overall
/// confidence; without a CHECK, the overall confidence of its last PREFLIGHT. `None` if unknown.
fn forecast(session: &SessionRecords) -> Option<Forecast> {
    let last = |phase: Phase| session.assessments.iter().rev().map(|(_, a)| a).find(|a| a.phase == phase);
    let (value, source) = match last(Phase::Check) {
        Some(check) => match check.confidence {
            Some(confidence) => (confidence, ForecastSource::Confidence),
            None => (overall(&check.vectors)?, ForecastSource::Check),
        },
        None => (overall(&last(Phase::Preflight)?.vectors)?, ForecastSource::Preflight),
    };
    Some(Forecast { value: round4(value), source })
}

/// Why a session counts in no score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ExclusionReason {
    /// In progress: active, and its last assessment is not a POSTFLIGHT.
    Active,
    /// Without goals and evidence.
    NoOutcome,
    /// Without a forecast.
    NoForecast,
}

/// The outcome of a session: its goals and its evidence in their present state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActualOutcome {
    /// Whether it is in progress, without an outcome yet.
    #[serde(rename = "going_on")]
    pub in_progress: bool,
    /// Its goals, except suggested and dropped ones.
    pub goals: usize,
    pub goals_done: usize,
    /// Distinct commands of its evidence.
    pub commands: usize,
    /// Those commands whose last run passed (exit code 0).
    pub passed: usize,
}

/// The outcome of a session. A goal taken over by another session counts there; a dropped one, or one suggested by a
/// PREFLIGHT, counts nowhere.
fn outcome(session: &SessionRecords) -> ActualOutcome {
    let own = || session.goals.iter().filter(|goal| goal.vector.is_none());
    let with = |status: GoalStatus| own().filter(|goal| goal.status == status).count();
    ActualOutcome {
        in_progress: session.session.is_active() && session.after().is_none(),
        goals: with(GoalStatus::Open) + with(GoalStatus::Done),
        goals_done: with(GoalStatus::Done),
        commands: session.evidence.len(),
        passed: session.evidence.iter().filter(|proof| proof.exit == 0).count(),
    }
}

impl ActualOutcome {
    /// Whether all goals are done and the last run of each evidence command passed. `None` while in progress, or without
    /// goals and evidence.
    pub fn reached(&self) -> Option<bool> {
        let is_measured = !self.in_progress && self.goals + self.commands > 0;
        is_measured.then_some(self.goals_done == self.goals && self.passed == self.commands)
    }

    /// Grounds of the outcome: a sentence without a full stop.
    pub fn why(&self) -> String {
        if self.in_progress {
            return "it is still going on: active, and its last assessment is not a POSTFLIGHT".to_owned();
        }
        let goals = format!("goals done: {} of {}", self.goals_done, self.goals);
        let commands = format!("evidence commands whose last run passed: {} of {}", self.passed, self.commands);
        match (self.goals, self.commands) {
            (0, 0) => "it has neither goals nor evidence".to_owned(),
            (_, 0) => goals,
            (0, _) => commands,
            _ => format!("{goals}; {commands}"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrackEntry {
    /// The session's last record, which sorts sessions by end.
    pub end: Id,
    pub forecast: Option<Forecast>,
    #[serde(rename = "ending")]
    pub outcome: ActualOutcome,
}

impl TrackEntry {
    /// Summarizes a session, in progress or not.
    pub fn of(session: &SessionRecords) -> Self {
        TrackEntry { end: session.end.clone(), forecast: forecast(session), outcome: outcome(session) }
    }

    /// Why it is not scored: the first reason in the order of [`ExclusionReason`]. `None` if it is scored.
    pub fn left_out(&self) -> Option<ExclusionReason> {
        match (self.outcome.in_progress, self.outcome.reached(), self.forecast) {
            (true, ..) => Some(ExclusionReason::Active),
            (_, None, _) => Some(ExclusionReason::NoOutcome),
            (_, _, None) => Some(ExclusionReason::NoForecast),
            _ => None,
        }
    }

    /// Forecast and outcome (1 or 0); `None` if not scored.
    fn judged(&self) -> Option<(f64, f64)> {
        Some((self.forecast?.value, f64::from(u8::from(self.outcome.reached()?))))
    }
}

/// The judged sessions whose forecast is in `[from, to)`; 1 is in the last bin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ReliabilityBin {
    /// Its least forecast.
    pub from: f64,
    /// Its end.
    pub to: f64,
    /// Number of judged sessions in it.
    pub n: usize,
    /// The mean of their forecasts, 4 decimals; null if n is 0.
    pub mean_forecast: Option<f64>,
    /// The share of them whose outcome was 1, 4 decimals; null if n is 0.
    pub observed: Option<f64>,
}

empirica_notes::named_enum! {
    /// Where the Brier score is going.
    pub enum ScoreTrend {
        /// Lower in the later half by 0.05 or more.
        Improving = "improving",
        /// Higher in the later half by 0.05 or more.
        Worsening = "worsening",
        /// A smaller difference.
        Steady = "steady",
        /// Fewer than 4 sessions.
        Unknown = "unknown",
    }
}

/// How many sessions count in no score, by the first reason that holds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Unjudged {
    /// Still going on: active, and the last assessment is not a POSTFLIGHT.
    pub active: usize,
    /// With neither goals nor evidence.
    pub no_outcome: usize,
    /// Without a forecast.
    pub no_forecast: usize,
}

/// The judged sessions in order of their end, in two halves; the middle one of an odd number is in the later half.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Trend {
    /// Where the Brier score is going.
    pub direction: ScoreTrend,
    /// The Brier score of the earlier half; null with fewer than 4 sessions.
    pub earlier: Option<f64>,
    /// The Brier score of the later half; null with fewer than 4 sessions.
    pub later: Option<f64>,
}

/// Scores over sessions. Numbers have 4 decimals.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Score {
    /// How many have a forecast and an outcome.
    pub judged: usize,
    /// How many are left out.
    pub left_out: Unjudged,
    /// The mean of (forecast − outcome)², from 0, which is perfect, to 1; null if none is judged.
    #[serde(rename = "brier_score")]
    pub brier: Option<f64>,
    /// The mean forecast; null if none is judged.
    pub mean_forecast: Option<f64>,
    /// The share of outcomes that were 1; null if none is judged.
    pub mean_outcome: Option<f64>,
    /// The mean of forecast − outcome, from -1 to 1; null if none is judged.
    pub bias: Option<f64>,
    /// Five bins of forecasts, each 0.2 wide.
    #[schemars(with = "Vec<ReliabilityBin>")]
    pub reliability: [ReliabilityBin; BINS],
    /// Whether the score gets better.
    pub trend: Trend,
}

impl Score {
    /// Scores sessions in any order.
    pub fn of<'a>(entries: impl IntoIterator<Item = &'a TrackEntry>) -> Self {
        let mut entries: Vec<&TrackEntry> = entries.into_iter().collect();
        entries.sort_by(|a, b| a.end.cmp(&b.end));
        let count = |why: ExclusionReason| entries.iter().filter(|entry| entry.left_out() == Some(why)).count();
        let judged: Vec<(f64, f64)> = entries.iter().filter_map(|entry| entry.judged()).collect();
        let bin = |at: usize| {
            let within: Vec<(f64, f64)> =
                judged.iter().copied().filter(|(forecast, _)| bin_of(*forecast) == at).collect();
            ReliabilityBin {
                from: at as f64 / BINS as f64,
                to: (at + 1) as f64 / BINS as f64,
                n: within.len(),
                mean_forecast: mean(&within, |j| j.0),
                observed: mean(&within, |j| j.1),
            }
        };
        Score {
            judged: judged.len(),
            left_out: Unjudged {
                active: count(ExclusionReason::Active),
                no_outcome: count(ExclusionReason::NoOutcome),
                no_forecast: count(ExclusionReason::NoForecast),
            },
            brier: brier(&judged),
            mean_forecast: mean(&judged, |j| j.0),
            mean_outcome: mean(&judged, |j| j.1),
            bias: mean(&judged, |j| j.0 - j.1),
            reliability: std::array::from_fn(bin),
            trend: trend(&judged),
        }
    }

    /// Whether fewer than [`ENOUGH`] sessions were judged.
    pub fn small_sample(&self) -> bool {
        self.judged < ENOUGH
    }
}

/// The bin of a forecast, computed in integers, as 0.6 / 0.2 is less than 3.
fn bin_of(forecast: f64) -> usize {
    let ten_thousandths = (forecast * 10_000.0).round() as usize;
    (ten_thousandths * BINS / 10_000).min(BINS - 1)
}

fn mean(judged: &[(f64, f64)], of: impl Fn(&(f64, f64)) -> f64) -> Option<f64> {
    // + 0.0 turns -0.0 into 0.0
    (!judged.is_empty()).then(|| round4(judged.iter().map(of).sum::<f64>() / judged.len() as f64) + 0.0)
}

fn brier(judged: &[(f64, f64)]) -> Option<f64> {
    mean(judged, |(forecast, outcome)| (forecast - outcome).powi(2))
}

/// The trend of sessions sorted by end.
fn trend(judged: &[(f64, f64)]) -> Trend {
    if judged.len() < FEWEST_FOR_TREND {
        return Trend { direction: ScoreTrend::Unknown, earlier: None, later: None };
    }
    let (earlier, later) = judged.split_at(judged.len() / 2);
    let (earlier, later) = (brier(earlier), brier(later));
    let gain = earlier.zip(later).map_or(0.0, |(earlier, later)| round4(earlier - later));
    let direction = if gain >= TREND {
        ScoreTrend::Improving
    } else if gain <= -TREND {
        ScoreTrend::Worsening
    } else {
        ScoreTrend::Steady
    };
    Trend { direction, earlier, later }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Session `n` in order of end, with its forecast and outcome.
    fn entry(n: usize, forecast: f64, reached: bool) -> TrackEntry {
        let end = Id::parse(&format!("019ab000-0000-7000-8000-0000{n:08x}")).unwrap();
        let outcome =
            ActualOutcome { in_progress: false, goals: 1, goals_done: usize::from(reached), commands: 0, passed: 0 };
        TrackEntry { end, forecast: Some(Forecast { value: forecast, source: ForecastSource::Confidence }), outcome }
    }

    fn score(rows: &[(f64, bool)]) -> Score {
        let entries: Vec<TrackEntry> =
            rows.iter().enumerate().map(|(n, (f, reached))| entry(n, *f, *reached)).collect();
        Score::of(&entries)
    }

    #[test]
    fn scores_are_means_over_the_judged_sessions() {
        let none = score(&[]);
        assert_eq!(
            (none.judged, none.brier, none.bias, none.mean_forecast, none.mean_outcome),
            (0, None, None, None, None)
        );
        assert_eq!(none.reliability.map(|bin| (bin.n, bin.mean_forecast, bin.observed)), [(0, None, None); BINS]);
        // (0.01 + 0.49) / 2; (0.9 + 0.7) / 2 − 1 / 2
        let two = score(&[(0.9, true), (0.7, false)]);
        assert_eq!((two.brier, two.bias), (Some(0.25), Some(0.3)));
        assert_eq!((two.mean_forecast, two.mean_outcome), (Some(0.8), Some(0.5)));
        assert_eq!((score(&[(1.0, true)]).brier, score(&[(1.0, false)]).brier), (Some(0.0), Some(1.0)));
    }

    #[test]
    fn both_sides_of_each_bin() {
        let edges = [
            (0.0, 0),
            (0.1999, 0),
            (0.2, 1),
            (0.3999, 1),
            (0.4, 2),
            (0.5999, 2),
            (0.6, 3),
            (0.7999, 3),
            (0.8, 4),
            (1.0, 4),
        ];
        for (forecast, bin) in edges {
            assert_eq!(bin_of(forecast), bin, "{forecast}");
        }
        let table = score(&[(0.6, true), (0.7, false), (0.8, true)]).reliability;
        let row = |at: usize| (table[at].from, table[at].n, table[at].mean_forecast, table[at].observed);
        assert_eq!(row(3), (0.6, 2, Some(0.65), Some(0.5)));
        assert_eq!(row(4), (0.8, 1, Some(0.8), Some(1.0)));
        assert_eq!(row(2), (0.4, 0, None, None));
    }

    #[test]
    fn both_sides_of_each_edge_of_the_trend() {
        // all reached: the score of a forecast is (1 − forecast)²; √0.05 and √0.0499 as forecasts below 1
        let of = |earlier: f64, later: f64| score(&[(earlier, true), (earlier, true), (later, true), (later, true)]);
        let at = |brier: f64| 1.0 - brier.sqrt();
        assert_eq!(of(at(0.05), 1.0).trend.direction, ScoreTrend::Improving);
        assert_eq!(of(at(0.0499), 1.0).trend.direction, ScoreTrend::Steady);
        assert_eq!(of(1.0, at(0.05)).trend.direction, ScoreTrend::Worsening);
        assert_eq!(of(1.0, at(0.0499)).trend.direction, ScoreTrend::Steady);
        let three = score(&[(0.0, true), (0.0, true), (1.0, true)]).trend;
        assert_eq!((three.direction, three.earlier, three.later), (ScoreTrend::Unknown, None, None));
    }

    #[test]
    fn the_middle_one_belongs_to_the_later_half() {
        // 1, 1 | 0.25, 0, 0: the middle forecast 0.5 counts with the later ones
        let five = score(&[(0.0, true), (0.0, true), (0.5, true), (1.0, true), (1.0, true)]).trend;
        assert_eq!((five.earlier, five.later), (Some(1.0), Some(0.0833)));
        assert_eq!(five.direction, ScoreTrend::Improving);
    }

    #[test]
    fn the_sample_is_small_below_ten() {
        assert!(score(&[(0.5, true); 9]).small_sample());
        assert!(!score(&[(0.5, true); 10]).small_sample());
    }

    #[test]
    fn the_outcome_needs_every_goal_and_every_command() {
        let ending = |goals, goals_done, commands, passed| ActualOutcome {
            in_progress: false,
            goals,
            goals_done,
            commands,
            passed,
        };
        for (ending, outcome, why) in [
            (ending(2, 2, 0, 0), Some(true), "goals done: 2 of 2"),
            (ending(2, 1, 0, 0), Some(false), "goals done: 1 of 2"),
            (ending(0, 0, 2, 2), Some(true), "evidence commands whose last run passed: 2 of 2"),
            (ending(0, 0, 2, 1), Some(false), "evidence commands whose last run passed: 1 of 2"),
            (ending(1, 1, 1, 0), Some(false), "goals done: 1 of 1; evidence commands whose last run passed: 0 of 1"),
            (ending(1, 0, 1, 1), Some(false), "goals done: 0 of 1; evidence commands whose last run passed: 1 of 1"),
            (ending(0, 0, 0, 0), None, "it has neither goals nor evidence"),
            (
                ActualOutcome { in_progress: true, ..ending(1, 1, 1, 1) },
                None,
                "it is still going on: active, and its last assessment is not a POSTFLIGHT",
            ),
        ] {
            assert_eq!((ending.reached(), ending.why().as_str()), (outcome, why));
        }
    }

    #[test]
    fn what_is_left_out_is_counted_once() {
        let complete = entry(0, 0.5, true);
        let in_progress = ActualOutcome { in_progress: true, ..complete.outcome };
        let nothing = ActualOutcome { goals: 0, goals_done: 0, ..complete.outcome };
        let entries = [
            TrackEntry { outcome: in_progress, forecast: None, ..complete.clone() },
            TrackEntry { outcome: nothing, forecast: None, ..complete.clone() },
            TrackEntry { forecast: None, ..complete.clone() },
            complete,
        ];
        let score = Score::of(&entries);
        assert_eq!(score.judged, 1);
        assert_eq!(score.left_out, Unjudged { active: 1, no_outcome: 1, no_forecast: 1 });
    }
}
