//! The transcript of an agent's session, collected as it grows.

use std::process::Command;
use std::time::Duration;

use crate::context::CommandContext;
use crate::use_cases::collect;
use crate::use_cases::hooks::agent::event::HookEvent;
use crate::use_cases::hooks::agent::{BACKGROUND, Injection, compaction};
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::git::process::in_background;
use empirica_notes::model::assessment::Trigger;

/// From this size in bytes on, a transcript is collected in the background.
const LARGE: u64 = 2 << 20;

/// Whether the agent would have to wait for the transcript.
pub fn is_large(event: &HookEvent) -> bool {
    event.transcript.as_ref().and_then(|path| std::fs::metadata(path).ok()).is_some_and(|file| file.len() > LARGE)
}

/// Handles the event in the background.
pub fn in_new_process(context: &CommandContext<'_>, event: &HookEvent, payload: &[u8]) -> Result<Option<Injection>> {
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
pub fn collect_new(
    context: &mut CommandContext<'_>,
    event: &HookEvent,
    patience: Duration,
) -> Result<Option<Injection>> {
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
    let was_compacted = compaction::has_happened_unseen(context, &prepared)?;
    prepared.store(context)?;
    if was_compacted {
        compaction::snapshot_now(context, event, Trigger::PreCompact, false)?;
    }
    Ok(None)
}
