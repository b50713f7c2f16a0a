//! The transcript of an agent's session, collected as it grows.

use std::time::Duration;

use crate::context::CommandContext;
use crate::context::records::gather;
use crate::use_cases::collect::{self, CollectRequest, of_session};
use crate::use_cases::hooks::agent::event::HookEvent;
use crate::use_cases::hooks::agent::injection::Injection;
use crate::use_cases::hooks::agent::{compaction, event_session};
use empirica_notes::error::Result;
use empirica_notes::model::assessment::Trigger;
use empirica_transcripts::model::Agent;

/// Collects new parts of the transcript: the one given by the agent, otherwise that of its session. Waits up to `patience` for
/// another process that collects; then leaves the rest for the next time.
pub fn collect_new(
    context: &mut CommandContext<'_>,
    event: &HookEvent,
    patience: Duration,
) -> Result<Option<Injection>> {
    let Some(_alone) = context.store.try_lock("collecting", patience) else { return Ok(None) };
    let prepared = match (&event.transcript, &event.session) {
        // not yet written, or not a file
        (Some(path), _) if !path.is_file() => return Ok(None),
        (Some(path), _) => {
            let path = Some(path.to_string_lossy().into_owned());
            collect::prepare(context, &CollectRequest { path, agent: Some(event.agent), dry_run: false })?
        }
        (None, id) => {
            let found = id.as_ref().and_then(|id| of_session::find(context, event.agent, id));
            let Some(found) = found else { return Ok(None) };
            of_session::prepare(context, &found)?
        }
    };
    if prepared.is_new_session && event.session.as_ref().is_some_and(|id| *id != prepared.id) {
        // its first row, with the id, is not yet written
        return Ok(None);
    }
    let was_compacted = compaction::has_happened_unseen(context, &prepared)?;
    prepared.store(context)?;
    if was_compacted {
        compaction::snapshot_now(context, event, Trigger::PreCompact, false)?;
    }
    Ok(None)
}

/// Whether the active session has all of the conversation, as at its end after the last turn. `false` if that is not certain.
pub fn is_collected(context: &CommandContext<'_>, event: &HookEvent) -> Result<bool> {
    let Some(path) = event.transcript.as_ref().filter(|_| event.agent == Agent::ClaudeCode) else { return Ok(false) };
    let Some(active) = event_session::active_session(context, event)? else { return Ok(false) };
    let collected = gather(context, &active)?.transcripts;
    let own = collected.iter().find(|transcript| Some(&transcript.transcript) == event.session.as_ref());
    Ok(own.is_some_and(|own| empirica_transcripts::is_unchanged(path, own.to)))
}
