//! What follows from one session alone and is asked of all of them together: small, so that it can be kept.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::fold::assessment::belief::differences;
use crate::fold::assessment::track_record::TrackEntry;
use crate::fold::facts::{SessionFacts, facts};
use crate::fold::session_state::SessionRecords;
use empirica_notes::model::{Id, Phase, Vector, Vectors};

/// What is kept of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionSummary {
    /// What metrics count.
    pub facts: SessionFacts,
    /// The vectors of the first PREFLIGHT; `None` without one.
    pub before: Option<Vectors>,
    /// The vectors of the POSTFLIGHT that ended the work; `None` without one.
    pub after: Option<Vectors>,
    /// What it forecast, and what came of it.
    pub entry: TrackEntry,
    /// What it thought of itself before and after, a vector each.
    pub differences: Vec<(Vector, f64)>,
}

/// What is kept of a session. `aside` has those of its handoffs that a newer one took the place of.
pub fn kept(gathered: &SessionRecords, aside: &BTreeSet<Id>) -> SessionSummary {
    SessionSummary {
        facts: facts(gathered, aside),
        before: gathered.before().cloned(),
        after: gathered.after().cloned(),
        entry: TrackEntry::of(gathered),
        differences: differences(gathered),
    }
}

/// How much a vector changed from the first PREFLIGHT of a session to its last POSTFLIGHT; `None` when it is missing in
/// either.
pub fn learned(gathered: &SessionRecords, vector: Vector) -> Option<f64> {
    let of = |phase: Phase| gathered.assessments.iter().map(|(_, a)| a).filter(move |a| a.phase == phase);
    let (before, after) = (of(Phase::Preflight).next()?, of(Phase::Postflight).next_back()?);
    Some(after.vectors.get(vector)? - before.vectors.get(vector)?)
}
