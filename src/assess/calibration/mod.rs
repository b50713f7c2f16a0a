//! Calibration: whose confidence was justified, session by session, by agent and over all.

pub mod view;

use std::collections::BTreeMap;

use crate::context::CommandContext;
use crate::context::names;
use crate::fold::assessment::belief::{Belief, beliefs};
use crate::fold::assessment::calibration::{Explained, explained};
use crate::fold::assessment::track_record::{Score, TrackEntry};
use crate::fold::session_summary::SessionSummary;
use empirica_notes::error::Result;
use empirica_notes::model::Vector;
use empirica_notes::model::session::Session;

/// One session: how it is calibrated, what it forecast, what came of it.
#[derive(Debug)]
pub struct SessionCalibration {
    pub session: Session,
    /// Whether knowing and doubting moved together, and why.
    pub calibration: Explained,
    /// Forecast and outcome.
    pub entry: TrackEntry,
    /// What it thought of itself before and after, a vector each.
    differences: Vec<(Vector, f64)>,
}

/// Several sessions together.
#[derive(Debug)]
pub struct CalibrationSummary {
    /// How many they are, those that are left out as well.
    pub sessions: usize,
    /// How well forecasts and outcomes agree.
    pub score: Score,
    /// The bias of each vector that was given before and after.
    pub beliefs: Vec<Belief>,
}

/// What the sessions asked for amount to.
#[derive(Debug)]
pub struct CalibrationOutcome {
    /// The sessions, newest start first.
    pub sessions: Vec<SessionCalibration>,
    /// All of them together; `None` when one session was asked for: nothing follows from one.
    pub overall: Option<CalibrationSummary>,
    /// By agent, in order of their names; empty when one session was asked for.
    pub agents: Vec<(String, CalibrationSummary)>,
    /// Whether any session is stored here.
    pub any: bool,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// Reads everything once. With `--session` that session only, with `--ai` the sessions of that agent; a session's agent
/// is the one that began it. A session name that fits none is an error; no session at all is none.
pub fn run(context: &CommandContext<'_>) -> Result<CalibrationOutcome> {
    let mut warnings = context.store.reconcile();
    let index = context.index()?;
    warnings.extend(index.double_warnings()?);
    let named = match &context.selection.session {
        Some(given) => Some(names::session(context, given)?.id),
        None => None,
    };
    let all = index.summaries(context.selection.ai.as_deref())?.into_iter().rev();
    let wanted = all.filter(|(session, _)| named.as_ref().is_none_or(|id| session.id == *id));
    let sessions: Vec<SessionCalibration> = wanted.map(one).collect();
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

fn one((session, kept): (Session, SessionSummary)) -> SessionCalibration {
    SessionCalibration {
        calibration: explained(kept.before.as_ref(), kept.after.as_ref()),
        entry: kept.entry,
        differences: kept.differences,
        session,
    }
}

fn summary(mut ones: Vec<&SessionCalibration>) -> CalibrationSummary {
    // sums are made in one order, whatever clone they are made in
    ones.sort_by(|a, b| a.entry.end.cmp(&b.entry.end));
    CalibrationSummary {
        sessions: ones.len(),
        score: Score::of(ones.iter().map(|one| &one.entry)),
        beliefs: beliefs(ones.iter().flat_map(|one| &one.differences)),
    }
}
