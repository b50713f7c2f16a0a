//! The answers of `init`, `deinit` and `setup`.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::render::answer::Answer;
use crate::render::{format, safe};
use crate::use_cases::collect::all::view::collected;
use crate::use_cases::collect::all::{AgentTranscripts, CollectAllOutcome};
use crate::use_cases::setup::agents::entries;
use crate::use_cases::setup::init::{InitOutcome, Question};
use crate::use_cases::setup::record::HookPlacement;
use crate::use_cases::setup::steps::SetupStep;
use crate::use_cases::setup::user::UserSetupOutcome;
use crate::use_cases::sync::exchange::{RemoteSync, Transfer};
use empirica_notes::error::{Command, blank, empirica};
use empirica_notes::git::repository::config::ConfigFile;
use empirica_transcripts::model::Agent;

/// A change to a file, which has `file`, or to git's configuration, which has `key` and `value`.
#[derive(Default, Serialize, JsonSchema)]
#[schemars(rename = "SetUpChangeView")]
pub struct ChangeView<'a> {
    /// Of a file: make_folder, write, edit (an existing file of the work tree), rename, remove or remove_folder. Of a key: add or unset
    /// one of its values, or set its only value.
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
            SetupStep::MakeFolder(path) => file("make_folder", path),
            SetupStep::WriteScript { path, .. } | SetupStep::WriteFile { path, new: true, .. } => file("write", path),
            SetupStep::WriteFile { path, .. } => file("edit", path),
            SetupStep::Rename { from, to } | SetupStep::Restore { from, to } => {
                ChangeView { to: Some(to.display().to_string()), ..file("rename", from) }
            }
            SetupStep::Remove(path) => file("remove", path),
            SetupStep::RemoveFolder(path) => file("remove_folder", path),
            SetupStep::AddValue { key: name, value } => key("add", name, Some(value)),
            SetupStep::UnsetValue { key: name, value } => key("unset", name, Some(value)),
            SetupStep::SetValues { key: name, former, values, .. } => ChangeView {
                former: Some(former.last().map(String::as_str)),
                ..key("set", name, values.last().map(String::as_str))
            },
        }
    }
}

fn step_line(step: &SetupStep, dry_run: bool) -> String {
    let ChangeView { change, file, to, .. } = ChangeView::from(step);
    let (file, to) = (file.unwrap_or_default(), to.unwrap_or_default());
    let (verb, what) = match step {
        SetupStep::SetValues { file, key, former, values } => {
            let was = former.last().map_or_else(|| "not set".to_owned(), |value| format!("'{value}'"));
            let at = match file {
                ConfigFile::Local => String::new(),
                ConfigFile::At(path) => format!(", in {}", path.display()),
            };
            match values.last() {
                Some(value) => ("set", format!("{key} = {value} (was {was}{at})")),
                None => ("unset", format!("{key} (was {was}{at})")),
            }
        }
        SetupStep::AddValue { key, value } | SetupStep::UnsetValue { key, value } => {
            (change, format!("{key} = {value}"))
        }
        SetupStep::Rename { .. } | SetupStep::Restore { .. } => (change, format!("{file} to {to}")),
        _ => (change.trim_end_matches("_folder"), file),
    };
    format!("{}{verb} {}\n", if dry_run { "would " } else { "" }, safe::line(&what))
}

/// The changes as views, and as text with a line each.
pub fn changes(steps: &[SetupStep], dry_run: bool) -> (Vec<ChangeView<'_>>, String) {
    let text = steps.iter().map(|step| step_line(step, dry_run)).collect();
    (steps.iter().map(ChangeView::from).collect(), text)
}

/// A question to the user, in words.
pub fn question(question: &Question<'_>) -> String {
    match question {
        Question::Files(agents) => {
            let names: Vec<&str> = agents.iter().map(|agent| agent.name()).collect();
            format!("Add hooks and MCP tools to the files of {} here?", names.join(", "))
        }
        Question::Transcripts(found) => {
            let next = match found.sent_to.as_slice() {
                [] => String::new(),
                names => format!(" The next push sends the records to {}.", safe::line(&names.join(", "))),
            };
            format!("Collect {}?{next}", earlier_sessions(found))
        }
    }
}

/// The transcripts that are not collected, in words.
fn earlier_sessions(found: &CollectAllOutcome) -> String {
    let since = found.since().map(|since| format!(", since {}", format::date(since))).unwrap_or_default();
    let agents: Vec<&AgentTranscripts> = found.agents.iter().filter(|one| one.new > 0).collect();
    let agents: Vec<String> = agents.iter().map(|one| format!("{} of {}", one.new, one.agent.name())).collect();
    format!("{} here ({}{since})", format::count(found.changed(), "earlier session"), agents.join(", "))
}

fn with_warnings(outcome: &InitOutcome, answer: Answer) -> Answer {
    let answer = answer.warn(outcome.warnings.iter().map(|warning| warning.what.clone()));
    let commands = outcome.warnings.iter().flat_map(|warning| &warning.commands);
    commands.fold(answer, |answer, command| answer.hint(command.to_string()))
}

