//! The answer of `calibration`, with a plot of 69 columns without color.

use schemars::JsonSchema;
use serde::Serialize;

use crate::fold::assessment::belief::{Belief, FEWEST, Tendency};
use crate::fold::assessment::track_record::{ExclusionReason, ForecastSource, ReliabilityBin, Score, ScoreTrend};
use crate::render::answer::Answer;
use crate::render::{format, safe};
use crate::use_cases::assess::calibration::{CalibrationOutcome, CalibrationSummary, SessionCalibration};
use empirica_notes::model::SessionId;
use empirica_notes::model::handoff::Calibration;

/// The column of a forecast of 1.
const WIDTH: usize = 40;

/// How little follows from so few sessions; `None` from 10 on.
fn note(score: &Score) -> Option<String> {
    match score.judged {
        0 => Some("No session can be judged yet".to_owned()),
        judged if judged < FEWEST => Some(format!(
            "Only {} can be judged: nothing follows from the numbers yet",
            format::count(judged, "session")
        )),
        judged => score.small_sample().then(|| {
            format!("Only {judged} sessions can be judged, fewer than 10: the numbers are a first impression")
        }),
    }
}

/// How well the forecasts of sessions came true. Numbers have 4 decimals.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CalibrationSummaryView")]
struct SummaryView<'a> {
    #[serde(flatten)]
    summary: &'a CalibrationSummary,
    /// Whether fewer than 10 are judged.
    small_sample: bool,
    /// How little follows from so few, a sentence; null from 10 on.
    note: Option<String>,
}

impl<'a> From<&'a CalibrationSummary> for SummaryView<'a> {
    fn from(summary: &'a CalibrationSummary) -> Self {
        SummaryView { summary, small_sample: summary.score.small_sample(), note: note(&summary.score) }
    }
}

/// How well the forecasts of an agent's sessions came true.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AgentCalibrationView")]
struct AgentView<'a> {
    #[serde(flatten)]
    summary: SummaryView<'a>,
    /// The agent.
    ai_id: &'a str,
}

/// A session with its forecast and its outcome.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CalibratedSessionView")]
struct OneView<'a> {
    /// The session.
    session_id: &'a SessionId,
    /// The agent that began it.
    ai_id: &'a str,
    /// When it began.
    started_at: &'a str,
    /// When it ended; null while it is active.
    ended_at: Option<&'a str>,
    /// Whether it has not ended.
    active: bool,
    /// Its task.
    task: Option<&'a str>,
    /// The self-assessment, from the first PREFLIGHT to the POSTFLIGHT that ended the work (the last assessment).
    calibration_status: Calibration,
    /// Both moves and how far they are apart, or the missing values, a sentence.
    why: &'a str,
    /// Δknow; null unless given on both sides.
    know_delta: Option<f64>,
    /// −Δuncertainty; null unless given on both sides.
    uncertainty_drop: Option<f64>,
    /// From 0 to 1: `--confidence` of the last CHECK, else the overall confidence of that CHECK; without any CHECK that of the last
    /// PREFLIGHT.
    forecast: Option<f64>,
    /// `check_confidence`, `check_vectors` or `preflight_vectors`.
    forecast_from: Option<&'a str>,
    /// 1 if all its goals are done (dropped and suggested ones do not count) and the last run of each evidence command passed,
    /// else 0; null if it is not known.
    outcome: Option<u8>,
    /// Why it is so, a sentence.
    outcome_why: String,
    /// Why it counts in no score, the first reason that holds.
    left_out: Option<ExclusionReason>,
}

impl<'a> From<&'a SessionCalibration> for OneView<'a> {
    fn from(SessionCalibration { session, calibration, entry, .. }: &'a SessionCalibration) -> Self {
        OneView {
            session_id: &session.id,
            ai_id: &session.ai,
            started_at: &session.started_at,
            ended_at: session.ended_at.as_deref(),
            active: session.is_active(),
            task: session.task.as_deref(),
            calibration_status: calibration.status,
            why: &calibration.why,
            know_delta: calibration.know,
            uncertainty_drop: calibration.uncertainty,
            forecast: entry.forecast.map(|forecast| forecast.value),
            forecast_from: entry.forecast.map(|forecast| forecast.source.name()),
            outcome: entry.outcome.reached().map(u8::from),
            outcome_why: entry.outcome.why(),
            left_out: entry.left_out(),
        }
    }
}

