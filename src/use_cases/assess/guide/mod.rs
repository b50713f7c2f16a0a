//! The material of an assessment: the task, what is open, and the last state of the session. Nothing is written.

pub mod view;

use crate::context::records::{self, gather_from};
use crate::context::{CommandContext, active};
use crate::fold::assessment::drift::WINDOW;
use crate::fold::assessment::gate::Gate;
use crate::fold::assessment::session_gate::gate;
use crate::fold::session_records::SessionRecords;
use empirica_notes::error::Result;
use empirica_notes::model::Phase;

#[derive(Debug)]
pub struct GuideOutcome {
    pub records: SessionRecords,
    /// The requested task, else that of the last assessment, else that of the session.
    pub task: Option<String>,
    pub gate: Gate,
    pub warnings: Vec<String>,
}

/// Reads the session of the command. A blank `task` is a usage error.
pub fn run(context: &CommandContext<'_>, phase: Option<Phase>, task: Option<String>) -> Result<GuideOutcome> {
    context.optional("task", task.as_deref())?;
    let mut warnings = context.store.reconcile();
    let session = context.working()?;
    warnings.extend(session.note.clone());
    let scan = records::session(context, &session.id)?;
    let records = gather_from(&scan, &session.id)?;
    let here = active::anywhere(context, session.id.as_str());
    if let Some(phase) = phase.filter(|_| !records.session.is_active() && here.is_none()) {
        warnings.push(format!("the session has ended: it can have no other {}", phase.name()));
    }
    let assessed = || records.assessments.iter().rev().find_map(|(_, assessment)| assessment.task.clone());
    let later = || here.and_then(|session| session.task);
    let task = task.or_else(assessed).or_else(|| records.session.task.clone()).or_else(later);
    Ok(GuideOutcome { gate: gate(&scan, &session.id, WINDOW), records, task, warnings })
}
