//! Managed handoffs: input as a document and as single values, validated, and completed from the handoffs of the task.

pub mod history;
pub mod payload;
pub mod view;

use std::num::NonZeroU64;

use serde_json::{Value, json};

use crate::context::{CommandContext, tasks};
use crate::fold::task::handoffs;
use crate::fold::task::state::TaskState;
use crate::render::format::count;
use crate::use_cases::handoff::managed::payload::error_recovery::{ErrorRecovery, ErrorSeverity};
use crate::use_cases::handoff::managed::payload::escalation::Severity;
use crate::use_cases::handoff::managed::payload::text::texts;
use crate::use_cases::handoff::managed::payload::{Document, TYPE};
use empirica_notes::error::{Command, Error, Result, empirica, option, text};
use empirica_notes::model::handoff::CONTEXT;
use empirica_notes::model::{Handoff, Id};

empirica_notes::named_enum! {
    /// The types of handoffs.
    pub enum HandoffType {
        Epistemic = "epistemic",
        Initialization = "initialization",
        Progress = "progress",
        ErrorRecovery = "error_recovery",
        Escalation = "escalation",
        Context = "context",
    }
}

/// Input for the type of a handoff.
#[derive(Debug, Clone, Default)]
pub struct ManagedInput {
    /// The type; `None` for that of the document, otherwise `epistemic`.
    pub kind: Option<&'static str>,
    /// The receiving agent.
    pub to: Option<String>,
    pub task_id: Option<String>,
    /// A document of the format, as JSON.
    pub document: Option<String>,
    /// Single values, `PATH=TEXT`.
    pub values: Vec<String>,
    /// The document of the handoff to revise: input replaces its fields.
    pub base: Option<Value>,
    /// The handoff to revise: its round and attempt are already counted.
    pub revises: Option<Id>,
}

/// The type of a handoff with its valid, complete payload.
#[derive(Debug, Clone, Default)]
pub struct CheckedHandoff(Handoff);

impl CheckedHandoff {
    /// The receiving agent, and the task.
    pub fn receiver(&self) -> (Option<&str>, Option<&str>) {
        (self.0.to.as_deref(), self.0.task_id.as_deref())
    }

    /// The type if it has a payload: such a handoff supersedes no other.
    pub fn kind(&self) -> Option<&str> {
        self.0.payload.as_ref().map(|_| self.0.kind.as_str())
    }

    /// The context of a session, for that agent.
    pub fn context(to: Option<&str>) -> Self {
        let payload = Some(serde_json::Map::new());
        CheckedHandoff(Handoff { kind: CONTEXT.to_owned(), to: to.map(str::to_owned), payload, ..Handoff::default() })
    }

    /// Puts it into the handoff of a session.
    pub fn put_in(&self, handoff: &mut Handoff) {
        let Handoff { kind, to, task_id, iteration, payload, .. } = self.0.clone();
        (handoff.to, handoff.task_id, handoff.iteration) = (to, task_id, iteration);
        if payload.is_some() {
            (handoff.kind, handoff.payload) = (kind, payload);
        }
        if handoff.task.is_empty() {
            handoff.task = handoffs::title(handoff).unwrap_or_default();
        }
    }
}

/// Validates and completes the input. A violation is a usage error.
pub fn prepare(context: &CommandContext<'_>, input: &ManagedInput) -> Result<CheckedHandoff> {
    let task_id = input.task_id.as_deref().map(str::trim);
    for (name, text) in [("receiver", input.to.as_deref()), ("task id", task_id)] {
        context.optional(name, text)?;
    }
    let mut fields = document_of(input)?;
    context.stored_as_it_is("task id", task_id)?;
    let to = input.to.as_deref().map(|to| to.trim().to_owned());
    let mut handoff = Handoff { to, ..Handoff::default() };
    if let Some(kind) = type_of(input, &mut fields)? {
        if let Some(id) = task_id.filter(|id| kind != CONTEXT && fields["task_id"].as_str() != Some(id)) {
            set(kind, &mut fields, "task_id", id, false)?;
        }
        for value in &input.values {
            let (path, text) = value.split_once('=').ok_or_else(|| {
                Error::usage(format!("cannot set '{value}': expected PATH=TEXT"))
                    .provided(value)
                    .reason("--set takes the path of a field, an equals sign, and its text")
                    .suggest("Write --set worker_report.status=COMPLETED; the fields are those of the example.")
                    .command(example_command(kind))
            })?;
            set(kind, &mut fields, path.trim(), text, input.base.is_some())?;
        }
        let mut document = Document::read(kind, &fields).map_err(|error| {
            Error::usage(format!("cannot read the handoff document: {error}"))
                .reason(format!("nothing is stored unless the fields fit the type {kind}"))
                .suggest("Compare it with the example.")
                .command(example_command(kind))
        })?;
        if let Some(id) = fields["task_id"].as_str() {
            context.stored_as_it_is("task id", Some(id))?;
            complete(context, kind, id, input.revises.as_ref(), &mut document)?;
        }
        document.put_in(&mut handoff);
    }
    if handoff.task_id.is_none() {
        task_id.map(|id| task_to_continue(context, id, &handoff.kind)).transpose()?;
        handoff.task_id = task_id.map(str::to_owned);
    }
    Ok(CheckedHandoff(handoff))
}

