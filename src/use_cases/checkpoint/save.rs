//! Takes, lists and finds checkpoints.

use crate::context::CommandContext;
use crate::context::records::gather;
use crate::context::stored::StoreReport;
use crate::index::RecordQuery;
use crate::use_cases::checkpoint::snapshot::{PendingGit, SnapshotRequest, take};
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::model::{Body, Checkpoint, Envelope, Namespace, Phase, Record, SessionId};
use empirica_notes::store::FlushTiming;

#[derive(Debug)]
pub struct CheckpointOutcome {
    pub envelope: Envelope,
    pub session_id: SessionId,
    pub checkpoint: Checkpoint,
    pub stored: StoreReport,
}

/// Stores a checkpoint of the working session. Vectors that are not given are those of its newest assessments, if any.
pub fn run(context: &CommandContext<'_>, request: SnapshotRequest) -> Result<CheckpointOutcome> {
    context.optional("reasoning", request.reasoning.as_deref())?;
    let session = context.writing()?;
    let git = PendingGit::start(context);
    let session_records = gather(context, &session.id)?;
    let (body, mut warnings) = take(context, &session_records, &session.ai, request, git)?;
    let (records, mut stored) = context.store(&session, vec![Body::Checkpoint(Box::new(body))], FlushTiming::Now)?;
    stored.warnings.append(&mut warnings);
    match records.into_iter().next().map(|record| (record.envelope, record.body)) {
        Some((envelope, Body::Checkpoint(checkpoint))) => {
            Ok(CheckpointOutcome { envelope, session_id: session.id, checkpoint: *checkpoint, stored })
        }
        _ => Err(Error::unstored()),
    }
}

/// Checkpoints and assessments of `--session` and `--ai`, newest first, with warnings.
pub fn list(context: &CommandContext<'_>) -> Result<(Vec<Record>, Vec<String>)> {
    list_newest(context, None)
}

/// As [`list`], but without `--ai` only the `newest` of each kind.
fn list_newest(context: &CommandContext<'_>, newest: Option<usize>) -> Result<(Vec<Record>, Vec<String>)> {
    let warnings = context.store.reconcile();
    let session = match &context.selection.session {
        Some(name) => Some(crate::context::names::session(context, name)?.id),
        None => None,
    };
    let newest = newest.filter(|_| context.selection.ai.is_none());
    let only = RecordQuery { session: session.as_ref(), newest };
    let scan = context.index()?.kinds(&["assessment", "checkpoint"], only)?;
    let fits = |r: &&Record| context.selection.ai.as_ref().is_none_or(|ai| r.envelope.ai == *ai);
    Ok((scan.records().rev().filter(fits).cloned().collect(), warnings))
}

/// The newest checkpoint or assessment of [`list`], of this phase and age if given.
pub fn newest(
    context: &CommandContext<'_>,
    phase: Option<Phase>,
    max_age_hours: Option<u32>,
) -> Result<(Option<Record>, Vec<String>)> {
    if phase.is_none() && max_age_hours.is_none() {
        let (records, warnings) = list_newest(context, Some(1))?;
        return Ok((records.into_iter().next(), warnings));
    }
    let oldest = max_age_hours.map(|hours| context.env.now() - chrono::Duration::hours(i64::from(hours)));
    let fits = |record: &Record| {
        let at = chrono::DateTime::parse_from_rfc3339(&record.envelope.at).ok();
        let own = match &record.body {
            Body::Assessment(assessment) => Some(assessment.phase),
            Body::Checkpoint(checkpoint) => checkpoint.phase,
            _ => None,
        };
        (phase.is_none() || own == phase) && oldest.is_none_or(|oldest| at.is_some_and(|at| at >= oldest))
    };
    let (records, warnings) = list(context)?;
    Ok((records.into_iter().find(fits), warnings))
}

/// Error: no checkpoint matches.
pub fn none_stored() -> Error {
    Error::not_found("cannot find a checkpoint: none is stored here")
        .reason("there is no assessment or checkpoint, or none matches the request")
        .suggest("List all, or take one in an active session.")
        .command(empirica("checkpoint list"))
}

/// A checkpoint or assessment by ID; without one, the newest of [`list`].
pub fn show(context: &CommandContext<'_>, name: Option<&str>) -> Result<(Record, Vec<String>)> {
    let Some(name) = name else {
        let (newest, warnings) = newest(context, None, None)?;
        return newest.map(|record| (record, warnings)).ok_or_else(none_stored);
    };
    let warnings = context.store.reconcile();
    let fits = |r: &Record| matches!(r.body, Body::Assessment(_) | Body::Checkpoint(_));
    Ok((context.record(name, "checkpoint", &[Namespace::Checkpoints], fits)?, warnings))
}
