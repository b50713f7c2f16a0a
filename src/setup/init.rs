//! Setting a repository up: hooks, what git displays and fetches, which remote records go to, the files of agents, and a first fetch.
//!
//! What is done is planned first, written down, and then made, so that what was interrupted is mended by doing it again
//! or by taking it back.

use std::path::PathBuf;

use crate::context::CommandContext;
use crate::setup::record::{HookPlacement, SetupRecord};
use crate::setup::steps::{SetupStep, SetupWarning};
use crate::setup::{agents, git_hooks, remotes, settings};
use crate::sync;
use crate::sync::exchange::RemoteSync;
use empirica_notes::error::Result;
use empirica_notes::git::Repository;
use empirica_notes::model::Namespace;
use empirica_notes::store::data_ref;
use empirica_transcripts::model::Agent;

/// The agents whose files get our hooks and our MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Agents {
    /// These.
    Named(Vec<Agent>),
    /// Those that are used here.
    Used,
    /// Those that are used here, if the user says yes.
    Asked,
}

/// What is asked for.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct InitRequest {
    pub agents: Agents,
    /// Whether the MCP server lists all its tools.
    pub all_tools: bool,
    /// Change nothing, fetch nothing, ask nothing.
    pub dry_run: bool,
}

/// Asks whether the files of these agents are to be written; `None` where nobody can be asked.
pub type AskForAgents<'a> = &'a mut dyn FnMut(&[Agent]) -> Result<Option<bool>>;

/// What `init` or `deinit` did, or would do.
#[derive(Debug, Default)]
pub struct InitOutcome {
    /// Nothing was done.
    pub dry_run: bool,
    /// Where the hooks are; `None` after `deinit`.
    pub how: Option<HookPlacement>,
    /// The folder they are in; `None` when the configuration names them.
    pub folder: Option<PathBuf>,
    /// The remote that records go to; `None` when there is none.
    pub remote: Option<String>,
    /// The agents whose files were looked after.
    pub agents: Vec<Agent>,
    /// The agents used here.
    pub agents_found: Vec<Agent>,
    /// Those of them whose files lack entries, when nobody said what to do about them.
    pub undecided: Vec<Agent>,
    /// The files of agents that were written, from the top of the work tree.
    pub files: Vec<PathBuf>,
    /// Whether hooks and configuration were as they should be.
    pub was_set_up: bool,
    /// The remotes that were fetched from, with what came, or why nothing did; `None` for one that would be.
    pub fetched: Vec<(String, Option<std::result::Result<RemoteSync, String>>)>,
    /// Whether handoffs are stored here.
    pub has_handoffs: bool,
    /// The changes, in their order; empty when there was nothing to do.
    pub steps: Vec<SetupStep>,
    /// What stays as it is and should be known.
    pub troubles: Vec<SetupWarning>,
}

/// Everything `init` would do here.
#[allow(missing_docs)]
pub struct InitPlan {
    pub hooks: git_hooks::HooksPlan,
    pub settings: settings::SettingsPlan,
    /// What will be written down.
    pub record: SetupRecord,
}

/// What `init` would do, given what it did before.
pub fn plan(repo: &Repository, before: &SetupRecord) -> Result<InitPlan> {
    let hooks = git_hooks::plan(repo, before)?;
    let settings = settings::plan(repo, before, hooks.hooks.how)?;
    let mut record = before.clone();
    record.hooks.retain(|known| !hooks.left.contains(known) && !known.same_place(&hooks.hooks));
    record.hooks.push(hooks.hooks.clone());
    record.config = settings.added.clone();
    Ok(InitPlan { hooks, settings, record })
}

