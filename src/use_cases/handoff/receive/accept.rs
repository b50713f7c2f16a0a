//! Acknowledges a handoff: understanding, decision, questions, gaps or resolution of the receiver.

use crate::context::handoffs::of_session;
use crate::context::stored::StoreReport;
use crate::context::{CommandContext, tasks};
use crate::fold::task::handoffs;
use crate::fold::task::questions::{Question, questions};
use crate::fold::task::state::{TaskAction, TaskStatus};
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
}

/// An acknowledgement that was stored.
#[derive(Debug)]
pub struct AcceptOutcome {
    pub envelope: Envelope,
    pub accept: Accept,
    pub session_id: SessionId,
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
    if request.resolution.is_some() && request.decision == Some(Verdict::Escalate) {
        return Err(Error::usage("cannot resolve and escalate at once")
            .provided("--decision ESCALATE")
            .reason("a resolution reopens the task, and ESCALATE blocks it")
            .suggest("Give one of them."));
    }
    let turn = request.resolution.as_ref().map(|_| context.store.read_decide_write_lock());
    let handoff = named(context, &request.handoff)?;
    let session = if turn.is_some() { context.writing_in_turn()? } else { context.writing()? };
    let mut bodies = match (&request.resolution, &handoff.body) {
        (Some(resolution), Body::Handoff(escalated)) => learned(context, &handoff.envelope, escalated, resolution)?,
        _ => Vec::new(),
    };
    let (id, owner) = (handoff.envelope.id, handoff.envelope.session);
    let mut warnings = Vec::new();
    if let Some(newer) = newer(context, &id, owner.as_ref())? {
        warnings.push(format!("handoff {} is superseded by {newer}", id.short()));
    }
    if owner.as_ref() == Some(&session.id) {
        warnings.push("the session accepts its own handoff; metrics count only those accepted by another".to_owned());
    }
    if let (Body::Handoff(handoff), None) = (&handoff.body, &request.resolution)
        && let (Some(task_id), Some(verdict)) = (&handoff.task_id, request.decision)
        && verdict != Verdict::Escalate
        && let Some(state) = tasks::state(context, task_id)?
        && state.status == TaskStatus::Escalated
    {
        warnings.push(format!("the task '{task_id}' is escalated and stays so until it is resolved"));
    }
    let accept = Accept {
        of: id,
        concerns: owner.filter(|owner| *owner != session.id).into_iter().collect(),
        understanding: request.understanding,
        decision: request.decision,
        instructions: request.instructions,
        questions: request.questions,
        gaps: request.gaps,
        resolution: request.resolution,
    };
    bodies.insert(0, Body::Accept(accept));
    let (records, mut stored) = context.store(&session, bodies, FlushTiming::Now)?;
    stored.warnings.extend(warnings);
    let (accepts, learned): (Vec<_>, Vec<_>) =
        records.into_iter().partition(|record| matches!(record.body, Body::Accept(_)));
    match accepts.into_iter().next() {
        Some(Record { envelope, body: Body::Accept(accept) }) => {
            Ok(AcceptOutcome { envelope, accept, session_id: session.id, learned, stored })
        }
        _ => Err(Error::unstored()),
    }
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
        Body::Supersede(supersede) if supersede.of == *id => Some(supersede.by.clone()),
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
