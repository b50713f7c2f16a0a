//! Tasks: their handoffs, events and states.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::context::{CommandContext, names, tasks};
use crate::fold::task::state::{TaskState, TaskStatus, task_state};
use empirica_notes::error::{Error, Result};
use empirica_notes::model::{Body, Id, Record};

#[derive(Debug)]
pub struct Task {
    pub task_id: String,
    pub state: TaskState,
}

pub fn show(context: &CommandContext<'_>, name: &str) -> Result<(Task, Vec<String>)> {
    let warnings = context.store.reconcile();
    let task_id = names::task(context, name)?;
    let state = tasks::state(context, &task_id)?.ok_or_else(Error::unstored)?;
    Ok((Task { task_id, state }, warnings))
}

/// All tasks, most recent event first; with `open_only` without complete ones.
pub fn list(context: &CommandContext<'_>, open_only: bool) -> Result<(Vec<Task>, Vec<String>)> {
    let warnings = context.store.reconcile();
    let mut out = all(context)?;
    out.retain(|task| !open_only || task.state.status != TaskStatus::Complete);
    Ok((out, warnings))
}

/// All tasks, most recent event first.
pub fn all(context: &CommandContext<'_>) -> Result<Vec<Task>> {
    let index = context.index()?;
    let found = index.of_tasks(None)?;
    let ids: Vec<Id> = found.iter().map(|(_, id)| id.clone()).collect();
    let (scan, superseded) = (tasks::about(&index, &ids)?, index.superseded(&ids)?);
    // replies belong to the task of their handoff
    let task_of: BTreeMap<&Id, &str> = found.iter().map(|(task, id)| (id, task.as_str())).collect();
    let mut accepted: BTreeMap<&Id, &str> = BTreeMap::new();
    let mut of_task: BTreeMap<&str, Vec<&Record>> = BTreeMap::new();
    for record in scan.records() {
        let id = &record.envelope.id;
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
    let task = |(task, records): (&str, Vec<&Record>)| Task {
        task_id: task.to_owned(),
        state: task_state(&records, &superseded),
    };
    let mut out: Vec<Task> = of_task.into_iter().map(task).collect();
    out.sort_by_cached_key(|task| Reverse(task.state.steps.last().map(|step| step.envelope.id.clone())));
    Ok(out)
}
