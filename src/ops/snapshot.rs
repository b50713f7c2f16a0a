//! Taking a snapshot: git and all records are asked where a session stands.

use std::collections::{BTreeMap, BTreeSet};

use super::context::Context;
use crate::epistemics::bound::{MOST, bound};
use crate::epistemics::gathered::Gathered;
use crate::epistemics::snapshot::{self, Place, RECENT, Said};
use crate::error::{Error, Result};
use crate::git::{Oid, history, parse_oid, project, status};
use crate::model::assessment::Trigger;
use crate::model::snapshot::{CommitMade, GitState, Uncommitted};
use crate::model::{Body, Checkpoint, Head, Id, Phase, Record, SessionId, Vectors};
use crate::store::Scan;

/// What is said with a checkpoint.
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
            Trigger::PostCompact => before(scan, gathered),
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
    if !bound(&mut checkpoint, ai) {
        return Err(Error::usage("reasoning, tags and metadata are too long for a checkpoint")
            .reason(format!("a checkpoint holds {} KiB at most, with what is derived", MOST / 1024))
            .suggest("Log what is long as a finding, which has no limit, and say here what it comes to.")
            .command("git empirica finding -h"));
    }
    Ok((checkpoint, warnings))
}

/// The snapshot before the compaction that a session has just been through: its own newest one, else, when the agent
/// goes on in a new session, the newest of an agent of that name in this worktree.
fn before(scan: &Scan, gathered: &Gathered) -> Option<Id> {
    let session = &gathered.session;
    let mut here: BTreeSet<&SessionId> = BTreeSet::new();
    let mut snapshots: Vec<&Record> = Vec::new();
    for record in scan.records().filter(|record| record.head.ai == session.ai) {
        match (&record.body, &record.head.session) {
            (Body::SessionStart(start), Some(id)) if session.place.as_ref() == Some(&start.place) => {
                here.insert(id);
            }
            (Body::Checkpoint(checkpoint), _) if checkpoint.trigger == Trigger::PreCompact => snapshots.push(record),
            _ => {}
        }
    }
    let of = |sessions: &BTreeSet<&SessionId>| {
        let within = |record: &&&Record| record.head.session.as_ref().is_some_and(|id| sessions.contains(id));
        snapshots.iter().rev().find(within).map(|record| record.head.id.clone())
    };
    of(&BTreeSet::from([&session.id])).or_else(|| of(&here))
}
