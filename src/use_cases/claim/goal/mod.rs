//! Goals: add, divide, finish, drop, take, list.

pub mod view;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::names;
use crate::context::names::NamedObject;
use crate::context::stored::StoreReport;
use crate::context::{CommandContext, WorkingSession};
use crate::fold::journal::{OwnedGoal, goals};
use crate::index::RecordQuery;
use empirica_notes::error::{Command, Error, Result, empirica};
use empirica_notes::model::goal::{Goal, GoalDone, GoalDrop, GoalStatus, GoalTake, Priority, Subtask};
use empirica_notes::model::{Body, Id, Namespace, Record, SessionId};
use empirica_notes::store::{FlushTiming, Scan};

#[derive(Debug, Clone)]
pub enum GoalRequest {
    Add {
        text: String,
        criteria: Vec<String>,
        priority: Priority,
    },
    Sub {
        goal: String,
        text: String,
    },
    Done {
        id: String,
        evidence: Option<String>,
    },
    Drop {
        id: String,
        why: Option<String>,
    },
    /// A session's open goals, or one goal: a suggested one even when it closed with its session.
    Take {
        from: String,
    },
}

/// A change to goals.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GoalOutcome {
    /// The new record.
    pub id: Id,
    /// Its kind: goal, subtask, goal_done, goal_drop or goal_take.
    pub kind: &'static str,
    /// The session that made it.
    pub session_id: SessionId,
    /// The goals concerned, in their new state.
    pub goals: Vec<OwnedGoal>,
    /// Warnings and remedies of storing.
    #[serde(skip)]
    pub stored: StoreReport,
}

/// The most closed suggestions that an error names.
const MOST_LAPSED: usize = 5;

fn is_goal(record: &Record) -> bool {
    matches!(record.body, Body::Goal(_))
}

fn is_goal_or_subtask(record: &Record) -> bool {
    matches!(record.body, Body::Goal(_) | Body::Subtask(_))
}

/// Records a change to goals in the session of the command.
pub fn run(context: &CommandContext<'_>, request: GoalRequest) -> Result<GoalOutcome> {
    let session;
    let mut concerned: Vec<Id> = Vec::new();
    let mut warnings = Vec::new();
    let body = match request {
        GoalRequest::Add { text, criteria, priority } => {
            for criterion in &criteria {
                context.text("criterion", criterion)?;
            }
            let text = context.text("goal", &text)?.to_owned();
            session = context.writing()?;
            Body::Goal(Goal { text, criteria, priority, rationale: None, vector: None })
        }
        GoalRequest::Sub { goal, text } => {
            context.text("subtask", &text)?;
            let found = find(context, &goal, is_goal)?;
            concerned.push(found.goal.clone());
            session = context.writing()?;
            Body::Subtask(Subtask { concerns: found.others(&session), of: found.id, text })
        }
        GoalRequest::Done { id, evidence } => {
            context.optional("evidence", evidence.as_deref())?;
            let found = find(context, &id, is_goal_or_subtask)?.open(&id)?;
            concerned.push(found.goal.clone());
            session = context.writing()?;
            Body::GoalDone(GoalDone { concerns: found.others(&session), of: found.id, evidence })
        }
        GoalRequest::Drop { id, why } => {
            context.optional("reason", why.as_deref())?;
            let found = find(context, &id, is_goal_or_subtask)?.open(&id)?;
            concerned.push(found.goal.clone());
            session = context.writing()?;
            Body::GoalDrop(GoalDrop { concerns: found.others(&session), of: found.id, why })
        }
        GoalRequest::Take { from: name } => {
            // the newest id takes them: fetched records come first
            warnings = context.store.reconcile();
            let (from, single) = source(context, &name)?;
            session = context.writing()?;
            if from == session.id && single.is_none() {
                return Err(Error::refused(format!(
                    "cannot take goals of session {}: it is this session",
                    from.short()
                ))
                .provided(name)
                .suggest("Name the session that left them open.")
                .command(empirica("session list"))
                .command(empirica("goal list").flag("--open")));
            }
            let scan = context.index()?.session(&from)?;
            let open = |owned: &OwnedGoal| match &single {
                Some(id) => owned.goal.id == *id && (owned.lapsed || owned.goal.status == GoalStatus::Open),
                None => owned.goal.status == GoalStatus::Open && owned.session.as_ref() == Some(&from),
            };
            concerned = goals(scan.records()).into_iter().filter(open).map(|owned| owned.goal.id).collect();
            if concerned.is_empty() {
                let known: Vec<&Id> =
                    scan.records().filter(|record| is_goal(record)).map(|record| &record.envelope.id).collect();
                let mut all = context.index()?.goals(known)?;
                all.merge(scan);
                return Err(nothing_to_take(&all, &from, &session.id));
            }
            // this session now shows the goals and all records about them
            let of_them = |record: &Record| {
                concerned.contains(&record.envelope.id)
                    || record.referenced_ids().iter().any(|id| concerned.contains(id))
            };
            context
                .store
                .writer()
                .add_to_session(&session.id, scan.entries().filter(|entry| of_them(&entry.record)))?;
            let setters = concerned.iter().filter_map(|id| scan.get(id)?.record.envelope.session.clone());
            let mut concerns: Vec<SessionId> = setters.chain([from.clone()]).filter(|id| *id != session.id).collect();
            concerns.sort();
            concerns.dedup();
            Body::GoalTake(GoalTake { from, of: concerned.clone(), concerns })
        }
    };
    let kind = body.kind();
    let (records, mut stored) = context.store(&session, vec![body], FlushTiming::Later)?;
    stored.warnings.append(&mut warnings);
    let record = records.into_iter().next().ok_or_else(Error::unstored)?;
    if is_goal(&record) {
        concerned.push(record.envelope.id.clone());
    }
    let all = goals(context.index()?.goals(&concerned)?.records());
    Ok(GoalOutcome {
        id: record.envelope.id,
        kind,
        session_id: session.id,
        goals: all.into_iter().filter(|owned| concerned.contains(&owned.goal.id)).collect(),
        stored,
    })
}

