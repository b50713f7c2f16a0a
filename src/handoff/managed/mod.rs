//! Managed handoffs: input as a document and as single values, validated, and completed from the handoffs of the task.

pub mod formats;
pub mod history;
pub mod payload;
pub mod view;

use serde_json::{Value, json};

use crate::context::{CommandContext, tasks};
use crate::fold::task::handoffs;
use crate::fold::task::state::TaskState;
use crate::handoff::managed::formats::{Format, TYPE};
use crate::handoff::managed::payload::Violation;
use crate::render::format::count;
use empirica_notes::error::{Command, Error, Result, empirica, option, text};
use empirica_notes::model::handoff::CONTEXT;
use empirica_notes::model::{Handoff, Id};

empirica_notes::words! {
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

/// Violations listed beside the first.
const MAX_LISTED: usize = 9;

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
pub fn prepared(context: &CommandContext<'_>, input: &ManagedInput) -> Result<CheckedHandoff> {
    let task_id = input.task_id.as_deref().map(str::trim);
    for (name, text) in [("receiver", input.to.as_deref()), ("task id", task_id)] {
        context.optional(name, text)?;
    }
    let mut document = document_of(input)?;
    context.stored_as_it_is("task id", task_id)?;
    let format = format_of(input, document[TYPE].as_str())?;
    let mut handoff = Handoff { to: input.to.clone(), ..Handoff::default() };
    if let Some(format) = format {
        let other_id = |id: &&str| format.has("task_id") && document["task_id"].as_str() != Some(id);
        if let Some(id) = task_id.filter(other_id) {
            set(format, &mut document, "task_id", id, false)?;
        }
        for value in &input.values {
            let (path, text) = value.split_once('=').ok_or_else(|| {
                Error::usage(format!("cannot set '{value}': expected PATH=TEXT"))
                    .provided(value)
                    .reason("--set takes the path of a field, an equals sign, and its text")
                    .suggest("Write --set worker_report.status=COMPLETED; the fields are those of the example.")
                    .command(example_command(format.name))
            })?;
            set(format, &mut document, path.trim(), text, input.base.is_some())?;
        }
        validate(format, &document)?;
        context.stored_as_it_is("task id", document["task_id"].as_str())?;
        complete(context, format, input.revises.as_ref(), &mut document)?;
        validate(format, &document)?;
        payload::put_in(format, &document, &mut handoff);
    }
    if format.is_none_or(|format| !format.has("task_id")) {
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
                .reason(error.to_string())
                .suggest("Begin with an example.")
                .command(example_command("progress"))
        })?,
    };
    if !document.is_object() {
        return Err(Error::usage("the handoff document is not a JSON object")
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

fn format_of(input: &ManagedInput, named: Option<&str>) -> Result<Option<&'static Format>> {
    let kind = input.kind.or(named);
    if let Some(format) = kind.and_then(formats::named) {
        return Ok(Some(format));
    }
    let names: Vec<&str> = formats::FORMATS.iter().map(|format| format.name).collect();
    match kind.unwrap_or("epistemic") {
        "epistemic" if input.document.is_none() && input.values.is_empty() => Ok(None),
        kind => Err(Error::usage(format!("the type {kind} has no fields of its own"))
            .provided(kind)
            .reason(format!("the types with fields of their own are {}", names.join(", ")))
            .suggest(text!["Set the type with ", option("--type"), ", or in the document as handoff_type."])
            .alternative(names[0])
            .command(example_command("initialization"))),
    }
}

fn example_command(kind: &str) -> Command {
    empirica("handoff").option("--type", kind).flag("--example")
}

fn set(format: &Format, document: &mut Value, path: &str, text: &str, replaces: bool) -> Result<()> {
    payload::set(format, document, path, text, replaces).map_err(|violation| refused(format, &violation, &[]))
}

fn validate(format: &Format, document: &Value) -> Result<()> {
    match payload::violations(format, document).split_first() {
        Some((first, rest)) => Err(refused(format, first, rest)),
        None => Ok(()),
    }
}

/// The error of violations: path, expected value and example of the first.
fn refused(format: &Format, first: &Violation, rest: &[Violation]) -> Error {
    let mut reason = format!("nothing is stored unless the fields fit the type {}", format.name);
    if !rest.is_empty() {
        let lines: Vec<String> = rest.iter().take(MAX_LISTED).map(Violation::line).collect();
        reason = format!("{reason}; also {}", lines.join("; "));
        if rest.len() > MAX_LISTED {
            reason = format!("{reason}; and {} more", rest.len() - MAX_LISTED);
        }
    }
    let at = if first.path.is_empty() { "The whole" } else { &first.path };
    Error::usage(first.line())
        .provided(first.found.clone().unwrap_or_else(|| format!("no {}", first.path)))
        .reason(reason)
        .suggest(format!("{at} can be {}", first.example))
        .command(example_command(format.name))
}

/// Fills in missing fields from the handoffs of the task.
fn complete(context: &CommandContext<'_>, format: &Format, revises: Option<&Id>, document: &mut Value) -> Result<()> {
    let Some(id) = document["task_id"].as_str().map(str::to_owned) else { return Ok(()) };
    let state = match (revises, format.name) {
        // questions about an escalation must be answerable
        (Some(_), "escalation") => tasks::state(context, &id)?,
        _ => task_to_continue(context, &id, format.name)?,
    };
    let chain = state.as_ref().map(|state| state.chain_without(revises)).unwrap_or_default();
    let mut add = |key: &str, value: Value| {
        if document.get(key).is_none() {
            document[key] = value;
        }
    };
    match format.name {
        "progress" => add("iteration", json!(handoffs::next_round(&chain))),
        "error_recovery" => {
            let (attempt, limit) = handoffs::next_attempt(&chain);
            add("iteration", json!(handoffs::next_round(&chain)));
            add("retry_count", json!(attempt));
            add("max_retries", json!(limit));
            if revises.is_none() {
                check_attempt(context, &id, document, (attempt, limit))?;
            }
        }
        "escalation" => {
            if document["complete_history"].as_array().is_none_or(Vec::is_empty) {
                let rounds = state.as_ref().map(|state| history::rounds(state.in_order()));
                document["complete_history"] = json!(rounds.unwrap_or_default());
            }
            let current = &mut document["current_state"];
            if current.get("files_modified").is_none() {
                current["files_modified"] = json!(handoffs::files(&chain));
            }
        }
        _ => {}
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
fn check_attempt(context: &CommandContext<'_>, id: &str, document: &Value, (next, limit): (u64, u64)) -> Result<()> {
    let number = |key: &str| document[key].as_u64().unwrap_or_default();
    let (attempt, own_limit) = (number("retry_count"), number("max_retries"));
    // a later attempt cannot raise the limit
    let limit = if next > 1 { limit.min(own_limit) } else { own_limit };
    if attempt < next {
        return Err(Error::usage(format!("retry_count is {attempt}: expected {next}"))
            .provided(attempt.to_string())
            .reason(format!("the task has {} at recovery since its last progress", attempts(next - 1)))
            .suggest("Leave retry_count out: it is counted.")
            .alternative(next.to_string())
            .command(example_command("error_recovery")));
    }
    if attempt <= limit {
        return Ok(());
    }
    let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str);
    let description = text("/error_report/description").unwrap_or_default();
    let recommendation = text("/recovery_instructions/escalation_trigger").unwrap_or("Decide how the task continues");
    // escalations have no severity `low`
    let severity = text("/error_report/severity").filter(|severity| *severity != "low").unwrap_or("medium");
    let command = empirica("handoff").option("--type", "escalation");
    let command =
        context.working().into_iter().fold(command, |command, who| command.option("--session", who.id.as_str()));
    let details = [
        ("category", "technical"),
        ("severity", severity),
        ("description", description),
        ("recommendation", recommendation),
    ];
    let command = details.into_iter().fold(command.option("--task-id", id), |command, (path, text)| {
        // escape the syntax of arguments: @FILE, and - for standard input
        let escape = if text.starts_with('@') { "@" } else { "" };
        let text = if text == "-" { "(-)" } else { text };
        command.option("--set", format!("escalation_details.{path}={escape}{text}"))
    });
    Err(Error::refused(format!("this would be attempt {attempt}, and {limit} are allowed"))
        .reason(format!("{} at recovery of the task did not help: it needs a person", attempts(attempt - 1)))
        .suggest("Escalate it; the handoff includes the history of the task.")
        .command(command))
}

fn attempts(number: u64) -> String {
    count(number as usize, "attempt")
}
