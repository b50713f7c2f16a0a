//! Hooks of agents: a session under the agent's ID, snapshots around a compaction, transcripts collected, a handoff
//! at the end. They never fail, and never keep the agent waiting.

pub mod call;
pub mod event;
mod new_clone;
pub mod view;

use std::process::Command;
use std::time::Duration;

use crate::context::caller::stored_id;
use crate::context::handoffs::ListedHandoff;
use crate::context::own_session::OwnSession;
use crate::context::records::gather_from;
use crate::context::{CommandContext, Selection, WorkingSession, active, handoffs, records};
use crate::fold::assessment::drift::WINDOW;
use crate::fold::assessment::gate::Gate;
use crate::fold::assessment::session_gate::gate;
use crate::fold::handoff_report::HandoffInput;
use crate::fold::session_records::SessionRecords;
use crate::index::HandoffQuery;
use crate::use_cases::checkpoint::snapshot::SnapshotRequest;
use crate::use_cases::collect::Collection;
use crate::use_cases::handoff::arrival;
use crate::use_cases::handoff::arrival::fold::Arrival;
use crate::use_cases::handoff::build::HandoffParts;
use crate::use_cases::hooks::agent::event::{HookEvent, HookKind, StartSource};
use crate::use_cases::hooks::errors::in_one_line;
use crate::use_cases::session::{compaction, lifecycle, project_overview};
use crate::use_cases::{checkpoint, claim, collect, handoff};
use empirica_notes::env::Env;
use empirica_notes::error::{Error, Kind, Result, empirica};
use empirica_notes::git::Repository;
use empirica_notes::git::process::in_background;
use empirica_notes::model::assessment::Trigger;
use empirica_notes::model::journal::Activity;
use empirica_notes::model::{Body, Phase, SessionId};
use empirica_notes::store::Render;
use empirica_transcripts::model::Agent;

/// From this size in bytes on, a transcript is collected in the background.
const LARGE: u64 = 2 << 20;
/// Set in the environment of a background run.
pub const BACKGROUND: &str = "EMPIRICA_IN_BACKGROUND";

/// Text to add to the model's context.
#[derive(Debug)]
pub enum Injection {
    /// At the start or resumption of a session.
    Session(Box<SessionBrief>),
    /// After a compaction: the snapshot and the project.
    Compacted(Box<checkpoint::save::CheckpointOutcome>, Box<compaction::CompactionOutcome>, Gate),
    /// After an unsafe CHECK.
    Unsafe(SessionId, Gate),
}

/// Content for the start or resumption of a session.
#[derive(Debug)]
pub struct SessionBrief {
    pub session: SessionId,
    pub project: project_overview::ProjectOverviewOutcome,
    /// The newest handoff, and its state.
    pub handed: Option<(ListedHandoff, Arrival)>,
    /// Whether it continues an earlier one.
    pub continues: bool,
    /// The confidence gate; for a new session, the one before its start, if that was unsafe.
    pub gate: Option<Gate>,
    /// Whether `git push` sends no records from this clone.
    pub lacks_setup: bool,
    /// Most tokens of the whole text.
    pub budget: usize,
}

/// Default of `empirica.startBudget`, in tokens.
const START_BUDGET: usize = 500;

/// Handles an event, and returns the text for the model; failures are logged. `payload` is the raw input, for a
/// background run.
pub fn run(env: &Env, repo: &Repository, render: &dyn Render, event: &HookEvent, payload: &[u8]) -> Option<Injection> {
    if repo.config_bool("empirica.agentHooks") == Some(false) {
        return None;
    }
    // an agent named by the user takes precedence
    let named = env.get("EMPIRICA_AI").is_some() || repo.config("empirica.ai").is_some();
    let ai = (!named).then(|| event.agent.name().to_owned());
    let mut context =
        CommandContext::new(env, repo, render, Selection { ai, session: None, ..Default::default() }).ok()?;
    if env.get(BACKGROUND).is_none() {
        context.store.limit_waiting_for_hook();
    }
    // as stored, to find it again
    let session = event.session.as_deref().map(|id| stored_id(event.agent.name(), id));
    let event = &HookEvent { session, ..event.clone() };
    let done = match &event.event {
        // its parent's events say the rest
        kind if event.is_of_subagent && !matches!(kind, HookKind::ToolFailed { .. }) => Ok(None),
        HookKind::SessionStart(source) => on_session_start(&mut context, event, *source),
        HookKind::Prompt => on_prompt(&mut context, event),
        HookKind::BeforeCompact => before_compaction(&mut context, event),
        HookKind::AfterCompact => after_compaction(&mut context, event, false),
        HookKind::TurnEnd | HookKind::SessionEnd { .. } if is_large(event) && env.get(BACKGROUND).is_none() => {
            in_new_process(&context, event, payload)
        }
        HookKind::TurnEnd => collect_new(&mut context, event, Duration::ZERO),
        HookKind::SessionEnd { reason } => on_session_end(&mut context, event, reason),
        HookKind::ToolFailed { category, text } => on_tool_failure(&mut context, event, category, text),
        HookKind::Nothing => Ok(None),
    };
    done.unwrap_or_else(|error| {
        context.store.hook_errors().add(&format!("agent {} {}", event.agent.name(), event.name), &in_one_line(&error));
        None
    })
}

