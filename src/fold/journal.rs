//! Sessions, unknowns and goals, folded from immutable records.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use empirica_notes::model::goal::{GoalState, GoalStatus, SubtaskState};
use empirica_notes::model::session::Session;
use empirica_notes::model::{Body, Id, Record, SessionId};

/// Sessions by ID, folded from records in order. A session without a stored start begins with its first record.
pub fn sessions<'a>(records: impl IntoIterator<Item = &'a Record>) -> BTreeMap<SessionId, Session> {
    let mut out: BTreeMap<SessionId, Session> = BTreeMap::new();
    for record in records {
        let Some(id) = &record.envelope.session else { continue };
        let session = out.entry(id.clone()).or_insert_with(|| Session {
            id: id.clone(),
            began: record.envelope.id.clone(),
            ai: record.envelope.ai.clone(),
            started_at: record.envelope.at.clone(),
            ended_at: None,
            task: None,
            kind: None,
            external_id: None,
            commit: record.envelope.commit.clone(),
            worktree: None,
            place: None,
            from: None,
            from_handoff: None,
        });
        match &record.body {
            Body::SessionStart(start) => {
                session.ai = record.envelope.ai.clone();
                session.began = record.envelope.id.clone();
                session.started_at = record.envelope.at.clone();
                session.commit = record.envelope.commit.clone();
                session.task = start.task.clone().or_else(|| session.task.take());
                session.kind = start.kind.clone();
                session.external_id = start.external_id.clone();
                session.worktree = Some(start.worktree.clone());
                session.place = Some(start.place.clone());
                session.from = start.from.clone().or_else(|| session.from.take());
                session.from_handoff = start.from_handoff.clone();
            }
            // the agent's session ID, its task and its parent are known from its transcript at the latest
            Body::Transcript(collected) => {
                session.external_id = session.external_id.take().or_else(|| Some(collected.transcript.clone()));
                session.task = session.task.take().or_else(|| collected.task.clone());
                session.from = session.from.take().or_else(|| collected.forked_from.clone());
            }
            Body::SessionEnd(_) => session.ended_at = Some(record.envelope.at.clone()),
            Body::Assessment(assessment) => {
                session.task = assessment.task.clone().or_else(|| session.task.take());
            }
            Body::Handoff(handoff) if !handoff.task.is_empty() => session.task = Some(handoff.task.clone()),
            _ => {}
        }
    }
    out
}

/// Records by session they concern, their own and others', in the given order, without duplicates.
pub fn by_session<'a>(records: impl IntoIterator<Item = &'a Record>) -> BTreeMap<&'a SessionId, Vec<&'a Record>> {
    let mut out: BTreeMap<&SessionId, Vec<&Record>> = BTreeMap::new();
    for record in records {
        for session in record.concerns() {
            let of_session = out.entry(session).or_default();
            if of_session.last().is_none_or(|last| !std::ptr::eq(*last, record)) {
                of_session.push(record);
            }
        }
    }
    out
}

/// The newest answer to each unknown.
pub fn answers<'a>(records: impl IntoIterator<Item = &'a Record>) -> BTreeMap<Id, String> {
    let mut out = BTreeMap::new();
    for record in records {
        if let Body::Resolve(resolve) = &record.body {
            out.insert(resolve.of.clone(), resolve.text.clone());
        }
    }
    out
}

/// A goal.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "GoalView")]
pub struct OwnedGoal {
    #[serde(flatten)]
    pub goal: GoalState,
    /// The session that has it now.
    #[serde(rename = "session_id")]
    pub session: Option<SessionId>,
    /// Its steps, such as `1/2 subtasks`; null without steps.
    pub progress: Option<String>,
    /// Whether it was suggested, not taken over, and closed at the end of its session.
    #[serde(skip)]
    pub lapsed: bool,
}

/// Reason for dropping a suggested goal when its session ends.
const LAPSED: &str = "suggested, and closed with its session";

/// All goals, oldest first, folded from records in order, including ends of sessions. A suggested goal closes with
/// its session, unless taken over.
pub fn goals<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<OwnedGoal> {
    let mut goals: BTreeMap<Id, OwnedGoal> = BTreeMap::new();
    // goal of each step, and its index there
    let mut parents: BTreeMap<Id, (Id, usize)> = BTreeMap::new();
    let mut suggested: BTreeMap<&Option<SessionId>, Vec<&Id>> = BTreeMap::new();
    for record in records {
        match &record.body {
            Body::Goal(goal) => {
                let state = GoalState {
                    id: record.envelope.id.clone(),
                    text: goal.text.clone(),
                    status: GoalStatus::Open,
                    priority: goal.priority,
                    criteria: goal.criteria.clone(),
                    subtasks: Vec::new(),
                    evidence: None,
                    rationale: goal.rationale.clone(),
                    vector: goal.vector.clone(),
                };
                let owned =
                    OwnedGoal { goal: state, session: record.envelope.session.clone(), progress: None, lapsed: false };
                goals.insert(record.envelope.id.clone(), owned);
                if goal.vector.is_some() {
                    suggested.entry(&record.envelope.session).or_default().push(&record.envelope.id);
                }
            }
            Body::Subtask(subtask) => {
                if let Some(owned) = goals.get_mut(&subtask.of) {
                    let at = owned.goal.subtasks.len();
                    parents.insert(record.envelope.id.clone(), (subtask.of.clone(), at));
                    owned.goal.subtasks.push(SubtaskState {
                        id: record.envelope.id.clone(),
                        text: subtask.text.clone(),
                        status: GoalStatus::Open,
                        evidence: None,
                    });
                }
            }
            Body::GoalDone(done) => set(&mut goals, &parents, &done.of, GoalStatus::Done, &done.evidence),
            Body::GoalDrop(drop) => set(&mut goals, &parents, &drop.of, GoalStatus::Dropped, &drop.why),
            Body::GoalTake(take) => {
                for id in &take.of {
                    if let Some(owned) = goals.get_mut(id) {
                        owned.session = record.envelope.session.clone();
                        owned.goal.vector = None;
                        if std::mem::take(&mut owned.lapsed) {
                            (owned.goal.status, owned.goal.evidence) = (GoalStatus::Open, None);
                        }
                    }
                }
            }
            Body::SessionEnd(_) => {
                for id in suggested.remove(&record.envelope.session).unwrap_or_default() {
                    if let Some(OwnedGoal { goal, lapsed, .. }) = goals.get_mut(id)
                        && goal.vector.is_some()
                        && goal.status == GoalStatus::Open
                    {
                        *lapsed = true;
                        (goal.status, goal.evidence) = (GoalStatus::Dropped, Some(LAPSED.to_owned()));
                    }
                }
            }
            _ => {}
        }
    }
    goals.into_values().map(|owned| OwnedGoal { progress: owned.goal.progress(), ..owned }).collect()
}

fn set(
    goals: &mut BTreeMap<Id, OwnedGoal>,
    parents: &BTreeMap<Id, (Id, usize)>,
    of: &Id,
    status: GoalStatus,
    evidence: &Option<String>,
) {
    if let Some(owned) = goals.get_mut(of) {
        owned.lapsed = false;
        owned.goal.status = status;
        owned.goal.evidence = evidence.clone();
    } else if let Some((goal, at)) = parents.get(of)
        && let Some(subtask) = goals.get_mut(goal).and_then(|owned| owned.goal.subtasks.get_mut(*at))
    {
        subtask.status = status;
        subtask.evidence = evidence.clone();
    }
}
