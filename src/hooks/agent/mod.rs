//! What the hooks of agents are for: a session under the agent's own id, snapshots around a compaction, the transcript collected, a
//! handoff at the end. They never fail, and they keep no agent waiting.

pub mod call;
pub mod event;
pub mod view;

use std::io::Write;
use std::process::Command;
use std::time::Duration;

use crate::assess::drift::WINDOW;
use crate::assess::drift::current::gate;
use crate::assess::gate::Gate;
use crate::checkpoint::{compaction, snapshot};
use crate::claim::add::ClaimInput;
use crate::context::handoffs::ListedHandoff;
use crate::context::records::gather_from;
use crate::context::{CommandContext, Selection, WorkingSession, active, records};
use crate::fold::handoff_report::HandoffInput;
use crate::fold::session_state::SessionRecords;
use crate::handoff::arrival;
use crate::handoff::arrival::fold::Arrival;
use crate::handoff::build::Content;
use crate::hooks::agent::event::{HookEvent, HookKind, StartSource};
use crate::hooks::trouble::in_one_line;
use crate::index::HandoffQuery;
use crate::session::{bootstrap, collect, lifecycle};
use crate::{checkpoint, claim, handoff};
use empirica_notes::env::Env;
use empirica_notes::error::{Kind, Result, empirica};
use empirica_notes::git::Repository;
use empirica_notes::git::process::in_background;
use empirica_notes::model::assessment::Trigger;
use empirica_notes::model::{Phase, SessionId};
use empirica_notes::store::Render;
use empirica_transcripts::model::Agent;

/// From this size on a transcript is collected beside the agent, which goes on meanwhile, in bytes.
const LARGE: u64 = 2 << 20;
/// The variable that says it is done beside the agent already.
pub const BESIDE: &str = "EMPIRICA_BESIDE";

/// What is put before the agent's model.
#[derive(Debug)]
pub enum Injection {
    /// What a session begins with, or goes on with.
    Session(Box<SessionBrief>),
    /// What a compaction took, and the project.
    Compacted(Box<checkpoint::save::CheckpointOutcome>, Box<compaction::CompactionOutcome>, Gate),
    /// The last CHECK was unsafe.
    Unsafe(SessionId, Gate),
}

/// What is put before the model when a session begins or goes on.
#[derive(Debug)]
pub struct SessionBrief {
    /// The session.
    pub session: SessionId,
    /// The project.
    pub project: bootstrap::BootstrapOutcome,
    /// The newest handoff of work, and what became of it.
    pub handed: Option<(ListedHandoff, Arrival)>,
    /// How confidence stood; `None` for a session that has just begun.
    pub gate: Option<Gate>,
    /// How many tokens all of it may take.
    pub budget: usize,
}

/// The tokens of what is put into a context when a session begins (`empirica.startBudget`).
const START_BUDGET: usize = 500;

/// Does what an event is for, and says what is to be put before the model; what goes wrong is written down. `payload` is what the agent
/// told, as it was, for what is done beside it.
pub fn run(env: &Env, repo: &Repository, render: &dyn Render, told: &HookEvent, payload: &[u8]) -> Option<Injection> {
    if repo.config_bool("empirica.agentHooks") == Some(false) {
        return None;
    }
    // who the user says speaks comes first
    let named = env.get("EMPIRICA_AI").is_some() || repo.config("empirica.ai").is_some();
    let ai = (!named).then(|| told.agent.name().to_owned());
    let mut context =
        CommandContext::new(env, repo, render, Selection { ai, session: None, ..Default::default() }).ok()?;
    if env.get(BESIDE).is_none() {
        context.store.hurry();
    }
    // as it is stored, so that it is found again
    let session = told.session.as_deref().map(|id| collect::stored_id(told.agent, id));
    let told = &HookEvent { session, ..told.clone() };
    let done = match &told.event {
        HookKind::Begins(source) => begins(&mut context, told, *source),
        HookKind::Prompt => prompt(&mut context, told),
        HookKind::Compacts => compacts(&mut context, told),
        HookKind::Compacted => compacted(&mut context, told, false),
        HookKind::Stops | HookKind::Ends { .. } if is_large(told) && env.get(BESIDE).is_none() => {
            beside(&context, told, payload)
        }
        HookKind::Stops => collected(&mut context, told, Duration::ZERO),
        HookKind::Ends { reason } => ends(&mut context, told, reason),
        HookKind::Failed { category, text } => failed(&mut context, told, category, text),
        HookKind::Nothing => Ok(None),
    };
    done.unwrap_or_else(|error| {
        context.store.trouble(&format!("agent {} {}", told.agent.name(), told.name), &in_one_line(&error));
        None
    })
}

