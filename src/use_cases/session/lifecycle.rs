//! Sessions: begin, end, list, show.

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::active::ActiveSession;
use crate::context::claims::anchors::{Anchors, ClaimChange};
use crate::context::names::NamedObject;
use crate::context::own_session::OwnSession;
use crate::context::records::{gather, nothing_of};
use crate::context::stored::StoreReport;
use crate::context::tasks::inbox::{ClaimedHandoff, claimed};
use crate::context::{CommandContext, WorkingSession, active, handoffs, names, session, tasks};
use crate::fold::handoff_report::HandoffInput;
use crate::fold::session_records::SessionRecords;
use crate::fold::task::state::TaskStatus;
use crate::render::format::{duration, seconds_between};
use crate::use_cases::handoff;
use crate::use_cases::handoff::build::HandoffParts;
use crate::use_cases::handoff::managed::CheckedHandoff;
use crate::use_cases::task::inbox::WaitingHandoff;
use empirica_notes::error::{Error, Kind, Result, empirica, option, text};
use empirica_notes::model::session::{Session, SessionEnd, SessionStart};
use empirica_notes::model::{Accept, Body, Id, Namespace, Record, SessionId};
use empirica_notes::store::FlushTiming;
use empirica_transcripts::model::Agent;

/// Budget of the context handoff written for a continued session, in tokens, as for `handoff --type context`.
const CONTEXT_BUDGET: usize = 1250;

#[derive(Debug, Clone, Default)]
pub struct StartRequest {
    pub task: Option<String>,
    pub kind: Option<String>,
    pub external_id: Option<String>,
    /// Whether an agent's hook begins it.
    pub by_hook: bool,
    /// The session or handoff it continues.
    pub from: Option<String>,
}

/// The session that a new one continues.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Continuation {
    /// The session.
    pub session_id: SessionId,
    /// Its agent.
    pub ai_id: String,
    /// Its handoff.
    pub handoff_id: Id,
    /// Whether the handoff was written now, because there was none.
    #[serde(rename = "handoff_written")]
    pub is_written: bool,
    /// Its task.
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
    /// Its task.
    pub task: Option<String>,
    /// Whether an active session with this `--external-id` was resumed.
    pub resumed: bool,
    /// With `--from`: the session it continues.
    #[serde(rename = "from")]
    pub continues: Option<Continuation>,
    /// The handoffs for its agent that no session claimed, oldest first; at most 10.
    pub inbox: Vec<WaitingHandoff>,
    /// How many they are.
    pub total_waiting: usize,
    /// The sessions that were active in this worktree before.
    #[serde(skip)]
    pub others: Vec<ActiveSession>,
    /// Warnings and remedies of storing.
    #[serde(skip)]
    pub stored: StoreReport,
}

