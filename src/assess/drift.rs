//! The drift of a session at any time: confidence that moved without a reason.

use crate::context::CommandContext;
use crate::fold::assessment::gate::Gate;
use crate::fold::assessment::session_gate::gate;
use empirica_notes::error::Result;
use empirica_notes::model::SessionId;

#[derive(Debug)]
pub struct DriftOutcome {
    pub session_id: SessionId,
    pub ai_id: String,
    pub gate: Gate,
    pub warnings: Vec<String>,
}

/// Measures the last `window` assessments (2 or more) of the session of the command.
pub fn run(context: &CommandContext<'_>, window: usize) -> Result<DriftOutcome> {
    let warnings = context.store.reconcile();
    let session = context.working()?;
    let scan = context.session(&session.id)?;
    Ok(DriftOutcome { gate: gate(&scan, &session.id, window), session_id: session.id, ai_id: session.ai, warnings })
}