/// Writes down that what an agent told could not be read.
pub fn unread(env: &Env, render: &dyn Render, hook: &str, why: &str) {
    let Ok(repo) = Repository::discover(env) else { return };
    if let Ok(context) = CommandContext::new(env, &repo, render, Selection::default()) {
        context.store.trouble(hook, &format!("what the agent told cannot be read: {why}"));
    }
}

/// The session of the agent's id that goes on; `None` when none does.
fn known(context: &CommandContext<'_>, told: &HookEvent) -> Result<Option<SessionId>> {
    let Some(external) = &told.session else { return Ok(None) };
    if let Some(active) =
        active::remembered(context).into_iter().rev().find(|s| s.external_id.as_ref() == Some(external))
    {
        return Ok(Some(active.id));
    }
    Ok(collect::having(context, external)?.into_iter().rfind(|session| session.is_active()).map(|session| session.id))
}

/// The session of the agent's id: the one that goes on, else one that begins, which continues the one that had ended. `None` when it
/// had ended and only a beginning may begin another: what comes late belongs to no session.
fn own(context: &mut CommandContext<'_>, told: &HookEvent, is_beginning: bool) -> Result<Option<SessionId>> {
    // hooks of one session can run at the same time
    let _turn = context.store.turn();
    let id = match known(context, told)? {
        Some(id) => id,
        None => {
            let ended = match &told.session {
                Some(external) => collect::having(context, external)?.pop(),
                None => None,
            };
            if ended.is_some() && !is_beginning {
                return Ok(None);
            }
            let request = lifecycle::StartRequest {
                task: None,
                kind: None,
                external_id: told.session.clone(),
                by_hook: true,
                since_ms: None,
                from: ended.map(|session| session.id.as_str().to_owned()),
            };
            lifecycle::start(context, request)?.session_id
        }
    };
    context.selection.session = Some(id.as_str().to_owned());
    Ok(Some(id))
}

fn begins(context: &mut CommandContext<'_>, told: &HookEvent, source: StartSource) -> Result<Option<Injection>> {
    if source == StartSource::Compact {
        return compacted(context, told, true);
    }
    let went_on = known(context, told)?.is_some();
    let Some(id) = own(context, told, true)? else { return Ok(None) };
    if told.agent == Agent::ClaudeCode {
        tell_shell(context, &id);
    }
    let budget = context.repo.config("empirica.startBudget").and_then(|text| text.parse().ok()).unwrap_or(START_BUDGET);
    if budget == 0 {
        return Ok(None);
    }
    let goes_on = went_on || source == StartSource::Resume;
    let project = bootstrap::run(context, &bootstrap::BootstrapRequest { own: Some(id.clone()) })?;
    let listed = crate::context::handoffs::newest(&context.index()?, &HandoffQuery::default())?;
    let arrivals = arrival::of(context, &listed.iter().collect::<Vec<_>>())?.0;
    let scan = context.session(&id)?;
    let gate = goes_on.then(|| gate(&scan, &id, WINDOW));
    let handed = listed.into_iter().zip(arrivals).next();
    Ok(Some(Injection::Session(Box::new(SessionBrief { session: id, project, handed, gate, budget }))))
}

/// Tells the agent's shell which session its commands are in, where the agent has a file for that.
fn tell_shell(context: &CommandContext<'_>, id: &SessionId) {
    let Some(file) = context.env.get("CLAUDE_ENV_FILE") else { return };
    let line = format!("export EMPIRICA_SESSION={id}\n");
    let append = || std::fs::OpenOptions::new().append(true).create(true).open(file)?.write_all(line.as_bytes());
    // without it, the session at work here is found as always
    let _ = append();
}

/// Nothing, unless the last CHECK was unsafe; and after a compaction that no event tells of, what it took.
fn prompt(context: &mut CommandContext<'_>, told: &HookEvent) -> Result<Option<Injection>> {
    let Some(id) = known(context, told)? else { return Ok(None) };
    let scan = context.session(&id)?;
    let gathered = gather_from(&scan, &id)?;
    if gathered.checkpoints.last().is_some_and(|(_, checkpoint)| checkpoint.trigger == Trigger::PreCompact) {
        return compacted(context, told, false);
    }
    let was_check = gathered.assessments.last().is_some_and(|(_, last)| last.phase == Phase::Check);
    let gate = gate(&scan, &id, WINDOW);
    Ok((was_check && !gate.drift.is_safe()).then_some(Injection::Unsafe(id, gate)))
}

fn snapshot_now(
    context: &mut CommandContext<'_>,
    told: &HookEvent,
    trigger: Trigger,
    is_beginning: bool,
) -> Result<Option<checkpoint::save::CheckpointOutcome>> {
    match own(context, told, is_beginning)? {
        Some(_) => checkpoint::save::run(
            context,
            snapshot::SnapshotRequest { trigger, ..snapshot::SnapshotRequest::default() },
        )
        .map(Some),
        None => Ok(None),
    }
}

