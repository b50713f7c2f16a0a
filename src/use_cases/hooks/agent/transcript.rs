//! The transcript of an agent's session, collected as it grows.

use std::path::Path;
use std::time::Duration;

use crate::context::CommandContext;
use crate::context::records::gather;
use crate::use_cases::collect::{self, CollectRequest, of_session};
use crate::use_cases::hooks::agent::event::{HookEvent, HookKind};
use crate::use_cases::hooks::agent::injection::Injection;
use crate::use_cases::hooks::agent::{compaction, event_session};
use empirica_notes::error::Result;
use empirica_notes::model::assessment::Trigger;

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
        (Some(path), _) if !path.is_file() || is_collected(context, event, path)? => return Ok(None),
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

/// Whether the active session has the whole transcript, as at the end of a session after its last turn.
fn is_collected(context: &CommandContext<'_>, event: &HookEvent, path: &Path) -> Result<bool> {
    if !matches!(event.event, HookKind::SessionEnd { .. }) {
        return Ok(false);
    }
    let Some(active) = event_session::active_session(context, event)? else { return Ok(false) };
    let size = path.metadata().map_or(0, |file| file.len());
    let records = gather(context, &active)?;
    Ok(records.transcripts.iter().any(|part| Some(&part.transcript) == event.session.as_ref() && part.to == size))
}