/// The sessions' forecasts beside their outcomes.
#[derive(Serialize, JsonSchema)]
pub struct CalibrationView<'a> {
    /// The sessions, newest first, at most 500.
    sessions: Vec<OneView<'a>>,
    /// How many they are.
    total_sessions: usize,
    /// All of them; null with `--session`.
    overall: Option<SummaryView<'a>>,
    /// By agent, in order of their names: the 500 with most sessions; empty with `--session`.
    agents: Vec<AgentView<'a>>,
    /// How many agents there are; 0 with `--session`.
    total_agents: usize,
    /// Without any session: that there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

/// A number with up to four decimals; `–` for none.
fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| value.to_string())
}

/// A line of marks: `○` the mean forecast, `●` the share of outcomes that were 1, `◉` both.
fn marks(bin: &ReliabilityBin) -> String {
    let at = |value: Option<f64>| value.map(|value| (value * WIDTH as f64).round() as usize);
    let (forecast, observed) = (at(bin.mean_forecast), at(bin.observed));
    let mark = |at: usize| match (forecast == Some(at), observed == Some(at)) {
        (true, true) => '◉',
        (true, false) => '○',
        (false, true) => '●',
        (false, false) => '·',
    };
    (0..=WIDTH).map(mark).collect()
}

/// The reliability table as a plot, a line for each bin.
fn plot(score: &Score) -> String {
    let mut out = format!("  forecast     n  {:<21}{:<19}1  mean  true\n", 0, 0.5);
    for bin in &score.reliability {
        let ReliabilityBin { from, to, n, .. } = bin;
        let (mean, observed) = (format::value(bin.mean_forecast), format::value(bin.observed));
        out.push_str(&format!("  {from:.1}–{to:.1} {n:>7}  {}  {mean:>4}  {observed:>4}\n", marks(bin)));
    }
    out + "  ○ mean forecast, ● share that came true, ◉ both\n"
}

fn tendency(belief: &Belief) -> &'static str {
    match belief.tendency {
        Tendency::Overestimates => "overestimates itself",
        Tendency::Underestimates => "underestimates itself",
        Tendency::NoClearBias => "no clear bias",
        Tendency::TooFew => "too few to say",
    }
}

fn left_out(why: ExclusionReason) -> &'static str {
    match why {
        ExclusionReason::Active => "still going on",
        ExclusionReason::NoOutcome => "with neither goals nor evidence",
        ExclusionReason::NoForecast => "without a forecast",
    }
}

fn trend(score: &Score) -> String {
    let (earlier, later) = (number(score.trend.earlier), number(score.trend.later));
    match score.trend.direction {
        ScoreTrend::Unknown => "not known from fewer than 4 sessions".to_owned(),
        direction => {
            format!("{}: Brier score {earlier} in the earlier half, {later} in the later", direction.name())
        }
    }
}

fn summary_text(title: &str, summary: &CalibrationSummary) -> String {
    let score = &summary.score;
    let mut out = format!("{title}: {}, {} judged", format::count(summary.sessions, "session"), score.judged);
    for (n, why) in [
        (score.left_out.active, ExclusionReason::Active),
        (score.left_out.no_outcome, ExclusionReason::NoOutcome),
        (score.left_out.no_forecast, ExclusionReason::NoForecast),
    ] {
        if n > 0 {
            out.push_str(&format!(", {n} {}", left_out(why)));
        }
    }
    out.push('\n');
    if let Some(note) = note(score) {
        out.push_str(&format!("  {note}.\n"));
    }
    if score.judged > 0 {
        out.push_str(&format!("  Brier score {} (0 is perfect, always saying 0.5 gets 0.25)\n", number(score.brier)));
        out.push_str(&format!(
            "  Bias {} (mean forecast {}, share that came true {})\n",
            format::signed(score.bias),
            format::value(score.mean_forecast),
            format::value(score.mean_outcome)
        ));
        out.push_str(&format!("  Trend {}\n", trend(score)));
        out.push_str(&plot(score));
    }
    if !summary.beliefs.is_empty() {
        out.push_str("  Bias per vector, + where it was thought better before than after:\n");
    }
    for belief in &summary.beliefs {
        let mean = format::signed(Some(belief.mean));
        let sd = format::value(Some(belief.sd));
        let name = belief.vector.name();
        out.push_str(&format!("  {name:<11} {mean} ± {sd}  n {:<4} {}\n", belief.n, tendency(belief)));
    }
    out
}

