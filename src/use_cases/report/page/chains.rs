//! The chains of tasks: each stage with its agent and times.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::fold::task::chain::{Link, chain};
use crate::fold::task::state::TaskStatus;
use crate::render::safe;
use crate::use_cases::task::chain_view::{receiver, times};
use crate::use_cases::task::list::Task;

/// Most tasks on the page: those that are not complete first, then the newest.
pub const TASKS: usize = 40;

/// The chains of tasks, at most [`TASKS`].
pub fn chains(tasks: &[Task], now: DateTime<Utc>) -> Vec<Value> {
    let is_complete = |task: &&Task| task.state.status == TaskStatus::Complete;
    let (complete, open): (Vec<&Task>, Vec<&Task>) = tasks.iter().partition(is_complete);
    open.into_iter().chain(complete).take(TASKS).map(|task| drawn(task, now)).collect()
}

fn drawn(Task { task_id, state }: &Task, now: DateTime<Utc>) -> Value {
    let links = chain(state, now);
    let mut last: Option<String> = None;
    let mut stages = Vec::new();
    for link in &links {
        let from = safe::words(&link.envelope.ai);
        stages.push(stage(link, (last.as_ref() != Some(&from)).then_some(from)));
        last = Some(receiver(link));
    }
    json!({
        "id": safe::line(task_id),
        "title": safe::line(&state.title),
        "status": state.status.name(),
        "stages": stages,
    })
}

/// A stage; `from` is its sender, unless that is the receiver before it.
fn stage(link: &Link<'_>, from: Option<String>) -> Value {
    let route = link.handoff.route.as_ref();
    let word = match (link.is_open, &link.owner) {
        (false, _) => "done",
        (true, None) => "waits",
        (true, Some(_)) => "works",
    };
    json!({
        "from": from,
        "ai": receiver(link),
        "class": word,
        "rule": route.map(|route| safe::line(&route.rule)),
        "decision": link.decision.map(|decision| decision.name()),
        "times": times(link),
        "id": link.envelope.id.short(),
    })
}
