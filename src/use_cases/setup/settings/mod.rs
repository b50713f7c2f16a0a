//! Values that `init` adds to the repository's configuration, if missing.

pub mod remotes;

use crate::use_cases::setup::git_hooks::scripts;
use crate::use_cases::setup::record::{AddedConfig, HookPlacement, SetupRecord};
use crate::use_cases::setup::settings::remotes::Remote;
use crate::use_cases::setup::steps::{SetupStep, SetupWarning};
use empirica_notes::error::{Result, empirica};
use empirica_notes::git::Repository;
use empirica_notes::git::remotes::preferred;
use empirica_notes::git::repository::config;
use empirica_notes::git::repository::config::{ConfigFile, ConfigValue, matches};
use empirica_notes::store::MARKDOWN_REF;

/// Value for `notes.displayRef`. A glob, since git warns at every `git log` about a plain name that does not exist
/// yet.
pub const DISPLAY: &str = "refs/notes/empirica/handoffs*";

#[derive(Debug, Default)]
pub struct SettingsPlan {
    pub steps: Vec<SetupStep>,
    /// Values added by us, in order.
    pub added: Vec<AddedConfig>,
    /// For records.
    pub remote: Option<String>,
    pub hook_warnings: Vec<SetupWarning>,
    pub fetch_warnings: Vec<SetupWarning>,
}

impl SettingsPlan {
    fn add(&mut self, key: &str, value: &str) {
        self.steps.push(SetupStep::AddValue { key: key.to_owned(), value: value.to_owned() });
        self.record(key, value);
    }

    fn unset(&mut self, key: &str, value: &str) {
        self.steps.push(SetupStep::UnsetValue { key: key.to_owned(), value: value.to_owned() });
        self.added.retain(|added| (added.key.as_str(), added.value.as_str()) != (key, value));
    }

    fn record(&mut self, key: &str, value: &str) {
        let added = AddedConfig { key: key.to_owned(), value: value.to_owned() };
        if !self.added.contains(&added) {
            self.added.push(added);
        }
    }
}

/// Whether plain `git log` shows the Markdown, given the values of `notes.displayRef`.
pub fn is_displayed(values: &[ConfigValue]) -> bool {
    values.iter().any(|value| matches(&value.value, MARKDOWN_REF))
}

/// Plans the configuration for hooks in this placement.
pub fn plan(repo: &Repository, record: &SetupRecord, placement: HookPlacement) -> Result<SettingsPlan> {
    let mut plan = SettingsPlan { added: record.config.clone(), ..Default::default() };
    hooks(repo, &mut plan, placement)?;
    if !is_displayed(&config::matching(repo, |key| key == "notes.displayref")?) {
        plan.add("notes.displayRef", DISPLAY);
    }
    let remotes = remotes::list(repo)?;
    for remote in remotes.iter().filter(|remote| remote.is_local) {
        let key = format!("remote.{}.fetch", remote.name);
        if remote.mirror {
            plan.fetch_warnings.push(mirror(remote));
            continue;
        }
        if !remote.is_usable() {
            let what = format!("the remote name '{}' is not valid in a ref: it gets no refspec", remote.name);
            plan.fetch_warnings.push(SetupWarning::new(what));
            continue;
        }
        for value in remote.misnamed() {
            plan.unset(&key, &value);
        }
        for refspec in remote.missing() {
            plan.add(&key, &refspec);
        }
    }
    // removed together with its remote
    let is_current = |added: &AddedConfig| {
        let name = added.key.strip_prefix("remote.").and_then(|key| key.strip_suffix(".fetch"));
        name.is_none_or(|name| remotes.iter().any(|remote| remote.name == name))
    };
    plan.added.retain(is_current);
    remote(repo, &mut plan, &remotes)?;
    Ok(plan)
}

fn mirror(remote: &Remote) -> SetupWarning {
    let what = format!("the remote '{}' mirrors: it gets no refspec, and its fetches overwrite notes", remote.name);
    if remote.fetch.iter().any(|value| value.value == "^refs/notes/empirica/*") {
        return SetupWarning::new(what);
    }
    let key = empirica_notes::error::quote(&format!("remote.{}.fetch", remote.name));
    SetupWarning::new(what).command(format!("git config --add {key} '^refs/notes/empirica/*'"))
}

