//! The answers of `init` and `deinit`: every change on a line.

use serde_json::{Value, json};

use super::{Answer, safe, words};
use crate::git::config::File;
use crate::model::agent_files;
use crate::ops::init::Outcome;
use crate::ops::init::record::How;
use crate::ops::init::steps::Step;

/// A change as JSON: what is done, to which file or key, and to what.
fn step_json(step: &Step) -> Value {
    let file = |change: &str, path: &std::path::Path| json!({"change": change, "file": path.display().to_string()});
    let key = |change: &str, key: &str, value: Value| json!({"change": change, "key": key, "value": value});
    match step {
        Step::Folder(path) => file("make_folder", path),
        Step::Write { path, .. } | Step::Put { path, new: true, .. } => file("write", path),
        Step::Put { path, .. } => file("edit", path),
        Step::Aside { from, to } | Step::Back { from, to } => {
            let mut json = file("rename", from);
            json["to"] = json!(to.display().to_string());
            json
        }
        Step::Remove(path) => file("remove", path),
        Step::RemoveFolder(path) => file("remove_folder", path),
        Step::Add { key: name, value } => key("add", name, json!(value)),
        Step::Unset { key: name, value } => key("unset", name, json!(value)),
        Step::Set { key: name, former, values, .. } => {
            let mut json = key("set", name, json!(values.last()));
            json["former"] = json!(former.last());
            json
        }
    }
}

/// A change on one line: a verb in the present, or in the conditional when nothing is done.
fn step_line(step: &Step, dry_run: bool) -> String {
    let (verb, what) = match step {
        Step::Folder(path) => ("make", path.display().to_string()),
        Step::Write { path, .. } | Step::Put { path, new: true, .. } => ("write", path.display().to_string()),
        Step::Put { path, .. } => ("edit", path.display().to_string()),
        Step::Aside { from, to } | Step::Back { from, to } => {
            ("rename", format!("{} to {}", from.display(), to.display()))
        }
        Step::Remove(path) => ("remove", path.display().to_string()),
        Step::RemoveFolder(path) => ("remove", path.display().to_string()),
        Step::Add { key, value } => ("add", format!("{key} = {value}")),
        Step::Unset { key, value } => ("unset", format!("{key} = {value}")),
        Step::Set { file, key, former, values } => {
            let was = former.last().map_or_else(|| "not set".to_owned(), |value| format!("'{value}'"));
            let at = match file {
                File::Local => String::new(),
                File::At(path) => format!(", in {}", path.display()),
            };
            match values.last() {
                Some(value) => ("set", format!("{key} = {value} (was {was}{at})")),
                None => ("unset", format!("{key} (was {was}{at})")),
            }
        }
    };
    let would = if dry_run { "would " } else { "" };
    format!("{would}{verb} {}\n", safe::line(&what))
}

/// The changes as JSON and as text, a line each.
pub fn changes(steps: &[Step], dry_run: bool) -> (Vec<Value>, String) {
    let text = steps.iter().map(|step| step_line(step, dry_run)).collect();
    (steps.iter().map(step_json).collect(), text)
}

fn with_troubles(outcome: &Outcome, mut answer: Answer) -> Answer {
    for trouble in &outcome.troubles {
        answer.warnings.push(trouble.what.clone());
        for command in &trouble.commands {
            answer = answer.hint(command.clone());
        }
    }
    answer
}

/// The answer of `init`.
pub fn set_up(outcome: &Outcome) -> Answer {
    let (changes, mut text) = changes(&outcome.steps, outcome.dry_run);
    let count = changes.len();
    let folder = outcome.folder.as_ref().map(|path| path.display().to_string());
    let json = json!({
        "hooks": outcome.how.map(How::name),
        "hooks_folder": folder,
        "remote": outcome.remote,
        "agents": outcome.agents.iter().map(|agent| agent.name()).collect::<Vec<_>>(),
        "dry_run": outcome.dry_run,
        "changes": changes,
    });
    let said = match (count, outcome.dry_run) {
        (0, _) => "Nothing is left to do.".to_owned(),
        (count, true) => format!("{} would be made.", words::count(count, "change")),
        (count, false) => format!("{} made; git empirica deinit takes them back.", words::count(count, "change")),
    };
    if text.is_empty() {
        text = "set up\n".to_owned();
    }
    let mut answer = Answer::new(json).text(text).say(said);
    if outcome.remote.is_some() && count > 0 && !outcome.dry_run {
        answer = answer.hint("what others shared so far comes with: git empirica sync");
    }
    for agent in outcome.agents.iter().filter(|_| count > 0 && !outcome.dry_run) {
        answer = answer.hint(agent_files::files(*agent).then);
    }
    with_troubles(outcome, answer)
}

/// The answer of `deinit`.
pub fn taken_back(outcome: &Outcome) -> Answer {
    let (changes, mut text) = changes(&outcome.steps, outcome.dry_run);
    let said = match (changes.len(), outcome.dry_run) {
        (0, _) => "There was nothing to take back.".to_owned(),
        (count, true) => format!("{} would be made.", words::count(count, "change")),
        (count, false) => format!("{} made. The records stay.", words::count(count, "change")),
    };
    if text.is_empty() {
        text = "not set up\n".to_owned();
    }
    with_troubles(outcome, Answer::new(json!({"dry_run": outcome.dry_run, "changes": changes})).text(text).say(said))
}
