//! Sessions: begin, end, list, show.

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::active::{ActiveSession, ActiveSessions};
use crate::context::names::NamedObject;
use crate::context::records::{gather, nothing_of};
use crate::context::stored::StoreReport;
use crate::context::{CommandContext, WorkingSession, active, handoffs, names, session, tasks};
use crate::fold::handoff_report::HandoffInput;
use crate::fold::session_state::SessionRecords;
use crate::fold::task::state::TaskStatus;
use crate::handoff;
use crate::handoff::build::Content;
use crate::handoff::managed::CheckedHandoff;
use empirica_notes::error::{Error, Result, empirica, option, text};
use empirica_notes::model::session::{Session, SessionEnd, SessionStart};
use empirica_notes::model::{Body, Id, Namespace, Record, SessionId};
use empirica_notes::store::FlushTiming;

/// How large the context of a session is that is continued, in tokens: as `handoff --type context` makes it.
const CONTEXT: usize = 1250;

/// What a session begins with.
#[derive(Debug, Clone, Default)]
pub struct StartRequest {
    pub task: Option<String>,
    pub kind: Option<String>,
    pub external_id: Option<String>,
    /// Whether a hook of the agent's begins it.
    pub by_hook: bool,
    /// When who asks began to run, in milliseconds since 1970: of several sessions that hooks of the agent began here, the one that
    /// began then goes on, else the newest; `None` when a hook asks.
    pub since_ms: Option<u64>,
    /// The session or handoff it continues.
    pub from: Option<String>,
}

/// The session that another continues.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Continuation {
    /// The session.
    pub session_id: SessionId,
    /// Its agent.
    pub ai_id: String,
    /// Its handoff.
    pub handoff_id: Id,
    /// Whether the handoff was written just now, because there was none.
    #[serde(rename = "handoff_written")]
    pub is_written: bool,
    /// What it is about.
    #[serde(skip)]
    pub task: Option<String>,
}

/// A session that began.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StartOutcome {
    /// The session.
    pub session_id: SessionId,
    /// Its agent.
    pub ai_id: String,
    /// When it began.
    pub started_at: String,
    /// What it is going to do.
    pub task: Option<String>,
    /// Whether an active session of this `--external-id` goes on.
    pub resumed: bool,
    /// With `--from`: what it continues.
    #[serde(rename = "from")]
    pub continues: Option<Continuation>,
    /// The sessions that were active in this worktree before.
    #[serde(skip)]
    pub others: Vec<ActiveSession>,
    /// What storing left to say.
    #[serde(skip)]
    pub stored: StoreReport,
}

/// Begins a session. With an `external_id` that an active session of this worktree has, that one goes on.
pub fn start(context: &CommandContext<'_>, request: StartRequest) -> Result<StartOutcome> {
    for (name, text) in [("task", &request.task), ("type", &request.kind), ("external id", &request.external_id)] {
        context.optional(name, text.as_deref())?;
    }
    context.stored_as_it_is("external id", request.external_id.as_deref())?;
    let current = ActiveSessions::load(context)?;
    let ai = context.author(None);
    let known = match (&request.external_id, request.since_ms) {
        (Some(external), _) => current.active.iter().find(|s| s.external_id.as_ref() == Some(external)),
        (None, Some(since)) => of_hook(&current.active, &ai, since),
        (None, None) => None,
    };
    if let Some(known) = known {
        let session = match context.index()?.session_row(&known.id)? {
            Some(known) => known.session,
            None => return Err(nothing_of(&known.id)),
        };
        // it began before: what it continues was said then
        let text =
            "the session goes on as it began: only one that begins continues another. Accept the handoff instead";
        let mut warnings: Vec<String> = request.from.iter().map(|_| text.to_owned()).collect();
        if let Some(task) = request.task.as_ref().filter(|_| session.task.is_none()) {
            let told = ActiveSession { task: Some(context.store.without_secrets(task)), ..known.clone() };
            if let Err(error) = active::begin(context, &told) {
                warnings.push(format!("the task cannot be remembered ({error}); say it with the next assessment"));
            }
        }
        return Ok(StartOutcome {
            session_id: session.id.clone(),
            ai_id: session.ai.clone(),
            started_at: session.started_at.clone(),
            task: session.task.clone().or(request.task),
            resumed: true,
            continues: None,
            others: Vec::new(),
            stored: StoreReport { warnings, ..StoreReport::default() },
        });
    }
    let who = WorkingSession { id: SessionId::random(), ai: context.author(None), note: None };
    let mut first = StoreReport::default();
    let continues = match &request.from {
        Some(given) => Some(continued(context, given, &who.ai, &mut first)?),
        None => None,
    };
    let body = SessionStart {
        task: request.task.or_else(|| continues.as_ref()?.task.clone()),
        from: continues.as_ref().map(|from| from.session_id.clone()),
        from_handoff: continues.as_ref().map(|from| from.handoff_id.clone()),
        kind: request.kind,
        external_id: request.external_id.clone(),
        worktree: context.store.paths().worktree().to_owned(),
        place: context.store.paths().place(),
    };
    let (record, mut stored) = session::begin(context, &who, body, request.by_hook)?;
    stored.after(first);
    let started_at = record.as_ref().map(|record| record.head.at.clone()).unwrap_or_default();
    let others: Vec<ActiveSession> = current.active;
    let task = record.and_then(|record| match record.body {
        Body::SessionStart(start) => start.task,
        _ => None,
    });
    Ok(StartOutcome { continues, others, session_id: who.id, ai_id: who.ai, started_at, task, resumed: false, stored })
}

