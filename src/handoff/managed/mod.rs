//! What a handoff says for its format: given as a document and as single values, completed by what the task's chain tells.

pub mod formats;
pub mod history;
pub mod payload;
pub mod view;

use serde_json::{Value, json};

use crate::context::{CommandContext, tasks};
use crate::fold::task::handoffs;
use crate::fold::task::state::TaskState;
use crate::handoff::managed::formats::{Format, TYPE};
use crate::handoff::managed::payload::Wrong;
use empirica_notes::error::{Command, Error, Result, empirica, option, text};
use empirica_notes::model::handoff::CONTEXT;
use empirica_notes::model::{Handoff, Id};

/// How many things that are wrong are told beside the first.
const TOLD: usize = 9;

/// What is given for the type of a handoff.
#[derive(Debug, Clone, Default)]
pub struct ManagedInput {
    /// The type, in the word of its format; `None` as the document says, else `epistemic`.
    pub kind: Option<&'static str>,
    /// The agent it is for.
    pub to: Option<String>,
    pub task_id: Option<String>,
    /// A document of the format, as JSON.
    pub document: Option<String>,
    /// Single values, `PATH=TEXT`.
    pub values: Vec<String>,
    /// The document of the handoff that is rewritten: the given fields replace its own.
    pub base: Option<Value>,
    /// The handoff that is rewritten: its round and attempt are counted already.
    pub again: Option<Id>,
}

/// A type with everything its format has, and nothing wrong.
#[derive(Debug, Clone, Default)]
pub struct CheckedHandoff(Handoff);

impl CheckedHandoff {
    /// The agent it is for, and its task.
    pub fn receiver(&self) -> (Option<&str>, Option<&str>) {
        (self.0.to.as_deref(), self.0.task_id.as_deref())
    }

