//! Gathers the content of the page: attention, sessions, facts, scores.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::CommandContext;
use crate::fold::assessment::belief::{Belief, beliefs};
use crate::fold::assessment::calibration::{CalibrationResult, calibrate};
use crate::fold::assessment::track_record::{Score, TrackEntry};
use crate::fold::handover_graph::{Handover, handovers};
use crate::fold::journal::{answers, goals};
use crate::fold::session_records::SessionRecords;
use crate::fold::session_summary::SessionSummary;
use crate::fold::task::state::{TaskAction, TaskEvent};
use crate::index::{Index, RecordQuery};
use crate::use_cases::report::attention;
use crate::use_cases::report::attention::{Attention, LISTED, placed};
use crate::use_cases::report::knowledge;
use crate::use_cases::report::knowledge::Fact;
use crate::use_cases::report::review;
use crate::use_cases::search::filter::date;
use crate::use_cases::task;
use crate::use_cases::task::list::Task;
use empirica_notes::error::Result;
use empirica_notes::git::history::dates::DayBoundary;
use empirica_notes::git::objects::content::{PathContent, Tree};
use empirica_notes::git::parse_oid;
use empirica_notes::git::repository::project;
use empirica_notes::model::goal::GoalStatus;
use empirica_notes::model::handoff::superseded::superseded;
use empirica_notes::model::session::Session;
use empirica_notes::model::{Body, Id, Record, SessionId};

/// Kinds of records on the page.
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
/// Most records read of a kind, the newest: about those of the sessions shown. Rich ones take 600 MB.
const RECORDS: usize = 10_000;
/// Most sessions on the page, the newest.
pub const SESSIONS: usize = 500;
/// Most facts on the page, the most important.
pub const FACTS: usize = 100;
/// Seconds without a record after which an active session is quiet.
const QUIET: i64 = 7 * 86_400;

/// Selects sessions by their start and commits; the context selects the agent.
#[derive(Debug, Clone, Default)]
pub struct ReportRequest {
    /// The earliest start: a date as git takes it.
    pub since: Option<String>,
    /// The latest start.
    pub until: Option<String>,
    /// A range of commits that they recorded something for, as `handoff --pr` takes it.
    pub range: Option<String>,
}

#[derive(Debug)]
pub struct SessionStory {
    /// Its records, without superseded handoffs.
    pub records: SessionRecords,
    /// Its self-assessment.
    pub calibration: CalibrationResult,
    /// Its forecast and outcome.
    pub entry: TrackEntry,
}

impl SessionStory {
    /// Whether it is active and has had no record for a week.
    pub fn is_quiet(&self, now: DateTime<Utc>) -> bool {
        let last = DateTime::parse_from_rfc3339(&self.records.last_at);
        self.records.session.is_active() && last.is_ok_and(|last| (now - last.to_utc()).num_seconds() > QUIET)
    }
}

/// Numbers over the selected sessions.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct ReportTotals {
    /// Selected sessions.
    pub sessions: usize,
    /// Those of them that have not ended.
    #[serde(rename = "sessions_active")]
    pub active: usize,
    /// The agents that began them.
    pub agents: usize,
    /// Their handoffs in force.
    pub handoffs: usize,
    /// Their findings.
    pub findings: usize,
    /// Their dead ends.
    pub dead_ends: usize,
    /// Their open questions.
    pub unknowns_open: usize,
    #[serde(skip)]
    pub unknowns_resolved: usize,
    /// Their open goals.
    pub goals_open: usize,
    #[serde(skip)]
    pub goals_done: usize,
    #[serde(skip)]
    pub facts: usize,
}

/// Content of the page.
#[derive(Debug)]
pub struct ReportOutcome {
    pub project: String,
    pub now: DateTime<Utc>,
    /// The selected agent.
    pub ai: Option<String>,
    pub request: ReportRequest,
    pub totals: ReportTotals,
    /// Newest first.
    pub sessions: Vec<SessionStory>,
    /// Handovers between these sessions, oldest first.
    pub handovers: Vec<Handover>,
    /// Tasks with a handoff of these sessions, most recent event first.
    pub tasks: Vec<Task>,
    pub attention: Attention,
    /// Agreement of forecasts and outcomes of all selected sessions.
    pub score: Score,
    /// Bias of each vector over all selected sessions.
    pub beliefs: Vec<Belief>,
    /// Newest first.
    pub facts: Vec<Fact>,
    /// Subjects of the facts' commits, by commit.
    pub subjects: BTreeMap<String, String>,
    /// Whether any session is stored.
    pub any: bool,
    pub warnings: Vec<String>,
}

