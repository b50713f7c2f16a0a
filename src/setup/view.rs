//! The answers of `init`, `deinit` and `setup`: what was set up and what came; every change on a line for a dry run.

use crate::sync::exchange::Transfer;
use schemars::JsonSchema;
use serde::Serialize;

use crate::render::answer::Answer;
use crate::render::{format, safe};
use std::path::Path;

use crate::setup::agents::entries;
use crate::setup::init::InitOutcome;
use crate::setup::record::HookPlacement;
use crate::setup::steps::SetupStep;
use crate::setup::user::UserSetupOutcome;
use crate::sync::exchange::RemoteSync;
use empirica_notes::error::Command;
use empirica_notes::error::blank;
use empirica_notes::error::empirica;
use empirica_notes::git::repository::config::File;
use empirica_transcripts::model::Agent;

/// A change to a file, which has `file`, or to git's configuration, which has `key` and `value`.
#[derive(Default, Serialize, JsonSchema)]
#[schemars(rename = "SetUpChangeView")]
pub struct ChangeView<'a> {
    /// Of a file: make_folder, write, edit (a file of the work tree that is there), rename, remove or remove_folder. Of a key: add or
    /// unset one value beside others, or set its only value.
    change: &'static str,
    /// The file, absolute.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// Of rename: the new name.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    /// The key.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    /// Its value; null when the key is removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Option<&'a str>>,
    /// Of set: its value before; null when it was not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    former: Option<Option<&'a str>>,
}

impl<'a> From<&'a SetupStep> for ChangeView<'a> {
    fn from(step: &'a SetupStep) -> Self {
        let file =
            |change, path: &Path| ChangeView { change, file: Some(path.display().to_string()), ..Self::default() };
        let key = |change, key, value| ChangeView { change, key: Some(key), value: Some(value), ..Self::default() };
        match step {
            SetupStep::Folder(path) => file("make_folder", path),
            SetupStep::Write { path, .. } | SetupStep::Put { path, new: true, .. } => file("write", path),
            SetupStep::Put { path, .. } => file("edit", path),
            SetupStep::Aside { from, to } | SetupStep::Back { from, to } => {
                ChangeView { to: Some(to.display().to_string()), ..file("rename", from) }
            }
            SetupStep::Remove(path) => file("remove", path),
            SetupStep::RemoveFolder(path) => file("remove_folder", path),
            SetupStep::Add { key: name, value } => key("add", name, Some(value)),
            SetupStep::Unset { key: name, value } => key("unset", name, Some(value)),
            SetupStep::Set { key: name, former, values, .. } => ChangeView {
                former: Some(former.last().map(String::as_str)),
                ..key("set", name, values.last().map(String::as_str))
            },
        }
    }
}

/// A change on one line: a verb in the present, or in the conditional when nothing is done.
fn step_line(step: &SetupStep, dry_run: bool) -> String {
    let ChangeView { change, file, to, .. } = ChangeView::from(step);
    let (file, to) = (file.unwrap_or_default(), to.unwrap_or_default());
    let (verb, what) = match step {
        SetupStep::Set { file, key, former, values } => {
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
        SetupStep::Add { key, value } | SetupStep::Unset { key, value } => (change, format!("{key} = {value}")),
        SetupStep::Aside { .. } | SetupStep::Back { .. } => (change, format!("{file} to {to}")),
        _ => (change.trim_end_matches("_folder"), file),
    };
    let would = if dry_run { "would " } else { "" };
    format!("{would}{verb} {}\n", safe::line(&what))
}

/// The changes, and as text, a line each.
pub fn changes(steps: &[SetupStep], dry_run: bool) -> (Vec<ChangeView<'_>>, String) {
    let text = steps.iter().map(|step| step_line(step, dry_run)).collect();
    (steps.iter().map(ChangeView::from).collect(), text)
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

/// A remote that was fetched from.
#[derive(Serialize, JsonSchema)]
struct FetchedView<'a> {
    /// The remote.
    remote: &'a str,
    /// The records that came, as of `sync`; null with `--dry-run`, and when nothing was fetched.
    incoming: Option<&'a Transfer>,
    /// Why nothing was fetched.
    error: Option<&'a str>,
}

/// What `init` set up.
#[derive(Serialize, JsonSchema)]
pub struct InitView<'a> {
    /// Where the hooks are.
    hooks: Option<HookPlacement>,
    /// The folder they are in; null when the configuration names them.
    hooks_folder: Option<String>,
    /// Where records go to; null when there is no remote.
    remote: Option<&'a str>,
    /// The agents whose files have entries.
    agents: &'a [Agent],
    /// The agents used here, by their files and programs.
    agents_found: &'a [Agent],
    /// The remotes that were fetched from, the one that records go to first.
    fetched: Vec<FetchedView<'a>>,
    /// The command that makes sense next; null with `--dry-run`.
    #[schemars(with = "Option<String>")]
    next_command: Option<&'a Command>,
    /// Whether nothing was changed.
    dry_run: bool,
    /// The changes made, or to be made, in their order; empty when nothing is left to do.
    changes: Vec<ChangeView<'a>>,
}

