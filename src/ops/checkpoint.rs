//! Checkpoints: where the work stood, with or without new vectors, and everything that can be lost.

use std::collections::BTreeMap;

use super::Stored;
use super::compaction;
use super::context::Context;
use super::session::gather_from;
use crate::epistemics::confidence::overall;
use crate::epistemics::gathered::Gathered;
use crate::epistemics::snapshot::{self, MOST, Place, RECENT, Said};
use crate::error::{Error, Result};
use crate::git::{Oid, history, parse_oid, project, status};
use crate::model::assessment::Trigger;
use crate::model::snapshot::{CommitMade, GitState, Uncommitted};
use crate::model::{Body, Checkpoint, Head, Phase, Record, SessionId, Shelf, Vectors};
use crate::store::{Scan, When};

/// What is recorded.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs)]
pub struct Request {
    pub phase: Option<Phase>,
    pub round: Option<u32>,
    pub trigger: Trigger,
    pub vectors: Vectors,
    pub reasoning: Option<String>,
    pub cycle: Option<u32>,
    pub scope: Option<f64>,
    pub tags: Vec<String>,
    pub metadata: BTreeMap<String, String>,
}

/// A checkpoint that was stored.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Outcome {
    pub head: Head,
    pub session_id: SessionId,
    pub checkpoint: Checkpoint,
    pub overall_confidence: Option<f64>,
    pub stored: Stored,
}

/// How many commits are counted.
const COMMITS: usize = 200;

/// What git is asked while the records are read.
pub(super) struct AskedGit {
    status: status::Asked,
    lines: status::AskedLines,
}

impl AskedGit {
    pub(super) fn ask(context: &Context<'_>) -> Self {
        AskedGit { status: status::ask(context.repo), lines: status::ask_lines(context.repo) }
    }

    /// Where the repository stands, with the commits since `since`.
    fn read(self, context: &Context<'_>, since: Option<Oid>) -> Result<GitState> {
        let head = context.store.head();
        let now = self.status.read()?;
        let (insertions, deletions) = self.lines.read()?;
        let changes = now.changes;
        let made = match since {
            Some(since) => history::since(context.repo, Some(since), COMMITS)?,
            None => history::Since::default(),
        };
        let total = made.commits.len() as u64;
        let commits = made.commits.into_iter().zip(made.dates).take(RECENT).map(|(line, timestamp)| CommitMade {
            hash: line.commit,
            message: line.subject,
            timestamp,
        });
        Ok(GitState {
            head_commit: head.commit.map(|id| id.to_string()),
            branch: head.branch.clone(),
            ahead_behind: now.ahead_behind,
            dirty: changes != Default::default(),
            uncommitted_changes: Uncommitted {
                files_modified: changes.files_modified.len() as u64,
                files_added: changes.files_added.len() as u64,
                files_deleted: changes.files_deleted.len() as u64,
                insertions,
                deletions,
                paths: [changes.files_modified, changes.files_added, changes.files_deleted].concat(),
                paths_omitted: 0,
            },
            commits_since_last_checkpoint: commits.collect(),
            commits_total: total,
        })
    }
}

/// Which project it is. The root commit is remembered: to find it, git walks the whole history.
fn place(context: &Context<'_>) -> Place {
    let file = context.store.paths().project();
    let known = std::fs::read_to_string(&file).ok().and_then(|text| parse_oid(text.trim()));
    let root = known.filter(|root| context.repo.is_commit(*root)).or_else(|| {
        let root = project::root(context.repo)?;
        // not remembered, it is looked for again
        let _ = context.store.replace_derived(&file, &format!("{root}\n"));
        Some(root)
    });
    Place {
        project_id: root.map(|root| root.to_string()),
        name: project::name(context.repo),
        description: project::description(context.repo),
        repos: project::repos(context.repo),
    }
}