/// Logs an unreadable hook input.
pub fn log_unreadable_input(env: &Env, render: &dyn Render, hook: &str, why: &str) {
    let Ok(repo) = Repository::discover(env) else { return };
    if let Ok(context) = CommandContext::new(env, &repo, render, Selection::default()) {
        context.store.hook_errors().add(hook, &format!("cannot read the agent's input: {why}"));
    }
}

/// The active session with the agent's ID; without one, that of the agent's process.
fn active_session(context: &CommandContext<'_>, event: &HookEvent) -> Result<Option<SessionId>> {
    let cached = active::cached(context);
    let Some(external) = &event.session else {
        return Ok(match context.own(&cached) {
            OwnSession::Certain(own) => Some(own.id.clone()),
            _ => None,
        });
    };
    if let Some(active) = cached.into_iter().rev().find(|s| s.external_id.as_ref() == Some(external)) {
        return Ok(Some(active.id));
    }
    Ok(collect::sessions_with_external_id(context, external)?
        .into_iter()
        .rfind(|session| session.is_active())
        .map(|session| session.id))
}

/// A session of an event.
struct EventSession {
    id: SessionId,
    /// Whether it continues an earlier one.
    continues: bool,
}

/// The active session with the agent's ID, otherwise a new one that continues an ended one, or the one that the agent's process
/// resumed, which a fork copies. `None` if it ended, or the event is of a subagent, and the event does not start a session: late
/// events belong to none.
fn find_or_start_session(
    context: &mut CommandContext<'_>,
    event: &HookEvent,
    is_beginning: bool,
) -> Result<Option<EventSession>> {
    // hooks of a session can run concurrently
    let _turn = context.store.need_read_decide_write_lock()?;
    let session = match active_session(context, event)? {
        Some(id) => EventSession { id, continues: true },
        None => {
            let ended = match &event.session {
                Some(external) => collect::sessions_with_external_id(context, external)?.pop(),
                None => None,
            };
            if event.is_of_subagent || ended.is_some() && !is_beginning {
                return Ok(None);
            }
            let continues = ended.is_some();
            let copied = if continues { None } else { copied_session(context, event)? };
            let from = ended.map(|session| session.id).or(copied.as_ref().map(|copied| copied.parent.clone()));
            let request = lifecycle::StartRequest {
                external_id: event.session.clone(),
                by_hook: true,
                from: from.map(|id| id.as_str().to_owned()),
                ..Default::default()
            };
            let id = lifecycle::start(context, request)?.session_id;
            if let Some(empty) = copied.and_then(|copied| copied.empty) {
                context.selection.session = Some(empty.as_str().to_owned());
                lifecycle::end(context, Some("it was forked before it went on".to_owned()))?;
            }
            EventSession { id, continues }
        }
    };
    context.selection.session = Some(session.id.as_str().to_owned());
    Ok(Some(session))
}

/// A session that a fork copies.
struct CopiedSession {
    parent: SessionId,
    /// A session that only resumed the parent, to be forked.
    empty: Option<SessionId>,
}

/// The session of which an event with an unknown ID starts a copy: named by the transcript, otherwise the one that the agent's process
/// resumed last. Claude Code resumes the parent under its ID, then goes on under another.
fn copied_session(context: &CommandContext<'_>, event: &HookEvent) -> Result<Option<CopiedSession>> {
    if event.event == HookKind::SessionStart(StartSource::Fork) {
        let parent = event.transcript.as_ref().filter(|path| path.is_file() && !is_large(event)).and_then(|path| {
            let transcript = empirica_transcripts::read(path, None).ok()?;
            transcript.parent
        });
        let Some(parent) = parent else { return Ok(None) };
        let known = collect::sessions_with_external_id(context, &stored_id(event.agent.name(), &parent))?.pop();
        return Ok(known.map(|parent| CopiedSession { parent: parent.id, empty: None }));
    }
    if event.event != HookKind::Prompt || event.agent != Agent::ClaudeCode {
        return Ok(None);
    }
    let active = active::cached(context);
    let Some(resumed) = context.of_agent_process(&active) else { return Ok(None) };
    let records = records::gather(context, &resumed.id)?;
    Ok(Some(match records.session.from.clone().filter(|_| !has_content(&records)) {
        Some(parent) => CopiedSession { parent, empty: Some(resumed.id.clone()) },
        None => CopiedSession { parent: resumed.id.clone(), empty: None },
    }))
}

