//! Two snapshots or handoffs compared in all dimensions; what is not named is the present state.

pub mod view;

use crate::checkpoint::compare::operand::Side;
use crate::checkpoint::compare::{Comparison, Way, compare};
use crate::checkpoint::snapshot::{AskedGit, Request as Taken, take};
use crate::context::Context;
use crate::context::names;
use crate::context::names::Thing;
use crate::fold::journal::{Owned, goals, sessions};
use crate::index::Index;
use crate::index::Only;
use crate::session::lifecycle::gather;
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::git::history::between::between;
use empirica_notes::git::objects::content::{Held, Tree, WorkTree, inside};
use empirica_notes::git::parse_oid;
use empirica_notes::model::goal::GoalStatus;
use empirica_notes::model::{Body, Id, Record, SessionId, Shelf, Vectors};
use empirica_notes::store::Homes;

/// What is compared.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Outcome {
    pub a: Side,
    pub b: Side,
    pub comparison: Comparison,
    pub warnings: Vec<String>,
}

/// Compares `a` with `b`: checkpoints, assessments or handoffs by id, or sessions, of which the newest of these is meant.
/// Without `b` the present state, as git compares with the work tree; without either, the newest checkpoint of the
/// session at work here with it.
///
/// The present state has the vectors of `present`, when there are any, else those of the session's last assessment.
pub fn run(context: &Context<'_>, a: Option<&str>, b: Option<&str>, present: Vectors) -> Result<Outcome> {
    if b.is_some() && !present.is_empty() {
        return Err(Error::usage("vectors of now are compared with what was, not with a second name")
            .reason("both sides were named already")
            .suggest("Leave out the second name, or the vectors."));
    }
    let warnings = context.store.settle();
    let index = context.index()?;
    let a = match a {
        Some(given) => named(context, &index, given)?,
        None => newest_checkpoint(context, &index)?,
    };
    let b = match b {
        Some(given) => named(context, &index, given)?,
        None => now(context, a.session.as_ref(), present)?,
    };
    let comparison = compared(context, &a, &b, b.kind == "now")?;
    Ok(Outcome { a, b, comparison, warnings })
}

/// Compares two sides with what git and the records know. With `is_present`, the later one is what is here now.
pub(crate) fn compared(context: &Context<'_>, a: &Side, b: &Side, is_present: bool) -> Result<Comparison> {
    let index = context.index()?;
    // what the sessions of both said, and whatever else was said of it, tells of goals and where records are at home
    let ids: Vec<&Id> = a.id.iter().chain(&b.id).collect();
    let mut scan = index.ids(ids.iter().copied())?;
    scan.merge(index.naming(ids, &["attach"])?);
    for session in a.session.iter().chain(b.session.iter().filter(|session| Some(*session) != a.session.as_ref())) {
        scan.merge(index.session(session)?);
    }
    let shown = a.goals.iter().chain(&b.goals).flat_map(|goals| goals.open.iter().map(|goal| &goal.id));
    scan.merge(index.goals(shown)?);
    let scan = &scan;
    let made_on = |side: &Side| side.commit.as_deref().and_then(parse_oid);
    let homes = Homes::new(scan);
    // an amended commit goes on in the one that took its place
    let home = |side: &Side| {
        let entry = side.id.as_ref().and_then(|id| scan.get(id));
        made_on(side).map(|made_on| entry.map_or(made_on, |entry| homes.of(&context.store, entry)))
    };
    let (first, second) = (made_on(a), made_on(b));
    let files = between(context.repo, first, second);
    let commits = match (home(a), home(b)) {
        homes if homes == (first, second) => files.clone(),
        (first, second) => between(context.repo, first, second),
    };
    let mut way = Way::default();
    if let Some(commits) = commits {
        (way.added, way.gone) = (commits.added, commits.gone);
    }
    // what is not committed was compared with the commit of then
    way.committed = files.map(|found| found.files);
    let paths = context.store.paths();
    let here = paths.places().swap_remove(0);
    let sessions = sessions(scan.records());
    let place = |side: &Side| {
        let session = sessions.get(side.session.as_ref()?)?;
        let place = session.place.as_ref()?;
        Some(if paths.is_here(&session.id, place) { &here } else { place }.clone())
    };
    let present = is_present.then(|| here.clone());
    way.elsewhere = place(a).zip(present.or_else(|| place(b))).is_some_and(|(a, b)| a != b);
    if let (true, false, Some(committed), Some(git)) = (is_present, way.elsewhere, &mut way.committed, &a.git) {
        committed.extend(ignored(context, &git.uncommitted_changes.paths));
    }
    for Owned { session, goal, .. } in goals(scan.records()) {
        if goal.status != GoalStatus::Open {
            way.closed.insert(goal.id);
        } else if session == b.session {
            way.held.insert(goal.id);
        }
    }
    // one that cannot be looked for is taken to be there: nothing is said of it
    Ok(compare(a, b, &way, &|id| index.has(id).unwrap_or(true)))
}

