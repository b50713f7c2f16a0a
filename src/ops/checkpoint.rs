//! Checkpoints: where the work stood, with or without new vectors.

use super::Stored;
use super::context::Context;
use super::session::gather;
use crate::epistemics::confidence::overall;
use crate::error::{Error, Result};
use crate::git::{Oid, history, parse_oid, status};
use crate::model::assessment::{GitState, Trigger};
use crate::model::{Body, Checkpoint, Head, Id, Phase, Record, SessionId, Shelf, Vectors};
use crate::store::When;

/// What is recorded.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs)]
pub struct Request {
    pub phase: Option<Phase>,
    pub round: Option<u32>,
    pub trigger: Trigger,
    pub vectors: Vectors,
}

/// A checkpoint that was stored.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Outcome {
    pub checkpoint_id: Id,
    pub session_id: SessionId,
    pub checkpoint: Checkpoint,
    pub overall_confidence: Option<f64>,
    pub stored: Stored,
}

/// How many commits a checkpoint lists.
const COMMITS: usize = 50;

/// Where the repository stands, with the commits since `since`.
fn git_state(context: &Context<'_>, asked: status::Asked, since: Option<Oid>) -> Result<GitState> {
    let head = context.store.head();
    let now = asked.read()?;
    let changes = now.changes;
    let commits = match since {
        Some(since) => history::since(context.repo, Some(since), COMMITS)?.commits,
        None => Vec::new(),
    };
    Ok(GitState {
        head_commit: head.commit.map(|id| id.to_string()),
        branch: head.branch.clone(),
        ahead_behind: now.ahead_behind,
        dirty: changes != Default::default(),
        uncommitted_changes: changes,
        commits_since_last_checkpoint: commits,
    })
}

/// Stores a snapshot of the session the command works in. Without vectors, those of its last assessment are taken and
/// marked so; without any, it has none.
pub fn run(context: &Context<'_>, request: Request) -> Result<Outcome> {
    let who = context.working()?;
    let asked = status::ask(context.repo);
    let gathered = gather(context, &who.id)?;
    let last = gathered.last();
    let (vectors, vectors_from) = match last {
        Some((head, assessment)) if request.vectors.is_empty() => (assessment.vectors.clone(), Some(head.id.clone())),
        _ => (request.vectors, None),
    };
    let phase = request.phase.or(last.map(|(_, assessment)| assessment.phase));
    let same_phase = gathered.checkpoints.iter().filter(|(_, c)| c.phase == phase).map(|(_, c)| c.round).max();
    let earlier = gathered.checkpoints.last().map(|(head, _)| head);
    let newest: Option<&Head> =
        [earlier, last.map(|(head, _)| head)].into_iter().flatten().max_by_key(|h| h.id.clone());
    let since = newest.and_then(|head| head.commit.as_deref()).and_then(parse_oid);
    let mut warnings = Vec::new();
    let git_state = match git_state(context, asked, since) {
        Ok(state) => Some(state),
        Err(error) => {
            warnings.push(format!("the state of the work tree is not recorded: {error}"));
            None
        }
    };
    let body = Checkpoint {
        phase,
        round: request.round.unwrap_or(same_phase.unwrap_or(0).saturating_add(1)),
        trigger: request.trigger,
        vectors,
        vectors_from,
        git_state,
    };
    let (records, mut stored) = context.store(&who, vec![Body::Checkpoint(Box::new(body))], When::Now)?;
    stored.warnings.append(&mut warnings);
    match records.into_iter().next().map(|record| (record.head, record.body)) {
        Some((head, Body::Checkpoint(checkpoint))) => Ok(Outcome {
            checkpoint_id: head.id,
            session_id: who.id,
            overall_confidence: overall(&checkpoint.vectors),
            checkpoint: *checkpoint,
            stored,
        }),
        _ => Err(Error::storage("the checkpoint was not stored")),
    }
}

/// Checkpoints and assessments, newest first: those of `--session` or `--ai` when given.
pub fn list(context: &Context<'_>) -> Result<(Vec<Record>, Vec<String>)> {
    let warnings = context.store.settle();
    let session = match &context.asked.session {
        Some(given) => Some(super::alias::session(context, given)?.id),
        None => None,
    };
    let scan = context.store.scan(Shelf::Checkpoints)?;
    let fits = |r: &&Record| {
        session.as_ref().is_none_or(|id| r.head.session.as_ref() == Some(id))
            && context.asked.ai.as_ref().is_none_or(|ai| r.head.ai == *ai)
            && matches!(r.body, Body::Assessment(_) | Body::Checkpoint(_))
    };
    Ok((scan.records().rev().filter(fits).cloned().collect(), warnings))
}

/// One checkpoint or assessment; without an id the newest one of the filters of [`list`].
pub fn show(context: &Context<'_>, given: Option<&str>) -> Result<(Record, Vec<String>)> {
    let Some(given) = given else {
        let (records, warnings) = list(context)?;
        let newest = records.into_iter().next();
        return newest
            .map(|record| (record, warnings))
            .ok_or_else(|| Error::not_found("no checkpoint is stored here").command("git empirica checkpoint"));
    };
    let warnings = context.store.settle();
    let fits = |r: &Record| matches!(r.body, Body::Assessment(_) | Body::Checkpoint(_));
    Ok((context.record(given, "checkpoint", &[Shelf::Checkpoints], fits)?, warnings))
}