/// The document, over the one to revise.
fn document_of(input: &ManagedInput) -> Result<Value> {
    let mut document = match &input.document {
        None => json!({}),
        Some(text) => payload::parsed(text).map_err(|error| {
            Error::usage("cannot parse the handoff document as JSON")
                .reason(error)
                .suggest("Begin with an example.")
                .command(example_command("progress"))
        })?,
    };
    if !document.is_object() {
        return Err(Error::usage("cannot read the handoff document: it is not a JSON object")
            .reason("it has the fields of a type by their names")
            .suggest("Begin with an example.")
            .command(example_command("progress")));
    }
    if let Some(mut base) = input.base.clone() {
        payload::merge(&mut base, document);
        document = base;
    }
    if let Some(Value::String(id)) = document.get_mut("task_id") {
        *id = id.trim().to_owned();
    }
    Ok(document)
}

/// The type with fields of its own that the flag or the document names, which is taken out of the fields.
fn type_of(input: &ManagedInput, fields: &mut Value) -> Result<Option<&'static str>> {
    let named = fields.as_object_mut().and_then(|fields| fields.shift_remove(TYPE)).unwrap_or_default();
    if let Some(kind) = input.kind.filter(|kind| !named.is_null() && named != *kind) {
        return Err(Error::usage(format!("cannot read the handoff document as {kind}: its {TYPE} is {named}"))
            .provided(kind)
            .reason("a document is of one type")
            .suggest(text!["Leave ", option("--type"), " out, or change the document."])
            .command(example_command(kind)));
    }
    match input.kind.or(named.as_str()).unwrap_or("epistemic") {
        "epistemic" if input.document.is_none() && input.values.is_empty() => Ok(None),
        kind => types_with_fields().find(|name| *name == kind).map(Some).ok_or_else(|| {
            without_fields(kind)
                .suggest(text!["Set the type with ", option("--type"), ", or in the document as handoff_type."])
                .alternative("initialization")
                .command(example_command("initialization"))
        }),
    }
}

/// Error: a type without fields of its own, or an unknown one.
fn without_fields(kind: &str) -> Error {
    let types: Vec<&str> = types_with_fields().collect();
    Error::usage(format!("cannot set fields of the type {kind}: it has none of its own"))
        .provided(kind)
        .reason(format!("the types with fields of their own are {}", types.join(", ")))
}

fn types_with_fields() -> impl Iterator<Item = &'static str> {
    HandoffType::ALL.map(HandoffType::name).into_iter().filter(|name| *name != "epistemic")
}

fn example_command(kind: &str) -> Command {
    empirica("handoff").option("--type", kind).flag("--example")
}

fn set(kind: &str, fields: &mut Value, path: &str, text: &str, replaces: bool) -> Result<()> {
    if payload::set(kind, fields, path, text, replaces) {
        return Ok(());
    }
    Err(Error::usage(format!("cannot set {path}: another value is there"))
        .provided(text)
        .reason("a field has one value, unless it is a list")
        .suggest("Give one value for it.")
        .command(example_command(kind)))
}