/// How far the begin of a session and of a program that belong together lie apart at most, in milliseconds.
const TOGETHER_MS: u64 = 120_000;

/// The session that a hook of the agent's began for who asks: of several the one that began with it, else the newest; one that a
/// killed agent left behind is neither, as long as there is another.
fn of_hook<'a>(active: &'a [ActiveSession], ai: &str, since_ms: u64) -> Option<&'a ActiveSession> {
    let of_hooks = || active.iter().filter(|session| session.by_hook && session.ai == ai);
    let apart = |session: &&ActiveSession| session.began.ms().abs_diff(since_ms);
    let together = of_hooks().filter(|session| apart(session) <= TOGETHER_MS).min_by_key(apart);
    together.or_else(|| of_hooks().max_by(|a, b| a.began.cmp(&b.began)))
}

/// The session or handoff of that name, to be continued by an agent. Of a session that has none, the handoff of its context is
/// written, in that session.
fn continued(context: &CommandContext<'_>, given: &str, by: &str, stored: &mut StoreReport) -> Result<Continuation> {
    let is_handoff = |record: &Record| matches!(record.body, Body::Handoff(_));
    let (id, named) = match names::thing(context, given, "session or handoff", &[Namespace::Handoffs], is_handoff)? {
        NamedObject::Session(session) => (session.id, None),
        NamedObject::Record(handoff) => match handoff.head.session.clone() {
            Some(session) => (session, Some(handoff.head.id)),
            None => {
                return Err(Error::refused(format!("the handoff {} is of no session", handoff.head.id.short()))
                    .provided(given)
                    .reason("only a session can be continued")
                    .suggest(text!["Start without ", option("--from"), ", and accept the handoff."])
                    .command(empirica("accept").arg(handoff.head.id.short())));
            }
        },
    };
    let gathered = gather(context, &id)?;
    let session = &gathered.session;
    let newest = match named {
        Some(handoff) => Some(handoff),
        None => handoffs::of_session(context, &id)?.map(|listed| listed.head.id),
    };
    let is_written = newest.is_none();
    if let Some(handoff) = &newest {
        stored.warnings.extend(held_up(context, handoff)?);
    }
    let handoff_id = match newest {
        Some(handoff) => handoff,
        None => {
            let owner = WorkingSession { id: id.clone(), ai: session.ai.clone(), note: None };
            let managed = CheckedHandoff::context(Some(by));
            let what = Content { managed, budget: Some(CONTEXT), automatic: true, ..Content::default() };
            let written = handoff::write::write(context, &owner, HandoffInput::default(), &what)?;
            stored.before(written.stored);
            written.record.head.id
        }
    };
    Ok(Continuation { session_id: id, ai_id: session.ai.clone(), handoff_id, is_written, task: session.task.clone() })
}

