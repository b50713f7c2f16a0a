//! What waits for an agent, and what its sessions claimed.

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::handoffs::ListedHandoff;
use crate::context::tasks::inbox::{ClaimedHandoff, LostClaim, claimed, waiting, why_lost};
use crate::context::{CommandContext, active};
use crate::render::answer::Answer;
use crate::render::format::{duration, seconds_between};
use crate::render::safe;
use empirica_notes::error::{Result, empirica};
use empirica_notes::model::handoff::Route;
use empirica_notes::model::{Id, SessionId};

#[derive(Debug)]
pub struct Inbox {
    pub ai: String,
    /// Handed to the agent, claimed by nobody; oldest first.
    pub waiting: Vec<ListedHandoff>,
    /// What its active sessions here, or the named one, claimed and have not handed on; also what they lost. Each with its session.
    pub claimed: Vec<(SessionId, ClaimedHandoff)>,
    pub now: String,
    pub warnings: Vec<String>,
}

/// Reads what is handed to the agent of `--ai`, else of the command.
pub fn run(context: &CommandContext<'_>) -> Result<Inbox> {
    let warnings = context.store.reconcile();
    let is_named = context.selection.session.is_some() || context.env.get("EMPIRICA_SESSION").is_some();
    let own = match context.own_session() {
        Err(error) if is_named => return Err(error),
        // of several sessions of the agent
        own => own.ok().flatten(),
    };
    let ai = context.author(own.as_ref().map(|session| session.ai.as_str()));
    let waiting = waiting(context, &ai, own.as_ref().map(|session| &session.id))?;
    let sessions: Vec<SessionId> = match own.filter(|_| is_named) {
        Some(named) => vec![named.id],
        None => active::load(context)?.into_iter().filter(|session| session.ai == ai).map(|one| one.id).collect(),
    };
    let mut all = Vec::new();
    for session in sessions {
        all.extend(claimed(context, &session)?.into_iter().map(|claimed| (session.clone(), claimed)));
    }
    let now = context.store.now().to_rfc3339();
    Ok(Inbox { ai, waiting, claimed: all, now, warnings })
}

/// What is handed to an agent.
#[derive(Serialize, JsonSchema)]
pub struct InboxView<'a> {
    /// The agent.
    ai_id: &'a str,
    /// Handed to it, claimed by nobody; oldest first.
    waiting: Vec<WaitingHandoff>,
    /// What its active sessions here, or the named one, claimed and have not handed on.
    working: Vec<OwnedView<'a>>,
    /// What they claimed, but do not own: another session was first or took it over, or the sender handed it to another agent.
    lost: Vec<LostView<'a>>,
    /// How many handoffs wait.
    total_waiting: usize,
}

/// A handoff to a receiver.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WaitingHandoffView")]
pub struct WaitingHandoff {
    /// The handoff.
    pub handoff_id: Id,
    /// The agent that hands over.
    from: String,
    /// When.
    handed_at: String,
    /// The task.
    task_id: Option<String>,
    /// What it is about.
    task: String,
    /// The rule that names the receiver; null if the sender did.
    route: Option<Route>,
    /// How long ago it was handed over, in seconds.
    age_seconds: u64,
}

/// A handoff that a session owns.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OwnedHandoffView")]
struct OwnedView<'a> {
    #[serde(flatten)]
    handoff: WaitingHandoff,
    /// The session.
    session_id: &'a SessionId,
    /// When it claimed it.
    claimed_at: &'a str,
}

/// A handoff that a session claimed and does not own.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LostHandoffView")]
struct LostView<'a> {
    /// The handoff.
    handoff_id: &'a Id,
    /// The task.
    task_id: Option<&'a str>,
    /// The session.
    session_id: &'a SessionId,
    /// The agent that owns it; null if the sender handed it to another agent.
    owner: Option<&'a str>,
    /// The session that owns it.
    owner_session_id: Option<&'a SessionId>,
    /// Since when.
    owner_claimed_at: Option<&'a str>,
}

impl WaitingHandoff {
    pub fn new(ListedHandoff { envelope, handoff }: &ListedHandoff, now: &str) -> Self {
        WaitingHandoff {
            handoff_id: envelope.id.clone(),
            from: envelope.ai.clone(),
            handed_at: envelope.at.clone(),
            task_id: handoff.task_id.clone(),
            task: handoff.task.clone(),
            route: handoff.route.clone(),
            age_seconds: seconds_between(&envelope.at, now),
        }
    }
}

impl<'a> LostView<'a> {
    fn new(session_id: &'a SessionId, claimed: &'a ClaimedHandoff) -> Option<Self> {
        let by = match claimed.lost.as_ref()? {
            LostClaim::Owned(by) => Some(by),
            LostClaim::Replaced => None,
        };
        Some(LostView {
            handoff_id: &claimed.listed.envelope.id,
            task_id: claimed.listed.handoff.task_id.as_deref(),
            session_id,
            owner: by.map(|by| by.ai.as_str()),
            owner_session_id: by.and_then(|by| by.session.as_ref()),
            owner_claimed_at: by.map(|by| by.at.as_str()),
        })
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
    let age = duration(seconds_between(&envelope.at, now));
    format!("{} from {}, {age} ago{escalated}{task}", envelope.id.short(), safe::words(&envelope.ai))
}

pub fn answer(inbox: &Inbox) -> Answer {
    let Inbox { ai, waiting, claimed, now, .. } = inbox;
    let owned = claimed.iter().filter(|(_, claimed)| claimed.lost.is_none());
    let document = InboxView {
        ai_id: ai,
        waiting: waiting.iter().map(|listed| WaitingHandoff::new(listed, now)).collect(),
        working: owned
            .clone()
            .map(|(session_id, claimed)| OwnedView {
                handoff: WaitingHandoff::new(&claimed.listed, now),
                session_id,
                claimed_at: &claimed.claim.at,
            })
            .collect(),
        lost: claimed.iter().filter_map(|(session, claimed)| LostView::new(session, claimed)).collect(),
        total_waiting: waiting.len(),
    };
    let mut text = String::new();
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let gap = if text.is_empty() { "" } else { "\n" };
            let lines: String = lines.iter().map(|line| format!("  {line}\n")).collect();
            text.push_str(&format!("{gap}{title}:\n{lines}"));
        }
    };
    section(&format!("Waiting for {}", safe::words(ai)), waiting.iter().map(|listed| line(listed, now)).collect());
    let of = |session: &SessionId| format!("session {}", session.short());
    let working =
        |(session, claimed): &(SessionId, ClaimedHandoff)| format!("{} ({})", line(&claimed.listed, now), of(session));
    section("Claimed", owned.map(working).collect());
    let lost = |(session, claimed): &(SessionId, ClaimedHandoff)| {
        let why = why_lost(&claimed.listed.envelope.id, claimed.lost.as_ref()?);
        Some(format!("{}: {}", of(session), safe::line(&why)))
    };
    section("Lost", claimed.iter().filter_map(lost).collect());
    let answer = Answer::new(document).text(text).warn(inbox.warnings.clone()).paged();
    match waiting.first() {
        Some(first) => answer.quoting().hint(empirica("accept").arg(first.envelope.id.short())),
        None if claimed.is_empty() => answer.say(format!("Nothing waits for {}.", safe::line(ai))),
        None => answer.quoting(),
    }
}
