//! The answers of `init` and `deinit`: what was set up and what came; every change on a line for a dry run.

use serde_json::{Value, json};

use crate::render::answer::Answer;
use crate::render::{format, safe};
use crate::setup::agents::entries;
use crate::setup::init::InitOutcome;
use crate::setup::record::HookPlacement;
use crate::setup::steps::SetupStep;
use crate::sync::exchange::RemoteSync;
use crate::sync::view::cargo;
use empirica_notes::error::{blank, empirica};
use empirica_notes::git::repository::config::File;
use empirica_transcripts::model::Agent;

/// A change as JSON: what is done, to which file or key, and to what.
fn step_json(step: &SetupStep) -> Value {
    let file = |change: &str, path: &std::path::Path| json!({"change": change, "file": path.display().to_string()});
    let key = |change: &str, key: &str, value: Value| json!({"change": change, "key": key, "value": value});
    match step {
        SetupStep::Folder(path) => file("make_folder", path),
        SetupStep::Write { path, .. } | SetupStep::Put { path, new: true, .. } => file("write", path),
        SetupStep::Put { path, .. } => file("edit", path),
        SetupStep::Aside { from, to } | SetupStep::Back { from, to } => {
            let mut json = file("rename", from);
            json["to"] = json!(to.display().to_string());
            json
        }
        SetupStep::Remove(path) => file("remove", path),
        SetupStep::RemoveFolder(path) => file("remove_folder", path),
        SetupStep::Add { key: name, value } => key("add", name, json!(value)),
        SetupStep::Unset { key: name, value } => key("unset", name, json!(value)),
        SetupStep::Set { key: name, former, values, .. } => {
            let mut json = key("set", name, json!(values.last()));
            json["former"] = json!(former.last());
            json
        }
    }
}

/// A change on one line: a verb in the present, or in the conditional when nothing is done.
fn step_line(step: &SetupStep, dry_run: bool) -> String {
    let json = step_json(step);
    let text = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
    let (verb, what) = match step {
        SetupStep::Set { file, key, former, values } => {
            let was = former.last().map_or_else(|| "not set".to_owned(), |value| format!("'{value}'"));
            let at = match file {
                File::Local => String::new(),
                File::At(path) => format!(", in {}", path.display()),
            };
            match values.last() {
                Some(value) => ("set".to_owned(), format!("{key} = {value} (was {was}{at})")),
                None => ("unset".to_owned(), format!("{key} (was {was}{at})")),
            }
        }
        SetupStep::Add { key, value } | SetupStep::Unset { key, value } => (text("change"), format!("{key} = {value}")),
        SetupStep::Aside { .. } | SetupStep::Back { .. } => {
            (text("change"), format!("{} to {}", text("file"), text("to")))
        }
        _ => (text("change").replace("_folder", ""), text("file")),
    };
    let would = if dry_run { "would " } else { "" };
    format!("{would}{verb} {}\n", safe::line(&what))
}

/// The changes as JSON and as text, a line each.
pub fn changes(steps: &[SetupStep], dry_run: bool) -> (Vec<Value>, String) {
    let text = steps.iter().map(|step| step_line(step, dry_run)).collect();
    (steps.iter().map(step_json).collect(), text)
}

fn with_troubles(outcome: &InitOutcome, mut answer: Answer) -> Answer {
    for trouble in &outcome.troubles {
        answer.warnings.push(trouble.what.clone().into());
        for command in &trouble.commands {
            answer = answer.hint(command.to_string());
        }
    }
    answer
}

