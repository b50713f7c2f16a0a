//! Summary of a session, stored in the index for totals over all sessions.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::fold::assessment::belief::differences;
use crate::fold::assessment::track_record::TrackEntry;
use crate::fold::facts::{SessionFacts, facts};
use crate::fold::session_records::SessionRecords;
use empirica_notes::model::{Id, Phase, Vector, Vectors};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionSummary {
    pub facts: SessionFacts,
    /// Vectors of the first PREFLIGHT, if any.
    pub before: Option<Vectors>,
    /// Vectors of the POSTFLIGHT that ended the work, if any.
    pub after: Option<Vectors>,
    /// Forecast and outcome.
    pub entry: TrackEntry,
    /// Differences of its assessments before and after, per vector.
    pub differences: Vec<(Vector, f64)>,
}

/// Summarizes a session, given its superseded handoffs.
pub fn summarize(records: &SessionRecords, superseded: &BTreeSet<Id>) -> SessionSummary {
    SessionSummary {
        facts: facts(records, superseded),
        before: records.before().cloned(),
        after: records.after().cloned(),
        entry: TrackEntry::of(records),
        differences: differences(records),
    }
}

/// Change of a vector from the first PREFLIGHT to the last POSTFLIGHT; `None` if missing in either.
pub fn learned(records: &SessionRecords, vector: Vector) -> Option<f64> {
    let of = |phase: Phase| records.assessments.iter().map(|(_, a)| a).filter(move |a| a.phase == phase);
    let (before, after) = (of(Phase::Preflight).next()?, of(Phase::Postflight).next_back()?);
    Some(after.vectors.get(vector)? - before.vectors.get(vector)?)
}
