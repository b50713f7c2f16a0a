//! Sets up a repository: hooks, what git displays and fetches, the remote for records, agents' files, and a first
//! fetch; then offers to collect the transcripts of earlier sessions.
//!
//! Changes are planned, recorded, then made: after an interruption, repeating or reverting them repairs the state.

use std::path::PathBuf;
use std::time::Duration;

use crate::context::CommandContext;
use crate::use_cases::collect::all;
use crate::use_cases::collect::all::{CollectAllOutcome, CollectAllRequest};
use crate::use_cases::setup::record::{HookPlacement, SetupRecord};
use crate::use_cases::setup::settings::remotes;
use crate::use_cases::setup::steps::{SetupStep, SetupWarning};
use crate::use_cases::setup::{agents, git_hooks, settings, steps};
use crate::use_cases::sync;
use crate::use_cases::sync::exchange::RemoteSync;
use empirica_notes::error::Result;
use empirica_notes::git::Repository;
use empirica_notes::model::Namespace;
use empirica_notes::store::data_ref;
use empirica_transcripts::model::Agent;

/// Agents whose files get our hooks and our MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Agents {
    Named(Vec<Agent>),
    Used,
    /// All agents used here, if the user agrees.
    Ask,
}

#[derive(Debug, Clone)]
pub struct InitRequest {
    pub agents: Agents,
    /// Whether the MCP server lists all tools.
    pub all_tools: bool,
    /// Change, fetch and ask nothing.
    pub dry_run: bool,
}

