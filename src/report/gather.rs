//! Everything a page about the project shows: what needs attention, sessions, what is known, how sure they were.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use crate::context::CommandContext;
use crate::fold::assessment::belief::{Belief, beliefs};
use crate::fold::assessment::calibration::{Explained, explained};
use crate::fold::assessment::track_record::{Score, TrackEntry};
use crate::fold::handover_graph::{Handover, passings};
use crate::fold::journal::{OwnedGoal, goals};
use crate::fold::session_state::SessionRecords;
use crate::fold::session_summary::SessionSummary;
use crate::index::{Index, RecordQuery};
use crate::report::attention;
use crate::report::attention::{Attention, LISTED, placed};
use crate::report::knowledge::{Kind, statements};
use crate::search::filter::date;
use empirica_notes::error::Result;
use empirica_notes::git::history::dates::Edge;
use empirica_notes::git::objects::content::{PathContent, Tree};
use empirica_notes::git::parse_oid;
use empirica_notes::git::repository::project;
use empirica_notes::model::goal::GoalStatus;
use empirica_notes::model::handoff::superseded::superseded;
use empirica_notes::model::session::Session;
use empirica_notes::model::{Body, Envelope, Id, Record, SessionId};

/// What is read; what else a record can be is not shown.
const KINDS: &[&str] = &[
    "session_start",
    "session_end",
    "finding",
    "unknown",
    "resolve",
    "dead_end",
    "mistake",
    "decision",
    "evidence",
    "activity",
    "goal",
    "subtask",
    "goal_done",
    "goal_drop",
    "goal_take",
    "assessment",
    "handoff",
    "accept",
    "supersede",
];
/// The most records of a kind that are read, the newest.
const RECORDS: usize = 20_000;
/// The most sessions that are shown, the newest.
pub const SESSIONS: usize = 500;

/// The most statements of what is known, those that matter most.
pub const STATEMENTS: usize = 100;
/// After so many seconds without a record an active session is quiet.
const QUIET: i64 = 7 * 86_400;

/// Which sessions; the agent is the one the context was asked for.
#[derive(Debug, Clone, Default)]
pub struct ReportRequest {
    /// Those that began then or later: a date as git takes it.
    pub since: Option<String>,
    /// Those that began then or earlier.
    pub until: Option<String>,
}

/// One session, whole.
#[derive(Debug)]
pub struct SessionStory {
    /// Everything it said; of its handoffs those in force.
    pub gathered: SessionRecords,
    /// Whether knowing and doubting moved together, and why.
    pub calibration: Explained,
    /// What it forecast, and what came of it.
    pub entry: TrackEntry,
}

impl SessionStory {
    /// Whether it has not ended and has said nothing for a week.
    pub fn is_quiet(&self, now: DateTime<Utc>) -> bool {
        let last = DateTime::parse_from_rfc3339(&self.gathered.last_at);
        self.gathered.session.is_active() && last.is_ok_and(|last| (now - last.to_utc()).num_seconds() > QUIET)
    }
}

/// What is known, with the commit it is at home on.
#[derive(Debug)]
pub struct KnownFacts {
    pub head: Envelope,
    pub kind: Kind,
    /// What was learned, asked or tried.
    pub text: String,
    /// The answer, or why it failed.
    pub more: Option<String>,
    pub files: Vec<String>,
}

/// How much there is of what, in the sessions that were asked for.
#[derive(Debug, Default)]
pub struct ReportTotals {
    pub sessions: usize,
    pub active: usize,
    pub agents: usize,
    pub handoffs: usize,
    pub passed_on: usize,
    pub findings: usize,
    pub dead_ends: usize,
    pub unknowns_open: usize,
    pub unknowns_resolved: usize,
    pub goals_open: usize,
    pub goals_done: usize,
    pub statements: usize,
}