/// The checkpoint of a session as it would be taken now, out of all records.
pub(super) fn take(
    context: &Context<'_>,
    scan: &Scan,
    gathered: &Gathered,
    ai: &str,
    request: Request,
    asked: AskedGit,
) -> Result<(Checkpoint, Vec<String>)> {
    let last = gathered.last();
    let (vectors, vectors_from) = match last {
        Some((head, assessment)) if request.vectors.is_empty() => (assessment.vectors.clone(), Some(head.id.clone())),
        _ => (request.vectors, None),
    };
    // as it was said last, by an assessment or with a checkpoint
    let assessed = last.map(|(head, assessment)| (&head.id, assessment.phase));
    let taken = gathered.checkpoints.iter().rev().find_map(|(head, checkpoint)| Some((&head.id, checkpoint.phase?)));
    let known = [assessed, taken].into_iter().flatten().max_by_key(|(id, _)| *id);
    let phase = request.phase.or(known.map(|(_, phase)| phase));
    let same_phase = gathered.checkpoints.iter().filter(|(_, c)| c.phase == phase).map(|(_, c)| c.round).max();
    let earlier = gathered.checkpoints.last().map(|(head, _)| head);
    let newest: Option<&Head> =
        [earlier, last.map(|(head, _)| head)].into_iter().flatten().max_by_key(|h| h.id.clone());
    let since = newest.and_then(|head| head.commit.as_deref()).and_then(parse_oid);
    let mut warnings = Vec::new();
    let git_state = match asked.read(context, since) {
        Ok(state) => Some(state),
        Err(error) => {
            warnings.push(format!("the state of the work tree is not recorded: {error}"));
            None
        }
    };
    let said = Said {
        phase,
        round: request.round,
        reasoning: request.reasoning.clone(),
        tags: request.tags.clone(),
        cycle: request.cycle,
        scope: request.scope,
    };
    let records: Vec<&Record> = scan.records().collect();
    let mut checkpoint = Checkpoint {
        phase,
        round: request.round.unwrap_or(same_phase.unwrap_or(0).saturating_add(1)),
        trigger: request.trigger,
        vectors,
        vectors_from,
        compared_with: match request.trigger {
            Trigger::PostCompact => compaction::before(scan, gathered),
            Trigger::Manual | Trigger::PreCompact => None,
        },
        said: request.reasoning,
        tags: request.tags,
        metadata: request.metadata,
        git_state,
        snapshot: Some(snapshot::fold(&records, gathered, place(context), &said, context.store.now())),
    };
    // what is quoted shorter holds no part of a secret
    checkpoint.git_state = context.store.all_without_secrets(checkpoint.git_state);
    checkpoint.snapshot = context.store.all_without_secrets(checkpoint.snapshot);
    if !snapshot::bound(&mut checkpoint, ai) {
        return Err(Error::usage("reasoning, tags and metadata are too long for a checkpoint")
            .reason(format!("a checkpoint holds {} KiB at most, with what is derived", MOST / 1024))
            .suggest("Log what is long as a finding, which has no limit, and say here what it comes to.")
            .command("git empirica finding -h"));
    }
    Ok((checkpoint, warnings))
}

/// Stores a snapshot of the session the command works in. Without vectors, those of its last assessment are taken and
/// marked so; without any, it has none.
pub fn run(context: &Context<'_>, request: Request) -> Result<Outcome> {
    context.optional("reasoning", request.reasoning.as_deref())?;
    let who = context.working()?;
    let asked = AskedGit::ask(context);
    let scan = context.store.scan_all()?;
    let gathered = gather_from(&scan, &who.id)?;
    let (body, mut warnings) = take(context, &scan, &gathered, &who.ai, request, asked)?;
    let (records, mut stored) = context.store(&who, vec![Body::Checkpoint(Box::new(body))], When::Now)?;
    stored.warnings.append(&mut warnings);
    match records.into_iter().next().map(|record| (record.head, record.body)) {
        Some((head, Body::Checkpoint(checkpoint))) => Ok(Outcome {
            head,
            session_id: who.id,
            overall_confidence: overall(&checkpoint.vectors),
            checkpoint: *checkpoint,
            stored,
        }),
        _ => Err(Error::unstored()),
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
        return newest.map(|record| (record, warnings)).ok_or_else(|| {
            Error::not_found("no checkpoint is stored here")
                .reason("no assessment or checkpoint was made here, or none that fits --session and --ai")
                .suggest("See all that there are, or make one in an active session with git empirica checkpoint.")
                .command("git empirica checkpoint list")
        });
    };
    let warnings = context.store.settle();
    let fits = |r: &Record| matches!(r.body, Body::Assessment(_) | Body::Checkpoint(_));
    Ok((context.record(given, "checkpoint", &[Shelf::Checkpoints], fits)?, warnings))
}
