//! After a compaction: the comparison with the snapshot before it, and the project for the new context.

pub mod view;

use crate::context::CommandContext;
use crate::context::claims::inject::{self, Inject};
use crate::context::records::gather_from;
use crate::fold::session_records::SessionRecords;
use crate::use_cases::checkpoint::compare::changes::HistoryBetween;
use crate::use_cases::checkpoint::compare::operand::Operand;
use crate::use_cases::checkpoint::compare::{Comparison, compare};
use crate::use_cases::checkpoint::diff;
use crate::use_cases::checkpoint::diff::compared;
use crate::use_cases::checkpoint::save::CheckpointOutcome as Taken;
use crate::use_cases::session::project_overview::{self, Extent};
use empirica_notes::error::Result;
use empirica_notes::model::assessment::Trigger;
use empirica_notes::model::{Assessment, Body, Checkpoint, Envelope, Id, Vector};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Debug)]
pub struct CompactionOutcome {
    /// The comparison with the snapshot before the compaction; `None` without one.
    pub compared: Option<diff::DiffOutcome>,
    pub project: project_overview::ProjectOverviewOutcome,
    /// Whether the text says only how much was lost, not what.
    pub is_brief: bool,
}

/// Compares a checkpoint after a compaction with the one before it, and reads the project to that extent.
pub fn run(context: &CommandContext<'_>, taken: &Taken, extent: Extent) -> Result<CompactionOutcome> {
    let project = project_overview::read(context, Some(taken.session_id.clone()), extent)?;
    let index = context.index()?;
    let mut scan = index.ids(&taken.checkpoint.compared_with)?;
    if extent.is_unasked {
        inject::admit(context, &mut scan)?;
    }
    let earlier = scan.entries().next().and_then(|entry| match &entry.record.body {
        Body::Checkpoint(checkpoint) => Some(Operand::checkpoint(&entry.record.envelope, checkpoint)),
        _ => None,
    });
    let Some(a) = earlier else { return Ok(CompactionOutcome { compared: None, project, is_brief: false }) };
    let goals = gather_from(&index.session(&taken.session_id)?, &taken.session_id)
        .map(|records| records.goals)
        .unwrap_or_default();
    let b = Operand::taken(&taken.envelope, &taken.checkpoint, &goals);
    let comparison = compared(context, &a, &b, true)?;
    let compared = Some(diff::DiffOutcome { a, b, comparison, warnings: Vec::new() });
    // a snapshot quotes the records of all
    let is_brief = extent.is_unasked && Inject::configured(context.repo) != Inject::All;
    Ok(CompactionOutcome { compared, project, is_brief })
}

/// The vectors of the first assessment after a compaction beside those before it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SinceCompaction")]
pub struct SinceSnapshot {
    /// The checkpoint before the compaction.
    pub pre_checkpoint_id: Id,
    /// The checkpoint after it.
    pub post_checkpoint_id: Id,
    /// A sentence, as of `diff`.
    pub summary: String,
    /// How far each vector moved; null when none was assessed on both sides.
    pub vector_deltas: Option<BTreeMap<Vector, f64>>,
}

/// Compares the session's first assessment after a compaction with the snapshot before that, if that has vectors; `None` for
/// any other assessment. `records` is the session before it.
pub(crate) fn since(
    context: &CommandContext<'_>,
    records: &SessionRecords,
    envelope: &Envelope,
    assessment: &Assessment,
) -> Result<Option<SinceSnapshot>> {
    let last = records.last().map(|(envelope, _)| &envelope.id);
    let after = |(envelope, checkpoint): &&(Envelope, Checkpoint)| {
        checkpoint.trigger == Trigger::PostCompact && last.is_none_or(|last| envelope.id > *last)
    };
    let Some((post, checkpoint)) = records.checkpoints.iter().rev().find(after) else { return Ok(None) };
    // a checkpoint's own vectors were compared when it was taken
    let own_vectors = checkpoint.vectors_from.is_none() && !checkpoint.vectors.is_empty();
    let Some(pre) = checkpoint.compared_with.clone().filter(|_| !own_vectors) else { return Ok(None) };
    let scan = context.index()?.ids([&pre])?;
    let found = scan.get(&pre).map(|entry| &entry.record.body);
    let Some(vectors) = found.and_then(|body| match body {
        Body::Checkpoint(checkpoint) => Some(checkpoint.vectors.clone()).filter(|vectors| !vectors.is_empty()),
        _ => None,
    }) else {
        return Ok(None);
    };
    // the rest was compared when the checkpoint was taken
    let a = Operand { vectors, session: envelope.session.clone(), ..Operand::default() };
    let b = Operand { vectors: assessment.vectors.clone(), session: envelope.session.clone(), ..Operand::default() };
    let Comparison { summary, vector_deltas, .. } = compare(&a, &b, &HistoryBetween::default(), &|_| true);
    Ok(Some(SinceSnapshot { pre_checkpoint_id: pre, post_checkpoint_id: post.id.clone(), summary, vector_deltas }))
}
