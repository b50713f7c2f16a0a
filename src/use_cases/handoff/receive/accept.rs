//! Acknowledges a handoff: understanding, decision, questions, gaps or resolution of the receiver. Of a handoff with a receiver, only
//! one session at a time does the work.

use crate::context::handoffs::of_session;
use crate::context::stored::StoreReport;
use crate::context::{CommandContext, WorkingSession, tasks};
use crate::fold::task::claims::Receipts;
use crate::fold::task::handoffs;
use crate::fold::task::questions::{Question, questions};
use crate::fold::task::state::{TaskAction, TaskStatus};
use crate::use_cases::sync::policy::destinations;
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::model::journal::{Decision, Finding};
use empirica_notes::model::{Accept, Body, Envelope, Handoff, Id, Namespace, Record, SessionId, Verdict};
use empirica_notes::store::FlushTiming;

#[derive(Debug, Clone, Default)]
pub struct AcceptRequest {
    /// The handoff: its id, or a unique part of it.
    pub handoff: String,
    pub understanding: Option<String>,
    pub decision: Option<Verdict>,
    pub instructions: Option<String>,
    pub questions: Vec<String>,
    pub gaps: Vec<String>,
    pub resolution: Option<String>,
    /// Whether to take it over from the session that took it up.
    pub take_over: bool,
}

/// An acknowledgement that was stored.
#[derive(Debug)]
pub struct AcceptOutcome {
    pub envelope: Envelope,
    pub accept: Accept,
    pub session_id: SessionId,
    /// The handoff.
    pub of: Record,
    /// Whether it is now this session's work.
    pub claims: bool,
    /// Whether other clones may claim it, too, until this one syncs.
    pub is_shared: bool,
    /// Claims stored with a resolution: a decision and a pattern.
    pub learned: Vec<Record>,
    pub stored: StoreReport,
}

/// Stores the acknowledgement in the working session. Acknowledging a superseded handoff, or one of the same session, gives a
/// warning. A resolution reopens an escalated task, and is stored as a decision and a pattern, too.
pub fn run(context: &CommandContext<'_>, request: AcceptRequest) -> Result<AcceptOutcome> {
    for (name, text) in [
        ("understanding", &request.understanding),
        ("instructions", &request.instructions),
        ("resolution", &request.resolution),
    ] {
        context.optional(name, text.as_deref())?;
    }
    for (name, list) in [("question", &request.questions), ("gap", &request.gaps)] {
        list.iter().try_for_each(|text| context.text(name, text).map(drop))?;
    }
    if request.resolution.is_some() && request.take_over {
        return Err(Error::usage("cannot resolve and take over at once")
            .provided("--take-over")
            .reason("a resolution is a person's, and claims nothing")
            .suggest("Give one of them."));
    }
    if request.resolution.is_some() && request.decision == Some(Verdict::Escalate) {
        return Err(Error::usage("cannot resolve and escalate at once")
            .provided("--decision ESCALATE")
            .reason("a resolution reopens the task, and ESCALATE blocks it")
            .suggest("Give one of them."));
    }
    // of two that accept it at once, the second finds the first
    let turn = context.store.read_decide_write_lock();
    let handoff = named(context, &request.handoff)?;
    let own = context.own_session()?;
    let ai = context.author(own.as_ref().map(|session| session.ai.as_str()));
    let claiming = match request.resolution {
        Some(_) => Claiming::No,
        None => claiming(context, &handoff, (&ai, own.as_ref().map(|own| &own.id)), request.take_over)?,
    };
    let session = if turn.is_some() { context.writing_in_turn()? } else { context.writing()? };
    let mut bodies = match (&request.resolution, &handoff.body) {
        (Some(resolution), Body::Handoff(escalated)) => learned(context, &handoff.envelope, escalated, resolution)?,
        _ => Vec::new(),
    };
    let (id, owner) = (handoff.envelope.id.clone(), handoff.envelope.session.clone());
    let mut warnings = Vec::new();
    if let Body::Handoff(of) = &handoff.body
        && let Some(to) = of.to.as_ref().filter(|to| **to != session.ai)
        && claiming == Claiming::No
        && request.resolution.is_none()
        && owner.as_ref() != Some(&session.id)
    {
        let (id, ai) = (id.short(), &session.ai);
        warnings.push(format!(
            "handoff {id} is addressed to {to}, not {ai}: it stays in the inbox of {to}; --take-over claims it"
        ));
    }
    if let Some(newer) = newer(context, &id, owner.as_ref())? {
        warnings.push(format!("handoff {} is superseded by {newer}", id.short()));
    }
    if owner.as_ref() == Some(&session.id) {
        warnings.push("the session accepts its own handoff; metrics count only those accepted by another".to_owned());
    }
    if let (Body::Handoff(of), None) = (&handoff.body, &request.resolution)
        && let (Some(task_id), Some(verdict)) = (&of.task_id, request.decision)
        && verdict != Verdict::Escalate
        && let Some(state) = tasks::state(context, task_id)?
        && state.status == TaskStatus::Escalated
    {
        warnings.push(format!("the task '{task_id}' is escalated and stays so until it is resolved"));
    }
    let accept = Accept {
        takes_over: match &claiming {
            Claiming::Yes(takes_over) => takes_over.clone(),
            Claiming::No => None,
        },
        concerns: owner.filter(|owner| *owner != session.id).into_iter().collect(),
        understanding: request.understanding,
        decision: request.decision,
        instructions: request.instructions,
        questions: request.questions,
        gaps: request.gaps,
        resolution: request.resolution,
        ..Accept::new(id)
    };
    bodies.insert(0, Body::Accept(accept));
    let claims = claiming != Claiming::No;
    let is_shared = claims && !destinations(context.repo).is_empty();
    let (records, mut stored) = context.store(&session, bodies, FlushTiming::Now)?;
    stored.warnings.extend(warnings);
    let (accepts, learned): (Vec<_>, Vec<_>) =
        records.into_iter().partition(|record| matches!(record.body, Body::Accept(_)));
    match accepts.into_iter().next() {
        Some(Record { envelope, body: Body::Accept(accept) }) => Ok(AcceptOutcome {
            envelope,
            accept,
            session_id: session.id,
            of: handoff,
            claims,
            is_shared,
            learned,
            stored,
        }),
        _ => Err(Error::unstored()),
    }
}

