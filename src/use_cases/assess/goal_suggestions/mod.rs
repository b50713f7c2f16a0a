//! The goals of a PREFLIGHT that recommends investigating: suggested from earlier work, and ended when they are reached.

pub mod rules;

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::records::gather;
use crate::context::stored::StoreReport;
use crate::context::{CommandContext, WorkingSession};
use crate::fold::assessment::drift::last_learned;
use crate::fold::assessment::gate;
use crate::fold::journal::{self, answers};
use crate::fold::session_records::SessionRecords;
use crate::index::RecordQuery;
use crate::use_cases::assess::goal_suggestions::rules::{EarlierAttempt, EarlierSession, SuggestionInput, goals};
use empirica_notes::error::{Error, Result, blank, empirica};
use empirica_notes::model::goal::{GoalDone, GoalDrop, GoalState, GoalStatus, Priority};
use empirica_notes::model::session::Session;
use empirica_notes::model::{Assessment, Body, Id, Record, SessionId, Vector, Vectors};
use empirica_notes::store::FlushTiming;

/// A goal that was suggested for a weak vector.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SuggestedGoal {
    /// The goal.
    pub id: Id,
    /// Its text.
    pub description: String,
    /// Of know, uncertainty and state high where they recommend investigating; of other vectors high below 0.50, medium below 0.60.
    pub priority: Priority,
    /// Why it was suggested.
    pub rationale: Option<String>,
}

/// The changes of a PREFLIGHT to the goals of its session.
#[derive(Debug, Default)]
pub struct GoalChanges {
    /// Suggestions of an earlier PREFLIGHT that stay: equal ones, and those with steps.
    pub kept: Vec<GoalState>,
    /// Records to store: earlier suggestions that are dropped, then the goals.
    pub bodies: Vec<Body>,
    /// The vectors of the goals that stayed and of those to be stored, weakest first.
    pub order: Vec<&'static str>,
}

impl GoalChanges {
    /// The goals that stayed and those that were stored, weakest vector first.
    pub fn in_order(mut self, stored: &[Record]) -> Vec<SuggestedGoal> {
        self.kept.extend(journal::goals(stored).into_iter().map(|owned| owned.goal));
        self.kept.sort_by_key(|goal| self.order.iter().position(|vector| goal.vector.as_deref() == Some(vector)));
        let suggested = |GoalState { id, text: description, priority, rationale, .. }| SuggestedGoal {
            id,
            description,
            priority,
            rationale,
        };
        self.kept.into_iter().map(suggested).collect()
    }
}

/// The reason why an earlier suggestion is dropped.
const SUPERSEDED: &str = "it was assessed again, with newer vectors or another task";

/// Suggests goals for the weak vectors; none if nothing recommends investigating. `records` is the session before the
/// assessment, `evidence` the task, reasoning and unknowns that come with it.
pub fn run(
    context: &CommandContext<'_>,
    session: &WorkingSession,
    records: &SessionRecords,
    vectors: &Vectors,
    evidence: (Option<&str>, Option<&str>, &[String]),
) -> Result<GoalChanges> {
    if gate::triggers(vectors).is_empty() {
        return Ok(GoalChanges::default());
    }
    let mut input = suggestion_input(context, session, records)?;
    let (task, reasoning, unknowns) = evidence;
    let safe = |text: &str| context.store.secret_filter().clean(text);
    input.task = task.map(safe).or(input.task);
    input.reasoning = reasoning.map(safe);
    input.unknowns.extend(unknowns.iter().map(|unknown| safe(unknown)));
    let mut out = GoalChanges::default();
    for (vector, goal) in goals(vectors, &input) {
        out.order.push(vector.name());
        let same_vector = |g: &&GoalState| g.status == GoalStatus::Open && g.vector.as_deref() == Some(vector.name());
        let mut earlier: Vec<&GoalState> = records.goals.iter().filter(same_vector).collect();
        let stays = |g: &&GoalState| !g.subtasks.is_empty() || (g.text == goal.text && g.rationale == goal.rationale);
        let kept = earlier.iter().position(stays).map(|at| earlier.remove(at));
        for older in earlier.into_iter().filter(|older| older.subtasks.is_empty()) {
            let drop = GoalDrop { of: older.id.clone(), why: Some(SUPERSEDED.to_owned()), concerns: Vec::new() };
            out.bodies.push(Body::GoalDrop(drop));
        }
        match kept {
            Some(kept) => out.kept.push(kept.clone()),
            None => out.bodies.push(Body::Goal(goal)),
        }
    }
    Ok(out)
}

/// Goals suggested outside a PREFLIGHT.
#[derive(Debug, Serialize)]
pub struct GoalSuggestions {
    pub session_id: SessionId,
    /// The goals of the weak vectors, weakest first: those that stay and those that are new.
    pub goals: Vec<SuggestedGoal>,
    pub vectors: Vectors,
    #[serde(skip)]
    pub stored: StoreReport,
}

