//! The answer of `calibration`: whose confidence was justified, with a small plot that needs neither colour nor width.

use serde_json::{Value, json};

use crate::assess::calibration::{CalibrationOutcome, CalibrationSummary, SessionCalibration};
use crate::fold::assessment::belief::{Belief, FEWEST, Tendency};
use crate::fold::assessment::track_record::{BINS, ExclusionReason, ForecastSource, ReliabilityBin, Score, ScoreTrend};
use crate::render::answer::Answer;
use crate::render::{format, safe};

/// The last mark of the plot: a forecast of 1.
const WIDTH: usize = 40;

/// From where to where a bin goes.
fn edges(at: usize) -> (f64, f64) {
    (at as f64 / BINS as f64, (at + 1) as f64 / BINS as f64)
}

/// How far the numbers can be trusted; `None` from 10 sessions on.
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

fn bin_json((at, bin): (usize, &ReliabilityBin)) -> Value {
    let (from, to) = edges(at);
    json!({"from": from, "to": to, "n": bin.n, "mean_forecast": bin.mean_forecast, "observed": bin.observed})
}

fn belief_json(belief: &Belief) -> Value {
    json!({
        "vector": belief.vector.name(),
        "n": belief.n,
        "bias": belief.bias,
        "mean": belief.mean,
        "sd": belief.sd,
        "tendency": belief.tendency.name(),
    })
}

fn summary_json(summary: &CalibrationSummary) -> Value {
    let score = &summary.score;
    json!({
        "sessions": summary.sessions,
        "judged": score.judged,
        "left_out": {"active": score.active, "no_outcome": score.no_outcome, "no_forecast": score.no_forecast},
        "brier_score": score.brier,
        "mean_forecast": score.mean_forecast,
        "mean_outcome": score.mean_outcome,
        "bias": score.bias,
        "reliability": score.reliability.iter().enumerate().map(bin_json).collect::<Vec<_>>(),
        "trend": {"direction": score.direction.name(), "earlier": score.earlier, "later": score.later},
        "vectors": summary.beliefs.iter().map(belief_json).collect::<Vec<_>>(),
        "small_sample": score.small_sample(),
        "note": note(score),
    })
}

fn one_json(one: &SessionCalibration) -> Value {
    let (session, entry) = (&one.session, &one.entry);
    json!({
        "session_id": session.id,
        "ai_id": session.ai,
        "started_at": session.started_at,
        "ended_at": session.ended_at,
        "active": session.is_active(),
        "task": session.task,
        "calibration_status": one.calibration.status,
        "why": one.calibration.why,
        "know_delta": one.calibration.know,
        "uncertainty_drop": one.calibration.uncertainty,
        "forecast": entry.forecast.map(|forecast| forecast.value),
        "forecast_from": entry.forecast.map(|forecast| forecast.source.name()),
        "outcome": entry.ending.outcome().map(u8::from),
        "outcome_why": entry.ending.why(),
        "left_out": entry.left_out().map(ExclusionReason::name),
    })
}

/// A number with up to four decimals; `–` for none.
fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| value.to_string())
}

/// One line of marks: `○` where the mean forecast is, `●` the share that came true, `◉` both.
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

/// The reliability table as a plot, 69 columns wide: a line for each bin.
fn plot(score: &Score) -> String {
    let mut out = format!("  forecast     n  {:<21}{:<19}1  mean  true\n", 0, 0.5);
    for (at, bin) in score.reliability.iter().enumerate() {
        let (from, to) = edges(at);
        let (mean, observed) = (format::value(bin.mean_forecast), format::value(bin.observed));
        out.push_str(&format!("  {from:.1}–{to:.1} {:>7}  {}  {mean:>4}  {observed:>4}\n", bin.n, marks(bin)));
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
    let scores =
        || format!("Brier score {} in the earlier half, {} in the later", number(score.earlier), number(score.later));
    match score.direction {
        ScoreTrend::Unknown => "not known from fewer than 4 sessions".to_owned(),
        direction => format!("{}: {}", direction.name(), scores()),
    }
}

fn summary_text(title: &str, summary: &CalibrationSummary) -> String {
    let score = &summary.score;
    let mut out = format!("{title}: {}, {} judged", format::count(summary.sessions, "session"), score.judged);
    for (n, why) in [
        (score.active, ExclusionReason::Active),
        (score.no_outcome, ExclusionReason::NoOutcome),
        (score.no_forecast, ExclusionReason::NoForecast),
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
    let outcome = entry.ending.outcome().map_or("unknown", |reached| if reached { "1" } else { "0" });
    format!(
        "Session {} by {}{task}\n  self-assessment {}: {}\n  forecast {forecast}, outcome {outcome}: {}\n",
        session.id.short(),
        safe::line(&session.ai),
        one.calibration.status.word(),
        one.calibration.why,
        entry.ending.why()
    )
}

/// What the vectors of all agents, and of each, were found to be off by: the bias per vector alone.
pub fn beliefs(outcome: &CalibrationOutcome) -> Answer {
    let of = |summary: &CalibrationSummary| {
        json!({
            "sessions": summary.sessions, "vectors": summary.beliefs.iter().map(belief_json).collect::<Vec<_>>(),
        })
    };
    let agent = |(ai, summary): &(String, CalibrationSummary)| {
        let mut json = of(summary);
        json["ai_id"] = json!(ai);
        json
    };
    let json = json!({
        "overall": outcome.overall.as_ref().map(of),
        "agents": outcome.agents.iter().map(agent).collect::<Vec<_>>(),
        "total_sessions": outcome.sessions.len(),
    });
    Answer::new(json).warn(outcome.warnings.clone())
}

/// Answers.
pub fn answer(outcome: &CalibrationOutcome) -> Answer {
    let agent = |(ai, summary): &(String, CalibrationSummary)| {
        let mut json = summary_json(summary);
        json["ai_id"] = json!(ai);
        json
    };
    let mut json = json!({
        "sessions": outcome.sessions.iter().map(one_json).collect::<Vec<_>>(),
        "total_sessions": outcome.sessions.len(),
        "overall": outcome.overall.as_ref().map(summary_json),
        "agents": outcome.agents.iter().map(agent).collect::<Vec<_>>(),
    });
    if outcome.sessions.is_empty() {
        let message = if outcome.any {
            "No session that is stored here fits."
        } else {
            "Nothing is stored here yet: there is no session to be judged."
        };
        json["message"] = json!(message);
        return Answer::new(json).text(format!("{message}\n")).warn(outcome.warnings.clone());
    }
    let mut parts: Vec<String> = Vec::new();
    match (&outcome.overall, outcome.agents.as_slice()) {
        // all there is comes from one agent: the same twice tells nothing
        (Some(overall), [(ai, _)]) => parts.push(summary_text(&safe::line(ai), overall)),
        (overall, agents) => {
            parts.extend(overall.iter().map(|overall| summary_text("Over all", overall)));
            parts.extend(agents.iter().map(|(ai, summary)| summary_text(&safe::line(ai), summary)));
        }
    }
    parts.extend(outcome.sessions.iter().map(one_text));
    Answer::new(json).text(parts.join("\n")).warn(outcome.warnings.clone()).paged()
}
