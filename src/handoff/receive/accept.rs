//! Taking up a handoff: the receiver says what it understood, decided and misses.

use crate::context::handoffs::of_session;
use crate::context::stored::StoreReport;
use crate::context::{CommandContext, tasks};
use crate::fold::task::questions::{Question, questions};
use crate::fold::task::state;
use crate::fold::task::state::TaskStatus;
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::model::journal::{Decision, Finding};
use empirica_notes::model::{Accept, Body, Envelope, Handoff, Id, Namespace, Record, SessionId, Verdict};
use empirica_notes::store::FlushTiming;

/// What the receiver says.
#[derive(Debug, Clone, Default)]
pub struct AcceptRequest {
    /// The handoff: its id, or a unique part of it.
    pub handoff: String,
    pub understanding: Option<String>,
    pub decision: Option<Verdict>,
    pub instructions: Option<String>,
    pub questions: Vec<String>,
    pub gaps: Vec<String>,
    /// How what was escalated is resolved.
    pub resolution: Option<String>,
}

/// An acknowledgement that was stored.
#[derive(Debug)]
pub struct AcceptOutcome {
    pub head: Envelope,
    pub accept: Accept,
    pub session_id: SessionId,
    /// What is stored beside it for a resolution: a decision and a pattern.
    pub learned: Vec<Record>,
    pub stored: StoreReport,
}

/// Stores the acknowledgement at once, in the session the command works in. A handoff that a newer one took the place
/// of, or of that very session, can be acknowledged all the same; a warning says so. A resolution is for a task that is
/// escalated: the task goes on, and the resolution is a decision and a pattern as well.
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
        return Err(Error::usage("what is resolved is not escalated as well")
            .provided("--decision ESCALATE")
            .reason("a resolution lets the task go on, and ESCALATE holds it up")
            .suggest("Give one of both."));
    }
    let turn = request.resolution.as_ref().map(|_| context.store.decision_lock());
    let handoff = named(context, &request.handoff)?;
    let who = if turn.is_some() { context.writing_in_turn()? } else { context.writing()? };
    let mut bodies = match (&request.resolution, &handoff.body) {
        (Some(resolution), Body::Handoff(escalated)) => learned(context, &handoff.head, escalated, resolution)?,
        _ => Vec::new(),
    };
    let (id, owner) = (handoff.head.id, handoff.head.session);
    let mut warnings = Vec::new();
    if let Some(newer) = newer(context, &id, owner.as_ref())? {
        warnings.push(format!("handoff {} is superseded by {newer}", id.short()));
    }
    if owner.as_ref() == Some(&who.id) {
        warnings
            .push("the session accepts its own handoff; metrics count only what another session took up".to_owned());
    }
    // an escalated task stays so, whatever is decided otherwise
    if let (Body::Handoff(said), None) = (&handoff.body, &request.resolution)
        && let (Some(task_id), Some(verdict)) = (&said.task_id, request.decision)
        && verdict != Verdict::Escalate
        && let Some(standing) = tasks::standing(context, task_id)?
        && standing.status == TaskStatus::Escalated
    {
        warnings.push(format!("the task '{task_id}' is escalated and stays so until it is resolved"));
    }
    let accept = Accept {
        of: id,
        concerns: owner.filter(|owner| *owner != who.id).into_iter().collect(),
        understanding: request.understanding,
        decision: request.decision,
        instructions: request.instructions,
        questions: request.questions,
        gaps: request.gaps,
        resolution: request.resolution,
    };
    bodies.insert(0, Body::Accept(accept));
    let (records, mut stored) = context.store(&who, bodies, FlushTiming::Now)?;
    stored.warnings.extend(warnings);
    let (accepts, learned): (Vec<_>, Vec<_>) =
        records.into_iter().partition(|record| matches!(record.body, Body::Accept(_)));
    match accepts.into_iter().next() {
        Some(Record { head, body: Body::Accept(accept) }) => {
            Ok(AcceptOutcome { head, accept, session_id: who.id, learned, stored })
        }
        _ => Err(Error::unstored()),
    }
}

