//! The stages of tasks: how long handoffs wait for each receiver, how long its work takes, and where chains stall.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use crate::fold::task::chain::{Link, chain};
use crate::render::format::duration;
use crate::render::safe;
use crate::use_cases::history::metrics::fold::{MetricsQuery, median_seconds};
use crate::use_cases::task::list::Task;
use empirica_notes::model::Id;

/// Stands for the receiver of what is escalated to a person.
const PERSON: &str = "a person";
/// Most open stages that are named.
const STALLED: usize = 5;

/// The stages of an agent.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AgentStages")]
pub struct StageTimes {
    /// The agent.
    ai_id: String,
    /// The handoffs to it, or that it claimed.
    received: usize,
    /// Those it claimed.
    claimed: usize,
    /// The median time until it claimed one, in seconds; null without any.
    wait_median_seconds: Option<f64>,
    /// The median time of finished work, in seconds; null without any.
    work_median_seconds: Option<f64>,
    /// Those that wait now.
    waiting: usize,
    /// Those it works on now.
    working: usize,
    /// The longest present wait or work, in seconds; null without any.
    stalled_seconds: Option<u64>,
}

/// A stage that a task waits for.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "StalledStage")]
pub struct Stalled {
    /// The task.
    task_id: String,
    /// The handoff.
    handoff_id: Id,
    /// The agent that it waits for.
    ai_id: String,
    /// Whether the agent claimed it.
    claimed: bool,
    /// How long it has waited, else how long the agent has worked, in seconds.
    seconds: u64,
}

/// The stages of the tasks that match.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "TaskStages")]
pub struct Stages {
    /// Each agent, that with the longest present stage first.
    agents: Vec<StageTimes>,
    /// The open stages that have taken longest, at most 5.
    stalled: Vec<Stalled>,
}

/// The handoffs with a receiver that match the query, each for the agent that claimed it, else its receiver; those that wait for a
/// person for `a person`.
pub fn stages(tasks: &[Task], query: &MetricsQuery, now: DateTime<Utc>) -> Stages {
    let chains: Vec<(&str, Vec<Link<'_>>)> =
        tasks.iter().map(|task| (task.task_id.as_str(), chain(&task.state, now))).collect();
    let mut by_agent: BTreeMap<&str, Vec<&Link<'_>>> = BTreeMap::new();
    let mut stalled: Vec<Stalled> = Vec::new();
    for (task, link) in chains.iter().flat_map(|(task, links)| links.iter().map(|link| (*task, link))) {
        let Some(ai) = link.receiver().or(link.is_escalated.then_some(PERSON)) else { continue };
        let at = DateTime::parse_from_rfc3339(&link.envelope.at).map_or(i64::MAX, |at| at.timestamp_millis());
        if !query.matches(ai, at) {
            continue;
        }
        by_agent.entry(ai).or_default().push(link);
        if link.is_open {
            stalled.push(Stalled {
                task_id: task.to_owned(),
                handoff_id: link.envelope.id.clone(),
                ai_id: ai.to_owned(),
                claimed: link.owner.is_some(),
                seconds: link.worked.unwrap_or(link.waited),
            });
        }
    }
    stalled.sort_by(|a, b| b.seconds.cmp(&a.seconds).then_with(|| a.handoff_id.cmp(&b.handoff_id)));
    let longest = |ai: &str| stalled.iter().find(|one| one.ai_id == ai).map(|one| one.seconds);
    let mut agents: Vec<StageTimes> = by_agent.into_iter().map(|(ai, links)| times(ai, &links, longest(ai))).collect();
    agents.sort_by(|a, b| b.stalled_seconds.cmp(&a.stalled_seconds).then_with(|| a.ai_id.cmp(&b.ai_id)));
    stalled.truncate(STALLED);
    Stages { agents, stalled }
}

fn times(ai: &str, links: &[&Link<'_>], stalled_seconds: Option<u64>) -> StageTimes {
    let median = |seconds: Vec<u64>| median_seconds(&seconds.iter().map(|one| one * 1000).collect::<Vec<_>>());
    let claimed = || links.iter().filter(|link| link.owner.is_some());
    let open =
        |is_claimed: bool| links.iter().filter(|link| link.is_open && link.owner.is_some() == is_claimed).count();
    StageTimes {
        ai_id: ai.to_owned(),
        received: links.len(),
        claimed: claimed().count(),
        wait_median_seconds: median(claimed().map(|link| link.waited).collect()),
        work_median_seconds: median(claimed().filter(|link| !link.is_open).filter_map(|link| link.worked).collect()),
        waiting: open(false),
        working: open(true),
        stalled_seconds,
    }
}

/// A table of the agents, and the open stages; `None` without any.
pub fn text(stages: &Stages) -> Option<String> {
    let width = stages.agents.iter().map(|agent| safe::line(&agent.ai_id).chars().count()).max()?.max("agent".len());
    let time =
        |seconds: Option<f64>| seconds.map_or_else(|| "–".to_owned(), |seconds| duration(seconds.round() as u64));
    let mut out = format!(
        "{:<width$} {:>8} {:>12} {:>12} {:>8} {:>8}\n",
        "agent", "received", "median wait", "median work", "waiting", "working"
    );
    for agent in &stages.agents {
        out.push_str(&format!(
            "{:<width$} {:>8} {:>12} {:>12} {:>8} {:>8}\n",
            safe::line(&agent.ai_id),
            agent.received,
            time(agent.wait_median_seconds),
            time(agent.work_median_seconds),
            agent.waiting,
            agent.working
        ));
    }
    for one in &stages.stalled {
        let (task, ai, time) = (safe::words(&one.task_id), safe::words(&one.ai_id), duration(one.seconds));
        let what =
            if one.claimed { format!("{ai} has worked for {time}") } else { format!("has waited for {ai} {time}") };
        out.push_str(&format!("  {}: {what} ({})\n", task, one.handoff_id.short()));
    }
    Some(format!("Stages of tasks:\n{out}"))
}
