//! Tasks: their handoffs, events and states.

use crate::context::{CommandContext, names, tasks};
use crate::fold::task::state::{TaskState, TaskStatus};
use empirica_notes::error::{Error, Result};

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
    let states = tasks::states(&index, index.of_tasks(None)?)?;
    let mut out: Vec<Task> = states.into_iter().map(|(task_id, state)| Task { task_id, state }).collect();
    let horizon = context.store.horizon();
    out.sort_by_cached_key(|task| task.state.steps.last().map(|step| horizon.newest_first(&step.envelope.id)));
    Ok(out)
}
