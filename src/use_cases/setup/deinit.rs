//! Removes what `init` and `instructions --write` recorded, unless it was edited since.

use crate::use_cases::setup::agents::files;
use crate::use_cases::setup::git_hooks::revert;
use crate::use_cases::setup::init::InitOutcome;
use crate::use_cases::setup::record;
use crate::use_cases::setup::record::{AddedConfig, SetupRecord};
use crate::use_cases::setup::settings::remotes;
use crate::use_cases::setup::steps;
use crate::use_cases::setup::steps::SetupStep;
use empirica_notes::error::Result;
use empirica_notes::git::Repository;
use empirica_notes::git::repository::config;
use empirica_notes::git::repository::config::ConfigFile;

/// Removes the setup, if there is one. Notes and log are kept. With `dry_run`, changes nothing.
pub fn run(repo: &Repository, dry_run: bool) -> Result<InitOutcome> {
    let common = repo.common_dir();
    let Some(record) = SetupRecord::load(&common)? else { return Ok(InitOutcome { dry_run, ..Default::default() }) };
    let mut outcome = InitOutcome { dry_run, ..Default::default() };
    for hooks in record.hooks.iter().rev() {
        revert(repo, hooks, &mut outcome.steps, &mut outcome.warnings)?;
    }
    // in reverse order: an event of a hook before its command
    for added in record.config.iter().rev() {
        outcome.steps.extend(unset(repo, added)?);
    }
    for edited in record.files.iter().rev() {
        files::revert(repo, edited, &mut outcome.steps, &mut outcome.warnings);
    }
    let steps = &outcome.steps;
    let is_repeated =
        |at: usize| matches!(steps[at], SetupStep::RemoveFolder(_)) && steps[at + 1..].contains(&steps[at]);
    outcome.steps = (0..steps.len()).filter(|at| !is_repeated(*at)).map(|at| steps[at].clone()).collect();
    outcome.steps.push(SetupStep::Remove(record::path(&common)));
    if !dry_run {
        steps::apply(repo, &outcome.steps)?;
        // empty if nothing was ever stored
        steps::apply(repo, &[SetupStep::RemoveFolder(common.join("empirica"))])?;
    }
    Ok(outcome)
}

/// The steps that remove a value if still set; one of a renamed remote is found under its new name.
fn unset(repo: &Repository, added: &AddedConfig) -> Result<Vec<SetupStep>> {
    let mut keys = vec![added.key.clone()];
    if added.key.starts_with("remote.") {
        let others = remotes::list(repo)?.into_iter().map(|remote| format!("remote.{}.fetch", remote.name));
        keys.extend(others.filter(|key| *key != added.key));
    }
    let mut out = Vec::new();
    for key in keys {
        if config::own(repo, &ConfigFile::Local, &key)?.contains(&added.value) {
            out.push(SetupStep::UnsetValue { key, value: added.value.clone() });
        }
    }
    Ok(out)
}
