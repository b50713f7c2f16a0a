//! Takes a snapshot of a session from git and the records.

pub mod chains;
pub mod fold;
pub mod truncate;

use crate::context::{CommandContext, handoffs};
use crate::fold::assessment::confidence::round4;
use crate::fold::session_records::SessionRecords;
use crate::index::{HandoffQuery, Index, RecordQuery};
pub use crate::use_cases::checkpoint::snapshot::fold::SnapshotRequest;
use crate::use_cases::checkpoint::snapshot::fold::{JournalTotals, RECENT, last_given, newest_state};
use crate::use_cases::checkpoint::snapshot::truncate::{MAX_CHECKPOINT_BYTES, bound};
use crate::use_cases::search;
use empirica_notes::error::{Error, Kind, Result, empirica};
use empirica_notes::git::repository::{project, status};
use empirica_notes::git::{Oid, history, parse_oid};
use empirica_notes::model::assessment::Trigger;
use empirica_notes::model::snapshot::{
    ActiveSession, GitState, HandoffSummary, Handoffs, LearningDeltas, Project, RecentCommit, UncommittedChanges,
};
use empirica_notes::model::{Body, Checkpoint, Id, Record, SessionId};
use empirica_notes::store::{Paths, Scan};

/// Most commits counted.
const COMMITS: usize = 200;

/// Queries that git answers while the records are read.
pub(crate) struct PendingGit {
    status: status::PendingStatus,
    lines: status::PendingLineCounts,
}

impl PendingGit {
    pub(crate) fn start(context: &CommandContext<'_>) -> Self {
        PendingGit { status: status::start(context.repo), lines: status::start_lines(context.repo) }
    }

    /// The state of the repository, with the commits since `since`.
    fn read(self, context: &CommandContext<'_>, since: Option<Oid>) -> Result<GitState> {
        let head = context.store.head();
        let now = self.status.read()?;
        let (insertions, deletions) = self.lines.read()?;
        let changes = now.changes;
        let made = match since {
            Some(since) => history::commits_since(context.repo, Some(since), COMMITS)?,
            None => history::CommitsSince::default(),
        };
        let commits_total = made.commits.len() as u64;
        let commits = made.commits.into_iter().zip(made.dates).take(RECENT).map(|(line, timestamp)| RecentCommit {
            hash: line.commit,
            message: line.subject,
            timestamp,
        });
        Ok(GitState {
            head_commit: head.commit.map(|id| id.to_string()),
            branch: head.branch.clone(),
            ahead_behind: now.ahead_behind,
            dirty: changes != Default::default(),
            uncommitted_changes: UncommittedChanges {
                files_modified: changes.files_modified.len() as u64,
                files_added: changes.files_added.len() as u64,
                files_deleted: changes.files_deleted.len() as u64,
                insertions,
                deletions,
                paths: [changes.files_modified, changes.files_added, changes.files_deleted].concat(),
                paths_omitted: 0,
            },
            commits_since_last_checkpoint: commits.collect(),
            commits_total,
        })
    }
}

/// The checkpoint of a session in its present state, with warnings.
pub(crate) fn take(
    context: &CommandContext<'_>,
    session_records: &SessionRecords,
    ai: &str,
    mut request: SnapshotRequest,
    git: PendingGit,
) -> Result<(Checkpoint, Vec<String>)> {
    let last = session_records.last();
    let vectors_from = last.filter(|_| request.vectors.is_empty()).map(|(envelope, _)| envelope.id.clone());
    let (vectors, vector_sources) = session_records.newest_vectors(&request.vectors);
    request.phase = request.phase.or_else(|| last_given(session_records, |a| Some(a.phase), |c| c.phase));
    let phase = request.phase;
    // the round of the phase's last assessment; for a phase without one, that of its last checkpoint
    let assessed =
        session_records.assessments.iter().filter(|(_, a)| Some(a.phase) == phase).map(|(_, a)| a.round).max();
    let taken = session_records.checkpoints.iter().filter(|(_, c)| c.phase == phase).map(|(_, c)| c.round).max();
    let round = request.round.or(assessed).or(taken).unwrap_or(1);
    request.round = Some(round);
    let since = newest_state(session_records).and_then(|(envelope, ..)| parse_oid(envelope.commit.as_deref()?));
    let mut warnings = Vec::new();
    let index = context.index()?;
    let scan = snapshot_records(&index, &session_records.session.id)?;
    let records: Vec<&Record> = scan.records().collect();
    let (project, handoffs) = (project(context, &index)?, handoffs(context, &index)?);
    let now = context.store.now();
    let mut snapshot =
        fold::fold(&records, session_records, &request, now, &journal_totals(&index)?, project, handoffs);
    if let Some(query) = &request.search {
        match search::semantic(context, &snapshot, query, &mut warnings) {
            Ok(found) => snapshot.semantic_context = Some(found),
            // a search that fails loses no input
            Err(error) if error.kind() == Kind::Storage => warnings.push(format!("cannot search: {error}")),
            Err(error) => return Err(error),
        }
    }
    let git_state = git.read(context, since);
    let git_state =
        git_state.map_err(|error| warnings.push(format!("cannot record the state of the work tree: {error}"))).ok();
    let mut checkpoint = Checkpoint {
        phase,
        round,
        trigger: request.trigger,
        vectors,
        vectors_from,
        vector_sources,
        compared_with: match request.trigger {
            Trigger::PostCompact => before_compaction(context.store.paths(), &index, session_records)?,
            Trigger::Manual | Trigger::PreCompact => None,
        },
        said: request.reasoning,
        tags: request.tags,
        metadata: request.metadata,
        // before shortening, which could cut a secret
        git_state: context.store.secret_filter().clean_all(git_state),
        snapshot: context.store.secret_filter().clean_all(Some(snapshot)),
    };
    if !bound(&mut checkpoint, ai) {
        return Err(Error::usage("cannot store the checkpoint: reasoning, tags and metadata are too long")
            .reason(format!("a checkpoint has at most {} KiB, including derived content", MAX_CHECKPOINT_BYTES / 1024))
            .suggest("Log the long text as a finding, which has no limit, and give a summary here.")
            .command(empirica("finding").flag("-h")));
    }
    Ok((checkpoint, warnings))
}