/// Begins a session, or resumes the active session of this worktree with the given `external_id`.
pub fn start(context: &CommandContext<'_>, request: StartRequest) -> Result<StartOutcome> {
    for (name, text) in [("task", &request.task), ("type", &request.kind), ("external id", &request.external_id)] {
        context.optional(name, text.as_deref())?;
    }
    context.stored_as_it_is("external id", request.external_id.as_deref())?;
    let current = active::load(context)?;
    // a client of the MCP server may call itself by another name than its hooks do, but not by that of another agent
    let is_agent = |name: &&str| context.selection.client.is_none() || Agent::parse(name).is_some();
    let named = context.named_ai().filter(is_agent);
    let resumed = match (&request.external_id, context.own_by_name(&current, named)) {
        (Some(external), _) => current.iter().find(|s| s.external_id.as_ref() == Some(external)),
        (None, OwnSession::Certain(own) | OwnSession::Likely(own)) => {
            Some(own).filter(|own| own.by_hook && !request.by_hook)
        }
        (None, OwnSession::Several(sessions)) if context.is_agent() => return Err(context.none_or_several(&sessions)),
        (None, _) => None,
    };
    if let Some(resumed) = resumed {
        let session = match context.index()?.session_row(&resumed.id)? {
            Some(row) => row.session,
            None => return Err(nothing_of(&resumed.id)),
        };
        // a resumed session keeps its origin
        let text =
            "--from ignored: the session was resumed, and only a new one continues another. Accept the handoff instead";
        let mut warnings: Vec<String> = request.from.iter().map(|_| text.to_owned()).collect();
        if let Some(task) = request.task.as_ref().filter(|_| session.task.is_none()) {
            let updated = ActiveSession { task: Some(context.store.secret_filter().clean(task)), ..resumed.clone() };
            if let Err(error) = active::begin(context, &updated) {
                warnings.push(format!("cannot remember the task ({error}); give it with the next assessment"));
            }
        }
        let (inbox, total_waiting) = inbox(context, &session.ai, &session.id, &request)?;
        return Ok(StartOutcome {
            session_id: session.id.clone(),
            ai_id: session.ai.clone(),
            started_at: session.started_at.clone(),
            task: session.task.clone().or(request.task),
            resumed: true,
            inbox,
            total_waiting,
            continues: None,
            others: Vec::new(),
            stored: StoreReport { warnings, ..StoreReport::default() },
        });
    }
    let session = WorkingSession { id: SessionId::random(), ai: context.author(None), note: None };
    // read before the session is stored, as the index is made current for the next reader
    let (mut inbox, mut total_waiting) = inbox(context, &session.ai, &session.id, &request)?;
    let mut first = StoreReport::default();
    let (mut task, mut from, mut from_handoff, mut continues) = (request.task, None, None, None);
    match &request.from {
        // a hook starts no session that depends on a handoff
        Some(name) if request.by_hook => {
            let continued = names::session(context, name)?.id;
            // a fork has a task of its own, which its transcript tells
            let row =
                context.index()?.session_row(&continued)?.filter(|row| row.session.external_id == request.external_id);
            task = task.or(row.and_then(|row| row.session.task));
            from_handoff = handoffs::of_session(context, &continued)?.map(|listed| listed.envelope.id);
            from = Some(continued);
        }
        Some(name) => {
            let continued = continue_from(context, name, &session.ai, &mut first)?;
            task = task.or_else(|| continued.task.clone());
            (from, from_handoff) = (Some(continued.session_id.clone()), Some(continued.handoff_id.clone()));
            continues = Some(continued);
        }
        None => {}
    }
    let body = SessionStart {
        task,
        from,
        from_handoff,
        kind: request.kind,
        external_id: request.external_id.or_else(|| context.external_id()),
        worktree: context.store.paths().worktree().to_owned(),
        place: context.store.paths().worktree_id(),
    };
    let (record, mut stored) = session::begin(context, &session, body, request.by_hook)?;
    stored.prepend(first);
    if let Some(continued) = &continues {
        stored.append(handoff::receive::accept::claim(context, &session, &continued.handoff_id)?);
        let before = inbox.len();
        inbox.retain(|waiting| waiting.handoff_id != continued.handoff_id);
        total_waiting -= before - inbox.len();
    }
    let started_at = record.as_ref().map(|record| record.envelope.at.clone()).unwrap_or_default();
    let task = record.and_then(|record| match record.body {
        Body::SessionStart(start) => start.task,
        _ => None,
    });
    Ok(StartOutcome {
        continues,
        inbox,
        total_waiting,
        others: current,
        session_id: session.id,
        ai_id: session.ai,
        started_at,
        task,
        resumed: false,
        stored,
    })
}

/// Most handoffs that the start of a session lists.
const LISTED: usize = 10;

/// What waits for an agent, and how much; a hook tells it by itself.
fn inbox(
    context: &CommandContext<'_>,
    ai: &str,
    own: &SessionId,
    request: &StartRequest,
) -> Result<(Vec<WaitingHandoff>, usize)> {
    if request.by_hook {
        return Ok((Vec::new(), 0));
    }
    let (waiting, total) = tasks::inbox::unasked(context, ai, Some(own))?;
    let now = context.store.now().to_rfc3339();
    Ok((waiting.iter().take(LISTED).map(|listed| WaitingHandoff::new(listed, &now)).collect(), total))
}

