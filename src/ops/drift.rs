//! Drift of a session, at any time: has confidence moved without reason?

use super::context::Context;
use crate::epistemics::drift::{Drift, of_session, steps};
use crate::epistemics::gate::{self, Decision};
use crate::error::Result;
use crate::model::{Record, SessionId};
use crate::store::Scan;

/// What the last assessment of a session means for acting.
#[derive(Debug)]
pub struct Gate {
    /// How confidence moved.
    pub drift: Drift,
    /// Whether to act, by drift and confidence; `None` without an assessment.
    pub decision: Option<Decision>,
    /// proceed, investigate, recalibrate_before_acting or stop; `None` without an assessment.
    pub recommendation: Option<&'static str>,
}

/// The gate as it stands after the last of the session's assessments.
pub fn gate(scan: &Scan, session: &SessionId, window: usize) -> Gate {
    gate_of(scan.records(), session, window)
}

/// The same, out of records in order of id.
pub fn gate_of<'r>(records: impl IntoIterator<Item = &'r Record>, session: &SessionId, window: usize) -> Gate {
    let steps = steps(records, session);
    let drift = of_session(&steps, window);
    let decision = steps.last().map(|(_, assessment, _)| gate::decide(gate::confidence(assessment), &drift));
    Gate { recommendation: decision.map(|decision| gate::recommend(decision, &drift)), decision, drift }
}

/// The drift of a session.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Outcome {
    pub session_id: SessionId,
    pub ai_id: String,
    pub gate: Gate,
    pub warnings: Vec<String>,
}

/// Looks at the last `window` assessments (2 or more) of the session the command works in.
pub fn run(context: &Context<'_>, window: usize) -> Result<Outcome> {
    let warnings = context.store.settle();
    let who = context.working()?;
    let scan = context.store.session(&who.id)?;
    Ok(Outcome { gate: gate(&scan, &who.id, window), session_id: who.id, ai_id: who.ai, warnings })
}