/// Hooks in git's configuration.
fn hooks(repo: &Repository, plan: &mut SettingsPlan, placement: HookPlacement) -> Result<()> {
    if placement != HookPlacement::Config {
        // in reverse order: git fails on an event without a command
        for AddedConfig { key, value } in
            plan.added.clone().into_iter().rev().filter(|added| added.key.starts_with("hook."))
        {
            if config::own(repo, &ConfigFile::Local, &key)?.contains(&value) {
                plan.unset(&key, &value);
            } else {
                plan.added.retain(|added| (&added.key, &added.value) != (&key, &value));
            }
        }
        return Ok(());
    }
    let wanted: Vec<&str> = scripts::hook_names(repo).collect();
    let is_unwanted = |added: &&AddedConfig| {
        let name = added.key.strip_prefix("hook.empirica-").and_then(|key| key.rsplit_once('.'));
        name.is_some_and(|(name, _)| !wanted.contains(&name))
    };
    // in reverse order, as below
    for AddedConfig { key, value } in plan.added.clone().iter().rev().filter(is_unwanted) {
        plan.unset(key, value);
    }
    for name in wanted.iter().copied() {
        let key = format!("hook.empirica-{name}.command");
        let command = scripts::command(name);
        let now = config::own(repo, &ConfigFile::Local, &key)?;
        let ours = |value: &String| plan.added.iter().any(|added| added.key == key && added.value == *value);
        match now.as_slice() {
            [] => plan.add(&key, &command),
            [only] if *only == command => plan.record(&key, &command),
            values if values.iter().all(ours) => {
                plan.added.retain(|added| added.key != key);
                plan.record(&key, &command);
                let (file, former) = (ConfigFile::Local, now.clone());
                plan.steps.push(SetupStep::SetValues { file, key, former, values: vec![command] });
            }
            _ => {
                let command = format!("git config --unset-all {key} && {}", empirica("init"));
                let what = format!("{key} was edited by hand; it is kept");
                plan.hook_warnings.push(SetupWarning::new(what).command(command));
            }
        }
        let key = format!("hook.empirica-{name}.event");
        let now = config::own(repo, &ConfigFile::Local, &key)?;
        if now.iter().all(|event| event != name) {
            plan.add(&key, name);
        }
    }
    Ok(())
}

/// `empirica.remote`: the remote for records.
fn remote(repo: &Repository, plan: &mut SettingsPlan, remotes: &[Remote]) -> Result<()> {
    let key = "empirica.remote";
    let now = config::matching(repo, |key| key == "empirica.remote")?.pop();
    if let Some(now) = now {
        let exists = remotes.iter().any(|remote| remote.name == now.value);
        let ours = plan.added.iter().any(|added| added.key == key && added.value == now.value);
        if exists || !ours {
            plan.remote = Some(now.value);
            return Ok(());
        }
        plan.unset(key, &now.value);
    }
    plan.remote = choice(repo, remotes);
    if let Some(remote) = plan.remote.clone() {
        plan.add(key, &remote);
    }
    Ok(())
}

/// The remote of the current branch, otherwise `origin`, otherwise the only one.
pub fn choice(repo: &Repository, remotes: &[Remote]) -> Option<String> {
    let names: Vec<String> = remotes.iter().filter(|r| r.is_source()).map(|remote| remote.name.clone()).collect();
    preferred(repo, &names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_git_matches_notes_refs() {
        for pattern in
            ["refs/notes/*", "refs/notes/empirica/handoffs", DISPLAY, "refs/notes/empirica/handoff?", "*offs"]
        {
            assert!(matches(pattern, MARKDOWN_REF), "{pattern}");
        }
        assert!(matches("refs/notes/empirica/handoff[rs]", MARKDOWN_REF));
        for pattern in ["refs/notes/commits", "refs/notes/empirica/data/*", "refs/notes/empirica", "handoffs", "[", ""]
        {
            assert!(!matches(pattern, MARKDOWN_REF), "{pattern}");
        }
    }
}