/// Resolves the session or handoff to continue. If the session has no handoff, a context handoff is written in it.
fn continue_from(context: &CommandContext<'_>, name: &str, by: &str, stored: &mut StoreReport) -> Result<Continuation> {
    let is_handoff = |record: &Record| matches!(record.body, Body::Handoff(_));
    let (id, named) =
        match names::session_or_record(context, name, "session or handoff", &[Namespace::Handoffs], is_handoff)? {
            NamedObject::Session(session) => (session.id, None),
            NamedObject::Record(handoff) => match handoff.envelope.session.clone() {
                Some(session) => (session, Some(handoff.envelope.id)),
                None => {
                    return Err(Error::refused(format!(
                        "cannot continue handoff {}: it belongs to no session",
                        handoff.envelope.id.short()
                    ))
                    .provided(name)
                    .suggest(text!["Start without ", option("--from"), ", and accept the handoff."])
                    .command(empirica("accept").arg(handoff.envelope.id.short())));
                }
            },
        };
    let records = gather(context, &id)?;
    let session = &records.session;
    let newest = match named {
        Some(handoff) => Some(handoff),
        None => handoffs::of_session(context, &id)?.map(|listed| listed.envelope.id),
    };
    let is_written = newest.is_none();
    if let Some(handoff) = &newest {
        stored.warnings.extend(escalation_warning(context, handoff)?);
    }
    let handoff_id = match newest {
        Some(handoff) => handoff,
        None => {
            let owner = WorkingSession { id: id.clone(), ai: session.ai.clone(), note: None };
            let managed = CheckedHandoff::context(Some(by));
            let content =
                HandoffParts { managed, budget: Some(CONTEXT_BUDGET), automatic: true, ..HandoffParts::default() };
            let written = handoff::write::write(context, &owner, HandoffInput::default(), content)?;
            stored.append(written.stored);
            written.record.envelope.id
        }
    };
    Ok(Continuation { session_id: id, ai_id: session.ai.clone(), handoff_id, is_written, task: session.task.clone() })
}

/// A warning if the task of a handoff is escalated.
fn escalation_warning(context: &CommandContext<'_>, handoff: &Id) -> Result<Option<String>> {
    let found = context.index()?.ids([handoff])?;
    let task_id = found.records().find_map(|record| match &record.body {
        Body::Handoff(handoff) => handoff.task_id.clone(),
        _ => None,
    });
    let Some(task_id) = task_id else { return Ok(None) };
    let task = tasks::state(context, &task_id)?;
    let is_escalated = task.is_some_and(|task| task.status == TaskStatus::Escalated);
    Ok(is_escalated.then(|| {
        format!("the task '{task_id}' is escalated and waits for a person: {}", tasks::show_command(&task_id))
    }))
}

/// A session that ended.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "EndedView")]
pub struct EndOutcome {
    /// The session.
    pub session_id: SessionId,
    /// Its agent.
    pub ai_id: String,
    /// When it ended.
    pub ended_at: String,
    /// How long it was, in words: `2 h 5 min`.
    pub duration: String,
    /// The same in seconds.
    pub duration_seconds: u64,
    /// Whether a handoff of it is stored.
    #[serde(rename = "handoff")]
    pub has_handoff: bool,
    /// Whether it has entries for a handoff.
    #[serde(skip)]
    pub has_entries: bool,
    /// Warnings and remedies of storing.
    #[serde(skip)]
    pub stored: StoreReport,
}

/// Ends the session of the command, and flushes.
pub fn end(context: &CommandContext<'_>, reason: Option<String>) -> Result<EndOutcome> {
    context.optional("reason", reason.as_deref())?;
    let session = context.working()?;
    if let Some(named) = context.selection.ai.as_deref().filter(|_| session.note.is_some()) {
        // another agent's session is not ended
        return Err(Error::not_found(format!("cannot end a session of {named}: none is active here"))
            .provided(named)
            .reason("the active session is another agent's")
            .suggest(text!["Name the session with ", option("--session"), ", or leave ", option("--ai"), " out."])
            .command(empirica("session list")));
    }
    end_session(context, session, reason)
}

/// Ends a session that its agent leaves, handed over.
pub fn end_with_handoff(context: &CommandContext<'_>, session: WorkingSession, reason: Option<String>) -> Result<()> {
    hand_over(context, &session)?;
    end_session(context, session, reason).map(|_| ())
}

/// Writes the handoff of a session that its agent leaves, if it has content and no handoff.
pub fn hand_over(context: &CommandContext<'_>, session: &WorkingSession) -> Result<()> {
    let records = gather(context, &session.id)?;
    if records.handoffs.is_empty() && records.has_content() {
        let content = HandoffParts { automatic: true, ..HandoffParts::default() };
        match handoff::write::write(context, session, HandoffInput::default(), content) {
            // the handoff would be empty
            Err(error) if error.kind() == Kind::Refused => {}
            written => drop(written?),
        }
    }
    Ok(())
}