/// The session to take goals from, and the goal if a single one is named.
fn source(context: &CommandContext<'_>, name: &str) -> Result<(SessionId, Option<Id>)> {
    if let NamedObject::Session(session) =
        names::session_or_record(context, name, "session or goal", &[Namespace::Journal], is_goal)?
    {
        return Ok((session.id, None));
    }
    let found = find(context, name, is_goal)?.open(name)?;
    let scan = context.index()?.goals([&found.goal])?;
    let session = owned_goal(&scan, &found.goal).and_then(|owned| owned.session);
    let none = || names::no_record(name, "session", "the goal is of none");
    Ok((session.ok_or_else(none)?, Some(found.goal)))
}

/// The error for a session without an open goal: others took its goals, or it has none.
fn nothing_to_take(scan: &Scan, from: &SessionId, session: &SessionId) -> Error {
    let error = Error::not_found(format!("cannot take goals of session {}: none is open", from.short()));
    let had = |record: &Record, id: &Id| match &record.body {
        Body::Goal(_) => record.envelope.id == *id,
        Body::GoalTake(take) => take.of.contains(id),
        _ => false,
    };
    let own: Vec<&Record> = scan.records().filter(|record| record.envelope.session.as_ref() == Some(from)).collect();
    let all = goals(scan.records());
    let lapsed = all.iter().filter(|owned| owned.lapsed && owned.session.as_ref() == Some(from));
    let lapsed: Vec<Command> = lapsed.map(|owned| empirica("goal take").arg(owned.goal.id.short())).collect();
    let open = all.into_iter().filter(|owned| owned.goal.status == GoalStatus::Open);
    let gone = open.filter(|owned| own.iter().any(|record| had(record, &owned.goal.id)));
    let mut holders: Vec<SessionId> = gone.filter_map(|owned| owned.session).collect();
    holders.sort();
    holders.dedup();
    let list = empirica("goal list").flag("--open");
    if holders.iter().all(|holder| holder == session) && !lapsed.is_empty() {
        let error =
            error.reason("those that were suggested to it closed with it").suggest("Take one that you work on.");
        return error.commands_of(lapsed.into_iter().take(MOST_LAPSED));
    }
    if holders.is_empty() {
        return error.reason("it had none, or all are closed").suggest("List what is open.").command(list);
    }
    let names: Vec<&str> = holders.iter().map(SessionId::short).collect();
    let others = holders.iter().filter(|holder| *holder != session);
    let commands: Vec<Command> = others.map(|holder| empirica("goal take").arg(holder.short())).collect();
    let suggestion = match commands.is_empty() {
        true => "They are this session's own already.",
        false => "Take them from the session that has them.",
    };
    let error = error.reason(format!("those it had are with {} now", names.join(", "))).suggest(suggestion);
    error.commands_of(commands).command(list)
}