/// What the page shows, and how much there is beyond it.
#[derive(Debug)]
pub struct ReportOutcome {
    pub project: String,
    /// When it was asked.
    pub now: DateTime<Utc>,
    /// The agent that was asked for.
    pub ai: Option<String>,
    pub asked: ReportRequest,
    /// How much there is.
    pub totals: ReportTotals,
    /// The sessions, newest first.
    pub sessions: Vec<SessionStory>,
    /// What passed between these sessions, oldest first.
    pub passings: Vec<Handover>,
    pub attention: Attention,
    /// How well forecasts and outcomes of all sessions asked for agree.
    pub score: Score,
    /// The bias of each vector in all of them.
    pub beliefs: Vec<Belief>,
    /// What is known, newest first.
    pub known: Vec<KnownFacts>,
    /// The subjects of the commits it is at home on, by their ids.
    pub subjects: BTreeMap<String, String>,
    /// Whether any session is stored here.
    pub any: bool,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// Reads everything once. No session at all is no error.
pub fn run(context: &CommandContext<'_>, request: &ReportRequest) -> Result<ReportOutcome> {
    let wanted = SessionFilter::new(context, request)?;
    let mut warnings = context.store.reconcile();
    let index = context.index()?;
    warnings.extend(index.double_warnings()?);
    for kind in ["finding", "activity", "evidence", "assessment"] {
        let count = index.count(kind)?;
        if count > RECORDS {
            warnings.push(format!("of {count} records of the kind {kind} the newest {RECORDS} are looked at"));
        }
    }
    let scan = index.kinds(KINDS, RecordQuery { newest: Some(RECORDS), ..RecordQuery::default() })?;
    let records: Vec<&Record> = scan.records().collect();
    let kept: Vec<(Session, SessionSummary)> =
        index.summaries(wanted.ai.as_deref())?.into_iter().filter(|k| wanted.has(&k.0)).collect();
    let asked: BTreeSet<&SessionId> = kept.iter().map(|(session, _)| &session.id).collect();
    let is_asked = |record: &&&Record| match &record.head.session {
        Some(session) => asked.contains(session),
        None => !wanted.is_some(),
    };
    let own: Vec<&Record> = records.iter().filter(is_asked).copied().collect();
    let aside = superseded(records.iter().copied());
    let (known, statements) = known(&index, &mut Tree::new(context.repo, context.store.head().tree), &records, &own)?;
    let unknowns = open_unknowns(&own, &answered(&records));
    let all_goals: Vec<OwnedGoal> = goals(records.iter().copied());
    let is_own =
        |owned: &&OwnedGoal| owned.session.as_ref().map_or(!wanted.is_some(), |session| asked.contains(session));
    let with = |status| all_goals.iter().filter(is_own).filter(move |owned| owned.goal.status == status);
    let handoffs: Vec<&Record> =
        own.iter().rev().filter(|r| r.body.kind() == "handoff" && !aside.contains(&r.head.id)).copied().collect();
    let count = |kind: &str| own.iter().filter(|record| record.body.kind() == kind).count();
    let mut ordered: Vec<&(Session, SessionSummary)> = kept.iter().collect();
    // sums are made in one order, whatever clone they are made in
    ordered.sort_by(|a, b| a.1.entry.end.cmp(&b.1.entry.end));
    let score = Score::of(ordered.iter().map(|(_, kept)| &kept.entry));
    let beliefs = beliefs(ordered.iter().flat_map(|(_, kept)| &kept.differences));
    let mut totals = ReportTotals {
        sessions: kept.len(),
        active: kept.iter().filter(|(session, _)| session.is_active()).count(),
        agents: kept.iter().map(|(session, _)| &session.ai).collect::<BTreeSet<_>>().len(),
        handoffs: handoffs.len(),
        passed_on: 0,
        findings: count("finding"),
        dead_ends: count("dead_end"),
        unknowns_open: unknowns.len(),
        unknowns_resolved: count("unknown") - unknowns.len(),
        goals_open: with(GoalStatus::Open).count(),
        goals_done: with(GoalStatus::Done).count(),
        statements,
    };
    let commits = known.iter().filter_map(|known: &KnownFacts| known.head.commit.as_deref());
    let subject = |commit: &str| Some((commit.to_owned(), context.repo.subject(parse_oid(commit)?)?));
    let subjects = commits.filter_map(subject).collect();
    let any = !kept.is_empty() || index.count_sessions()? > 0;
    let (goals, goals_more) = attention::goals(&index, with(GoalStatus::Open).rev())?;
    let sessions = told(&records, kept, &aside);
    let passings = passings(sessions.iter().map(|told| &told.gathered));
    let claimed: BTreeSet<&Id> = passings.iter().filter_map(|passing| passing.handoff.as_ref()).collect();
    let unclaimed = attention::unclaimed(&handoffs, &records, &claimed);
    let attention = Attention {
        unknowns: placed(&index, unknowns.into_iter())?,
        failed: attention::failed(&index, &own)?,
        unclaimed_more: unclaimed.len().saturating_sub(LISTED),
        unclaimed: placed(&index, unclaimed.into_iter())?,
        stale: attention::stale(context, &index, &handoffs)?,
        goals,
        goals_more,
    };
    totals.passed_on = passings.iter().filter_map(|passing| passing.handoff.as_ref()).collect::<BTreeSet<_>>().len();
    Ok(ReportOutcome {
        project: project::name(context.repo),
        now: context.env.now(),
        ai: wanted.ai,
        asked: request.clone(),
        totals,
        sessions,
        passings,
        attention,
        score,
        beliefs,
        known,
        subjects,
        any,
        warnings,
    })
}

/// Which sessions, resolved.
struct SessionFilter {
    ai: Option<String>,
    since: Option<i64>,
    until: Option<i64>,
}

impl SessionFilter {
    fn new(context: &CommandContext<'_>, request: &ReportRequest) -> Result<Self> {
        let edge = |name, text: &Option<String>, edge: Edge| {
            text.as_deref().map(|text| date(context, name, text, edge)).transpose()
        };
        Ok(SessionFilter {
            ai: context.selection.ai.clone(),
            since: edge("--since", &request.since, Edge::First)?,
            until: edge("--until", &request.until, Edge::Last)?,
        })
    }

