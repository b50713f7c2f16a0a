//! The goals of a PREFLIGHT that recommends to investigate: proposed from what is at hand, and ended when they are reached.

pub mod rules;

use crate::assess::goal_suggestions::rules::{
    EarlierAttempt, EarlierSession, SuggestionInput, goals, reached as reached_by,
};
use crate::context::records::gather;
use crate::context::stored::StoreReport;
use crate::context::{CommandContext, WorkingSession};
use crate::fold::assessment::drift::last_learned;
use crate::fold::assessment::gate;
use crate::fold::journal;
use crate::fold::journal::answers;
use crate::fold::session_state::SessionRecords;
use crate::index::RecordQuery;
use empirica_notes::error::{Error, Result, blank, empirica};
use empirica_notes::model::goal::{GoalDone, GoalDrop, GoalState, GoalStatus};
use empirica_notes::model::{Assessment, Body, Record, SessionId, Vector, Vectors};
use empirica_notes::store::FlushTiming;

/// What a PREFLIGHT does to the goals of its session.
#[derive(Debug, Default)]
pub struct GoalChanges {
    /// Proposals of an earlier PREFLIGHT that say the same, or that steps were added to: they stay.
    pub kept: Vec<GoalState>,
    /// Records to be stored: earlier proposals that are dropped, then the goals.
    pub bodies: Vec<Body>,
    /// The vectors of the goals that stayed and of those to be stored, weakest first.
    pub order: Vec<&'static str>,
}

impl GoalChanges {
    /// The goals that stayed and those that were stored, weakest vector first.
    pub fn in_order(mut self, stored: impl IntoIterator<Item = GoalState>) -> Vec<GoalState> {
        self.kept.extend(stored);
        self.kept.sort_by_key(|goal| self.order.iter().position(|vector| goal.vector.as_deref() == Some(vector)));
        self.kept
    }
}

/// What an earlier proposal is dropped for.
const ANEW: &str = "it was assessed again, with newer vectors or another task";

/// Proposes goals for the weak vectors; nothing when nothing recommends to investigate. `gathered` is the session before
/// the assessment.
pub fn run(
    context: &CommandContext<'_>,
    who: &WorkingSession,
    gathered: &SessionRecords,
    vectors: &Vectors,
    said: (Option<&str>, Option<&str>, &[String]),
) -> Result<GoalChanges> {
    if gate::triggers(vectors).is_empty() {
        return Ok(GoalChanges::default());
    }
    let mut at_hand = at_hand(context, who, gathered)?;
    let (task, reasoning, unknowns) = said;
    let safe = |text: &str| context.store.without_secrets(text);
    at_hand.task = task.map(safe).or(at_hand.task);
    at_hand.reasoning = reasoning.map(safe);
    at_hand.unknowns.extend(unknowns.iter().map(|unknown| safe(unknown)));
    let mut out = GoalChanges::default();
    for (vector, goal) in goals(vectors, &at_hand) {
        out.order.push(vector.name());
        let same_vector = |g: &&GoalState| g.status == GoalStatus::Open && g.vector.as_deref() == Some(vector.name());
        let mut known: Vec<&GoalState> = gathered.goals.iter().filter(same_vector).collect();
        let stays = |g: &&GoalState| !g.subtasks.is_empty() || (g.text == goal.text && g.rationale == goal.rationale);
        let kept = known.iter().position(stays).map(|at| known.remove(at));
        for older in known.into_iter().filter(|older| older.subtasks.is_empty()) {
            let drop = GoalDrop { of: older.id.clone(), why: Some(ANEW.to_owned()), concerns: Vec::new() };
            out.bodies.push(Body::GoalDrop(drop));
        }
        match kept {
            Some(kept) => out.kept.push(kept.clone()),
            None => out.bodies.push(Body::Goal(goal)),
        }
    }
    Ok(out)
}

/// Goals proposed outside a PREFLIGHT.
#[derive(Debug)]
pub struct GoalSuggestions {
    pub session_id: SessionId,
    /// The goals of the weak vectors, weakest first: those that stay and those that are new.
    pub goals: Vec<GoalState>,
    pub vectors: Vectors,
    pub stored: StoreReport,
}

