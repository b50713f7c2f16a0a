//! Setting a repository up: hooks, what git displays and fetches, which remote records go to, and the files of agents.
//!
//! What is done is planned first, written down, and then made, so that what was interrupted is mended by doing it again
//! or by taking it back.

pub mod agents;
pub mod files;
pub mod hooks;
pub mod record;
pub mod remotes;
pub mod scripts;
pub mod settings;
pub mod steps;

use std::path::{Path, PathBuf};

use self::hooks::Trouble;
use self::record::{How, Record};
use self::steps::Step;
use crate::error::Result;
use crate::git::{Repository, config};
use crate::model::transcript::Agent;

/// What `init` or `deinit` did, or would do.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Nothing was done.
    pub dry_run: bool,
    /// Where the hooks are; `None` after `deinit`.
    pub how: Option<How>,
    /// The folder they are in; `None` when the configuration names them.
    pub folder: Option<PathBuf>,
    /// The remote that records go to; `None` when there is none.
    pub remote: Option<String>,
    /// The agents whose files were looked after.
    pub agents: Vec<Agent>,
    /// The changes, in their order; empty when there was nothing to do.
    pub steps: Vec<Step>,
    /// What stays as it is and should be known.
    pub troubles: Vec<Trouble>,
}

/// Everything `init` would do here.
pub struct Plan {
    /// The hooks.
    pub hooks: hooks::Plan,
    /// The configuration.
    pub settings: settings::Plan,
    /// What will be written down.
    pub record: Record,
}

/// What `init` would do, given what it did before.
pub fn plan(repo: &Repository, before: &Record) -> Result<Plan> {
    let hooks = hooks::plan(repo, before)?;
    let settings = settings::plan(repo, before, hooks.hooks.how)?;
    let mut record = before.clone();
    record.hooks.retain(|known| !hooks.left.contains(known) && !known.same_place(&hooks.hooks));
    record.hooks.push(hooks.hooks.clone());
    record.config = settings.added.clone();
    Ok(Plan { hooks, settings, record })
}

/// Sets the repository up, and the files of `agents` in its work tree; without any, no file of the work tree is touched. Twice is
/// the same as once. With `dry_run` nothing is changed.
pub fn run(repo: &Repository, agents: &[Agent], dry_run: bool) -> Result<Outcome> {
    let common = repo.common_dir();
    let known = Record::load(&common)?;
    let before = known.clone().unwrap_or_default();
    let Plan { hooks, settings, mut record } = plan(repo, &before)?;
    let mut wanted: Vec<Agent> = Vec::new();
    for agent in agents {
        if !wanted.contains(agent) {
            wanted.push(*agent);
        }
    }
    let agents = agents::plan(repo, &wanted, &mut record)?;
    let mut outcome = Outcome {
        dry_run,
        how: Some(hooks.hooks.how),
        folder: (hooks.hooks.how != How::Config).then(|| hooks.hooks.folder.clone()),
        remote: settings.remote,
        agents: wanted,
        steps: hooks.steps.into_iter().chain(settings.steps).chain(agents.steps).collect(),
        troubles: hooks.troubles.into_iter().chain(settings.troubles).chain(agents.troubles).collect(),
    };
    if dry_run {
        return Ok(outcome);
    }
    if known.as_ref() != Some(&record) || !outcome.steps.is_empty() {
        make(repo, &before, &record, &outcome.steps)?;
    }
    if let Some(folder) = outcome.folder.as_ref().filter(|_| outcome.how == Some(How::Folder)) {
        let named = config::paths(repo.cwd(), r"^core\.hookspath$")?;
        if let Some(other) = named.last().filter(|value| Path::new(&value.value) != folder) {
            outcome.troubles.push(Trouble {
                what: format!(
                    "core.hooksPath is set to '{}' behind ours, in {}: git runs none of our hooks",
                    other.value, other.origin
                ),
                commands: Vec::new(),
            });
        }
    }
    Ok(outcome)
}

/// Makes the changes, with a record of both what is about to come and what is about to go until they are made.
fn make(repo: &Repository, before: &Record, record: &Record, steps: &[Step]) -> Result<()> {
    let common = repo.common_dir();
    let mut meanwhile = record.clone();
    meanwhile.merge(before);
    meanwhile.save(&common)?;
    steps.iter().try_for_each(|step| step.make(repo.cwd()))?;
    record.save(&common)
}

/// Makes hooks and settings what they should be where the repository is set up, and returns the changes.
pub fn mend(repo: &Repository) -> Result<Vec<Step>> {
    let Some(before) = Record::load(&repo.common_dir())?.filter(Record::is_set_up) else { return Ok(Vec::new()) };
    let Plan { hooks, settings, record } = plan(repo, &before)?;
    let steps: Vec<Step> = hooks.steps.into_iter().chain(settings.steps).collect();
    if before != record || !steps.is_empty() {
        make(repo, &before, &record, &steps)?;
    }
    Ok(steps)
}
