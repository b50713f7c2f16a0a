//! Tasks: their handoffs, events and states.

use std::collections::{BTreeMap, BTreeSet};

use crate::context::CommandContext;
use crate::context::names;
use crate::index::Index;
use crate::task::state;
use crate::task::state::TaskState;
use empirica_notes::error::{Command, Error, Result, blank, empirica};
use empirica_notes::model::{Body, Id, Record};
use empirica_notes::store::Scan;

/// A task with its state.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Task {
    pub task_id: String,
    pub standing: TaskState,
}

/// State of a task; `None` if nothing is stored.
pub fn standing(context: &CommandContext<'_>, task: &str) -> Result<Option<TaskState>> {
    let index = context.index()?;
    let ids: Vec<Id> = index.of_tasks(Some(task))?.into_iter().map(|(_, id)| id).collect();
    if ids.is_empty() {
        return Ok(None);
    }
    let scan = about(&index, &ids)?;
    Ok(Some(state::standing(&scan.records().collect::<Vec<_>>(), &index.aside(&ids)?)))
}

/// Handoffs with their acknowledgements and answers.
pub fn about(index: &Index<'_>, handoffs: &[Id]) -> Result<Scan> {
    let mut out = index.ids(handoffs)?;
    let accepts = index.naming(handoffs, &["accept"])?;
    let asking: Vec<Id> = accepts.records().map(|record| record.head.id.clone()).collect();
    out.merge(accepts);
    out.merge(index.naming(&asking, &["answer"])?);
    Ok(out)
}

/// One task, by ID, with warnings.
pub fn show(context: &CommandContext<'_>, given: &str) -> Result<(Task, Vec<String>)> {
    let warnings = context.store.reconcile();
    let task_id = names::task(context, given)?;
    let standing = standing(context, &task_id)?.ok_or_else(Error::unstored)?;
    Ok((Task { task_id, standing }, warnings))
}

/// All tasks, most recent event first; with `open_only` without complete ones.
pub fn list(context: &CommandContext<'_>, open_only: bool) -> Result<(Vec<Task>, Vec<String>)> {
    let warnings = context.store.reconcile();
    let index = context.index()?;
    let found = index.of_tasks(None)?;
    let ids: Vec<Id> = found.iter().map(|(_, id)| id.clone()).collect();
    let (scan, aside) = (about(&index, &ids)?, index.aside(&ids)?);
    // task of the handoff that an acknowledgement or answer refers to
    let task_of: BTreeMap<&Id, &str> = found.iter().map(|(task, id)| (id, task.as_str())).collect();
    let mut accepted: BTreeMap<&Id, &str> = BTreeMap::new();
    let mut of_task: BTreeMap<&str, Vec<&Record>> = BTreeMap::new();
    for record in scan.records() {
        let id = &record.head.id;
        let task = match &record.body {
            Body::Accept(accept) => task_of.get(&accept.of).inspect(|task| {
                accepted.insert(id, task);
            }),
            Body::Answer(answer) => accepted.get(&answer.of),
            _ => task_of.get(id),
        };
        if let Some(task) = task {
            of_task.entry(task).or_default().push(record);
        }
    }
    let standing = |(task, records): (&str, Vec<&Record>)| Task {
        task_id: task.to_owned(),
        standing: state::standing(&records, &aside),
    };
    let mut out: Vec<Task> = of_task.into_iter().map(standing).collect();
    out.retain(|task| !open_only || task.standing.status != state::TaskStatus::Complete);
    out.sort_by(|a, b| last(b).cmp(&last(a)));
    Ok((out, warnings))
}

fn last(task: &Task) -> Option<&Id> {
    task.standing.steps.last().map(|step| &step.head.id)
}

/// The command that resolves an escalated task.
pub fn resolve_command(standing: &TaskState) -> Option<Command> {
    let step = standing.escalation()?;
    let handoff = match &step.deed {
        state::TaskAction::Accept(accept) => &accept.of,
        _ => &step.head.id,
    };
    Some(empirica("accept").arg(handoff.short()).option("--resolution", blank("<how it was resolved>")))
}

/// Refuses to continue an escalated task. `kind` is the kind of the next handoff.
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

/// IDs of handoffs taken up by other sessions, among these records.
pub fn taken_up<'a>(records: impl IntoIterator<Item = &'a Record>) -> BTreeSet<Id> {
    let by_others = records.into_iter().filter_map(|record| match &record.body {
        // an own handoff concerns no other session
        Body::Accept(accept) if !accept.concerns.is_empty() => Some(accept.of.clone()),
        _ => None,
    });
    by_others.collect()
}
