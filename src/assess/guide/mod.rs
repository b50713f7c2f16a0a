//! What there is to assess: the task, what is open, and how the session stood last. Nothing is written.

pub mod view;

use crate::context::records::gather_from;
use crate::context::{CommandContext, active};
use crate::fold::assessment::drift::WINDOW;
use crate::fold::assessment::gate::Gate;
use crate::fold::assessment::session_gate::gate;
use crate::fold::session_state::SessionRecords;
use empirica_notes::error::Result;
use empirica_notes::model::goal::{GoalState, GoalStatus};
use empirica_notes::model::handoff::Item;
use empirica_notes::model::{Assessment, Envelope, Phase, Vectors};

/// What an assessment is to be made of.
#[derive(Debug)]
pub struct GuideOutcome {
    /// The session, with everything it said.
    pub gathered: SessionRecords,
    /// The task: as given, else as the last assessment or the session says.
    pub task: Option<String>,
    /// How confidence moved so far.
    pub gate: Gate,
    /// What the user should know.
    pub warnings: Vec<String>,
}

impl GuideOutcome {
    pub fn last(&self) -> Option<&(Envelope, Assessment)> {
        self.gathered.assessments.last()
    }

    /// Its vectors; none without one.
    pub fn vectors(&self) -> Vectors {
        self.last().map(|(_, assessment)| assessment.vectors.clone()).unwrap_or_default()
    }

    /// The open questions, oldest first.
    pub fn unknowns(&self) -> &[Item] {
        &self.gathered.unknowns
    }

    /// The open goals, oldest first.
    pub fn goals(&self) -> impl Iterator<Item = &GoalState> {
        self.gathered.goals.iter().filter(|goal| goal.status == GoalStatus::Open)
    }
}

/// Looks at the session the command works in. A blank `task` is a usage error.
pub fn run(context: &CommandContext<'_>, phase: Option<Phase>, task: Option<String>) -> Result<GuideOutcome> {
    context.optional("task", task.as_deref())?;
    let mut warnings = context.store.reconcile();
    let who = context.working()?;
    warnings.extend(who.note.clone());
    let scan = context.session(&who.id)?;
    let gathered = gather_from(&scan, &who.id)?;
    if let Some(phase) = phase.filter(|_| !gathered.session.is_active()) {
        warnings.push(format!("the session has ended: no {} can be submitted to it", phase.name()));
    }
    let said = gathered.assessments.iter().rev().find_map(|(_, assessment)| assessment.task.clone());
    let later = || active::anywhere(context, who.id.as_str()).and_then(|session| session.task);
    let task = task.or(said).or_else(|| gathered.session.task.clone()).or_else(later);
    Ok(GuideOutcome { gate: gate(&scan, &who.id, WINDOW), gathered, task, warnings })
}