/// Sets the repository up, and the files of agents in its work tree as `request` says; then fetches what the remotes have. Without
/// agents no file of the work tree is touched. Twice is the same as once.
pub fn run(context: &CommandContext<'_>, request: &InitRequest, ask: AskForAgents<'_>) -> Result<InitOutcome> {
    let repo = context.repo;
    let common = repo.common_dir();
    let known = SetupRecord::load(&common)?;
    let before = known.clone().unwrap_or_default();
    let InitPlan { hooks, settings, mut record } = plan(repo, &before)?;
    let agents_found = agents::used(context.env, repo);
    let (wanted, undecided) = chosen(repo, request, &agents_found, &record, ask)?;
    let agents = agents::plan(repo, &wanted, request.all_tools, &mut record)?;
    let mut outcome = InitOutcome {
        dry_run: request.dry_run,
        how: Some(hooks.hooks.how),
        folder: (hooks.hooks.how != HookPlacement::Config).then(|| hooks.hooks.folder.clone()),
        remote: settings.remote,
        agents: wanted,
        agents_found,
        undecided,
        was_set_up: hooks.steps.is_empty() && settings.steps.is_empty(),
        files: agents.steps.iter().filter_map(|step| step.put_below(&repo.work_tree()?)).collect(),
        steps: hooks.steps.into_iter().chain(settings.steps).chain(agents.steps).collect(),
        troubles: hooks.troubles.into_iter().chain(settings.troubles).chain(agents.troubles).collect(),
        ..InitOutcome::default()
    };
    let remotes = sources(repo, outcome.remote.as_ref())?;
    if request.dry_run {
        outcome.fetched = remotes.into_iter().map(|name| (name, None)).collect();
        return Ok(outcome);
    }
    if known.as_ref() != Some(&record) || !outcome.steps.is_empty() {
        make(repo, &before, &record, &outcome.steps)?;
    }
    let behind = hooks.hooks.behind(repo)?.map(|(what, _)| format!("{what}: git runs none of our hooks"));
    outcome.troubles.extend(behind.map(|what| SetupWarning { what, commands: Vec::new() }));
    let mut warnings = Vec::new();
    for (name, received) in sync::run::receive(context, remotes, &mut warnings) {
        let received = received.map_err(|error| {
            let reason = error.reason_text().to_string();
            // the first of git's words
            let why = reason.split("; ").next().unwrap_or_default().trim_start_matches("fatal: ");
            let what = format!("nothing was fetched from {name}: {why}");
            outcome.troubles.push(SetupWarning { what, commands: error.commands().to_vec() });
            why.to_owned()
        });
        outcome.fetched.push((name, Some(received)));
    }
    outcome.troubles.extend(warnings.into_iter().map(|what| SetupWarning { what, commands: Vec::new() }));
    outcome.has_handoffs = repo.find_ref(&data_ref(Namespace::Handoffs))?.is_some();
    Ok(outcome)
}

/// The agents whose files are written, each once; and those used here that nobody decided about and whose files lack entries.
fn chosen(
    repo: &Repository,
    request: &InitRequest,
    found: &[Agent],
    record: &SetupRecord,
    ask: AskForAgents<'_>,
) -> Result<(Vec<Agent>, Vec<Agent>)> {
    match &request.agents {
        Agents::Used => Ok((found.to_vec(), Vec::new())),
        Agents::Named(named) => {
            Ok((Agent::ALL.into_iter().filter(|agent| named.contains(agent)).collect(), Vec::new()))
        }
        Agents::Asked => {
            // a file that cannot be read lacks them, and is told of when it is to be written
            let lacks = |agent: &&Agent| {
                agents::plan(repo, &[**agent], request.all_tools, &mut record.clone())
                    .map_or(true, |plan| !plan.steps.is_empty())
            };
            let lacking: Vec<Agent> = found.iter().filter(lacks).copied().collect();
            let answer = if lacking.is_empty() || request.dry_run { None } else { ask(&lacking)? };
            Ok(match answer {
                Some(true) => (lacking, Vec::new()),
                Some(false) => (Vec::new(), Vec::new()),
                None => (Vec::new(), lacking),
            })
        }
    }
}

/// The remotes to fetch from: those that records go to, then all others that records are fetched from.
fn sources(repo: &Repository, remote: Option<&String>) -> Result<Vec<String>> {
    let others = remotes::list(repo.cwd())?.into_iter().filter(remotes::Remote::is_source).map(|remote| remote.name);
    let mut out: Vec<String> = Vec::new();
    for name in remote.cloned().into_iter().chain(repo.config_all("empirica.remote")).chain(others) {
        if !out.contains(&name) {
            out.push(name);
        }
    }
    Ok(out)
}

/// Makes the changes, with a record of both what is about to come and what is about to go until they are made.
fn make(repo: &Repository, before: &SetupRecord, record: &SetupRecord, steps: &[SetupStep]) -> Result<()> {
    let mut meanwhile = record.clone();
    meanwhile.merge(before);
    meanwhile.save(repo)?;
    steps.iter().try_for_each(|step| step.make(repo))?;
    record.save(repo)
}

/// Makes hooks and settings what they should be where the repository is set up, and returns the changes.
pub fn mend(repo: &Repository) -> Result<Vec<SetupStep>> {
    let Some(before) = SetupRecord::load(&repo.common_dir())?.filter(SetupRecord::is_set_up) else {
        return Ok(Vec::new());
    };
    let InitPlan { hooks, settings, record } = plan(repo, &before)?;
    let steps: Vec<SetupStep> = hooks.steps.into_iter().chain(settings.steps).collect();
    if before != record || !steps.is_empty() {
        make(repo, &before, &record, &steps)?;
    }
    Ok(steps)
}