/// Gathers the content of the page; without a session, it is empty.
pub fn run(context: &CommandContext<'_>, request: &ReportRequest) -> Result<ReportOutcome> {
    let mut warnings = context.store.reconcile();
    let filter = SessionFilter::new(context, request)?;
    let index = context.index()?;
    warnings.extend(index.double_warnings()?);
    let mut many = Vec::new();
    for kind in KINDS {
        let count = index.count(kind)?;
        many.extend((count > RECORDS).then(|| format!("{count} {kind}")));
    }
    if !many.is_empty() {
        let stored = many.join(", ");
        warnings.push(format!("the page is made from the newest {RECORDS} records of a kind; stored: {stored}"));
    }
    let scan = index.kinds(KINDS, RecordQuery { newest: Some(RECORDS), ..RecordQuery::default() })?;
    let records: Vec<&Record> = scan.records().collect();
    let summaries: Vec<(Session, SessionSummary)> =
        index.summaries(filter.ai.as_deref())?.into_iter().filter(|(session, _)| filter.has(session)).collect();
    let ids: BTreeSet<&SessionId> = summaries.iter().map(|(session, _)| &session.id).collect();
    let is_selected =
        |session: &Option<SessionId>| session.as_ref().map_or(filter.is_all(), |session| ids.contains(session));
    let own: Vec<&Record> = records.iter().copied().filter(|record| is_selected(&record.envelope.session)).collect();
    let superseded = superseded(records.iter().copied());
    let mut tree = Tree::new(context.repo, context.store.head().tree);
    let (facts, facts_total) = facts(&index, &mut tree, &records, &own)?;
    let answers = answers(records.iter().copied());
    let of_kind = |kind: &'static str| own.iter().rev().filter(move |record| record.body.kind() == kind).copied();
    let unknowns: Vec<&Id> =
        of_kind("unknown").map(|record| &record.envelope.id).filter(|id| !answers.contains_key(*id)).collect();
    let all_goals = goals(records.iter().copied());
    let with =
        |status| all_goals.iter().filter(move |owned| is_selected(&owned.session) && owned.goal.status == status);
    let handoffs: Vec<&Record> =
        of_kind("handoff").filter(|record| !superseded.contains(&record.envelope.id)).collect();
    let mut ordered: Vec<&(Session, SessionSummary)> = summaries.iter().collect();
    // floating-point sums depend on their order, which must be the same in every clone
    ordered.sort_by(|a, b| a.1.entry.end.cmp(&b.1.entry.end));
    let score = Score::of(ordered.iter().map(|(_, summary)| &summary.entry));
    let beliefs = beliefs(ordered.iter().flat_map(|(_, summary)| &summary.differences));
    let totals = ReportTotals {
        sessions: summaries.len(),
        active: summaries.iter().filter(|(session, _)| session.is_active()).count(),
        agents: summaries.iter().map(|(session, _)| &session.ai).collect::<BTreeSet<_>>().len(),
        handoffs: handoffs.len(),
        findings: of_kind("finding").count(),
        dead_ends: of_kind("dead_end").count(),
        unknowns_open: unknowns.len(),
        unknowns_resolved: of_kind("unknown").count() - unknowns.len(),
        goals_open: with(GoalStatus::Open).count(),
        goals_done: with(GoalStatus::Done).count(),
        facts: facts_total,
    };
    let commits = facts.iter().filter_map(|fact: &Fact| fact.envelope.commit.as_deref());
    let subject = |commit: &str| Some((commit.to_owned(), context.repo.subject(parse_oid(commit)?)?));
    let subjects = commits.filter_map(subject).collect();
    let any = !summaries.is_empty() || index.count_sessions()? > 0;
    let (goals, goals_more) = attention::goals(&index, with(GoalStatus::Open).rev())?;
    let mut tasks = task::list::all(context)?;
    let is_shown =
        |event: &TaskEvent| matches!(event.action, TaskAction::Handoff(..)) && is_selected(&event.envelope.session);
    tasks.retain(|task| task.state.steps.iter().any(is_shown));
    let sessions = stories(&records, summaries, &superseded);
    let handovers = handovers(sessions.iter().map(|story| &story.records));
    let claimed: BTreeSet<&Id> = handovers.iter().filter_map(|handover| handover.handoff.as_ref()).collect();
    let unclaimed = attention::unclaimed(&handoffs, &records, &claimed);
    let attention = Attention {
        lost: attention::lost(context, &own)?,
        disagreeing: attention::disagreeing(&index, &own)?,
        unknowns: placed(&index, unknowns.into_iter())?,
        failed: attention::failed(&index, &own)?,
        unclaimed_more: unclaimed.len().saturating_sub(LISTED),
        unclaimed: placed(&index, unclaimed.into_iter())?,
        stale: attention::stale(context, &index, &handoffs)?,
        goals,
        goals_more,
    };
    Ok(ReportOutcome {
        project: project::name(context.repo),
        now: context.env.now(),
        ai: filter.ai,
        request: request.clone(),
        totals,
        sessions,
        handovers,
        tasks,
        attention,
        score,
        beliefs,
        facts,
        subjects,
        any,
        warnings,
    })
}