/// Suggests goals for the weak vectors of the session's last assessment, and stores them; `about` names the work. A session
/// without an assessment is refused.
pub fn suggest(context: &CommandContext<'_>, about: Option<String>) -> Result<GoalSuggestions> {
    context.optional("context", about.as_deref())?;
    let session = context.working()?;
    let session_records = gather(context, &session.id)?;
    let Some((_, last)) = session_records.assessments.last() else {
        return Err(Error::refused(format!("cannot suggest goals: session {} has no assessment", session.id.short()))
            .reason("goals are suggested for the weak vectors of the last assessment")
            .suggest("Assess yourself first; a PREFLIGHT that recommends investigating suggests goals itself.")
            .command(empirica("preflight").option("-v", blank("know=<0..1>,uncertainty=<0..1>"))));
    };
    let vectors = last.vectors.clone();
    let mut proposed = run(context, &session, &session_records, &vectors, (about.as_deref(), None, &[]))?;
    let bodies = std::mem::take(&mut proposed.bodies);
    let (records, stored) = match bodies.is_empty() {
        true => (Vec::new(), StoreReport::default()),
        false => context.store(&session, bodies, FlushTiming::Now)?,
    };
    Ok(GoalSuggestions { goals: proposed.in_order(&records), session_id: session.id, vectors, stored })
}

/// The suggestions of an earlier PREFLIGHT whose criterion an assessment meets: the vector has reached its value, and by the
/// records, in order of id, something was learned since the goal was set. The agent itself ends goals with open steps, and a
/// goal of uncertainty is not reached while the session has an open question.
pub fn reached(
    records: &[&Record],
    session: &WorkingSession,
    session_records: &SessionRecords,
    assessment: &Assessment,
) -> Vec<GoalDone> {
    let open_steps = |goal: &GoalState| goal.subtasks.iter().any(|step| step.status == GoalStatus::Open);
    let open = session_records.goals.iter().filter(|goal| goal.status == GoalStatus::Open && !open_steps(goal));
    let met = open.filter_map(|goal| Some((goal, rules::reached(goal, &assessment.vectors)?)));
    let answered = answers(records.iter().copied());
    let asks = |record: &Record| {
        matches!(record.body, Body::Unknown(_))
            && record.envelope.session.as_ref() == Some(&session.id)
            && !answered.contains_key(&record.envelope.id)
    };
    let in_doubt = records.iter().any(|record| asks(record));
    let met = met.filter(|(_, (vector, _))| *vector != Vector::Uncertainty || !in_doubt);
    let last = last_learned(records.iter().copied(), &session.id);
    let learned = met.filter(|(goal, _)| last.is_some_and(|last| *last > goal.id));
    let (phase, round) = (assessment.phase.name(), assessment.round);
    learned
        .map(|(goal, (vector, value))| GoalDone {
            of: goal.id.clone(),
            evidence: Some(format!("{phase} {round}: {vector} {value:.2}")),
            concerns: Vec::new(),
        })
        .collect()
}

/// Whether a rule stored the record after that assessment: a suggestion, or its end because it is superseded or reached.
pub fn by_rule(record: &Record, after: &Assessment) -> bool {
    let reached = format!("{} {}: ", after.phase.name(), after.round);
    match &record.body {
        Body::Goal(goal) => goal.vector.is_some(),
        Body::GoalDrop(drop) => drop.why.as_deref() == Some(SUPERSEDED),
        Body::GoalDone(done) => done.evidence.as_ref().is_some_and(|evidence| evidence.starts_with(&reached)),
        _ => false,
    }
}

/// The most records of a kind that are compared, the newest ones.
const COMPARED: usize = 500;

/// Earlier work that may bear on the task: the newest dead ends, open unknowns and sessions.
fn suggestion_input(
    context: &CommandContext<'_>,
    session: &WorkingSession,
    records: &SessionRecords,
) -> Result<SuggestionInput> {
    let index = context.index()?;
    let mut out = SuggestionInput {
        task: records.session.task.clone(),
        unknowns: records.unknowns.iter().map(|unknown| unknown.text.clone()).collect(),
        ..SuggestionInput::default()
    };
    let mut scan = index.kinds(&["dead_end"], RecordQuery { newest: Some(COMPARED), ..RecordQuery::default() })?;
    scan.merge(index.ids(&index.open("unknown", COMPARED)?)?);
    for record in scan.records() {
        let own = record.envelope.session.as_ref() == Some(&session.id);
        match &record.body {
            Body::DeadEnd(dead_end) => out.dead_ends.push(EarlierAttempt {
                id: record.envelope.id.clone(),
                ai: record.envelope.ai.clone(),
                approach: dead_end.approach.clone(),
                why: dead_end.why.clone(),
            }),
            Body::Unknown(unknown) if !own => out.others_unknowns.push(unknown.text.clone()),
            _ => {}
        }
    }
    let heard = index.last_heard(None, 0, COMPARED)?.into_iter().map(|row| row.session);
    let mut earlier: Vec<_> = heard.filter(|other| other.id != session.id).collect();
    earlier.sort_by(|a, b| a.began.cmp(&b.began));
    let with_task = |session: Session| Some(EarlierSession { id: session.id, ai: session.ai, task: session.task? });
    out.sessions = earlier.into_iter().filter_map(with_task).collect();
    Ok(out)
}