/// Ends a session, and flushes.
pub fn end_session(
    context: &CommandContext<'_>,
    session: WorkingSession,
    reason: Option<String>,
) -> Result<EndOutcome> {
    let session_records = gather(context, &session.id)?;
    if let Some(ended) = &session_records.session.ended_at {
        return Err(Error::refused(format!("cannot end session {}: it has already ended", session.id.short()))
            .reason(format!("it ended at {ended}"))
            .suggest("Start a new one for new work.")
            .command(names::start_command(Some(&session.ai))));
    }
    let (mut bodies, released) = released(context, &session.id)?;
    bodies.push(Body::SessionEnd(SessionEnd { reason }));
    let (records, mut stored) = context.store(&session, bodies, FlushTiming::Now)?;
    stored.warnings.extend(released);
    active::end(context, &session.id);
    let ended_at = records.last().map(|record| record.envelope.at.clone()).unwrap_or_default();
    let duration_seconds = seconds_between(&session_records.session.started_at, &ended_at);
    Ok(EndOutcome {
        duration: duration(duration_seconds),
        duration_seconds,
        session_id: session.id,
        ai_id: session.ai,
        ended_at,
        has_handoff: !session_records.handoffs.is_empty(),
        has_entries: !session_records.entry_ids.is_empty(),
        stored,
    })
}

/// What gives up the handoffs that a session claimed and has not handed on, and a text for each that it owned: those wait again.
fn released(context: &CommandContext<'_>, session: &SessionId) -> Result<(Vec<Body>, Vec<String>)> {
    let (mut bodies, mut texts) = (Vec::new(), Vec::new());
    for ClaimedHandoff { listed, to, lost, .. } in
        claimed(context, session)?.into_iter().filter(|one| !one.is_handed_on)
    {
        let id = listed.envelope.id;
        if lost.is_none() {
            let to = to.map(|to| format!(" for {to}")).unwrap_or_default();
            texts.push(format!("handoff {} waits{to} again: the session ended without handing it on", id.short()));
        }
        let concerns = listed.envelope.session.into_iter().collect();
        bodies.push(Body::Accept(Accept { released: true, concerns, ..Accept::new(id) }));
    }
    Ok((bodies, texts))
}

/// The sessions stored here, newest first.
#[derive(Debug)]
pub struct SessionList {
    pub sessions: Vec<Session>,
    pub warnings: Vec<String>,
}

/// Lists sessions, of `--ai` if given.
pub fn list(context: &CommandContext<'_>, active_only: bool) -> Result<SessionList> {
    let warnings = context.store.reconcile();
    let mut sessions = context.index()?.sessions(active_only)?;
    sessions.retain(|s| context.selection.ai.as_ref().is_none_or(|ai| s.ai == *ai));
    sessions.reverse();
    Ok(SessionList { sessions, warnings })
}

/// Whether a session is active, in this worktree or another.
pub fn is_active(context: &CommandContext<'_>, id: &str) -> bool {
    let read = || gather(context, &names::session(context, id)?.id);
    let is_stored = || read().is_ok_and(|records| records.session.is_active());
    active::anywhere(context, id).is_some() || is_stored()
}

/// The records of a session.
#[derive(Debug)]
pub struct ShownSession {
    pub records: SessionRecords,
    /// Its claims whose code is not as it was, and those that disagree with others.
    pub claims: Vec<ClaimChange>,
}

impl ShownSession {
    pub fn read(context: &CommandContext<'_>, id: &SessionId) -> Result<Self> {
        let records = gather(context, id)?;
        let items = records.findings.iter().chain(&records.unknowns).map(|item| &item.id);
        let items = items.chain(records.dead_ends.iter().map(|one| &one.id));
        let items = items.chain(records.decisions.iter().map(|one| &one.id));
        let ids = items.chain(records.mistakes.iter().map(|one| &one.id)).flatten();
        let claims = Anchors::new(context).changed(ids)?;
        Ok(ShownSession { records, claims })
    }
}

/// One session; without a name, that of the command.
pub fn show(context: &CommandContext<'_>, name: Option<&str>) -> Result<(ShownSession, Vec<String>)> {
    let warnings = context.store.reconcile();
    let id = match name {
        Some(name) => names::session(context, name)?.id,
        None => context.working()?.id,
    };
    Ok((ShownSession::read(context, &id)?, warnings))
}
