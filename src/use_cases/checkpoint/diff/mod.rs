//! Compares checkpoints, assessments, handoffs and the present state.

pub mod view;

use crate::context::names::NamedObject;
use crate::context::records::gather;
use crate::context::{CommandContext, names};
use crate::fold::journal::{OwnedGoal, goals, sessions};
use crate::index::{Index, RecordQuery};
use crate::use_cases::checkpoint::compare::changes::HistoryBetween;
use crate::use_cases::checkpoint::compare::operand::Operand;
use crate::use_cases::checkpoint::compare::{Comparison, compare};
use crate::use_cases::checkpoint::snapshot::{PendingGit, SnapshotRequest, take};
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::git::history::commit_comparison::compare_commits;
use empirica_notes::git::objects::content::{PathContent, Tree, WorkTree, inside};
use empirica_notes::git::parse_oid;
use empirica_notes::model::goal::GoalStatus;
use empirica_notes::model::{Body, Id, Namespace, Record, SessionId, Vectors};
use empirica_notes::store::Placements;

/// A comparison and its operands.
#[derive(Debug)]
pub struct DiffOutcome {
    pub a: Operand,
    pub b: Operand,
    pub comparison: Comparison,
    pub warnings: Vec<String>,
}

/// Compares `a` with `b`: IDs of checkpoints, assessments or handoffs, or sessions, for the newest of these. `a` defaults to
/// the newest checkpoint of the working session, `b` to the present state, whose vectors are `present`, or without any those
/// of the session's last assessment.
pub fn run(context: &CommandContext<'_>, a: Option<&str>, b: Option<&str>, present: Vectors) -> Result<DiffOutcome> {
    if b.is_some() && !present.is_empty() {
        return Err(Error::usage("cannot give vectors with a second name: they are those of the present state")
            .suggest("Leave out the second name, or the vectors."));
    }
    let warnings = context.store.reconcile();
    let index = context.index()?;
    let a = match a {
        Some(name) => named(context, &index, name)?,
        None => newest_checkpoint(context, &index)?,
    };
    let b = match b {
        Some(name) => named(context, &index, name)?,
        None => now(context, a.session.as_ref(), present)?,
    };
    let comparison = compared(context, &a, &b, b.kind == "now")?;
    Ok(DiffOutcome { a, b, comparison, warnings })
}

/// Compares two operands with git and the records. `is_present`: the later operand is the present state.
pub(crate) fn compared(context: &CommandContext<'_>, a: &Operand, b: &Operand, is_present: bool) -> Result<Comparison> {
    let index = context.index()?;
    // the records of both sessions and about them have the goals and the placements
    let ids: Vec<&Id> = a.id.iter().chain(&b.id).collect();
    let mut scan = index.ids(ids.iter().copied())?;
    scan.merge(index.naming(ids, &["attach"])?);
    for session in a.session.iter().chain(b.session.iter().filter(|session| Some(*session) != a.session.as_ref())) {
        scan.merge(index.session(session)?);
    }
    let shown = a.goals.iter().chain(&b.goals).flat_map(|goals| goals.open.iter().map(|goal| &goal.id));
    scan.merge(index.goals(shown)?);
    let scan = &scan;
    let made_on = |operand: &Operand| operand.commit.as_deref().and_then(parse_oid);
    let placements = Placements::new(scan);
    // an amended commit is compared as its replacement
    let placed_on = |operand: &Operand| {
        let entry = operand.id.as_ref().and_then(|id| scan.get(id));
        made_on(operand).map(|made_on| entry.map_or(made_on, |entry| placements.of(&context.store, entry)))
    };
    let (first, second) = (made_on(a), made_on(b));
    let files = compare_commits(context.repo, first, second);
    let commits = match (placed_on(a), placed_on(b)) {
        placed if placed == (first, second) => files.clone(),
        (first, second) => compare_commits(context.repo, first, second),
    };
    let mut history = HistoryBetween {
        added: commits.as_ref().and_then(|commits| commits.added),
        gone: commits.as_ref().and_then(|commits| commits.gone),
        // uncommitted changes are relative to the original commit
        committed: files.map(|found| found.files),
        ..HistoryBetween::default()
    };
    let paths = context.store.paths();
    let own = paths.worktree_ids().swap_remove(0);
    let sessions = sessions(scan.records());
    let place = |operand: &Operand| {
        let session = sessions.get(operand.session.as_ref()?)?;
        let place = session.place.as_ref()?;
        Some(if paths.is_session_here(&session.id, place) { &own } else { place }.clone())
    };
    let present = is_present.then(|| own.clone());
    history.elsewhere = place(a).zip(present.or_else(|| place(b))).is_some_and(|(a, b)| a != b);
    if let (true, false, Some(committed), Some(git)) = (is_present, history.elsewhere, &mut history.committed, &a.git) {
        committed.extend(ignored(context, &git.uncommitted_changes.paths));
    }
    for OwnedGoal { session, goal, .. } in goals(scan.records()) {
        if goal.status != GoalStatus::Open {
            history.closed.insert(goal.id);
        } else if session == b.session {
            history.held.insert(goal.id);
        }
    }
    // if the index fails, nothing is reported as missing
    Ok(compare(a, b, &history, &|id| index.has(id).unwrap_or(true)))
}