/// A question to the user.
#[derive(Debug)]
pub enum Question<'q> {
    /// Whether to write the files of these agents.
    Files(&'q [Agent]),
    /// Whether to collect these transcripts.
    Transcripts(&'q CollectAllOutcome),
}

/// Asks a question; `None` if nobody can answer.
pub type Ask<'a> = &'a mut dyn FnMut(Question<'_>) -> Result<Option<bool>>;

#[derive(Debug, Default)]
pub struct InitOutcome {
    pub dry_run: bool,
    /// `None` after `deinit`.
    pub placement: Option<HookPlacement>,
    /// Folder of hooks; `None` if they are in the configuration.
    pub folder: Option<PathBuf>,
    /// For records.
    pub remote: Option<String>,
    /// Agents whose files were checked.
    pub agents: Vec<Agent>,
    pub agents_found: Vec<Agent>,
    /// Agents used here whose files lack entries, if nobody decided about them.
    pub undecided: Vec<Agent>,
    /// Written files of agents, from the worktree root.
    pub files: Vec<PathBuf>,
    /// Whether hooks and configuration were already in place.
    pub was_set_up: bool,
    /// Remotes fetched from, with the result or the reason of the failure; `None` in a dry run.
    pub fetched: Vec<(String, Option<std::result::Result<RemoteSync, String>>)>,
    pub has_handoffs: bool,
    /// The transcripts of earlier sessions; `None` after `deinit`.
    pub transcripts: Option<CollectAllOutcome>,
    /// Whether they were collected.
    pub is_collected: bool,
    /// Changes in order; empty if nothing was to do.
    pub steps: Vec<SetupStep>,
    pub warnings: Vec<SetupWarning>,
}

pub struct InitPlan {
    pub hooks: git_hooks::HookPlan,
    pub settings: settings::SettingsPlan,
    pub record: SetupRecord,
}

/// Plans `init`, given the record of the last one.
pub fn plan(repo: &Repository, before: &SetupRecord) -> Result<InitPlan> {
    let hooks = git_hooks::plan(repo, before)?;
    let settings = settings::plan(repo, before, hooks.hooks.placement)?;
    let mut record = before.clone();
    record.hooks.retain(|installed| !hooks.left.contains(installed) && !installed.same_place(&hooks.hooks));
    record.hooks.push(hooks.hooks.clone());
    record.config = settings.added.clone();
    Ok(InitPlan { hooks, settings, record })
}

/// Sets up the repository and, as requested, agents' files in the worktree, then fetches from remotes. Without
/// agents, no worktree file changes. Collects transcripts if the user agrees; `progress` receives those done and their
/// total. Idempotent.
pub fn run(
    context: &CommandContext<'_>,
    request: &InitRequest,
    ask: Ask<'_>,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<InitOutcome> {
    let repo = context.repo;
    let common = repo.common_dir();
    let recorded = SetupRecord::load(&common)?;
    let before = recorded.clone().unwrap_or_default();
    let InitPlan { hooks, settings, mut record } = plan(repo, &before)?;
    let agents_found = agents::used(context.env, repo);
    let (chosen, undecided) = choose(repo, request, &agents_found, &record, ask)?;
    let agents = agents::plan(repo, &chosen, request.all_tools, &mut record)?;
    let mut outcome = InitOutcome {
        dry_run: request.dry_run,
        placement: Some(hooks.hooks.placement),
        folder: (hooks.hooks.placement != HookPlacement::Config).then(|| hooks.hooks.folder.clone()),
        remote: settings.remote,
        agents: chosen,
        agents_found,
        undecided,
        was_set_up: hooks.steps.is_empty() && settings.steps.is_empty(),
        files: agents.steps.iter().filter_map(|step| step.written_below(&repo.work_tree()?)).collect(),
        steps: hooks.steps.into_iter().chain(settings.steps).chain(agents.steps).collect(),
        warnings: [hooks.warnings, settings.hook_warnings, settings.fetch_warnings, agents.warnings].concat(),
        ..InitOutcome::default()
    };
    let remotes = sources(repo, outcome.remote.as_ref())?;
    if request.dry_run {
        outcome.fetched = remotes.into_iter().map(|name| (name, None)).collect();
        outcome.transcripts = Some(all::list(context, &CollectAllRequest::default()));
        return Ok(outcome);
    }
    if recorded.as_ref() != Some(&record) || !outcome.steps.is_empty() {
        apply(repo, &before, &record, &outcome.steps)?;
    }
    let overridden = hooks.hooks.overridden(repo)?.map(|(what, _)| format!("{what}: git runs none of our hooks"));
    outcome.warnings.extend(overridden.map(SetupWarning::new));
    let mut warnings = Vec::new();
    for (name, received) in sync::run::receive(context, remotes, Duration::MAX, &mut warnings) {
        let received = received.map_err(|error| {
            let reason = error.reason_text().to_string();
            // the first part of git's message
            let why = reason.split("; ").next().unwrap_or_default().trim_start_matches("fatal: ");
            let what = format!("cannot fetch from {name}: {why}");
            outcome.warnings.push(SetupWarning { what, commands: error.commands().to_vec() });
            why.to_owned()
        });
        outcome.fetched.push((name, Some(received)));
    }
    outcome.warnings.extend(warnings.into_iter().map(SetupWarning::new));
    // those that came with a fetch are not new
    let found = all::list(context, &CollectAllRequest::default());
    let is_asked = request.agents == Agents::Ask && found.changed() > 0;
    outcome.is_collected = is_asked && ask(Question::Transcripts(&found))? == Some(true);
    outcome.transcripts = Some(match outcome.is_collected {
        true => all::run(context, &CollectAllRequest::default(), progress)?,
        false => found,
    });
    outcome.has_handoffs = repo.find_ref(&data_ref(Namespace::Handoffs))?.is_some();
    Ok(outcome)
}

/// The agents whose files to write, and the undecided agents used here whose files lack entries.
fn choose(
    repo: &Repository,
    request: &InitRequest,
    found: &[Agent],
    record: &SetupRecord,
    ask: Ask<'_>,
) -> Result<(Vec<Agent>, Vec<Agent>)> {
    match &request.agents {
        Agents::Used => Ok((found.to_vec(), Vec::new())),
        Agents::Named(named) => {
            Ok((Agent::ALL.into_iter().filter(|agent| named.contains(agent)).collect(), Vec::new()))
        }
        Agents::Ask => {
            // unreadable files count as incomplete; writing them reports the error
            let lacks = |agent: &&Agent| {
                agents::plan(repo, &[**agent], request.all_tools, &mut record.clone())
                    .map_or(true, |plan| !plan.steps.is_empty())
            };
            let incomplete: Vec<Agent> = found.iter().filter(lacks).copied().collect();
            let answer =
                if incomplete.is_empty() || request.dry_run { None } else { ask(Question::Files(&incomplete))? };
            Ok(match answer {
                Some(true) => (incomplete, Vec::new()),
                Some(false) => (Vec::new(), Vec::new()),
                None => (Vec::new(), incomplete),
            })
        }
    }
}

/// The remotes to fetch from: the one for records first.
pub fn sources(repo: &Repository, remote: Option<&String>) -> Result<Vec<String>> {
    let others = remotes::list(repo)?.into_iter().filter(remotes::Remote::is_source).map(|remote| remote.name);
    let mut out: Vec<String> = Vec::new();
    for name in remote.cloned().into_iter().chain(repo.config_all("empirica.remote")).chain(others) {
        if !out.contains(&name) {
            out.push(name);
        }
    }
    Ok(out)
}

/// Makes the changes. Until they are made, the record contains both old and new entries.
fn apply(repo: &Repository, before: &SetupRecord, record: &SetupRecord, steps: &[SetupStep]) -> Result<()> {
    let mut both = record.clone();
    both.merge(before);
    both.save(repo)?;
    steps::apply(repo, steps)?;
    record.save(repo)
}

/// Repairs hooks and settings if the repository is set up; returns the changes.
pub fn repair(repo: &Repository) -> Result<Vec<SetupStep>> {
    let Some(before) = SetupRecord::load(&repo.common_dir())?.filter(SetupRecord::is_set_up) else {
        return Ok(Vec::new());
    };
    let InitPlan { hooks, settings, record } = plan(repo, &before)?;
    let steps: Vec<SetupStep> = hooks.steps.into_iter().chain(settings.steps).collect();
    if before != record || !steps.is_empty() {
        apply(repo, &before, &record, &steps)?;
    }
    Ok(steps)
}
