//! Snapshots around a compaction.

use crate::context::{CommandContext, records};
use crate::fold::assessment::drift::WINDOW;
use crate::fold::assessment::session_gate::gate;
use crate::use_cases::checkpoint;
use crate::use_cases::checkpoint::snapshot::SnapshotRequest;
use crate::use_cases::collect::Collection;
use crate::use_cases::hooks::agent::event::HookEvent;
use crate::use_cases::hooks::agent::event_session;
use crate::use_cases::hooks::agent::injection::Injection;
use crate::use_cases::session::compaction;
use crate::use_cases::session::project_overview::Extent;
use empirica_notes::error::Result;
use empirica_notes::model::Body;
use empirica_notes::model::assessment::Trigger;

pub fn snapshot_now(
    context: &mut CommandContext<'_>,
    event: &HookEvent,
    trigger: Trigger,
    is_beginning: bool,
) -> Result<Option<checkpoint::save::CheckpointOutcome>> {
    if event_session::find_or_start(context, event, is_beginning)?.is_none() {
        return Ok(None);
    }
    checkpoint::save::run(context, SnapshotRequest { trigger, ..SnapshotRequest::default() }).map(Some)
}

pub fn before(context: &mut CommandContext<'_>, event: &HookEvent) -> Result<Option<Injection>> {
    snapshot_now(context, event, Trigger::PreCompact, false).map(|_| None)
}

pub fn after(context: &mut CommandContext<'_>, event: &HookEvent, is_beginning: bool) -> Result<Option<Injection>> {
    let Some(taken) = snapshot_now(context, event, Trigger::PostCompact, is_beginning)? else { return Ok(None) };

    // all but this snapshot is in the index
    context.index_cache.keep();
    let outcome = compaction::run(context, &taken, Extent::unasked(context))?;
    let gate = gate(&records::session(context, &taken.session_id)?, &taken.session_id, WINDOW);
    Ok(Some(Injection::Compacted(Box::new(taken), Box::new(outcome), gate)))
}

/// Whether the transcript tells of a compaction that no event told, and that the user did not ask for.
pub fn has_happened_unseen(context: &CommandContext<'_>, prepared: &Collection) -> Result<bool> {
    if prepared.is_new_session || prepared.added.as_ref().is_none_or(|added| added.compactions == 0) {
        return Ok(false);
    }
    let scan = records::session(context, &prepared.session.id)?;
    let newest =
        |of: &dyn Fn(&Body) -> bool| scan.records().rev().find(|record| of(&record.body)).map(|r| &r.envelope.id);
    let snapshot = newest(
        &|body| matches!(body, Body::Checkpoint(taken) if matches!(taken.trigger, Trigger::PreCompact | Trigger::PostCompact)),
    );
    // the user asked for it after the last turn
    Ok(snapshot.is_none() || snapshot < newest(&|body| matches!(body, Body::Transcript(_))))
}
