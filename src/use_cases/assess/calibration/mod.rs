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
use empirica_notes::error::Result;
use empirica_notes::model::Vector;
use empirica_notes::model::session::Session;

#[derive(Debug)]
pub struct SessionCalibration {
    pub session: Session,
    pub calibration: CalibrationResult,
    /// Forecast and outcome.
    pub entry: TrackEntry,
    /// The change of each vector from before the work to after it.
    differences: Vec<(Vector, f64)>,
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
    /// The sessions, newest start first.
    pub sessions: Vec<SessionCalibration>,
    /// All of them; `None` for a single session, from which nothing follows.
    pub overall: Option<CalibrationSummary>,
    /// By agent, in order of their names; empty for a single session.
    pub agents: Vec<(String, CalibrationSummary)>,
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
    let all = index.summaries(context.selection.ai.as_deref())?.into_iter().rev();
    let matching = all.filter(|(session, _)| named.as_ref().is_none_or(|id| session.id == *id));
    let sessions: Vec<SessionCalibration> = matching.map(SessionCalibration::from).collect();
    let any = !sessions.is_empty() || index.count_sessions()? > 0;
    let (mut overall, mut agents) = (None, Vec::new());
    if named.is_none() {
        let mut by_agent: BTreeMap<&str, Vec<&SessionCalibration>> = BTreeMap::new();
        for one in &sessions {
            by_agent.entry(&one.session.ai).or_default().push(one);
        }
        agents = by_agent.into_iter().map(|(ai, ones)| (ai.to_owned(), summary(ones))).collect();
        overall = Some(summary(sessions.iter().collect()));
    }
    Ok(CalibrationOutcome { sessions, overall, agents, any, warnings })
}

impl From<(Session, SessionSummary)> for SessionCalibration {
    fn from((session, summary): (Session, SessionSummary)) -> Self {
        SessionCalibration {
            calibration: calibrate(summary.before.as_ref(), summary.after.as_ref()),
            entry: summary.entry,
            differences: summary.differences,
            session,
        }
    }
}

fn summary(mut ones: Vec<&SessionCalibration>) -> CalibrationSummary {
    // a fixed order, so that all clones get the same sums
    ones.sort_by(|a, b| a.entry.end.cmp(&b.entry.end));
    CalibrationSummary {
        sessions: ones.len(),
        score: Score::of(ones.iter().map(|one| &one.entry)),
        beliefs: beliefs(ones.iter().flat_map(|one| &one.differences)),
    }
}