/// The records of a session and about it, and the newest of others that a snapshot lists.
fn snapshot_records(index: &Index<'_>, session: &SessionId) -> Result<Scan> {
    let mut out = index.session(session)?;
    let newest = RecordQuery { newest: Some(RECENT), ..RecordQuery::default() };
    let mut others = index.kinds(&["finding", "unknown", "dead_end", "mistake"], newest)?;
    let ids: Vec<Id> = others.records().map(|record| record.envelope.id.clone()).collect();
    others.merge(index.naming(&ids, &["resolve"])?);
    out.merge(others);
    Ok(out)
}

fn journal_totals(index: &Index<'_>) -> Result<JournalTotals> {
    let count = |kind: &str| -> Result<u64> { Ok(index.count(kind)? as u64) };
    Ok(JournalTotals {
        findings: count("finding")?,
        unknowns: count("unknown")?,
        unresolved: index.count_open("unknown")? as u64,
        dead_ends: count("dead_end")?,
        mistakes: count("mistake")?,
    })
}

fn handoffs(context: &CommandContext<'_>, index: &Index<'_>) -> Result<Handoffs> {
    let newest = handoffs::in_force(context, &HandoffQuery::default(), 1)?.pop();
    let most_recent = newest.map(|listed| HandoffSummary {
        handoff_id: listed.envelope.id,
        timestamp: listed.envelope.at,
        from_ai: listed.envelope.ai,
        summary: listed.handoff.task,
    });
    Ok(Handoffs { count: index.count_handoffs()? as u64, most_recent })
}

fn project(context: &CommandContext<'_>, index: &Index<'_>) -> Result<Project> {
    let mut active = index.sessions(true)?;
    let horizon = context.store.horizon();
    active.sort_by_cached_key(|session| horizon.newest_first(&session.began));
    let agents = index.agents()?;
    let (know, uncertainty) = index.learned()?;
    let mean = |mean: Option<f64>| mean.map(|mean| round4(mean) + 0.0);
    let active_total = active.len() as u64;
    let active = active.into_iter().take(RECENT).map(|s| ActiveSession { session_id: s.id, ai_id: s.ai });
    Ok(Project {
        project_id: root_commit(context).map(|root| root.to_string()),
        name: project::name(context.repo),
        description: project::description(context.repo),
        repos: project::repos(context.repo).into_iter().take(RECENT).collect(),
        active_total,
        active_sessions: active.collect(),
        ai_total: agents.len() as u64,
        ai_collaborators: agents.into_iter().take(RECENT).map(|(ai, _)| ai).collect(),
        total_sessions: index.count_sessions()? as u64,
        learning_deltas: LearningDeltas { know: mean(know), uncertainty: mean(uncertainty) },
    })
}

/// The root commit, cached in a file, as git walks the whole history to find it.
fn root_commit(context: &CommandContext<'_>) -> Option<Oid> {
    let file = context.store.paths().project();
    let cached = std::fs::read_to_string(&file).ok().and_then(|text| parse_oid(text.trim()));
    cached.filter(|root| context.repo.is_commit(*root)).or_else(|| {
        let root = project::root(context.repo)?;
        // if this fails, it is searched for again
        let _ = context.store.paths().replace(&file, &format!("{root}\n"));
        Some(root)
    })
}

/// Number of an agent's newest checkpoints in this worktree searched for one before a compaction.
const SEARCHED: usize = 100;

/// The checkpoint before the compaction that a session has just been through: the newest of the session, otherwise of the
/// agent in this worktree, as it may continue in a new session.
fn before_compaction(paths: &Paths, index: &Index<'_>, records: &SessionRecords) -> Result<Option<Id>> {
    let session = &records.session;
    let is_before = |record: &&Record| match &record.body {
        Body::Checkpoint(checkpoint) => checkpoint.trigger == Trigger::PreCompact && record.envelope.ai == session.ai,
        _ => false,
    };
    let newest = |scan: &Scan| scan.records().rev().find(is_before).map(|record| record.envelope.id.clone());
    let own = index.kinds(&["checkpoint"], RecordQuery { session: Some(&session.id), newest: None })?;
    match (newest(&own), &session.place) {
        (Some(own), _) => Ok(Some(own)),
        (None, Some(place)) => {
            let is_own_clone = paths.is_session_here(&session.id, place);
            let places = if is_own_clone { paths.worktree_ids() } else { vec![place.clone()] };
            Ok(newest(&index.checkpoints_at(&session.ai, &places, SEARCHED)?))
        }
        (None, None) => Ok(None),
    }
}
