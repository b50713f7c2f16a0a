//! Calibration: forecasts of sessions against their outcomes, by session, by agent and overall.

pub mod view;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::CommandContext;
use crate::context::names;
use crate::fold::assessment::belief::{Belief, beliefs};
use crate::fold::assessment::calibration::{CalibrationResult, calibrate};
use crate::fold::assessment::track_record::{Score, TrackEntry};
use crate::fold::session_summary::SessionSummary;
use crate::text::list::{ROWS, busiest};
use empirica_notes::error::Result;
use empirica_notes::model::session::Session;

#[derive(Debug)]
pub struct SessionCalibration {
    pub session: Session,
    pub calibration: CalibrationResult,
    /// Forecast and outcome.
    pub entry: TrackEntry,
}

/// Several sessions together.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CalibrationSummary {
    /// How many sessions, judged or left out.
    pub sessions: usize,
    #[serde(flatten)]
    pub score: Score,
    /// The bias of each vector with an observation, also of sessions that are left out.
    #[serde(rename = "vectors")]
    pub beliefs: Vec<Belief>,
}

#[derive(Debug)]
pub struct CalibrationOutcome {
    /// The sessions, newest start first, at most [`ROWS`].
    pub sessions: Vec<SessionCalibration>,
    pub total_sessions: usize,
    /// All of them; `None` for a single session, from which nothing follows.
    pub overall: Option<CalibrationSummary>,
    /// By agent, in order of their names, those with most sessions, at most [`ROWS`]; empty for a single session.
    pub agents: Vec<(String, CalibrationSummary)>,
    pub total_agents: usize,
    /// Whether any session is stored here.
    pub any: bool,
    pub warnings: Vec<String>,
}

/// Judges all sessions, with `--session` that one, with `--ai` those that agent began. A session name that fits none is an
/// error; an empty repository is not.
pub fn run(context: &CommandContext<'_>) -> Result<CalibrationOutcome> {
    let mut warnings = context.store.reconcile();
    let index = context.index()?;
    warnings.extend(index.double_warnings()?);
    let named = match &context.selection.session {
        Some(name) => Some(names::session(context, name)?.id),
        None => None,
    };
    let mut all = index.summaries(context.selection.ai.as_deref())?;
    all.retain(|(session, _)| named.as_ref().is_none_or(|id| session.id == *id));
    let any = !all.is_empty() || index.count_sessions()? > 0;
    let (mut overall, mut agents, mut total_agents) = (None, Vec::new(), 0);
    if named.is_none() {
        let mut by_agent: BTreeMap<&str, Vec<&SessionSummary>> = BTreeMap::new();
        for (session, summary) in &all {
            by_agent.entry(&session.ai).or_default().push(summary);
        }
        total_agents = by_agent.len();
        let busiest = busiest(by_agent.iter().map(|(ai, ones)| (*ai, ones.len())));
        let listed = by_agent.into_iter().filter(|(ai, _)| busiest.contains(ai));
        agents = listed.map(|(ai, ones)| (ai.to_owned(), summary(ones))).collect();
        overall = Some(summary(all.iter().map(|(_, summary)| summary).collect()));
    }
    let total_sessions = all.len();
    let sessions = all.into_iter().rev().take(ROWS).map(SessionCalibration::from).collect();
    Ok(CalibrationOutcome { sessions, total_sessions, overall, agents, total_agents, any, warnings })
}

impl From<(Session, SessionSummary)> for SessionCalibration {
    fn from((session, summary): (Session, SessionSummary)) -> Self {
        let calibration = calibrate(summary.before.as_ref(), summary.after.as_ref());
        SessionCalibration { calibration, entry: summary.entry, session }
    }
}

fn summary(mut ones: Vec<&SessionSummary>) -> CalibrationSummary {
    // a fixed order, so that all clones get the same sums
    ones.sort_by(|a, b| a.entry.end.cmp(&b.entry.end));
    CalibrationSummary {
        sessions: ones.len(),
        score: Score::of(ones.iter().map(|one| &one.entry)),
        beliefs: beliefs(ones.iter().flat_map(|one| &one.differences)),
    }
}
