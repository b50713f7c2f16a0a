//! What waits for an agent, and what its session took up.

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::handoffs::ListedHandoff;
use crate::context::tasks::inbox::{Taken, not_yours, taken, waiting};
use crate::context::{CommandContext, active};
use crate::render::answer::Answer;
use crate::render::format::{duration, seconds_between};
use crate::render::{format, safe};
use empirica_notes::error::{Result, empirica};
use empirica_notes::model::handoff::Route;
use empirica_notes::model::{Id, SessionId};

#[derive(Debug)]
pub struct Inbox {
    pub ai: String,
    /// Handed to the agent, taken up by nobody; oldest first.
    pub waiting: Vec<ListedHandoff>,
    /// Number of such handoffs not listed.
    pub more: usize,
    /// What its active sessions here took up and have not handed on; also what others took up first.
    pub taken: Vec<Taken>,
    pub now: String,
    pub warnings: Vec<String>,
}

/// Reads what is handed to the agent of `--ai`, else of the command.
pub fn run(context: &CommandContext<'_>) -> Result<Inbox> {
    let warnings = context.store.reconcile();
    let own = context.own_session()?;
    let ai = context.author(own.as_ref().map(|session| session.ai.as_str()));
    let (waiting, more) = waiting(context, &ai, own.as_ref().map(|session| &session.id))?;
    let mut all = Vec::new();
    for session in active::load(context)?.iter().filter(|session| session.ai == ai) {
        all.extend(taken(context, &session.id)?);
    }
    let now = context.store.now().to_rfc3339();
    Ok(Inbox { ai, waiting, more, taken: all, now, warnings })
}

/// What is handed to an agent.
#[derive(Serialize, JsonSchema)]
pub struct InboxView<'a> {
    /// The agent.
    ai_id: &'a str,
    /// Handed to it, taken up by nobody; oldest first.
    waiting: Vec<Handed>,
    /// What its active sessions here took up and have not handed on.
    working: Vec<Handed>,
    /// What they took up, but another session first; or what another took over.
    lost: Vec<LostView<'a>>,
    /// How many handoffs wait, with those not listed.
    total_waiting: usize,
}

/// A handoff to a receiver.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "HandedView")]
pub struct Handed {
    /// The handoff.
    handoff_id: Id,
    /// The agent that hands over.
    from: String,
    /// Its session.
    session_id: Option<SessionId>,
    /// When.
    timestamp: String,
    /// The task.
    task_id: Option<String>,
    /// What it is about.
    task: String,
    /// The rule that names the receiver; null if the sender did.
    route: Option<Route>,
    /// How long ago that was, in seconds.
    waits_seconds: u64,
}

/// A handoff that another session has.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "HeldByOtherView")]
struct LostView<'a> {
    /// The handoff.
    handoff_id: &'a Id,
    /// The task.
    task_id: Option<&'a str>,
    /// The agent that has it.
    taken_by: &'a str,
    /// Its session.
    session_id: Option<&'a SessionId>,
    /// Since when.
    timestamp: &'a str,
}

impl Handed {
    pub fn new(ListedHandoff { envelope, handoff }: &ListedHandoff, now: &str) -> Self {
        Handed {
            handoff_id: envelope.id.clone(),
            from: envelope.ai.clone(),
            session_id: envelope.session.clone(),
            timestamp: envelope.at.clone(),
            task_id: handoff.task_id.clone(),
            task: handoff.task.clone(),
            route: handoff.route.clone(),
            waits_seconds: seconds_between(&envelope.at, now),
        }
    }
}

/// A handoff on a line: id, sender, age, task.
pub fn line(ListedHandoff { envelope, handoff }: &ListedHandoff, now: &str) -> String {
    let task = match (&handoff.task_id, handoff.task.as_str()) {
        (Some(id), "") => format!(": {}", safe::words(id)),
        (Some(id), task) => format!(": {} ({})", safe::words(task), safe::words(id)),
        (None, "") => String::new(),
        (None, task) => format!(": {}", safe::words(task)),
    };
    let escalated = handoff.route.as_ref().is_some_and(|route| route.escalated);
    let escalated = if escalated { ", escalated" } else { "" };
    let waits = duration(seconds_between(&envelope.at, now));
    format!("{} of {}, {waits} ago{escalated}{task}", envelope.id.short(), safe::words(&envelope.ai))
}

pub fn answer(inbox: &Inbox) -> Answer {
    let Inbox { ai, waiting, more, taken, now, .. } = inbox;
    let (lost, working): (Vec<&Taken>, Vec<&Taken>) = taken.iter().partition(|taken| taken.lost_to.is_some());
    let lost_view = lost.iter().filter_map(|taken| {
        let other = taken.lost_to.as_ref()?;
        Some(LostView {
            handoff_id: &taken.handoff.envelope.id,
            task_id: taken.handoff.handoff.task_id.as_deref(),
            taken_by: &other.ai,
            session_id: other.session.as_ref(),
            timestamp: &other.at,
        })
    });
    let document = InboxView {
        ai_id: ai,
        waiting: waiting.iter().map(|listed| Handed::new(listed, now)).collect(),
        working: working.iter().map(|taken| Handed::new(&taken.handoff, now)).collect(),
        lost: lost_view.collect(),
        total_waiting: waiting.len() + more,
    };
    let mut text = String::new();
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let gap = if text.is_empty() { "" } else { "\n" };
            let lines: String = lines.iter().map(|line| format!("  {line}\n")).collect();
            text.push_str(&format!("{gap}{title}:\n{lines}"));
        }
    };
    section(&format!("For {}", safe::words(ai)), waiting.iter().map(|listed| line(listed, now)).collect());
    section("Taken up", working.iter().map(|taken| line(&taken.handoff, now)).collect());
    let not_yours =
        |taken: &&Taken| taken.lost_to.as_ref().map(|other| safe::line(&not_yours(&taken.handoff.envelope.id, other)));
    section("Lost", lost.iter().filter_map(not_yours).collect());
    let mut answer = Answer::new(document).text(text).warn(inbox.warnings.clone()).paged();
    if *more > 0 {
        answer = answer.say(format!("{} not listed.", format::count(*more, "later handoff")));
    }
    match waiting.first() {
        Some(first) => answer.quoting().hint(empirica("accept").arg(first.envelope.id.short())),
        None if taken.is_empty() => answer.say(format!("Nothing waits for {}.", safe::line(ai))),
        None => answer.quoting(),
    }
}