/// The answer of `init`.
pub fn set_up(outcome: &InitOutcome) -> Answer {
    let (changes, listed) = changes(&outcome.steps, outcome.dry_run);
    let names = |agents: &[Agent]| agents.iter().map(|agent| agent.name()).collect::<Vec<_>>();
    let fetched = outcome.fetched.iter().map(|(remote, received)| {
        let came = received.as_ref().and_then(|received| received.as_ref().ok());
        let error = received.as_ref().and_then(|received| received.as_ref().err());
        json!({"remote": remote, "incoming": came.map(|synced| cargo(&synced.incoming)), "error": error})
    });
    let next = match outcome.has_handoffs {
        _ if outcome.dry_run => None,
        true => Some(empirica("resume")),
        false => Some(empirica("finding").arg(blank("<what you learned>"))),
    };
    let json = json!({
        "hooks": outcome.how.map(HookPlacement::name),
        "hooks_folder": outcome.folder.as_ref().map(|path| path.display().to_string()),
        "remote": outcome.remote,
        "agents": names(&outcome.agents),
        "agents_found": names(&outcome.agents_found),
        "fetched": fetched.collect::<Vec<_>>(),
        "next_command": next,
        "dry_run": outcome.dry_run,
        "changes": changes,
    });
    let text = if outcome.dry_run { listed } else { summary(outcome) };
    let mut answer = Answer::new(json).text(text + &outcome.fetched.iter().map(source).collect::<String>());
    let count = outcome.steps.len();
    answer = match (count, outcome.dry_run) {
        (0, _) => answer,
        (count, true) => answer.say(format!("{} would be made.", format::count(count, "change"))),
        (_, false) => answer.say(format!("To take it back: {}", empirica("deinit"))),
    };
    answer.text.extend(next.map(|command| format!("Next: {command}\n")));
    for agent in outcome.agents.iter().filter(|_| !outcome.files.is_empty() && !outcome.dry_run) {
        answer = answer.hint(entries::files(*agent).then);
    }
    if !outcome.undecided.is_empty() {
        let used = names(&outcome.undecided).join(", ");
        answer = answer.hint(format!(
            "used here: {used}; to enter hooks and MCP tools: {}",
            empirica("init").option("--agents", "auto")
        ));
    }
    with_troubles(outcome, answer)
}

/// What was set up, in a few lines.
fn summary(outcome: &InitOutcome) -> String {
    let mut out = match (outcome.was_set_up, &outcome.remote) {
        (true, _) => "Set up already.\n".to_owned(),
        (false, None) => "Set up: hooks, what git log shows.\n".to_owned(),
        (false, Some(remote)) => format!("Set up: hooks, what git log shows, the remote {}.\n", safe::line(remote)),
    };
    if !outcome.files.is_empty() {
        let agents: Vec<&str> = outcome.agents.iter().map(|agent| agent.name()).collect();
        let files: Vec<String> = outcome.files.iter().map(|file| file.display().to_string()).collect();
        out.push_str(&format!(
            "Hooks and MCP tools for {}, to be committed: {}\n",
            agents.join(", "),
            files.join(", ")
        ));
    }
    out
}

/// What came from a remote, or would be looked for there, in a line; nothing of one that failed.
fn source((remote, received): &(String, Option<Result<RemoteSync, String>>)) -> String {
    let remote = safe::line(remote);
    let Some(received) = received else { return format!("would fetch the records of {remote}\n") };
    let Ok(RemoteSync { incoming, first, .. }) = received else { return String::new() };
    let handoffs = format::count(incoming.handoffs.len(), "handoff");
    match incoming.records {
        0 if *first => format!("From {remote}: it has no records yet.\n"),
        0 => format!("From {remote}: nothing new.\n"),
        records => format!("From {remote}: {}, {handoffs} among them.\n", format::count(records, "record")),
    }
}

/// The answer of `deinit`.
pub fn taken_back(outcome: &InitOutcome) -> Answer {
    let (changes, mut text) = changes(&outcome.steps, outcome.dry_run);
    let said = match (changes.len(), outcome.dry_run) {
        (0, _) => "There was nothing to take back.".to_owned(),
        (count, true) => format!("{} would be made.", format::count(count, "change")),
        (count, false) => format!("{} made. The records stay.", format::count(count, "change")),
    };
    if text.is_empty() {
        text = "not set up\n".to_owned();
    }
    with_troubles(outcome, Answer::new(json!({"dry_run": outcome.dry_run, "changes": changes})).text(text).say(said))
}