fn compacts(context: &mut CommandContext<'_>, told: &HookEvent) -> Result<Option<Injection>> {
    snapshot_now(context, told, Trigger::PreCompact, false).map(|_| None)
}

fn compacted(context: &mut CommandContext<'_>, told: &HookEvent, is_beginning: bool) -> Result<Option<Injection>> {
    let Some(taken) = snapshot_now(context, told, Trigger::PostCompact, is_beginning)? else { return Ok(None) };
    let outcome = compaction::run(context, &taken)?;
    let scan = context.session(&taken.session_id)?;
    let gate = gate(&scan, &taken.session_id, WINDOW);
    Ok(Some(Injection::Compacted(Box::new(taken), Box::new(outcome), gate)))
}

/// Whether the transcript is so large that the agent would wait for it.
fn is_large(told: &HookEvent) -> bool {
    told.transcript.as_ref().and_then(|path| std::fs::metadata(path).ok()).is_some_and(|file| file.len() > LARGE)
}

/// Does the same beside the agent.
fn beside(context: &CommandContext<'_>, told: &HookEvent, payload: &[u8]) -> Result<Option<Injection>> {
    let mut command = Command::new(&context.env.program);
    command.args(["hook", "agent", told.agent.name(), &told.name]).current_dir(&context.env.cwd).env(BESIDE, "1");
    in_background(&mut command, payload).map_err(|error| {
        empirica_notes::error::Error::storage("the transcript cannot be collected beside the agent")
            .command(empirica("collect").flag("--latest"))
            .caused_by(error)
    })?;
    Ok(None)
}

/// Takes in what is new in the transcript: as the agent names it; of one that does not, the latest here when it is of that session.
/// When another does so, it is waited for `patience`; then what is new stays for the next time.
fn collected(context: &mut CommandContext<'_>, told: &HookEvent, patience: Duration) -> Result<Option<Injection>> {
    let path = match &told.transcript {
        // one that is not written yet, or is no file, is no trouble
        Some(path) if !path.is_file() => return Ok(None),
        path => path.as_ref().map(|path| path.to_string_lossy().into_owned()),
    };
    let Some(_alone) = context.store.alone("collecting", patience) else { return Ok(None) };
    let is_named = path.is_some();
    let prepared =
        match collect::prepared(context, &collect::CollectRequest { path, agent: Some(told.agent), dry_run: false }) {
            Ok(prepared) => prepared,
            // it has none here
            Err(error) if !is_named && error.kind() == Kind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
    if is_named || prepared.is_of(told.session.as_deref()) {
        prepared.store(context)?;
    }
    Ok(None)
}

/// Whether a session said anything that another can use.
fn has_something(gathered: &SessionRecords) -> bool {
    gathered.entries > 0 || !gathered.assessments.is_empty() || !gathered.transcripts.is_empty()
}

fn ends(context: &mut CommandContext<'_>, told: &HookEvent, reason: &str) -> Result<Option<Injection>> {
    // beside the agent nobody waits
    let patience = if context.env.get(BESIDE).is_some() { Duration::from_secs(60) } else { Duration::from_millis(500) };
    if let Err(error) = collected(context, told, patience) {
        // the handoff is written all the same
        context.store.trouble(&format!("agent {} {}", told.agent.name(), told.name), &in_one_line(&error));
    }
    let Some(id) = known(context, told)? else { return Ok(None) };
    context.selection.session = Some(id.as_str().to_owned());
    let gathered = records::gather(context, &id)?;
    if gathered.handoffs.is_empty() && has_something(&gathered) {
        let who = WorkingSession { ai: context.author(Some(&gathered.session.ai)), id, note: None };
        let what = Content { automatic: true, ..Content::default() };
        match handoff::write::write(context, &who, HandoffInput::default(), &what) {
            // it would say nothing
            Err(error) if error.kind() == Kind::Refused => {}
            written => drop(written?),
        }
    }
    lifecycle::end(context, Some(reason.to_owned()).filter(|reason| !reason.trim().is_empty()))?;
    Ok(None)
}

/// The most that is kept of what a tool said when it failed, in characters.
const FAULT: usize = 250;

fn failed(context: &mut CommandContext<'_>, told: &HookEvent, category: &str, text: &str) -> Result<Option<Injection>> {
    if own(context, told, false)?.is_none() {
        return Ok(None);
    }
    // a secret that is cut off is none to who looks for secrets
    let text: String = context.store.without_secrets(text).chars().take(FAULT).collect();
    let entry = ClaimInput::Activity { category: category.to_owned(), text, failed: true, files: Vec::new() };
    claim::add::log(context, entry, None).map(|_| None)
}