    /// Whether not all sessions are asked for.
    fn is_some(&self) -> bool {
        self.ai.is_some() || self.since.is_some() || self.until.is_some()
    }

    fn has(&self, session: &Session) -> bool {
        let began = DateTime::parse_from_rfc3339(&session.started_at).map(|at| at.timestamp());
        // one that began nobody knows when is in no span of time
        let in_time = |edge: Option<i64>, fits: fn(i64, i64) -> bool| {
            edge.is_none_or(|edge| began.as_ref().is_ok_and(|began| fits(*began, edge)))
        };
        self.ai.as_ref().is_none_or(|ai| session.ai == *ai)
            && in_time(self.since, |began, since| began >= since)
            && in_time(self.until, |began, until| began <= until)
    }
}

/// The newest sessions, newest first, each out of what concerns it.
fn told(records: &[&Record], kept: Vec<(Session, SessionSummary)>, aside: &BTreeSet<Id>) -> Vec<SessionStory> {
    let mut owners: BTreeMap<&Id, &SessionId> = BTreeMap::new();
    let mut of_session: BTreeMap<&SessionId, Vec<&Record>> = BTreeMap::new();
    for record in records {
        // who answers a question or ends a goal may not say whose it is
        let named = record.names().into_iter().filter_map(|id| owners.get(id).copied());
        let sessions: BTreeSet<&SessionId> = record.concerns().chain(named).collect();
        if let Some(session) = record.head.session.as_ref().or(sessions.first().copied()) {
            owners.insert(&record.head.id, session);
        }
        for session in sessions {
            of_session.entry(session).or_default().push(record);
        }
    }
    let newest = kept.into_iter().rev().take(SESSIONS);
    let told = newest.filter_map(|(session, kept)| {
        let mut gathered = SessionRecords::collect(of_session.get(&session.id)?.iter().copied(), &session.id)?;
        gathered.handoffs.retain(|(head, _)| !aside.contains(&head.id));
        let calibration = explained(kept.before.as_ref(), kept.after.as_ref());
        Some(SessionStory { gathered: SessionRecords { session, ..gathered }, calibration, entry: kept.entry })
    });
    told.collect()
}

fn answered<'r>(records: &[&'r Record]) -> BTreeSet<&'r Id> {
    let answers = records.iter().filter_map(|record| match &record.body {
        Body::Resolve(answer) => Some(&answer.of),
        _ => None,
    });
    answers.collect()
}

/// The questions nobody has answered, newest first.
fn open_unknowns<'r>(own: &[&'r Record], answered: &BTreeSet<&Id>) -> Vec<&'r Id> {
    let unknowns = own.iter().rev().filter(|record| record.body.kind() == "unknown");
    unknowns.map(|record| &record.head.id).filter(|id| !answered.contains(id)).collect()
}

/// The files of a tree that a text names by their paths.
fn named(text: &str, tree: &mut Tree<'_>) -> Vec<String> {
    let words = text.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let paths = words.map(|word| word.split(':').next().unwrap_or(word)).filter(|path| path.contains(['.', '/']));
    paths.filter(|path| matches!(tree.find(path), PathContent::File(_))).map(str::to_owned).take(1).collect()
}

/// What is known, and how much there is. An answer counts whoever gave it.
fn known(
    index: &Index<'_>,
    tree: &mut Tree<'_>,
    records: &[&Record],
    own: &[&Record],
) -> Result<(Vec<KnownFacts>, usize)> {
    let mut looked_at: Vec<&Record> = own.to_vec();
    looked_at.extend(records.iter().filter(|record| matches!(record.body, Body::Resolve(_))));
    looked_at.sort_by(|a, b| a.head.id.cmp(&b.head.id));
    looked_at.dedup_by(|a, b| a.head.id == b.head.id);
    let (statements, total) = statements(&looked_at, STATEMENTS);
    let heads = placed(index, statements.iter().map(|statement| &statement.record.head.id))?;
    let known = heads.into_iter().zip(statements).map(|(record, statement)| {
        let mut files: Vec<String> = statement.files.into_iter().map(str::to_owned).collect();
        if files.is_empty() {
            files = named(statement.text, tree);
        }
        let (text, more) = (statement.text.to_owned(), statement.more.map(str::to_owned));
        KnownFacts { head: record.head, kind: statement.kind, text, more, files }
    });
    Ok((known.collect(), total))
}