/// Whether an acknowledgement claims its handoff.
#[derive(Debug, Clone, PartialEq)]
pub enum Claiming {
    /// It claims it; `Some` if it takes it over from that acknowledgement, or from nobody.
    Yes(Option<Id>),
    /// It comments on it: the handoff is for anyone, for another agent, or the session's own.
    No,
}

/// Whether this agent and session claim a handoff: if another session owns it only on request, or if this one continues that.
fn claiming(
    context: &CommandContext<'_>,
    of: &Record,
    (ai, own): (&str, Option<&SessionId>),
    take_over: bool,
) -> Result<Claiming> {
    let Body::Handoff(handoff) = &of.body else { return Ok(Claiming::No) };
    let (id, short) = (&of.envelope.id, of.envelope.id.short());
    let scan = tasks::receipts(context, id, handoff)?;
    let claims = scan.records().collect::<Receipts<'_>>().of(id);
    let is_own = own.is_some() && own == of.envelope.session.as_ref();
    let Some(to) = claims.to.filter(|_| !is_own) else {
        if take_over {
            return Err(Error::usage(format!("cannot take over handoff {short}: it is for no other agent"))
                .provided("--take-over")
                .reason("only a handoff with a receiver has an owner")
                .suggest("Accept it without --take-over.")
                .command(empirica("accept").arg(short)));
        }
        return Ok(Claiming::No);
    };
    match claims.owner {
        Some(owner) if own == owner.session() => Ok(Claiming::Yes(None)),
        Some(owner) if take_over || continues(context, own, owner.session())? => {
            Ok(Claiming::Yes(Some(owner.envelope.id.clone())))
        }
        None if *to == *ai => Ok(Claiming::Yes(None)),
        None if take_over => Ok(Claiming::Yes(Some(id.clone()))),
        None => Ok(Claiming::No),
        Some(_) if *to != *ai => Ok(Claiming::No),
        Some(owner) => Err(Error::refused(format!("cannot accept handoff {short}: another session owns it"))
            .reason(tasks::inbox::owned(id, owner.envelope))
            .suggest("Accept another one from the inbox; or take this one over if that session is gone.")
            .command(empirica("inbox"))
            .command(empirica("accept").arg(short).flag("--take-over"))),
    }
}

/// Claims a handoff for a session that began with it; a warning if another session owns it.
pub fn claim(context: &CommandContext<'_>, session: &WorkingSession, id: &Id) -> Result<StoreReport> {
    let _turn = context.store.read_decide_write_lock();
    let found = context.index()?.ids([id])?;
    let Some(of) = found.get(id).map(|entry| &entry.record) else { return Ok(StoreReport::default()) };
    match claiming(context, of, (&session.ai, Some(&session.id)), false) {
        Ok(Claiming::Yes(takes_over)) => {
            let concerns = of.envelope.session.clone().into_iter().collect();
            let accept = Accept { takes_over, concerns, ..Accept::new(id.clone()) };
            Ok(context.store(session, vec![Body::Accept(accept)], FlushTiming::Later)?.1)
        }
        Ok(Claiming::No) => Ok(StoreReport::default()),
        Err(error) => Ok(StoreReport { warnings: vec![error.with_reason()], ..StoreReport::default() }),
    }
}