/// Selects sessions by agent, start and commits.
struct SessionFilter {
    ai: Option<String>,
    since: Option<i64>,
    until: Option<i64>,
    sessions: Option<BTreeSet<SessionId>>,
}

impl SessionFilter {
    fn new(context: &CommandContext<'_>, request: &ReportRequest) -> Result<Self> {
        let edge = |name, text: &Option<String>, edge: DayBoundary| {
            text.as_deref().map(|text| date(context, name, text, edge)).transpose()
        };
        Ok(SessionFilter {
            ai: context.selection.ai.clone(),
            since: edge("--since", &request.since, DayBoundary::Start)?,
            until: edge("--until", &request.until, DayBoundary::End)?,
            sessions: request.range.as_deref().map(|range| review::sessions(context, range)).transpose()?,
        })
    }

    fn is_all(&self) -> bool {
        self.ai.is_none() && self.since.is_none() && self.until.is_none() && self.sessions.is_none()
    }

    /// Whether a session is selected; one with an unknown start is outside every span.
    fn has(&self, session: &Session) -> bool {
        let began = DateTime::parse_from_rfc3339(&session.started_at).ok().map(|at| at.timestamp());
        self.ai.as_ref().is_none_or(|ai| session.ai == *ai)
            && self.since.is_none_or(|since| began.is_some_and(|began| began >= since))
            && self.until.is_none_or(|until| began.is_some_and(|began| began <= until))
            && self.sessions.as_ref().is_none_or(|sessions| sessions.contains(&session.id))
    }
}

/// The newest sessions, newest first, each with the records that concern it.
fn stories(
    records: &[&Record],
    summaries: Vec<(Session, SessionSummary)>,
    superseded: &BTreeSet<Id>,
) -> Vec<SessionStory> {
    let mut owners: BTreeMap<&Id, &SessionId> = BTreeMap::new();
    let mut of_session: BTreeMap<&SessionId, Vec<&Record>> = BTreeMap::new();
    for record in records {
        // an answer, or the end of a goal, may not name the session it concerns
        let named = record.referenced_ids().into_iter().filter_map(|id| owners.get(id).copied());
        let sessions: BTreeSet<&SessionId> = record.concerns().chain(named).collect();
        if let Some(session) = record.envelope.session.as_ref().or(sessions.first().copied()) {
            owners.insert(&record.envelope.id, session);
        }
        for session in sessions {
            of_session.entry(session).or_default().push(record);
        }
    }
    let newest = summaries.into_iter().rev().take(SESSIONS);
    let stories = newest.filter_map(|(session, summary)| {
        let mut own = SessionRecords::collect(of_session.get(&session.id)?.iter().copied(), &session.id)?;
        own.handoffs.retain(|(envelope, _)| !superseded.contains(&envelope.id));
        let calibration = calibrate(summary.before.as_ref(), summary.after.as_ref());
        Some(SessionStory { records: SessionRecords { session, ..own }, calibration, entry: summary.entry })
    });
    stories.collect()
}

/// The first file of a tree that a text names by its path.
fn named_file(text: &str, tree: &mut Tree<'_>) -> Option<String> {
    let words = text.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let mut paths = words.map(|word| word.split(':').next().unwrap_or(word)).filter(|path| path.contains(['.', '/']));
    paths.find(|path| matches!(tree.find(path), PathContent::File(_))).map(str::to_owned)
}

/// The facts of the selected sessions, and their total number. Answers count from any session.
fn facts(index: &Index<'_>, tree: &mut Tree<'_>, records: &[&Record], own: &[&Record]) -> Result<(Vec<Fact>, usize)> {
    let mut considered: Vec<&Record> = own.to_vec();
    considered.extend(records.iter().filter(|record| matches!(record.body, Body::Resolve(_))));
    considered.sort_by(|a, b| a.envelope.id.cmp(&b.envelope.id));
    considered.dedup_by(|a, b| a.envelope.id == b.envelope.id);
    let (mut facts, total) = knowledge::facts(&considered, FACTS);
    let placed = placed(index, facts.iter().map(|fact| &fact.envelope.id))?;
    for (fact, record) in facts.iter_mut().zip(placed) {
        fact.envelope = record.envelope;
        if fact.files.is_empty() {
            fact.files.extend(named_file(&fact.text, tree));
        }
    }
    Ok((facts, total))
}