/// Uncommitted files that exist and are not in HEAD; if git no longer lists them, it ignores them.
fn ignored(context: &CommandContext<'_>, paths: &[String]) -> Vec<String> {
    let root = context.repo.work_tree();
    let Some(files) = WorkTree::of(context.repo) else { return Vec::new() };
    let mut envelope = Tree::new(context.repo, context.store.head().tree);
    let mut is_there = |path: &&String| {
        inside(root.as_deref(), path).is_some_and(|at| envelope.find(&at) == PathContent::Nothing && files.has(&at))
    };
    paths.iter().filter(|path| is_there(path)).cloned().collect()
}

/// A record as a operand; `None` for a kind that cannot be compared.
fn operand(record: &Record) -> Option<Operand> {
    match &record.body {
        Body::Checkpoint(checkpoint) => Some(Operand::checkpoint(&record.envelope, checkpoint)),
        Body::Assessment(assessment) => Some(Operand::assessment(&record.envelope, assessment)),
        Body::Handoff(handoff) => Some(Operand::handoff(&record.envelope, handoff)),
        _ => None,
    }
}

fn named(context: &CommandContext<'_>, index: &Index<'_>, name: &str) -> Result<Operand> {
    let fits = |record: &Record| operand(record).is_some();
    let record = match names::session_or_record(
        context,
        name,
        "checkpoint or handoff",
        &[Namespace::Checkpoints, Namespace::Handoffs],
        fits,
    )? {
        NamedObject::Record(record) => Some(*record),
        NamedObject::Session(session) => {
            let of_session = |record: &&Record| record.envelope.session.as_ref() == Some(&session.id) && fits(record);
            index.session(&session.id)?.records().rev().find(of_session).cloned()
        }
    };
    record.as_ref().and_then(operand).ok_or_else(|| {
        Error::not_found(format!("cannot compare the session '{name}': it has no checkpoint, assessment or handoff"))
            .provided(name)
            .suggest("Name another one.")
            .command(empirica("checkpoint list"))
    })
}

fn newest_checkpoint(context: &CommandContext<'_>, index: &Index<'_>) -> Result<Operand> {
    let session = context.working()?;
    let own = index.kinds(&["checkpoint"], RecordQuery { session: Some(&session.id), newest: Some(1) })?;
    own.records().next_back().and_then(operand).ok_or_else(|| {
        Error::not_found(format!("cannot compare session {}: it has no checkpoint yet", session.id.short()))
            .reason("without a name, the newest checkpoint is compared with the present state")
            .suggest("Take one, or name what to compare.")
            .command(empirica("checkpoint"))
            .command(empirica("checkpoint list"))
    })
}

/// The present state of the other operand's session if it is active, else of the working session, else of the other operand's.
fn now(context: &CommandContext<'_>, other: Option<&SessionId>, vectors: Vectors) -> Result<Operand> {
    let git = PendingGit::start(context);
    let of_other = other.and_then(|id| gather(context, id).ok());
    let records = match of_other {
        Some(records) if records.session.is_active() => records,
        ended => match (context.working(), ended) {
            (Ok(session), _) => gather(context, &session.id)?,
            (Err(_), Some(ended)) => ended,
            (Err(error), None) => return Err(error),
        },
    };
    let (id, ai) = (records.session.id.clone(), records.session.ai.clone());
    let (checkpoint, _) = take(context, &records, &ai, SnapshotRequest { vectors, ..Default::default() }, git)?;
    Ok(Operand::now(&context.store.writer().new_envelope(Some(&id), &ai), &checkpoint, &records.goals))
}