/// Most sessions of a line in which each continues the one before.
const MAX_ANCESTORS: usize = 16;

/// Whether a session continues another, perhaps through others.
fn continues(context: &CommandContext<'_>, own: Option<&SessionId>, other: Option<&SessionId>) -> Result<bool> {
    let index = context.index()?;
    let mut at = own.cloned();
    for _ in 0..MAX_ANCESTORS {
        let Some(session) = at else { return Ok(false) };
        at = index.session_row(&session)?.and_then(|row| row.session.from);
        if at.is_some() && at.as_ref() == other {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The claims that record a resolution: a decision, and a pattern for similar cases.
/// Refused unless the handoff escalates its task.
fn learned(
    context: &CommandContext<'_>,
    envelope: &Envelope,
    handoff: &Handoff,
    resolution: &str,
) -> Result<Vec<Body>> {
    let short = envelope.id.short();
    let task_id = handoff.task_id.as_deref().ok_or_else(|| {
        Error::refused(format!("cannot resolve handoff {short}: it belongs to no task"))
            .reason("a resolution is for a task that is escalated")
            .suggest("Name a handoff of that task, or give no resolution.")
            .command(empirica("task list").flag("--open"))
    })?;
    let state = tasks::state(context, task_id)?.filter(|state| state.status == TaskStatus::Escalated);
    let Some(state) = state else {
        return Err(Error::refused(format!("cannot resolve handoff {short}: the task '{task_id}' is not escalated"))
            .reason("a resolution is for a task that waits for a person")
            .suggest("Give instructions or a decision instead.")
            .command(tasks::show_command(task_id)));
    };
    if !state.is_resolved_by(&envelope.id) {
        return Err(Error::refused(format!("cannot resolve handoff {short}: it escalates nothing"))
            .reason("a resolution is for the escalation it names: there may be others")
            .suggest("Name the escalation.")
            .commands_of(tasks::resolve_command(&state))
            .command(tasks::show_command(task_id)));
    }
    let title = state.escalation().and_then(|step| match &step.action {
        TaskAction::Handoff(handoff, _) => handoffs::title(handoff),
        _ => None,
    });
    let title = title.unwrap_or(state.title);
    let about = if title.is_empty() { String::new() } else { format!(": {title}") };
    let decision = Decision {
        text: resolution.to_owned(),
        why: format!("resolves the escalation of task {task_id}{about}"),
        led_from: Some(envelope.id.clone()),
        ..Decision::default()
    };
    let pattern = Finding {
        text: if title.is_empty() { resolution.to_owned() } else { format!("{title}: {resolution}") },
        memory: Some("pattern".to_owned()),
        led_from: Some(envelope.id.clone()),
        ..Finding::default()
    };
    Ok(vec![Body::Decision(decision), Body::Finding(pattern)])
}

/// The handoff of that name: its id, or a unique part of it.
pub fn named(context: &CommandContext<'_>, name: &str) -> Result<Record> {
    context.record(name, "handoff", &[Namespace::Handoffs], |record| matches!(record.body, Body::Handoff(_)))
}

/// The short ID of the handoff that superseded another; `None` if it is current.
pub fn newer(context: &CommandContext<'_>, id: &Id, session: Option<&SessionId>) -> Result<Option<String>> {
    let index = context.index()?;
    if index.superseded([id])?.is_empty() {
        return Ok(None);
    }
    let mut by = index.naming([id], &["supersede"])?.records().rev().find_map(|record| match &record.body {
        Body::Supersede(supersede) if supersede.of == *id && record.envelope.session.as_ref() == session => {
            Some(supersede.by.clone())
        }
        _ => None,
    });
    if let (None, Some(session)) = (&by, session) {
        by = of_session(context, session)?.map(|listed| listed.envelope.id);
    }
    Ok(by.map(|id| id.short().to_owned()))
}

/// The acknowledgements of a handoff, oldest first, and their questions.
pub fn received_handoff(context: &CommandContext<'_>, handoff: &Id) -> Result<ReceivedHandoff> {
    let scan = tasks::about(&context.index()?, std::slice::from_ref(handoff))?;
    let accepts = scan.records().filter_map(|record| match &record.body {
        Body::Accept(accept) if accept.of == *handoff => Some((record.envelope.clone(), accept.clone())),
        _ => None,
    });
    Ok(ReceivedHandoff { accepts: accepts.collect(), questions: questions(scan.records().collect::<Vec<_>>()) })
}

#[derive(Debug, Clone, Default)]
pub struct ReceivedHandoff {
    pub accepts: Vec<(Envelope, Accept)>,
    pub questions: Vec<Question>,
}
