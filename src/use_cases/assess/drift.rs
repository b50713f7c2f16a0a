//! The drift of a session at any time: confidence that moved without a reason.

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::{CommandContext, records};
use crate::fold::assessment::gate::Gate;
use crate::fold::assessment::session_gate::gate;
use empirica_notes::error::Result;
use empirica_notes::model::{Body, SessionId};

/// How the confidence of a session moved over its last `--window` assessments (3): the newest against the mean of those before
/// it. Nothing is recorded.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DriftOutcome {
    /// The session.
    pub session_id: SessionId,
    /// Its agent.
    pub ai_id: String,
    /// Drift and decision.
    #[serde(flatten)]
    pub gate: Gate,
    /// `proceed`, `investigate`, `recalibrate_before_acting` or `stop`; null without an assessment.
    pub recommendation: Option<&'static str>,
    /// Warnings.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

/// Measures the last `window` assessments (2 or more) of the session of the command.
pub fn run(context: &CommandContext<'_>, window: usize) -> Result<DriftOutcome> {
    let mut warnings = context.store.reconcile();
    let session = context.working()?;
    let scan = records::session(context, &session.id)?;
    let assessed = scan.records().filter(|record| matches!(record.body, Body::Assessment(_)));
    warnings.extend(context.unproven(assessed.map(|record| &record.envelope.id)));
    let gate = gate(&scan, &session.id, window);
    Ok(DriftOutcome { recommendation: gate.recommendation, gate, session_id: session.id, ai_id: session.ai, warnings })
}