/// Fills in missing fields from the handoffs of the task.
fn complete(
    context: &CommandContext<'_>,
    kind: &str,
    id: &str,
    revises: Option<&Id>,
    document: &mut Document,
) -> Result<()> {
    let state = match (revises, kind) {
        // questions about an escalation must be answerable
        (Some(_), "escalation") => tasks::state(context, id)?,
        _ => task_to_continue(context, id, kind)?,
    };
    let chain = state.as_ref().map(|state| state.chain_without(revises)).unwrap_or_default();
    let round = NonZeroU64::new(handoffs::next_round(&chain));
    match document {
        Document::Progress(progress) => progress.iteration = progress.iteration.or(round),
        Document::ErrorRecovery(recovery) => {
            let (attempt, limit) = handoffs::next_attempt(&chain);
            recovery.iteration = recovery.iteration.or(round);
            recovery.retry_count = recovery.retry_count.or(NonZeroU64::new(attempt));
            recovery.max_retries = recovery.max_retries.or(NonZeroU64::new(limit));
            if revises.is_none() {
                check_attempt(context, id, recovery, (attempt, limit))?;
            }
        }
        Document::Escalation(escalation) => {
            if escalation.complete_history.as_ref().is_none_or(Vec::is_empty) {
                let rounds = state.as_ref().map(|state| history::rounds(state.in_order()));
                escalation.complete_history = Some(rounds.unwrap_or_default());
            }
            let current = escalation.current_state.get_or_insert_default();
            current.files_modified.get_or_insert_with(|| texts(handoffs::files(&chain)));
        }
        Document::Initialization(_) | Document::Context(_) => {}
    }
    Ok(())
}

/// The state of the task of a handoff; refused if the task is escalated and the type does not resolve that.
fn task_to_continue(context: &CommandContext<'_>, id: &str, kind: &str) -> Result<Option<TaskState>> {
    let state = tasks::state(context, id)?;
    state.iter().try_for_each(|state| tasks::check_not_escalated(id, state, kind))?;
    Ok(state)
}

/// Refuses an attempt above the limit, and one numbered lower than the next.
fn check_attempt(
    context: &CommandContext<'_>,
    id: &str,
    recovery: &ErrorRecovery,
    (next, limit): (u64, u64),
) -> Result<()> {
    let attempt = recovery.retry_count.map_or(next, NonZeroU64::get);
    let own_limit = recovery.max_retries.map_or(limit, NonZeroU64::get);
    // a later attempt cannot raise the limit
    let limit = if next > 1 { limit.min(own_limit) } else { own_limit };
    if attempt < next {
        return Err(Error::usage(format!("cannot set retry_count to {attempt}: expected {next}"))
            .provided(attempt.to_string())
            .reason(format!("the task has {} at recovery since its last progress", attempts(next - 1)))
            .suggest("Leave retry_count out: it is counted.")
            .alternative(next.to_string())
            .command(example_command("error_recovery")));
    }
    if attempt <= limit {
        return Ok(());
    }
    let trigger = recovery.recovery_instructions.as_ref().and_then(|next| next.escalation_trigger.as_deref());
    let report = &recovery.error_report;
    let severity = match report.severity {
        ErrorSeverity::Low | ErrorSeverity::Medium => Severity::Medium,
        ErrorSeverity::High => Severity::High,
        ErrorSeverity::Critical => Severity::Critical,
    };
    let command = empirica("handoff").option("--type", "escalation");
    let command =
        context.working().into_iter().fold(command, |command, who| command.option("--session", who.id.as_str()));
    let details = [
        ("category", "technical"),
        ("severity", severity.name()),
        ("description", &report.description),
        ("recommendation", trigger.unwrap_or("Decide how the task continues")),
    ];
    let command = details.into_iter().fold(command.option("--task-id", id), |command, (path, text)| {
        // escape the syntax of arguments: @FILE, and - for standard input
        let escape = if text.starts_with('@') { "@" } else { "" };
        let text = if text == "-" { "(-)" } else { text };
        command.option("--set", format!("escalation_details.{path}={escape}{text}"))
    });
    Err(Error::refused(format!("cannot start attempt {attempt}: the limit is {limit}"))
        .reason(format!("{} at recovery of the task did not help: it needs a person", attempts(attempt - 1)))
        .suggest("Escalate it; the handoff includes the history of the task.")
        .command(command))
}

fn attempts(number: u64) -> String {
    count(number as usize, "attempt")
}