/// A remote that was fetched from.
#[derive(Serialize, JsonSchema)]
struct FetchedView<'a> {
    /// The remote.
    remote: &'a str,
    /// The received records, as of `sync`; null with `--dry-run`, and when the fetch failed.
    incoming: Option<&'a Transfer>,
    /// Why the fetch failed.
    error: Option<&'a str>,
}

/// The result of `init`.
#[derive(Serialize, JsonSchema)]
pub struct InitView<'a> {
    /// Where the hooks are.
    hooks: Option<HookPlacement>,
    /// The folder they are in; null when the configuration names them.
    hooks_folder: Option<String>,
    /// The remote for records; null when there is none.
    remote: Option<&'a str>,
    /// The agents whose files have entries.
    agents: &'a [Agent],
    /// The agents used here, by their files and programs.
    agents_found: &'a [Agent],
    /// The remotes that were fetched from, the one for records first.
    fetched: Vec<FetchedView<'a>>,
    /// The transcripts of sessions here, by agent.
    transcripts: &'a [AgentTranscripts],
    /// How many of them were collected; null when the user did not agree.
    collected: Option<usize>,
    /// The next command; null with `--dry-run`.
    #[schemars(with = "Option<String>")]
    next_command: Option<&'a Command>,
    /// Whether nothing was changed.
    dry_run: bool,
    /// The changes made, or to be made, in order.
    changes: Vec<ChangeView<'a>>,
}

pub fn set_up(outcome: &InitOutcome) -> Answer {
    let (changes, listed) = changes(&outcome.steps, outcome.dry_run);
    let fetched = outcome.fetched.iter().map(|(remote, received)| {
        let received = received.as_ref().map(Result::as_ref);
        FetchedView {
            remote,
            incoming: received.and_then(Result::ok).map(|received| &received.incoming),
            error: received.and_then(Result::err).map(String::as_str),
        }
    });
    let next = match outcome.has_handoffs {
        _ if outcome.dry_run => None,
        true => Some(empirica("resume")),
        false => Some(empirica("finding").arg(blank("<what you learned>"))),
    };
    let view = InitView {
        hooks: outcome.placement,
        hooks_folder: outcome.folder.as_ref().map(|path| path.display().to_string()),
        remote: outcome.remote.as_deref(),
        agents: &outcome.agents,
        agents_found: &outcome.agents_found,
        fetched: fetched.collect(),
        transcripts: outcome.transcripts.as_ref().map_or(&[], |found| &found.agents),
        collected: outcome.transcripts.as_ref().filter(|_| outcome.is_collected).map(|collected| collected.collected),
        next_command: next.as_ref(),
        dry_run: outcome.dry_run,
        changes,
    };
    let text = if outcome.dry_run { listed } else { summary(outcome) };
    let fetched: String = outcome.fetched.iter().map(fetched_text).collect();
    let mut answer = Answer::new(view).text(text + &fetched);
    answer = match (outcome.steps.len(), outcome.dry_run) {
        (0, _) => answer,
        (count, true) => answer.say(format!("{} would be made.", format::count(count, "change"))),
        (_, false) => answer.say(format!("To revert it: {}", empirica("deinit"))),
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
    if let Some(found) = &outcome.transcripts {
        answer = match outcome.is_collected {
            true => collected(found, answer),
            false if found.changed() > 0 => answer.hint(format!(
                "{}; to collect them: {}",
                earlier_sessions(found),
                empirica("collect").flag("--all")
            )),
            false => answer,
        };
    }
    with_warnings(outcome, answer)
}

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

/// The result of a fetch in a line; empty if it failed.
fn fetched_text((remote, received): &(String, Option<Result<RemoteSync, String>>)) -> String {
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
    /// The changes made, or to be made, in order.
    changes: Vec<ChangeView<'a>>,
}

pub fn reverted(outcome: &InitOutcome) -> Answer {
    let (changes, mut text) = changes(&outcome.steps, outcome.dry_run);
    let message = match (changes.len(), outcome.dry_run) {
        (0, _) => "There was nothing to revert.".to_owned(),
        (count, true) => format!("{} would be made.", format::count(count, "change")),
        (count, false) => format!("{} made. The records stay.", format::count(count, "change")),
    };
    if text.is_empty() {
        text = "not set up\n".to_owned();
    }
    with_warnings(outcome, Answer::new(DeinitView { dry_run: outcome.dry_run, changes }).text(text).say(message))
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

pub fn installed(outcome: &UserSetupOutcome) -> Answer {
    let files: Vec<String> = outcome.files.iter().map(|file| file.display().to_string()).collect();
    let text: String = files.iter().map(|file| format!("{file}\n")).collect();
    let word = if outcome.dry_run { "Would install" } else { "Installed" };
    let answer = Answer::new(SetUpView { files: &files, dry_run: outcome.dry_run, hints: &outcome.hints })
        .text(text)
        .say(format!("{word} {}.", format::count(files.len(), "file")));
    outcome.hints.iter().fold(answer, |answer, hint| answer.hint(hint.clone()))
}