/// That the task of a handoff waits for a person, when it does.
fn held_up(context: &CommandContext<'_>, handoff: &Id) -> Result<Option<String>> {
    let found = context.index()?.ids([handoff])?;
    let task_id = found.records().find_map(|record| match &record.body {
        Body::Handoff(handoff) => handoff.task_id.clone(),
        _ => None,
    });
    let Some(task_id) = task_id else { return Ok(None) };
    let standing = tasks::standing(context, &task_id)?;
    let waits = standing.is_some_and(|standing| standing.status == TaskStatus::Escalated);
    Ok(waits.then(|| {
        format!("the task '{task_id}' is escalated and waits for a person: {}", tasks::show_command(&task_id))
    }))
}

/// A session that ended.
#[derive(Debug)]
pub struct EndOutcome {
    pub session_id: SessionId,
    pub ai_id: String,
    pub ended_at: String,
    pub duration_seconds: u64,
    pub has_handoff: bool,
    /// Whether it said anything that a handoff could be made of.
    pub said_something: bool,
    pub stored: StoreReport,
}

/// Ends the session the command works in, and writes what waits.
pub fn end(context: &CommandContext<'_>, reason: Option<String>) -> Result<EndOutcome> {
    context.optional("reason", reason.as_deref())?;
    let who = context.working()?;
    if let Some(named) = context.selection.ai.as_deref().filter(|_| who.note.is_some()) {
        // who speaks in another's session does not end it
        return Err(Error::not_found(format!("{named} has no active session here"))
            .provided(named)
            .reason("another agent's session is active here, and ends by its own name or its id")
            .suggest(text!["Name the session with ", option("--session"), ", or leave ", option("--ai"), " out."])
            .command(empirica("session list")));
    }
    let gathered = gather(context, &who.id)?;
    if let Some(ended) = &gathered.session.ended_at {
        return Err(Error::refused(format!("the session {} has ended already", who.id.short()))
            .reason(format!("it ended at {ended}"))
            .suggest("Start a new one for new work.")
            .command(names::start_command(Some(&who.ai))));
    }
    let (records, stored) = context.store(&who, vec![Body::SessionEnd(SessionEnd { reason })], FlushTiming::Now)?;
    active::end(context, &who.id);
    let ended_at = records.first().map(|record| record.head.at.clone()).unwrap_or_default();
    Ok(EndOutcome {
        duration_seconds: seconds_between(&gathered.session.started_at, &ended_at),
        session_id: who.id,
        ai_id: who.ai,
        ended_at,
        has_handoff: !gathered.handoffs.is_empty(),
        said_something: !gathered.entry_ids.is_empty(),
        stored,
    })
}

/// From one RFC 3339 time to another, in seconds; 0 when either is none or they are the wrong way round.
pub fn seconds_between(from: &str, to: &str) -> u64 {
    let parse = |text: &str| chrono::DateTime::parse_from_rfc3339(text).ok();
    match (parse(from), parse(to)) {
        (Some(from), Some(to)) => (to - from).num_seconds().max(0) as u64,
        _ => 0,
    }
}

/// The sessions stored here, newest first.
#[derive(Debug)]
pub struct ListedSession {
    pub sessions: Vec<Session>,
    pub warnings: Vec<String>,
}

/// Lists sessions, those of `--ai` only when it is given, active ones only when asked for.
pub fn list(context: &CommandContext<'_>, active_only: bool) -> Result<ListedSession> {
    let warnings = context.store.reconcile();
    let mut sessions = context.index()?.sessions(active_only)?;
    sessions.retain(|s| context.selection.ai.as_ref().is_none_or(|ai| s.ai == *ai));
    sessions.reverse();
    Ok(ListedSession { sessions, warnings })
}

/// Whether a session goes on, in this worktree or another.
pub fn goes_on(context: &CommandContext<'_>, id: &str) -> bool {
    let is_stored = || show(context, Some(id)).is_ok_and(|(gathered, _)| gathered.session.is_active());
    active::anywhere(context, id).is_some() || is_stored()
}

/// One session, whole. Without a name, the one the command works in.
pub fn show(context: &CommandContext<'_>, given: Option<&str>) -> Result<(SessionRecords, Vec<String>)> {
    let warnings = context.store.reconcile();
    let id = match given {
        Some(given) => names::session(context, given)?.id,
        None => context.working()?.id,
    };
    Ok((gather(context, &id)?, warnings))
}
