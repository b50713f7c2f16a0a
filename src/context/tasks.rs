//! Where a task stands, and what may be done with it.

use crate::context::CommandContext;
use crate::fold::task::state;
use crate::fold::task::state::TaskState;
use crate::index::Index;
use empirica_notes::error::{Command, Error, Result, blank, empirica};
use empirica_notes::model::Id;
use empirica_notes::store::Scan;

/// Where a task stands; `None` for one of which nothing is stored.
pub fn standing(context: &CommandContext<'_>, task: &str) -> Result<Option<TaskState>> {
    let index = context.index()?;
    let ids: Vec<Id> = index.of_tasks(Some(task))?.into_iter().map(|(_, id)| id).collect();
    if ids.is_empty() {
        return Ok(None);
    }
    let scan = about(&index, &ids)?;
    Ok(Some(state::standing(&scan.records().collect::<Vec<_>>(), &index.superseded(&ids)?)))
}

/// Handoffs with what receivers said of them, and the answers to that.
pub fn about(index: &Index<'_>, handoffs: &[Id]) -> Result<Scan> {
    let mut out = index.ids(handoffs)?;
    let accepts = index.naming(handoffs, &["accept"])?;
    let asking: Vec<Id> = accepts.records().map(|record| record.head.id.clone()).collect();
    out.merge(accepts);
    out.merge(index.naming(&asking, &["answer"])?);
    Ok(out)
}

/// Refuses what would go on with an escalated task. `kind` is what is to be handed over.
pub fn may_go_on(task: &str, standing: &TaskState, kind: &str) -> Result<()> {
    if standing.status != state::TaskStatus::Escalated || (kind == "escalation" && !standing.is_with_a_person()) {
        return Ok(());
    }
    let Some((step, resolve)) = standing.escalation().zip(resolve_command(standing)) else {
        return Ok(());
    };
    let suggestion = match standing.is_with_a_person() {
        true => "It goes on when somebody says how it was resolved.",
        false => "Escalate it with a handoff of the type escalation, or say how it was resolved.",
    };
    Err(Error::refused(format!("the task '{task}' is escalated"))
        .reason(format!("{} escalated it at {}; it waits for a person", step.head.ai, step.head.at))
        .suggest(suggestion)
        .command(resolve)
        .command(show_command(task)))
}

/// The command that shows a task.
pub fn show_command(task: &str) -> Command {
    empirica("task show").arg(task)
}

/// The command that resolves an escalated task.
pub fn resolve_command(standing: &TaskState) -> Option<Command> {
    let step = standing.escalation()?;
    let handoff = match &step.action {
        state::TaskAction::Accept(accept) => &accept.of,
        _ => &step.head.id,
    };
    Some(empirica("accept").arg(handoff.short()).option("--resolution", blank("<how it was resolved>")))
}