    /// Its type when it has fields of its own: then it supersedes no other.
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

/// Everything that was given, held against the format. What is wrong is a usage error, and nothing is stored.
pub fn prepared(context: &CommandContext<'_>, asked: &ManagedInput) -> Result<CheckedHandoff> {
    // ids that look alike are alike
    let task_id = asked.task_id.as_deref().map(|id| id.trim().to_owned());
    let asked = &ManagedInput { task_id, ..asked.clone() };
    for (name, text) in [("receiver", &asked.to), ("task id", &asked.task_id)] {
        context.optional(name, text.as_deref())?;
    }
    let mut given = match &asked.document {
        None => json!({}),
        Some(text) => payload::parsed(text).map_err(|error| {
            Error::usage("the document of the handoff cannot be read as JSON")
                .reason(error.to_string())
                .suggest("Begin with an example.")
                .command(example_command("progress"))
        })?,
    };
    if !given.is_object() {
        return Err(Error::usage("the document of the handoff is no JSON object")
            .reason("it has the fields of a type by their names")
            .suggest("Begin with an example.")
            .command(example_command("progress")));
    }
    if let Some(base) = &asked.base {
        given = payload::merged(base, &given);
    }
    if let Some(Value::String(id)) = given.get_mut("task_id") {
        *id = id.trim().to_owned();
    }
    context.stored_as_it_is("task id", asked.task_id.as_deref())?;
    let named = given.get(TYPE).and_then(Value::as_str);
    let said_id = given.get("task_id").and_then(Value::as_str).map(str::to_owned);
    let Some(format) = format_of(asked, named)? else {
        asked.task_id.as_deref().map_or(Ok(None), |id| task_standing(context, id, "epistemic"))?;
        return Ok(CheckedHandoff(Handoff {
            to: asked.to.clone(),
            task_id: asked.task_id.clone(),
            ..Handoff::default()
        }));
    };
    let has_task = format.has("task_id");
    if let Some(id) = asked.task_id.as_deref().filter(|id| has_task && said_id.as_deref() != Some(id)) {
        payload::put(format, &mut given, "task_id", id).map_err(|wrong| refused(format, &[wrong]))?;
    }
    for value in &asked.values {
        let (path, text) = value.split_once('=').ok_or_else(|| {
            Error::usage(format!("'{value}' is no value for a handoff"))
                .provided(value)
                .reason("--set takes the path of a field, an equals sign, and what it says")
                .suggest("Write --set worker_report.status=COMPLETED; the fields are those of the example.")
                .command(example_command(format.name))
        })?;
        if asked.base.is_some() {
            payload::make_room(&mut given, path.trim());
        }
        let mut put = |path: &str, text: &str| {
            payload::put(format, &mut given, path, text).map_err(|wrong| refused(format, &[wrong]))
        };
        put(path.trim(), text)?;
    }
    let fits = |given: &Value| match payload::wrongs(format, given) {
        wrongs if wrongs.is_empty() => Ok(()),
        wrongs => Err(refused(format, &wrongs)),
    };
    fits(&given)?;
    context.stored_as_it_is("task id", given["task_id"].as_str())?;
    complete(context, format, asked.again.as_ref(), &mut given)?;
    fits(&given)?;
    let mut out = Handoff { to: asked.to.clone(), ..Handoff::default() };
    payload::put_in(format, &given, &mut out);
    if !has_task {
        asked.task_id.as_deref().map_or(Ok(None), |id| task_standing(context, id, format.name))?;
        out.task_id.clone_from(&asked.task_id);
    }
    Ok(CheckedHandoff(out))
}

fn format_of(asked: &ManagedInput, named: Option<&str>) -> Result<Option<&'static Format>> {
    let kind = asked.kind.or(named);
    if let Some(format) = kind.and_then(formats::named) {
        return Ok(Some(format));
    }
    let names: Vec<&str> = formats::FORMATS.iter().map(|format| format.name).collect();
    match kind {
        None | Some("epistemic") if asked.document.is_none() && asked.values.is_empty() => Ok(None),
        other => Err(Error::usage("what the handoff says is not for its type")
            .provided(other.unwrap_or("epistemic"))
            .reason(format!("only the types {} have fields of their own", names.join(", ")))
            .suggest(text!["Say which with ", option("--type"), ", or in the document as handoff_type."])
            .alternative(names[0])
            .command(example_command("initialization"))),
    }
}

fn example_command(kind: &str) -> Command {
    empirica("handoff").option("--type", kind).flag("--example")
}

/// What is wrong, as an error that names the place, what was expected, and an example.
fn refused(format: &Format, wrongs: &[Wrong]) -> Error {
    let Some((first, rest)) = wrongs.split_first() else { return Error::unstored() };
    let mut reason = format!("the type {} has fields of its own, and nothing is stored unless they fit", format.name);
    if !rest.is_empty() {
        let lines: Vec<String> = rest.iter().take(TOLD).map(Wrong::line).collect();
        reason = format!("{reason}; also {}", lines.join("; "));
        if rest.len() > TOLD {
            reason = format!("{reason}; and {} more", rest.len() - TOLD);
        }
    }
    let at = if first.path.is_empty() { "The whole" } else { &first.path };
    Error::usage(first.line())
        .provided(first.found.clone().unwrap_or_else(|| format!("no {}", first.path)))
        .reason(reason)
        .suggest(format!("{at} can be {}", first.example))
        .command(example_command(format.name))
}