/// The answer of `init`.
pub fn set_up(outcome: &InitOutcome) -> Answer {
    let (changes, listed) = changes(&outcome.steps, outcome.dry_run);
    let fetched = outcome.fetched.iter().map(|(remote, received)| {
        let received = received.as_ref();
        FetchedView {
            remote,
            incoming: received.and_then(|received| Some(&received.as_ref().ok()?.incoming)),
            error: received.and_then(|received| received.as_ref().err()).map(String::as_str),
        }
    });
    let next = match outcome.has_handoffs {
        _ if outcome.dry_run => None,
        true => Some(empirica("resume")),
        false => Some(empirica("finding").arg(blank("<what you learned>"))),
    };
    let view = InitView {
        hooks: outcome.how,
        hooks_folder: outcome.folder.as_ref().map(|path| path.display().to_string()),
        remote: outcome.remote.as_deref(),
        agents: &outcome.agents,
        agents_found: &outcome.agents_found,
        fetched: fetched.collect(),
        next_command: next.as_ref(),
        dry_run: outcome.dry_run,
        changes,
    };
    let text = if outcome.dry_run { listed } else { summary(outcome) };
    let mut answer = Answer::new(view).text(text + &outcome.fetched.iter().map(source).collect::<String>());
    let count = outcome.steps.len();
    answer = match (count, outcome.dry_run) {
        (0, _) => answer,
        (count, true) => answer.say(format!("{} would be made.", format::count(count, "change"))),
        (_, false) => answer.say(format!("To take it back: {}", empirica("deinit"))),
    };
    answer.text.extend(next.map(|command| format!("Next: {command}\n")));
    for agent in outcome.agents.iter().filter(|_| !outcome.files.is_empty() && !outcome.dry_run) {
        answer = answer.hint(entries::entry(*agent).then);
    }
    if !outcome.undecided.is_empty() {
        let used = outcome.undecided.iter().map(|agent| agent.name()).collect::<Vec<_>>().join(", ");
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

/// The changes of `deinit`.
#[derive(Serialize, JsonSchema)]
pub struct DeinitView<'a> {
    /// Whether nothing was changed.
    dry_run: bool,
    /// The changes made, or to be made, in their order.
    changes: Vec<ChangeView<'a>>,
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
    with_troubles(outcome, Answer::new(DeinitView { dry_run: outcome.dry_run, changes }).text(text).say(said))
}

/// The files that `setup` installed.
#[derive(Serialize, JsonSchema)]
pub struct SetUpView<'a> {
    /// The paths, absolute.
    files: &'a [String],
    /// Whether nothing was written.
    dry_run: bool,
    /// What is left to the user.
    hints: &'a [String],
}

/// The answer of `setup`.
pub fn installed(outcome: &UserSetupOutcome) -> Answer {
    let files: Vec<String> = outcome.files.iter().map(|file| file.display().to_string()).collect();
    let text: String = files.iter().map(|file| format!("{file}\n")).collect();
    let word = if outcome.dry_run { "Would install" } else { "Installed" };
    let answer = Answer::new(SetUpView { files: &files, dry_run: outcome.dry_run, hints: &outcome.hints })
        .text(text)
        .say(format!("{word} {}.", format::count(files.len(), "file")));
    outcome.hints.iter().fold(answer, |answer, hint| answer.hint(hint.clone()))
}