/// Proposes goals for the weak vectors of the last assessment of the session the command works in, and stores them; `about`
/// says what the work is about. A session without an assessment is refused.
pub fn suggest(context: &CommandContext<'_>, about: Option<String>) -> Result<GoalSuggestions> {
    context.optional("context", about.as_deref())?;
    let who = context.working()?;
    let gathered = gather(context, &who.id)?;
    let Some((_, last)) = gathered.assessments.last() else {
        return Err(Error::refused("goals are proposed for the weak vectors, and there is no assessment yet")
            .reason(format!("the session {} has not said how sure it is", who.id.short()))
            .suggest("Assess yourself first; a PREFLIGHT that recommends to investigate proposes goals itself.")
            .command(empirica("preflight").option("-v", blank("know=<0..1>,uncertainty=<0..1>"))));
    };
    let vectors = last.vectors.clone();
    let mut proposed = run(context, &who, &gathered, &vectors, (about.as_deref(), None, &[]))?;
    let bodies = std::mem::take(&mut proposed.bodies);
    let (records, stored) = match bodies.is_empty() {
        true => (Vec::new(), StoreReport::default()),
        false => context.store(&who, bodies, FlushTiming::Now)?,
    };
    let new = journal::goals(&records).into_iter().map(|owned| owned.goal);
    Ok(GoalSuggestions { goals: proposed.in_order(new), session_id: who.id, vectors, stored })
}

/// The proposals of an earlier PREFLIGHT whose criterion an assessment meets: the vector is where it was to be, and
/// something was learned since the goal was set, by the records given in order of id. Those with open steps are the
/// agent's own to end, and what is open is not answered while the session has an open question.
pub fn reached(
    records: &[&Record],
    who: &WorkingSession,
    gathered: &SessionRecords,
    assessment: &Assessment,
) -> Vec<GoalDone> {
    let open_steps = |goal: &GoalState| goal.subtasks.iter().any(|step| step.status == GoalStatus::Open);
    let open = gathered.goals.iter().filter(|goal| goal.status == GoalStatus::Open && !open_steps(goal));
    let met = open.filter_map(|goal| Some((goal, reached_by(goal, &assessment.vectors)?)));
    let answered = answers(records.iter().copied());
    let asks = |record: &&Record| {
        matches!(record.body, Body::Unknown(_))
            && record.head.session.as_ref() == Some(&who.id)
            && !answered.contains_key(&record.head.id)
    };
    let in_doubt = records.iter().copied().any(|record| asks(&record));
    let met = met.filter(|(_, (vector, _))| *vector != Vector::Uncertainty || !in_doubt);
    let last = last_learned(records.iter().copied(), &who.id);
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

/// Whether a rule stored it after that assessment: a suggestion, its end when another takes its place, or when it is reached.
pub fn by_rule(record: &Record, after: &Assessment) -> bool {
    let reached = format!("{} {}: ", after.phase.name(), after.round);
    match &record.body {
        Body::Goal(goal) => goal.vector.is_some(),
        Body::GoalDrop(drop) => drop.why.as_deref() == Some(ANEW),
        Body::GoalDone(done) => done.evidence.as_ref().is_some_and(|evidence| evidence.starts_with(&reached)),
        _ => false,
    }
}

/// How many of a kind are looked at, the newest first.
const LOOKED_AT: usize = 500;

/// What the journal says that may bear on the task: the newest dead ends, open unknowns and sessions.
fn at_hand(context: &CommandContext<'_>, who: &WorkingSession, gathered: &SessionRecords) -> Result<SuggestionInput> {
    let index = context.index()?;
    let mut out = SuggestionInput {
        task: gathered.session.task.clone(),
        unknowns: gathered.unknowns.iter().map(|unknown| unknown.text.clone()).collect(),
        ..SuggestionInput::default()
    };
    let mut scan = index.kinds(&["dead_end"], RecordQuery { newest: Some(LOOKED_AT), ..RecordQuery::default() })?;
    scan.merge(index.ids(&index.open("unknown", LOOKED_AT)?)?);
    for record in scan.records() {
        let own = record.head.session.as_ref() == Some(&who.id);
        match &record.body {
            Body::DeadEnd(dead_end) => out.dead_ends.push(EarlierAttempt {
                id: record.head.id.clone(),
                ai: record.head.ai.clone(),
                approach: dead_end.approach.clone(),
                why: dead_end.why.clone(),
            }),
            Body::Unknown(unknown) if !own => out.others_unknowns.push(unknown.text.clone()),
            _ => {}
        }
    }
    let heard = index.last_heard(None, 0, LOOKED_AT)?.into_iter().map(|known| known.session);
    let mut earlier: Vec<_> = heard.filter(|session| session.id != who.id).collect();
    earlier.sort_by(|a, b| a.began.cmp(&b.began));
    let with_task = |session: empirica_notes::model::session::Session| {
        Some(EarlierSession { id: session.id, ai: session.ai, task: session.task? })
    };
    out.sessions = earlier.into_iter().filter_map(with_task).collect();
    Ok(out)
}