fn one_text(one: &SessionCalibration) -> String {
    let (session, entry) = (&one.session, &one.entry);
    let task = session.task.as_deref().map(|task| format!(": {}", safe::line(task))).unwrap_or_default();
    let forecast = match entry.forecast {
        None => "none".to_owned(),
        Some(forecast) => {
            let from = match forecast.source {
                ForecastSource::Confidence => "--confidence of the last CHECK",
                ForecastSource::Check => "overall confidence of the last CHECK",
                ForecastSource::Preflight => "overall confidence of the last PREFLIGHT",
            };
            format!("{} ({from})", forecast.value)
        }
    };
    let outcome = entry.outcome.reached().map_or("unknown", |reached| if reached { "1" } else { "0" });
    format!(
        "Session {} by {}{task}\n  self-assessment {}: {}\n  forecast {forecast}, outcome {outcome}: {}\n",
        session.id.short(),
        safe::line(&session.ai),
        one.calibration.status.word(),
        one.calibration.why,
        entry.outcome.why()
    )
}

#[derive(Serialize)]
struct BeliefsView<'a> {
    sessions: usize,
    vectors: &'a [Belief],
    #[serde(skip_serializing_if = "Option::is_none")]
    ai_id: Option<&'a str>,
}

/// The bias per vector over all and by agent.
#[derive(Serialize)]
struct AllBeliefsView<'a> {
    overall: Option<BeliefsView<'a>>,
    agents: Vec<BeliefsView<'a>>,
    total_sessions: usize,
}

/// The bias per vector alone, over all and by agent.
pub fn beliefs(outcome: &CalibrationOutcome) -> Answer {
    fn of<'a>(summary: &'a CalibrationSummary, ai_id: Option<&'a str>) -> BeliefsView<'a> {
        BeliefsView { sessions: summary.sessions, vectors: &summary.beliefs, ai_id }
    }
    let view = AllBeliefsView {
        overall: outcome.overall.as_ref().map(|summary| of(summary, None)),
        agents: outcome.agents.iter().map(|(ai, summary)| of(summary, Some(ai))).collect(),
        total_sessions: outcome.total_sessions,
    };
    Answer::new(view).warn(outcome.warnings.clone())
}

pub fn answer(outcome: &CalibrationOutcome) -> Answer {
    let message = match (outcome.sessions.is_empty(), outcome.any) {
        (false, _) => None,
        (true, true) => Some("No session that is stored here fits."),
        (true, false) => Some("Nothing is stored here yet: there is no session to judge."),
    };
    let answer = Answer::new(CalibrationView {
        sessions: outcome.sessions.iter().map(OneView::from).collect(),
        total_sessions: outcome.total_sessions,
        overall: outcome.overall.as_ref().map(SummaryView::from),
        agents: outcome.agents.iter().map(|(ai_id, of)| AgentView { summary: of.into(), ai_id }).collect(),
        total_agents: outcome.total_agents,
        message,
    });
    let answer = answer.warn(outcome.warnings.clone());
    if let Some(message) = message {
        return answer.text(format!("{message}\n"));
    }
    let mut parts: Vec<String> = Vec::new();
    match (&outcome.overall, outcome.agents.as_slice()) {
        // the only agent's summary is that of all
        (Some(overall), [(ai, _)]) => parts.push(summary_text(&safe::line(ai), overall)),
        (overall, agents) => {
            parts.extend(overall.iter().map(|overall| summary_text("Over all", overall)));
            parts.extend(agents.iter().map(|(ai, summary)| summary_text(&safe::line(ai), summary)));
        }
    }
    parts.extend(outcome.sessions.iter().map(one_text));
    let answer = answer.text(parts.join("\n")).paged();
    let left_out = [
        (outcome.total_sessions - outcome.sessions.len(), "older session"),
        (outcome.total_agents - outcome.agents.len(), "agent"),
    ];
    let left_out = left_out.into_iter().filter(|(n, _)| *n > 0);
    match left_out.map(|(n, what)| format::count(n, what)).collect::<Vec<_>>().as_slice() {
        [] => answer,
        some => answer.hint(format!("not listed: {}; show one agent: --ai <id>", some.join(", "))),
    }
}