/// Of files that were not committed those that HEAD does not have and that are there all the same: when git names them
/// no longer, it was told to ignore them.
fn ignored(context: &Context<'_>, paths: &[String]) -> Vec<String> {
    let root = context.repo.work_tree();
    let Some(files) = WorkTree::of(context.repo) else { return Vec::new() };
    let mut head = Tree::new(context.repo, context.store.head().tree);
    let mut is_there = |path: &&String| {
        inside(root.as_deref(), path).is_some_and(|at| head.find(&at) == Held::Nothing && files.has(&at))
    };
    paths.iter().filter(|path| is_there(path)).cloned().collect()
}

/// A record as a side; `None` for those that cannot be compared.
fn side(record: &Record) -> Option<Side> {
    match &record.body {
        Body::Checkpoint(checkpoint) => Some(Side::checkpoint(&record.head, checkpoint)),
        Body::Assessment(assessment) => Some(Side::assessment(&record.head, assessment)),
        Body::Handoff(handoff) => Some(Side::handoff(&record.head, handoff)),
        _ => None,
    }
}

fn named(context: &Context<'_>, index: &Index<'_>, given: &str) -> Result<Side> {
    let fits = |record: &Record| side(record).is_some();
    let record =
        match names::thing(context, given, "checkpoint or handoff", &[Shelf::Checkpoints, Shelf::Handoffs], fits)? {
            Thing::Record(record) => Some(*record),
            Thing::Session(session) => {
                let of_session = |record: &&Record| record.head.session.as_ref() == Some(&session.id) && fits(record);
                index.session(&session.id)?.records().rev().find(of_session).cloned()
            }
        };
    record.as_ref().and_then(side).ok_or_else(|| {
        Error::not_found(format!("the session '{given}' has nothing that can be compared"))
            .provided(given)
            .reason("it made no checkpoint, assessment or handoff")
            .suggest("Name another one.")
            .command(empirica("checkpoint list"))
    })
}

fn newest_checkpoint(context: &Context<'_>, index: &Index<'_>) -> Result<Side> {
    let who = context.working()?;
    let own = index.kinds(&["checkpoint"], Only { session: Some(&who.id), newest: Some(1) })?;
    own.records().next_back().and_then(side).ok_or_else(|| {
        Error::not_found(format!("the session {} has no checkpoint yet", who.id.short()))
            .reason("without a name, the newest checkpoint is compared with the present state")
            .suggest("Take one, or name what to compare.")
            .command(empirica("checkpoint"))
            .command(empirica("checkpoint list"))
    })
}

/// The present state: of the session of the other side while it is active, else of the session at work here, else of
/// the other side's all the same.
fn now(context: &Context<'_>, other: Option<&SessionId>, vectors: Vectors) -> Result<Side> {
    let asked = AskedGit::ask(context);
    let of_other = other.and_then(|id| gather(context, id).ok());
    let gathered = match of_other {
        Some(gathered) if gathered.session.is_active() => gathered,
        ended => match (context.working(), ended) {
            (Ok(who), _) => gather(context, &who.id)?,
            (Err(_), Some(ended)) => ended,
            (Err(error), None) => return Err(error),
        },
    };
    let (id, ai) = (gathered.session.id.clone(), gathered.session.ai.clone());
    let (checkpoint, _) = take(context, &gathered, &ai, Taken { vectors, ..Taken::default() }, asked)?;
    Ok(Side::now(&context.store.new_head(Some(&id), &ai), &checkpoint, &gathered.goals))
}