/// Whether a session has more than its start.
fn has_content(records: &SessionRecords) -> bool {
    records.entries > 0 || !records.assessments.is_empty() || !records.transcripts.is_empty()
}

fn on_session_start(
    context: &mut CommandContext<'_>,
    event: &HookEvent,
    source: StartSource,
) -> Result<Option<Injection>> {
    if source == StartSource::Compact {
        return after_compaction(context, event, true);
    }
    let lacks_setup = new_clone::lacks_setup(context)?;
    if lacks_setup {
        new_clone::fetch_notes(context, &format!("agent {} {}", event.agent.name(), event.name))?;
    }
    collect::of_session::catch_up(context, Some(event.agent))?;
    let Some(EventSession { id, continues }) = find_or_start_session(context, event, true)? else { return Ok(None) };
    context.belongs_to_this_agent(&id);
    let budget = context.repo.config("empirica.startBudget").and_then(|text| text.parse().ok()).unwrap_or(START_BUDGET);
    if budget == 0 {
        return Ok(None);
    }
    let continues = continues || source == StartSource::Resume;
    let project = project_overview::run(context, Some(id.clone()))?;
    let listed = handoffs::newest(&context.index()?, &HandoffQuery::default())?;
    let arrivals = arrival::changes_since(context, &listed.iter().collect::<Vec<_>>())?.0;
    // the confidence that was lost before is told to whoever comes next
    let gate = match listed.as_ref().and_then(|listed| listed.envelope.session.as_ref()) {
        _ if continues => Some(last_gate(context, &id)?),
        Some(before) => Some(last_gate(context, before)?).filter(|gate| !gate.drift.is_safe()),
        None => None,
    };
    let handed = listed.into_iter().zip(arrivals).next();
    Ok(Some(Injection::Session(Box::new(SessionBrief {
        session: id,
        continues,
        project,
        handed,
        gate,
        lacks_setup,
        budget,
    }))))
}

/// The gate of a session; without an assessment, that of the one that it continues.
fn last_gate(context: &CommandContext<'_>, id: &SessionId) -> Result<Gate> {
    let own = gate(&context.session(id)?, id, WINDOW);
    let parent = context.index()?.session_row(id)?.and_then(|row| row.session.from);
    match parent.filter(|_| own.drift.analyzed == 0) {
        Some(parent) => Ok(gate(&context.session(&parent)?, &parent, WINDOW)),
        None => Ok(own),
    }
}

/// Nothing, unless the last CHECK was unsafe or a compaction happened without an event.
fn on_prompt(context: &mut CommandContext<'_>, event: &HookEvent) -> Result<Option<Injection>> {
    let Some(EventSession { id, .. }) = find_or_start_session(context, event, true)? else { return Ok(None) };
    let scan = context.session(&id)?;
    let records = gather_from(&scan, &id)?;
    if records.checkpoints.last().is_some_and(|(_, checkpoint)| checkpoint.trigger == Trigger::PreCompact) {
        return after_compaction(context, event, false);
    }
    let was_check = records.assessments.last().is_some_and(|(_, last)| last.phase == Phase::Check);
    let gate = gate(&scan, &id, WINDOW);
    Ok((was_check && !gate.drift.is_safe()).then_some(Injection::Unsafe(id, gate)))
}

fn snapshot_now(
    context: &mut CommandContext<'_>,
    event: &HookEvent,
    trigger: Trigger,
    is_beginning: bool,
) -> Result<Option<checkpoint::save::CheckpointOutcome>> {
    if find_or_start_session(context, event, is_beginning)?.is_none() {
        return Ok(None);
    }
    checkpoint::save::run(context, SnapshotRequest { trigger, ..SnapshotRequest::default() }).map(Some)
}

fn before_compaction(context: &mut CommandContext<'_>, event: &HookEvent) -> Result<Option<Injection>> {
    snapshot_now(context, event, Trigger::PreCompact, false).map(|_| None)
}

fn after_compaction(
    context: &mut CommandContext<'_>,
    event: &HookEvent,
    is_beginning: bool,
) -> Result<Option<Injection>> {
    let Some(taken) = snapshot_now(context, event, Trigger::PostCompact, is_beginning)? else { return Ok(None) };
    let outcome = compaction::run(context, &taken)?;
    let scan = context.session(&taken.session_id)?;
    let gate = gate(&scan, &taken.session_id, WINDOW);
    Ok(Some(Injection::Compacted(Box::new(taken), Box::new(outcome), gate)))
}

