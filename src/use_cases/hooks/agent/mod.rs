//! Hooks of agents: a session under the agent's ID, snapshots around a compaction, transcripts collected, a handoff
//! at the end. They never fail, and never keep the agent waiting.

mod background;
pub mod call;
mod compaction;
pub mod event;
mod event_session;
mod guard;
pub mod injection;
mod new_clone;
mod start;
mod transcript;
pub mod view;

use std::mem::ManuallyDrop;
use std::time::Duration;

use crate::context::caller::stored_id;
use crate::context::records::{self, gather_from};
use crate::context::{CommandContext, Selection};
use crate::fold::assessment::drift::WINDOW;
use crate::fold::assessment::session_gate::gate;
use crate::use_cases::claim;
use crate::use_cases::claim::scope::Scope;
use crate::use_cases::hooks::agent::background::{in_new_process, is_in_background, is_large};
use crate::use_cases::hooks::agent::event::{HookEvent, HookKind};
use crate::use_cases::hooks::agent::injection::Injection;
use crate::use_cases::hooks::errors::in_one_line;
use crate::use_cases::session::{lifecycle, unattended};
use crate::use_cases::setup::agents::entries::{EventKind, entry};
use empirica_notes::env::Env;
use empirica_notes::error::Result;
use empirica_notes::git::Repository;
use empirica_notes::model::assessment::Trigger;
use empirica_notes::model::journal::Activity;
use empirica_notes::model::{Body, Phase};
use empirica_notes::store::Render;
use empirica_transcripts::model::Agent;

/// How long an agent waits for the index of notes that are new here.
const INDEX_WAIT: Duration = Duration::from_secs(1);

/// Handles an event, and returns the text for the model; failures are logged. `payload` is the raw input, for a
/// background run.
pub fn run(env: &Env, repo: &Repository, render: &dyn Render, event: &HookEvent, payload: &[u8]) -> Option<Injection> {
    if repo.config_bool("empirica.agentHooks") == Some(false) {
        return None;
    }
    // an agent named by the user takes precedence
    let named = env.get("EMPIRICA_AI").is_some() || repo.config("empirica.ai").is_some();
    let ai = (!named).then(|| event.agent.name().to_owned());
    let selection = Selection { ai, session: None, ..Default::default() };
    // the end of the process frees it, without the agent waiting for each part
    let context = &mut *ManuallyDrop::new(CommandContext::new(env, repo, render, selection).ok()?);
    if !is_in_background(env) {
        context.store.limit_waiting_for_hook();
        context.index_cache.limit(INDEX_WAIT);
        context.store.flush_later();
    }
    // as stored, to find it again
    let session = event.session.as_deref().map(|id| stored_id(event.agent.name(), id));
    let event = &HookEvent { session, ..event.clone() };
    let done = match &event.event {
        // its parent's events say the rest
        kind if event.is_of_subagent && !matches!(kind, HookKind::ToolFailed { .. }) => Ok(None),
        HookKind::SessionStart(source) => start::on_session_start(context, event, *source, payload),
        HookKind::Prompt => on_prompt(context, event),
        HookKind::BeforeCompact => compaction::before(context, event),
        HookKind::AfterCompact => compaction::after(context, event, false),
        HookKind::TurnEnd if is_large(context, event) => in_new_process(context, event, payload),
        HookKind::TurnEnd => transcript::collect_new(context, event, Duration::ZERO),
        HookKind::SessionEnd { reason } => on_session_end(context, event, reason, payload),
        HookKind::ToolFailed { category, text } => on_tool_failure(context, event, category, text),
        HookKind::Touched { files } => guard::on_touch(context, event, files),
        HookKind::Nothing => Ok(None),
    };
    if matches!(event.event, HookKind::BeforeCompact | HookKind::SessionEnd { .. }) && !is_in_background(env) {
        background::flush(context);
    }
    let done = match done {
        // made in the background, with what the event asks for
        Err(_) if context.index_cache.is_late() => in_new_process(context, event, payload),
        done => done,
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

/// Nothing, unless the last CHECK was unsafe or a compaction happened without an event.
fn on_prompt(context: &mut CommandContext<'_>, event: &HookEvent) -> Result<Option<Injection>> {
    let Some(event_session::EventSession { id, .. }) = event_session::find_or_start(context, event, true)? else {
        return Ok(None);
    };
    let tells_compaction = |(_, kind): &(&str, EventKind)| *kind == EventKind::Compacts;
    if !entry(event.agent).dialect.events.iter().any(tells_compaction) && !is_large(context, event) {
        // its transcript does
        transcript::collect_new(context, event, Duration::ZERO)?;
    }
    let scan = records::session(context, &id)?;
    let records = gather_from(&scan, &id)?;
    if records.checkpoints.last().is_some_and(|(_, checkpoint)| checkpoint.trigger == Trigger::PreCompact) {
        return compaction::after(context, event, false);
    }
    let was_check = records.assessments.last().is_some_and(|(_, last)| last.phase == Phase::Check);
    let gate = gate(&scan, &id, WINDOW);
    Ok((was_check && !gate.drift.is_safe()).then_some(Injection::Unsafe(id, gate)))
}

fn on_session_end(
    context: &mut CommandContext<'_>,
    event: &HookEvent,
    reason: &str,
    payload: &[u8],
) -> Result<Option<Injection>> {
    let writes_after = event.agent == Agent::Copilot;
    if writes_after && is_in_background(context.env) {
        std::thread::sleep(COPILOT_WRITES);
        return unattended::catch_up(context, None).map(|_| None);
    }
    let is_large = is_large(context, event);
    let waits = writes_after && is_large;
    if !waits && !transcript::is_collected(context, event)? {
        if is_large {
            return in_new_process(context, event, payload);
        }
        let patience = if is_in_background(context.env) { 60_000 } else { 500 };
        if let Err(error) = transcript::collect_new(context, event, Duration::from_millis(patience)) {
            // write the handoff anyway
            let hook = format!("agent {} {}", event.agent.name(), event.name);
            context.store.hook_errors().add(&hook, &in_one_line(&error));
        }
    }
    let Some(id) = event_session::active_session(context, event)? else { return Ok(None) };
    context.selection.session = Some(id.as_str().to_owned());
    let reason = Some(reason.to_owned()).filter(|reason| !reason.trim().is_empty());
    lifecycle::end_with_handoff(context, context.working()?, reason)?;
    if writes_after { in_new_process(context, event, payload) } else { Ok(None) }
}

/// How long Copilot CLI takes to write the transcript, with `-p` after its last hook; what is later, the next start collects.
const COPILOT_WRITES: Duration = Duration::from_millis(300);

/// Most characters kept of a tool's failure.
const FAULT: usize = 250;

fn on_tool_failure(
    context: &mut CommandContext<'_>,
    event: &HookEvent,
    category: &str,
    text: &str,
) -> Result<Option<Injection>> {
    if event_session::find_or_start(context, event, false)?.is_none() {
        return Ok(None);
    }
    // remove secrets first: a truncated one is not recognized
    let text: String = context.store.secret_filter().clean(text).chars().take(FAULT).collect();
    let entry = Activity { category: category.to_owned(), text, failed: true, ..Default::default() };
    claim::add::log(context, Body::Activity(entry), None, &Scope::default()).map(|_| None)
}
