//! Taking a snapshot: git and all records are asked where a session stands.

pub mod chains;
pub mod fold;
pub mod truncate;

use std::collections::BTreeMap;

use crate::checkpoint::snapshot;
use crate::checkpoint::snapshot::fold::{CheckpointInput, GitPosition, RECENT, RecordTotals};
use crate::checkpoint::snapshot::truncate::{MOST, bound};
use crate::context::{CommandContext, handoffs};
use crate::fold::assessment::confidence::round4;
use crate::fold::session_state::SessionRecords;
use crate::index::{HandoffQuery, Index, RecordQuery};
use crate::search;
use empirica_notes::error::{Error, Kind, Result, empirica};
use empirica_notes::git::repository::{project, status};
use empirica_notes::git::{Oid, history, parse_oid};
use empirica_notes::model::assessment::Trigger;
use empirica_notes::model::snapshot::{
    ActiveSession, CommitMade, GitState, HandedOver, Handoffs, LearningDeltas, Uncommitted,
};
use empirica_notes::model::{Body, Checkpoint, Envelope, Id, Phase, Record, SessionId, Vectors};
use empirica_notes::store::{Paths, Scan};

/// What is said with a checkpoint.
#[derive(Debug, Clone, Default)]
pub struct SnapshotRequest {
    pub phase: Option<Phase>,
    pub round: Option<u32>,
    pub trigger: Trigger,
    pub vectors: Vectors,
    pub reasoning: Option<String>,
    pub cycle: Option<u32>,
    pub scope: Option<f64>,
    pub tags: Vec<String>,
    pub metadata: BTreeMap<String, String>,
    /// Searches what was said before; with a blank query, for what the session is about. `None` searches nothing.
    pub search: Option<String>,
}

/// How many commits are counted.
const COMMITS: usize = 200;

/// What git is asked while the records are read.
pub(crate) struct PendingGit {
    status: status::PendingStatus,
    lines: status::PendingLineCounts,
}

impl PendingGit {
    pub(crate) fn ask(context: &CommandContext<'_>) -> Self {
        PendingGit { status: status::ask(context.repo), lines: status::ask_lines(context.repo) }
    }

