//! State of a task, and the actions it permits.

pub mod inbox;
pub mod routes;

use std::collections::BTreeMap;

use crate::context::CommandContext;
use crate::fold::task::state::{TaskAction, TaskState, TaskStatus, task_state};
use crate::index::Index;
use empirica_notes::error::{Command, Error, Result, blank, empirica};
use empirica_notes::model::{Body, Handoff, Id, Record};
use empirica_notes::store::Scan;

/// State of a task; `None` without handoffs.
pub fn state(context: &CommandContext<'_>, task: &str) -> Result<Option<TaskState>> {
    let index = context.index()?;
    let handoffs = index.of_tasks(Some(task))?;
    Ok(states(&index, handoffs)?.remove(task))
}

/// The states of tasks, of which these are all handoffs.
pub fn states(index: &Index<'_>, handoffs: Vec<(String, Id)>) -> Result<BTreeMap<String, TaskState>> {
    let ids: Vec<Id> = handoffs.iter().map(|(_, id)| id.clone()).collect();
    let (scan, superseded) = (about(index, &ids)?, index.superseded(&ids)?);
    // replies belong to the task of their handoff
    let task_of: BTreeMap<&Id, &str> = handoffs.iter().map(|(task, id)| (id, task.as_str())).collect();
    let accepted: BTreeMap<Id, &str> = scan
        .records()
        .filter_map(|record| match &record.body {
            Body::Accept(accept) => Some((record.envelope.id.clone(), *task_of.get(&accept.of)?)),
            _ => None,
        })
        .collect();
    let mut of_task: BTreeMap<&str, Vec<Record>> = BTreeMap::new();
    for record in scan.into_records() {
        let task = match &record.body {
            Body::Accept(accept) => task_of.get(&accept.of),
            Body::Answer(answer) => accepted.get(&answer.of),
            _ => task_of.get(&record.envelope.id),
        };
        if let Some(task) = task.copied() {
            of_task.entry(task).or_default().push(record);
        }
    }
    let state = |(task, records): (&str, Vec<Record>)| (task.to_owned(), task_state(records, &superseded));
    Ok(of_task.into_iter().map(state).collect())
}

/// Handoffs with their acknowledgements, and the answers to these.
pub fn about(index: &Index<'_>, handoffs: &[Id]) -> Result<Scan> {
    let mut out = index.ids(handoffs)?;
    let accepts = index.naming(handoffs, &["accept"])?;
    let accept_ids: Vec<Id> = accepts.records().map(|record| record.envelope.id.clone()).collect();
    out.merge(accepts);
    out.merge(index.naming(&accept_ids, &["answer"])?);
    Ok(out)
}

/// The records that tell who took up a handoff: those of its task, if it has one.
pub fn receipts(context: &CommandContext<'_>, id: &Id, handoff: &Handoff) -> Result<Scan> {
    let index = context.index()?;
    let mut ids: Vec<Id> = match &handoff.task_id {
        Some(task) => index.of_tasks(Some(task))?.into_iter().map(|(_, id)| id).collect(),
        None => Vec::new(),
    };
    if !ids.contains(id) {
        ids.push(id.clone());
    }
    about(&index, &ids)
}

/// Refuses a handoff of a type that continues an escalated task.
pub fn check_not_escalated(task: &str, state: &TaskState, kind: &str) -> Result<()> {
    let with_person = state.is_with_a_person();
    if state.status != TaskStatus::Escalated || (kind == "escalation" && !with_person) {
        return Ok(());
    }
    let Some((step, resolve)) = state.escalation().zip(resolve_command(state)) else { return Ok(()) };
    let suggestion = match with_person {
        true => "It continues when its resolution is recorded.",
        false => "Escalate it with a handoff of the type escalation, or record its resolution.",
    };
    Err(Error::refused(format!("cannot continue task '{task}': it is escalated"))
        .reason(format!("{} escalated it at {}; it waits for a person", step.envelope.ai, step.envelope.at))
        .suggest(suggestion)
        .command(resolve)
        .command(show_command(task)))
}

pub fn show_command(task: &str) -> Command {
    empirica("task show").arg(task)
}

/// The command that resolves an escalated task.
pub fn resolve_command(state: &TaskState) -> Option<Command> {
    let step = state.escalation()?;
    let handoff = match &step.action {
        TaskAction::Accept(accept) => &accept.of,
        _ => &step.envelope.id,
    };
    Some(empirica("accept").arg(handoff.short()).option("--resolution", blank("<how it was resolved>")))
}