/// Puts in what the chain of the task tells, where it is not given.
fn complete(context: &CommandContext<'_>, format: &Format, again: Option<&Id>, given: &mut Value) -> Result<()> {
    let Some(id) = given.get("task_id").and_then(Value::as_str).map(str::to_owned) else { return Ok(()) };
    let standing = match (again.is_some(), format.name) {
        // what a person asks about an escalation must be answered
        (true, "escalation") => tasks::standing(context, &id)?,
        _ => task_standing(context, &id, format.name)?,
    };
    let chain = standing.as_ref().map(|standing| standing.chain_without(again)).unwrap_or_default();
    let history = standing.as_ref().map(|standing| history::rounds(standing.in_order())).unwrap_or_default();
    let given_is_empty = given.get("complete_history").and_then(Value::as_array).is_none_or(Vec::is_empty);
    let mut add = |key: &str, value: Value| {
        if given.get(key).is_none() {
            given[key] = value;
        }
    };
    match format.name {
        "progress" => add("iteration", json!(handoffs::next_round(&chain))),
        "error_recovery" => {
            let (attempt, most) = handoffs::next_attempt(&chain);
            add("iteration", json!(handoffs::next_round(&chain)));
            add("retry_count", json!(attempt));
            add("max_retries", json!(most));
            if again.is_none() {
                attempted(context, &id, given, (attempt, most))?;
            }
        }
        "escalation" => {
            if given_is_empty {
                given["complete_history"] = Value::from(history);
            }
            let files = handoffs::files(&chain);
            let state = &mut given["current_state"];
            if state.get("files_modified").is_none() {
                state["files_modified"] = json!(files);
            }
        }
        _ => {}
    }
    Ok(())
}

/// Where the task stands that a handoff of this type is for; refused while the task is escalated.
fn task_standing(context: &CommandContext<'_>, id: &str, kind: &str) -> Result<Option<TaskState>> {
    let standing = tasks::standing(context, id)?;
    standing.iter().try_for_each(|standing| tasks::check_not_escalated(id, standing, kind))?;
    Ok(standing)
}

/// Refuses an attempt beyond the last, and one that counts less than there were.
fn attempted(context: &CommandContext<'_>, id: &str, given: &Value, (attempt, limit): (u64, u64)) -> Result<()> {
    let number = |key: &str| given[key].as_u64().unwrap_or_default();
    let (count, given_limit) = (number("retry_count"), number("max_retries"));
    // who is over the limit that stands does not raise it by that
    let most = if attempt > 1 { limit.min(given_limit) } else { given_limit };
    if count < attempt {
        return Err(Error::usage(format!("retry_count is {count}: expected {attempt}"))
            .provided(count.to_string())
            .reason(format!("{} at recovery of the task are stored since it last got on", attempts(attempt - 1)))
            .suggest("Leave retry_count out: it is counted.")
            .alternative(attempt.to_string())
            .command(example_command("error_recovery")));
    }
    if count <= most {
        return Ok(());
    }
    let what = given["error_report"]["description"].as_str().unwrap_or_default();
    let how = given["recovery_instructions"]["escalation_trigger"].as_str().unwrap_or("Decide how the task goes on");
    // an escalation knows no low severity
    let severity = given["error_report"]["severity"].as_str().filter(|said| *said != "low").unwrap_or("medium");
    // as an argument takes it: what begins with @ is no file, and - no standard input
    let set = |path: &str, text: &str| {
        let at = if text.starts_with('@') { "@" } else { "" };
        let text = if text == "-" { "(-)" } else { text };
        format!("escalation_details.{path}={at}{text}")
    };
    let command = empirica("handoff").option("--type", "escalation");
    let command =
        context.working().into_iter().fold(command, |command, who| command.option("--session", who.id.as_str()));
    let details = [("category", "technical"), ("severity", severity), ("description", what), ("recommendation", how)];
    let command = details
        .into_iter()
        .fold(command.option("--task-id", id), |command, (path, text)| command.option("--set", set(path, text)));
    Err(Error::refused(format!("this would be attempt {count}, and {most} are allowed"))
        .reason(format!("{} at recovery of the task did not help: it needs a person", attempts(count - 1)))
        .suggest("Escalate it; the handoff takes the history of the task along by itself.")
        .command(command))
}

fn attempts(count: u64) -> String {
    if count == 1 { "1 attempt".to_owned() } else { format!("{count} attempts") }
}