    /// Where the repository stands, with the commits since `since`.
    fn read(self, context: &CommandContext<'_>, since: Option<Oid>) -> Result<GitState> {
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
fn place(context: &CommandContext<'_>) -> GitPosition {
    let file = context.store.paths().project();
    let known = std::fs::read_to_string(&file).ok().and_then(|text| parse_oid(text.trim()));
    let root = known.filter(|root| context.repo.is_commit(*root)).or_else(|| {
        let root = project::root(context.repo)?;
        // not remembered, it is looked for again
        let _ = context.store.paths().replace(&file, &format!("{root}\n"));
        Some(root)
    });
    GitPosition {
        project_id: root.map(|root| root.to_string()),
        name: project::name(context.repo),
        description: project::description(context.repo),
        repos: project::repos(context.repo),
    }
}

/// The checkpoint of a session as it would be taken now.
pub(crate) fn take(
    context: &CommandContext<'_>,
    gathered: &SessionRecords,
    ai: &str,
    request: SnapshotRequest,
    asked: PendingGit,
) -> Result<(Checkpoint, Vec<String>)> {
    let last = gathered.last();
    let vectors_from = last.filter(|_| request.vectors.is_empty()).map(|(head, _)| head.id.clone());
    let (vectors, vector_sources) = gathered.newest_vectors(&request.vectors);
    // as it was said last, by an assessment or with a checkpoint
    let assessed = last.map(|(head, assessment)| (&head.id, assessment.phase));
    let taken = gathered.checkpoints.iter().rev().find_map(|(head, checkpoint)| Some((&head.id, checkpoint.phase?)));
    let known = [assessed, taken].into_iter().flatten().max_by_key(|(id, _)| *id);
    let phase = request.phase.or(known.map(|(_, phase)| phase));
    // that of the phase's last assessment, for a phase that is not assessed that of its last checkpoint
    let assessed = gathered.assessments.iter().filter(|(_, a)| Some(a.phase) == phase).map(|(_, a)| a.round).max();
    let taken = gathered.checkpoints.iter().filter(|(_, c)| c.phase == phase).map(|(_, c)| c.round).max();
    let round = request.round.or(assessed).or(taken).unwrap_or(1);
    let earlier = gathered.checkpoints.last().map(|(head, _)| head);
    let newest: Option<&Envelope> =
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
    let said = CheckpointInput {
        phase,
        round,
        reasoning: request.reasoning.clone(),
        tags: request.tags.clone(),
        cycle: request.cycle,
        scope: request.scope,
    };
    let index = context.index()?;
    let at_hand = at_hand(&index, &gathered.session.id)?;
    let records: Vec<&Record> = at_hand.records().collect();
    let totals = totals(context, &index)?;
    let mut snapshot = snapshot::fold::fold(&records, gathered, place(context), &said, context.store.now(), &totals);
    if let Some(query) = &request.search {
        match search::semantic(context, &snapshot, query) {
            Ok(found) => snapshot.semantic_context = Some(found),
            // what is said with it is stored all the same
            Err(error) if error.kind() == Kind::Storage => warnings.push(format!("nothing was searched: {error}")),
            Err(error) => return Err(error),
        }
    }
    let mut checkpoint = Checkpoint {
        phase,
        round,
        trigger: request.trigger,
        vectors,
        vectors_from,
        vector_sources,
        compared_with: match request.trigger {
            Trigger::PostCompact => before(context.store.paths(), &index, gathered)?,
            Trigger::Manual | Trigger::PreCompact => None,
        },
        said: request.reasoning,
        tags: request.tags,
        metadata: request.metadata,
        git_state,
        snapshot: Some(snapshot),
    };
    // what is quoted shorter holds no part of a secret
    checkpoint.git_state = context.store.all_without_secrets(checkpoint.git_state);
    checkpoint.snapshot = context.store.all_without_secrets(checkpoint.snapshot);
    if !bound(&mut checkpoint, ai) {
        return Err(Error::usage("reasoning, tags and metadata are too long for a checkpoint")
            .reason(format!("a checkpoint holds {} KiB at most, with what is derived", MOST / 1024))
            .suggest("Log what is long as a finding, which has no limit, and say here what it comes to.")
            .command(empirica("finding").flag("-h")));
    }
    Ok((checkpoint, warnings))
}

/// The records of a session and about it, and the newest of the others that a snapshot lists.
fn at_hand(index: &Index<'_>, session: &SessionId) -> Result<Scan> {
    let mut out = index.session(session)?;
    let newest = RecordQuery { newest: Some(RECENT), ..RecordQuery::default() };
    let mut others = index.kinds(&["finding", "unknown", "dead_end", "mistake"], newest)?;
    let ids: Vec<Id> = others.records().map(|record| record.head.id.clone()).collect();
    others.merge(index.naming(&ids, &["resolve"])?);
    out.merge(others);
    Ok(out)
}

fn totals(context: &CommandContext<'_>, index: &Index<'_>) -> Result<RecordTotals> {
    let count = |kind: &str| Ok::<u64, empirica_notes::error::Error>(index.count(kind)? as u64);
    let newest = handoffs::in_force(context, &HandoffQuery::default(), 1)?.pop();
    let mut active = index.sessions(true)?;
    active.sort_by(|a, b| b.began.cmp(&a.began));
    let mut agents = Vec::new();
    for (ai, _) in index.agents()? {
        let heard = index.last_heard(Some(&ai), 0, 1)?.pop().map(|known| known.newest);
        agents.push((heard, ai));
    }
    agents.sort();
    let (know, uncertainty) = index.learned()?;
    let mean = |mean: Option<f64>| mean.map(|mean| round4(mean) + 0.0);
    Ok(RecordTotals {
        findings: count("finding")?,
        unknowns: count("unknown")?,
        unresolved: index.count_open("unknown")? as u64,
        dead_ends: count("dead_end")?,
        mistakes: count("mistake")?,
        handoffs: Handoffs {
            count: index.count_handoffs()? as u64,
            most_recent: newest.map(|listed| HandedOver {
                handoff_id: listed.head.id,
                timestamp: listed.head.at,
                from_ai: listed.head.ai,
                summary: listed.handoff.task,
            }),
        },
        sessions: index.count_sessions()? as u64,
        active: active.into_iter().map(|s| ActiveSession { session_id: s.id, ai_id: s.ai }).collect(),
        agents: agents.into_iter().rev().map(|(_, ai)| ai).collect(),
        learning: LearningDeltas { know: mean(know), uncertainty: mean(uncertainty) },
    })
}

/// How many of an agent's checkpoints in this worktree are looked through for one before a compaction.
const LOOKED_THROUGH: usize = 100;

/// The snapshot before the compaction that a session has just been through: its own newest one, else, when the agent
/// goes on in a new session, the newest of an agent of that name in this worktree, among its newest 100 checkpoints.
fn before(paths: &Paths, index: &Index<'_>, gathered: &SessionRecords) -> Result<Option<Id>> {
    let session = &gathered.session;
    let is_before = |record: &&Record| match &record.body {
        Body::Checkpoint(checkpoint) => checkpoint.trigger == Trigger::PreCompact && record.head.ai == session.ai,
        _ => false,
    };
    let newest = |scan: &Scan| scan.records().rev().find(is_before).map(|record| record.head.id.clone());
    let own = index.kinds(&["checkpoint"], RecordQuery { session: Some(&session.id), newest: None })?;
    match (newest(&own), &session.place) {
        (Some(own), _) => Ok(Some(own)),
        (None, Some(place)) => {
            let is_here = paths.is_here(&session.id, place);
            let places = if is_here { paths.places() } else { vec![place.clone()] };
            Ok(newest(&index.checkpoints_at(&session.ai, &places, LOOKED_THROUGH)?))
        }
        (None, None) => Ok(None),
    }
}