/// What a resolution teaches (dual-agent handoff mechanisms, "Resolution Integration"): the decision, and the pattern for
/// when the like comes again. Refused for a handoff whose task is not escalated.
fn learned(context: &CommandContext<'_>, head: &Envelope, handoff: &Handoff, resolution: &str) -> Result<Vec<Body>> {
    let task_id = handoff.task_id.as_deref().ok_or_else(|| {
        Error::refused(format!("the handoff {} is of no task", head.id.short()))
            .reason("a resolution is for a task that is escalated")
            .suggest("Name a handoff of that task, or give no resolution.")
            .command(empirica("task list").flag("--open"))
    })?;
    let standing = tasks::standing(context, task_id)?.filter(|standing| standing.status == TaskStatus::Escalated);
    let is_named = |standing: &state::TaskState| standing.is_resolved_by(&head.id);
    if let Some(standing) = standing.as_ref().filter(|standing| !is_named(standing)) {
        return Err(Error::refused(format!("the handoff {} escalates nothing", head.id.short()))
            .reason("a resolution is for the escalation it names: there may be others")
            .suggest("Name the escalation.")
            .commands_of(tasks::resolve_command(standing))
            .command(tasks::show_command(task_id)));
    }
    let Some(standing) = standing else {
        return Err(Error::refused(format!("the task '{task_id}' is not escalated"))
            .reason("a resolution is for a task that waits for a person")
            .suggest("Give instructions or a decision instead.")
            .command(tasks::show_command(task_id)));
    };
    let what = standing.escalation().and_then(|step| match &step.deed {
        state::TaskAction::Handoff(handoff, _) => crate::fold::task::handoffs::title(handoff),
        _ => None,
    });
    let what = what.unwrap_or(standing.title);
    let about = if what.is_empty() { String::new() } else { format!(": {what}") };
    let decision = Decision {
        text: resolution.to_owned(),
        why: format!("resolves the escalation of task {task_id}{about}"),
        alternatives: Vec::new(),
        led_from: Some(head.id.clone()),
    };
    let pattern = Finding {
        text: if what.is_empty() { resolution.to_owned() } else { format!("{what}: {resolution}") },
        impact: None,
        memory: Some("pattern".to_owned()),
        led_from: Some(head.id.clone()),
    };
    Ok(vec![Body::Decision(decision), Body::Finding(pattern)])
}

/// The handoff of that name: its id, or a unique part of it.
pub fn named(context: &CommandContext<'_>, given: &str) -> Result<Record> {
    context.record(given, "handoff", &[Namespace::Handoffs], |record| matches!(record.body, Body::Handoff(_)))
}

/// The short ID of the handoff that superseded another; `None` if it is current.
pub fn newer(context: &CommandContext<'_>, id: &Id, session: Option<&SessionId>) -> Result<Option<String>> {
    let index = context.index()?;
    let is_superseded = !index.superseded([id])?.is_empty();
    if is_superseded {
        let naming = index.naming([id], &["supersede"])?;
        let mut by = naming.records().filter_map(|record| match &record.body {
            Body::Supersede(supersede) if supersede.of == *id => Some(supersede.by.short().to_owned()),
            _ => None,
        });
        if let Some(by) = by.next_back() {
            return Ok(Some(by));
        }
    }
    let newest = match session {
        Some(session) if is_superseded => of_session(context, session)?,
        _ => None,
    };
    Ok(newest.map(|listed| listed.head.id.short().to_owned()))
}

/// What the receivers of a handoff said, oldest first, and what they asked.
pub fn of(context: &CommandContext<'_>, handoff: &Id) -> Result<ReceivedHandoff> {
    let said = tasks::about(&context.index()?, std::slice::from_ref(handoff))?;
    let accepts = said.records().filter_map(|record| match &record.body {
        Body::Accept(accept) if accept.of == *handoff => Some((record.head.clone(), accept.clone())),
        _ => None,
    });
    Ok(ReceivedHandoff { accepts: accepts.collect(), questions: questions(said.records().collect::<Vec<_>>()) })
}

/// What the receivers of a handoff said.
#[derive(Debug, Clone, Default)]
pub struct ReceivedHandoff {
    /// Its acknowledgements, with their envelopes.
    pub accepts: Vec<(Envelope, Accept)>,
    /// Their questions, with the answers.
    pub questions: Vec<Question>,
}
