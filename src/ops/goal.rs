//! Goals: set, divided, finished, dropped, taken over, listed.

use super::Stored;
use super::alias;
use super::context::Context;
use crate::epistemics::journal::{Owned, goals};
use crate::error::{Error, Result};
use crate::model::goal::{Goal, GoalDone, GoalDrop, GoalStatus, GoalTake, Priority, Subtask};
use crate::model::{Body, Id, Record, SessionId, Shelf};
use crate::store::When;

/// What is to happen.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub enum Request {
    Add { text: String, criteria: Vec<String>, priority: Priority },
    Sub { goal: String, text: String },
    Done { id: String, evidence: Option<String> },
    Drop { id: String, why: Option<String> },
    Take { session: String },
}

/// What happened.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Outcome {
    pub id: Id,
    pub kind: &'static str,
    pub session_id: SessionId,
    /// The goals concerned, as they stand now.
    pub goals: Vec<Owned>,
    pub stored: Stored,
}

fn is_goal(record: &Record) -> bool {
    matches!(record.body, Body::Goal(_))
}

fn is_goal_or_subtask(record: &Record) -> bool {
    matches!(record.body, Body::Goal(_) | Body::Subtask(_))
}

/// Records what is to happen to goals in the session the command works in.
pub fn run(context: &Context<'_>, request: Request) -> Result<Outcome> {
    let who = context.working()?;
    let mut about: Vec<Record> = Vec::new();
    let body = match request {
        Request::Add { text, criteria, priority } => {
            for criterion in &criteria {
                context.text("criterion", criterion)?;
            }
            Body::Goal(Goal { text: context.text("goal", &text)?.to_owned(), criteria, priority, rationale: None })
        }
        Request::Sub { goal, text } => {
            context.text("subtask", &text)?;
            let goal = context.record(&goal, "goal", is_goal)?;
            let body = Body::Subtask(Subtask { of: goal.head.id.clone(), text });
            about.push(goal);
            body
        }
        Request::Done { id, evidence } => {
            context.optional("evidence", evidence.as_deref())?;
            let record = open_one(context, &id)?;
            let of = record.head.id.clone();
            about.push(record);
            Body::GoalDone(GoalDone { of, evidence })
        }
        Request::Drop { id, why } => {
            context.optional("reason", why.as_deref())?;
            let record = open_one(context, &id)?;
            let of = record.head.id.clone();
            about.push(record);
            Body::GoalDrop(GoalDrop { of, why })
        }
        Request::Take { session } => {
            let from = alias::session(context, &session)?.id;
            let scan = context.store.scan(Shelf::Journal)?;
            let open = |owned: &Owned| owned.goal.status == GoalStatus::Open && owned.session.as_ref() == Some(&from);
            let taken: Vec<Id> = goals(scan.records()).into_iter().filter(open).map(|owned| owned.goal.id).collect();
            if taken.is_empty() {
                return Err(Error::not_found(format!("the session {} has no open goal", from.short()))
                    .suggest("List what is open.")
                    .command("git empirica goal list --open"));
            }
            // the goals, and everything that was said of them
            let of_them = |record: &&Record| {
                taken.contains(&record.head.id) || record.names().iter().any(|id| taken.contains(id))
            };
            about.extend(scan.records().filter(of_them).cloned());
            Body::GoalTake(GoalTake { from, of: taken })
        }
    };
    let kind = body.kind();
    let (records, stored) = context.store(&who, vec![body], When::Later)?;
    let record = records.into_iter().next().ok_or_else(|| Error::storage("nothing was stored"))?;
    let mut concerned: Vec<Id> = about.iter().map(|about| about.head.id.clone()).collect();
    for about in &about {
        if let Some(owner) = about.head.session.as_ref().filter(|owner| **owner != who.id) {
            context.store.touch(owner, &record);
            // and the other way round: the goal is now seen from this session
            context.store.touch(&who.id, about);
        }
        concerned.extend(about.names().into_iter().cloned());
    }
    if is_goal(&record) {
        concerned.push(record.head.id.clone());
    }
    let all = goals(context.store.session(&who.id)?.records());
    Ok(Outcome {
        id: record.head.id,
        kind,
        session_id: who.id,
        goals: all.into_iter().filter(|owned| concerned.contains(&owned.goal.id)).collect(),
        stored,
    })
}

fn open_one(context: &Context<'_>, given: &str) -> Result<Record> {
    let record = context.record(given, "goal", is_goal_or_subtask)?;
    let scan = context.store.scan(Shelf::Journal)?;
    let closed = scan
        .records()
        .find(|r| matches!(r.body, Body::GoalDone(_) | Body::GoalDrop(_)) && r.names().contains(&&record.head.id));
    match closed {
        Some(closing) => Err(Error::refused(format!("'{given}' is closed already"))
            .reason(format!("it was closed at {} by {}", closing.head.at, closing.head.ai))
            .suggest("List what is open.")
            .command("git empirica goal list --open")),
        None => Ok(record),
    }
}

/// Goals, oldest first: those of `--session` or `--ai`'s sessions when given, open ones only when asked for.
pub fn list(context: &Context<'_>, open_only: bool) -> Result<(Vec<Owned>, Vec<String>)> {
    let warnings = context.store.settle();
    let session = match &context.asked.session {
        Some(given) => Some(alias::session(context, given)?.id),
        None => None,
    };
    let scan = context.store.scan(Shelf::Journal)?;
    let of_ai = |owned: &Owned| {
        context.asked.ai.as_ref().is_none_or(|ai| scan.get(&owned.goal.id).is_some_and(|e| e.record.head.ai == *ai))
    };
    let mut all = goals(scan.records());
    all.retain(|owned| {
        (!open_only || owned.goal.status == GoalStatus::Open)
            && session.as_ref().is_none_or(|id| owned.session.as_ref() == Some(id))
            && of_ai(owned)
    });
    Ok((all, warnings))
}

/// One goal.
pub fn show(context: &Context<'_>, given: &str) -> Result<(Owned, Vec<String>)> {
    let warnings = context.store.settle();
    let record = context.record(given, "goal", is_goal)?;
    let scan = context.store.scan(Shelf::Journal)?;
    let found = goals(scan.records()).into_iter().find(|owned| owned.goal.id == record.head.id);
    found
        .map(|owned| (owned, warnings))
        .ok_or_else(|| Error::not_found(format!("there is no goal '{given}'")).command("git empirica goal list"))
}