/// Whether the agent would have to wait for the transcript.
fn is_large(event: &HookEvent) -> bool {
    event.transcript.as_ref().and_then(|path| std::fs::metadata(path).ok()).is_some_and(|file| file.len() > LARGE)
}

/// Handles the event in the background.
fn in_new_process(context: &CommandContext<'_>, event: &HookEvent, payload: &[u8]) -> Result<Option<Injection>> {
    let mut command = Command::new(&context.env.program);
    command.args(["hook", "agent", event.agent.name(), &event.name]).current_dir(&context.env.cwd).env(BACKGROUND, "1");
    in_background(&mut command, payload).map_err(|error| {
        Error::storage("cannot collect the transcript in the background")
            .command(empirica("collect").flag("--latest"))
            .caused_by(error)
    })?;
    Ok(None)
}

/// Collects new parts of the transcript: the one given by the agent, otherwise that of its session. Waits up to `patience` for another process that collects; then leaves the rest for the next time.
fn collect_new(context: &mut CommandContext<'_>, event: &HookEvent, patience: Duration) -> Result<Option<Injection>> {
    let path = match &event.transcript {
        // not yet written, or not a file
        Some(path) if !path.is_file() => return Ok(None),
        path => path.as_ref().map(|path| path.to_string_lossy().into_owned()),
    };
    let Some(_alone) = context.store.try_lock("collecting", patience) else { return Ok(None) };
    let prepared = match (&path, &event.session) {
        (None, Some(id)) => collect::of_session::prepare(context, event.agent, id)?,
        (None, None) => None,
        (Some(_), _) => {
            let request = collect::CollectRequest { path, agent: Some(event.agent), dry_run: false };
            Some(collect::prepare(context, &request)?)
        }
    };
    let Some(prepared) = prepared else { return Ok(None) };
    let was_compacted = has_compacted_unseen(context, &prepared)?;
    prepared.store(context)?;
    if was_compacted {
        snapshot_now(context, event, Trigger::PreCompact, false)?;
    }
    Ok(None)
}

/// Whether the transcript tells of a compaction that no event told, and that the user did not ask for.
fn has_compacted_unseen(context: &CommandContext<'_>, prepared: &Collection) -> Result<bool> {
    if prepared.is_new_session || prepared.added.as_ref().is_none_or(|added| added.compactions == 0) {
        return Ok(false);
    }
    let scan = context.session(&prepared.session.id)?;
    let newest =
        |of: &dyn Fn(&Body) -> bool| scan.records().rev().find(|record| of(&record.body)).map(|r| &r.envelope.id);
    let snapshot = newest(
        &|body| matches!(body, Body::Checkpoint(taken) if matches!(taken.trigger, Trigger::PreCompact | Trigger::PostCompact)),
    );
    // the user asked for it after the last turn
    Ok(snapshot.is_none() || snapshot < newest(&|body| matches!(body, Body::Transcript(_))))
}

fn on_session_end(context: &mut CommandContext<'_>, event: &HookEvent, reason: &str) -> Result<Option<Injection>> {
    // a background run delays no agent
    let patience =
        if context.env.get(BACKGROUND).is_some() { Duration::from_secs(60) } else { Duration::from_millis(500) };
    if let Err(error) = collect_new(context, event, patience) {
        // write the handoff anyway
        context.store.hook_errors().add(&format!("agent {} {}", event.agent.name(), event.name), &in_one_line(&error));
    }
    let Some(id) = active_session(context, event)? else { return Ok(None) };
    context.selection.session = Some(id.as_str().to_owned());
    let records = records::gather(context, &id)?;
    if records.handoffs.is_empty() && has_content(&records) {
        let session = WorkingSession { ai: context.author(Some(&records.session.ai)), id, note: None };
        let content = HandoffParts { automatic: true, ..HandoffParts::default() };
        match handoff::write::write(context, &session, HandoffInput::default(), &content) {
            // the handoff would be empty
            Err(error) if error.kind() == Kind::Refused => {}
            written => drop(written?),
        }
    }
    lifecycle::end(context, Some(reason.to_owned()).filter(|reason| !reason.trim().is_empty()))?;
    Ok(None)
}

/// Most characters kept of a tool's failure.
const FAULT: usize = 250;

fn on_tool_failure(
    context: &mut CommandContext<'_>,
    event: &HookEvent,
    category: &str,
    text: &str,
) -> Result<Option<Injection>> {
    if find_or_start_session(context, event, false)?.is_none() {
        return Ok(None);
    }
    // remove secrets first: a truncated one is not recognized
    let text: String = context.store.secret_filter().clean(text).chars().take(FAULT).collect();
    let entry = Activity { category: category.to_owned(), text, failed: true, ..Default::default() };
    claim::add::log(context, Body::Activity(entry), None).map(|_| None)
}