/// A goal or subtask by its name.
struct NamedGoal {
    id: Id,
    /// The goal it is, or belongs to.
    goal: Id,
    /// The sessions that show the goal: the one that set it and the one that has it.
    sessions: Vec<SessionId>,
    closed: Option<(String, String)>,
}

impl NamedGoal {
    fn others(&self, session: &WorkingSession) -> Vec<SessionId> {
        self.sessions.iter().filter(|id| **id != session.id).cloned().collect()
    }

    /// Refuses a closed one.
    fn open(self, name: &str) -> Result<Self> {
        let Some((at, ai)) = &self.closed else { return Ok(self) };
        Err(Error::refused(format!("cannot change goal '{name}': {ai} closed it at {at}"))
            .suggest("List what is open.")
            .command(empirica("goal list").flag("--open")))
    }
}

fn owned_goal(scan: &Scan, id: &Id) -> Option<OwnedGoal> {
    goals(scan.records()).into_iter().find(|owned| owned.goal.id == *id)
}

fn find(context: &CommandContext<'_>, name: &str, fits: fn(&Record) -> bool) -> Result<NamedGoal> {
    let record = context.record(name, "goal", &[Namespace::Journal], fits)?;
    let scan = context.index()?.goals([&record.envelope.id])?;
    let goal = match &record.body {
        Body::Subtask(subtask) => subtask.of.clone(),
        _ => record.envelope.id.clone(),
    };
    let owned = owned_goal(&scan, &goal);
    let setter = scan.get(&goal).and_then(|entry| entry.record.envelope.session.clone());
    let mut sessions: Vec<SessionId> = setter.into_iter().chain(owned.and_then(|owned| owned.session)).collect();
    sessions.sort();
    sessions.dedup();
    let closes = |r: &&Record| {
        matches!(r.body, Body::GoalDone(_) | Body::GoalDrop(_)) && r.referenced_ids().contains(&&record.envelope.id)
    };
    let closed = scan.records().find(closes).map(|r| (r.envelope.at.clone(), r.envelope.ai.clone()));
    Ok(NamedGoal { id: record.envelope.id, goal, sessions, closed })
}

/// Goals, oldest first, of `--session` and of `--ai`'s sessions, if given.
pub fn list(context: &CommandContext<'_>, open_only: bool) -> Result<(Vec<OwnedGoal>, Vec<String>)> {
    let warnings = context.store.reconcile();
    let session = match &context.selection.session {
        Some(name) => Some(names::session(context, name)?.id),
        None => None,
    };
    let index = context.index()?;
    let scan = match open_only {
        true => index.goals(&index.open("goal", usize::MAX)?)?,
        false => index.kinds(
            &["goal", "subtask", "goal_done", "goal_drop", "goal_take", "session_end"],
            RecordQuery::default(),
        )?,
    };
    let mut agents: BTreeMap<SessionId, Option<String>> = BTreeMap::new();
    let mut all = goals(scan.records());
    for id in all.iter().filter_map(|owned| owned.session.as_ref()) {
        if !agents.contains_key(id) {
            agents.insert(id.clone(), index.session_row(id)?.map(|row| row.session.ai));
        }
    }
    let setter = |id: &Id| scan.get(id).map(|entry| entry.record.envelope.ai.clone());
    let agent = |owned: &OwnedGoal| {
        let holder = owned.session.as_ref().and_then(|id| agents.get(id).cloned().flatten());
        holder.or_else(|| setter(&owned.goal.id))
    };
    let of_ai = |owned: &OwnedGoal| context.selection.ai.is_none() || agent(owned) == context.selection.ai;
    all.retain(|owned| {
        (!open_only || owned.goal.status == GoalStatus::Open)
            && session.as_ref().is_none_or(|id| owned.session.as_ref() == Some(id))
            && of_ai(owned)
    });
    Ok((all, warnings))
}

pub fn show(context: &CommandContext<'_>, name: &str) -> Result<(OwnedGoal, Vec<String>)> {
    let warnings = context.store.reconcile();
    let goal = find(context, name, is_goal_or_subtask)?.goal;
    let scan = context.index()?.goals([&goal])?;
    let none = || names::no_record(name, "goal", "its goal is not stored here");
    Ok((owned_goal(&scan, &goal).ok_or_else(none)?, warnings))
}
