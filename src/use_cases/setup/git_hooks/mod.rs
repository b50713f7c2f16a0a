//! Where hooks are installed, and the steps to install them.

pub mod scripts;

use std::path::{Path, PathBuf};

use crate::use_cases::setup::git_hooks::scripts::{BEFORE, HookFile, found, shell_path};
use crate::use_cases::setup::record::{HookPlacement, InstalledHooks, SetupRecord, hash, is_same_file};
use crate::use_cases::setup::steps::{SetupStep, SetupWarning};
use empirica_notes::env::is_executable;
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::git::Repository;
use empirica_notes::git::repository::config;

#[derive(Debug)]
pub struct HookPlan {
    /// To be recorded.
    pub hooks: InstalledHooks,
    /// Former installations to remove.
    pub left: Vec<InstalledHooks>,
    pub steps: Vec<SetupStep>,
    pub warnings: Vec<SetupWarning>,
}

/// Paths of a repository that matter for hooks.
struct HookPaths<'a> {
    repo: &'a Repository,
    common: PathBuf,
    /// Working directory of hooks.
    top: PathBuf,
}

impl<'a> HookPaths<'a> {
    fn new(repo: &'a Repository) -> Self {
        HookPaths { repo, common: repo.common_dir(), top: repo.work_tree().unwrap_or_else(|| repo.git_dir()) }
    }

    fn resolve(&self, path: &str) -> PathBuf {
        let path = self.top.join(path);
        path.canonicalize().unwrap_or(path)
    }

    fn is_ours(&self, path: &str, record: &SetupRecord) -> bool {
        self.resolve(path).starts_with(self.common.join("empirica"))
            || record.hooks.iter().any(|hooks| hooks.is_named_by(path))
    }

    /// Whether a folder has foreign hooks under the shipped names that git runs.
    fn has_hooks(&self, folder: &Path) -> bool {
        scripts::hook_names(self.repo).any(|name| {
            let path = folder.join(name);
            is_executable(&path)
                && found(&path, scripts::script(name), None) == HookFile::Foreign
                && !scripts::calls_copy(folder, name)
        })
    }
}

/// Where our hooks belong, without their files.
fn target(site: &HookPaths<'_>, record: &SetupRecord) -> Result<InstalledHooks> {
    let cwd = site.repo.cwd();
    if config::runs_hooks(cwd) {
        return Ok(InstalledHooks::new(HookPlacement::Config, PathBuf::new()));
    }
    let configured = config::paths(site.repo, "core.hookspath")?;
    let default = site.common.join("hooks");
    // do not write to a folder that is a symlink into the worktree
    let own_default = default.canonicalize().map_or(true, |path| path.starts_with(&site.common));
    // the last takes effect
    let last = configured.last();
    let is_default =
        last.is_none_or(|value| Path::new(&value.value).is_absolute() && site.resolve(&value.value) == default);
    // hooks may depend on their own name, so they keep it: ours go elsewhere and call them there
    if is_default && own_default && !site.has_hooks(&default) {
        return Ok(InstalledHooks::new(HookPlacement::Default, default));
    }
    let of_worktree = last.is_some_and(|value| value.scope == "worktree");
    let name = if of_worktree { format!("hooks-{}", site.repo.worktree_key()) } else { "hooks".to_owned() };
    let mut hooks = InstalledHooks::new(HookPlacement::Folder, site.common.join("empirica").join(name));
    hooks.config = of_worktree.then(|| site.repo.git_dir().join("config.worktree"));
    let default = default.to_string_lossy().into_owned();
    let (former, theirs) = match last {
        Some(value) if site.is_ours(&value.value, record) => {
            let is_same = |recorded: &&InstalledHooks| {
                recorded.placement == HookPlacement::Folder && recorded.file() == hooks.file()
            };
            let recorded = record.hooks.iter().find(is_same).ok_or_else(|| forgotten(&hooks.folder))?;
            // an outer setting may have changed since
            let outer = configured.iter().rev().find(|value| !site.is_ours(&value.value, record));
            match (&recorded.theirs, recorded.former.is_empty()) {
                (Some(theirs), false) => (recorded.former.clone(), theirs.clone()),
                _ => (Vec::new(), outer.map_or(default, |value| value.value.clone())),
            }
        }
        Some(value) => (config::own(site.repo, &hooks.file(), "core.hooksPath")?, value.value.clone()),
        None => (Vec::new(), default),
    };
    (hooks.former, hooks.theirs) = (former, Some(theirs));
    Ok(hooks)
}

fn forgotten(folder: &Path) -> Error {
    let folder = shell_path(&folder.join("pre-commit"));
    Error::refused("cannot restore core.hooksPath: its former value is not recorded")
        .reason("empirica/init.json in the git directory is gone")
        .suggest(
            "Look up the folder of your hooks in our script, set core.hooksPath to it or unset it, then set up again.",
        )
        .command(format!("grep theirs= {folder}"))
        .command(format!("git config --unset-all core.hooksPath && {}", empirica("init")))
}

/// Plans to install our hooks in this worktree, in addition to the hooks git runs now.
pub fn plan(repo: &Repository, record: &SetupRecord) -> Result<HookPlan> {
    let site = HookPaths::new(repo);
    let mut hooks = target(&site, record)?;
    if hooks.folder.to_str().is_none() {
        return Err(Error::refused("cannot install the hooks: the path of the git directory is not UTF-8")
            .reason("git's configuration and our scripts name it")
            .suggest("Move the repository to a folder whose name is UTF-8."));
    }
    let recorded = record.hooks.iter().find(|recorded| recorded.same_place(&hooks));
    if let Some(recorded) = recorded {
        hooks.files = recorded.files.clone();
        hooks.renamed = recorded.renamed.clone();
        hooks.made = recorded.made;
    }
    // the setting of a worktree does not affect the others
    let replaced = |recorded: &&InstalledHooks| {
        !recorded.same_place(&hooks) && (hooks.placement == HookPlacement::Config || recorded.file() == hooks.file())
    };
    let left: Vec<InstalledHooks> = record.hooks.iter().filter(replaced).cloned().collect();
    let mut plan = HookPlan { left: Vec::new(), steps: Vec::new(), warnings: Vec::new(), hooks };
    for recorded in &left {
        revert(repo, recorded, &mut plan.steps, &mut plan.warnings)?;
    }
    plan.left = left;
    match plan.hooks.placement {
        HookPlacement::Config => {}
        HookPlacement::Default => in_default(repo, &mut plan),
        HookPlacement::Folder => in_folder(&site, &mut plan)?,
    }
    Ok(plan)
}

fn put(plan: &mut HookPlan, name: &str, content: &str) {
    plan.hooks.files.insert(name.to_owned(), hash(content.as_bytes()));
    plan.steps
        .push(SetupStep::WriteScript { path: plan.hooks.folder.join(name), content: content.as_bytes().to_vec() });
}

fn renamed(plan: &mut HookPlan, name: &str) {
    if !plan.hooks.renamed.iter().any(|renamed| renamed == name) {
        plan.hooks.renamed.push(name.to_owned());
    }
}

/// Plans to write a script; returns its path if the file of another tool, which does not call us, is in its place.
fn place(plan: &mut HookPlan, name: &str, content: &str) -> Option<PathBuf> {
    let path = plan.hooks.folder.join(name);
    match found(&path, content, plan.hooks.files.get(name)) {
        HookFile::Current => {
            plan.hooks.files.insert(name.to_owned(), hash(content.as_bytes()));
        }
        HookFile::Absent | HookFile::Stale => put(plan, name, content),
        HookFile::Edited => {
            let what = format!("{} is our hook and was edited by hand; it is kept", path.display());
            let command = format!("rm -f {} && {}", shell_path(&path), empirica("init"));
            plan.warnings.push(SetupWarning::new(what).command(command));
        }
        // another tool renamed our script and calls it
        HookFile::Foreign if scripts::calls_copy(&plan.hooks.folder, name) => {}
        HookFile::Foreign => return Some(path),
    }
    None
}

fn create_folder(plan: &mut HookPlan) {
    if !plan.hooks.folder.exists() {
        plan.hooks.made = true;
        plan.steps.push(SetupStep::MakeFolder(plan.hooks.folder.clone()));
    }
}

/// Our scripts in the repository's hooks folder, each calling the hook that was there; those no longer needed go.
fn in_default(repo: &Repository, plan: &mut HookPlan) {
    create_folder(plan);
    let is_needed = |name: &String| scripts::hook_names(repo).any(|needed| needed == name);
    let gone: Vec<String> = plan.hooks.files.keys().filter(|name| !is_needed(name)).cloned().collect();
    for name in gone {
        remove(&plan.hooks, &name, &mut plan.steps, &mut plan.warnings);
        plan.hooks.files.remove(&name);
        plan.hooks.renamed.retain(|renamed| *renamed != name);
    }
    for name in scripts::hook_names(repo) {
        let (before, script) = (plan.hooks.folder.join(format!("{name}{BEFORE}")), scripts::script(name));
        let is_taken = std::fs::symlink_metadata(&before).is_ok();
        let Some(path) = place(plan, name, script) else {
            // the name is ours, even if the record of it is lost
            if is_taken {
                renamed(plan, name);
            }
            continue;
        };
        if is_taken && std::fs::read(&path).ok() != std::fs::read(&before).ok() {
            let (from, to) = (shell_path(&before), shell_path(&plan.hooks.folder.join(format!("{name}.old"))));
            let (path, before) = (path.display(), before.display());
            let what = format!("{path} replaced our hook, and {before} is still there; it does not call us");
            plan.warnings.push(SetupWarning::new(what).command(format!("mv {from} {to} && {}", empirica("init"))));
            continue;
        }
        if !is_taken {
            plan.steps.push(SetupStep::Rename { from: path, to: before });
        }
        renamed(plan, name);
        put(plan, name, script);
    }
}

/// Our scripts in our own folder, and scripts that call the other hooks of theirs.
fn in_folder(site: &HookPaths<'_>, plan: &mut HookPlan) -> Result<()> {
    let folder = plan.hooks.folder.clone();
    let theirs = plan.hooks.theirs.clone().unwrap_or_default();
    let their_folder = site.resolve(if theirs.is_empty() { "/" } else { &theirs });
    let is_own = their_folder == site.common.join("hooks");
    let chained = (!is_own).then_some(theirs.as_str());
    let mut files: Vec<(String, String)> = Vec::new();
    for name in scripts::hook_names(site.repo) {
        files.push((name.to_owned(), scripts::script(name).to_owned()));
        files.push((format!("{name}{BEFORE}"), scripts::chain(chained, name)));
    }
    // hooks that cannot run yet may run later, with a worktree
    let later =
        scripts::names().filter(|name| scripts::hook_names(site.repo).all(|ours| ours != *name)).map(str::to_owned);
    let passed = scripts::passed_on(&their_folder).into_iter().chain(later.collect::<Vec<_>>());
    files.extend(passed.map(|name| (name.clone(), scripts::chain(chained, &name))));
    create_folder(plan);
    for (name, content) in &files {
        // hooks that ours do not replace may be of other tools
        let foreign = place(plan, name, content).filter(|_| scripts::names().any(|ours| ours == name));
        if let Some(path) = foreign {
            let before = shell_path(&folder.join(format!("{name}{BEFORE}")));
            let what = format!("{} is of another tool and does not call us", path.display());
            let command = format!("mv {} {before} && {}", shell_path(&path), empirica("init"));
            plan.warnings.push(SetupWarning::new(what).command(command));
        }
    }
    // hooks no longer in their folder
    let gone: Vec<String> =
        plan.hooks.files.keys().filter(|name| files.iter().all(|(file, _)| file != *name)).cloned().collect();
    for name in gone {
        let path = folder.join(&name);
        if found(&path, "", plan.hooks.files.get(&name)) == HookFile::Stale {
            plan.steps.push(SetupStep::Remove(path));
        }
        plan.hooks.files.remove(&name);
    }
    // last: until then git runs theirs
    let values = vec![folder.to_string_lossy().into_owned()];
    let file = plan.hooks.file();
    let now = config::own(site.repo, &file, "core.hooksPath")?;
    let is_named = matches!(now.as_slice(), [value] if is_same_file(&site.resolve(value), &folder));
    if now != values && !is_named {
        plan.steps.push(SetupStep::SetValues { file, key: "core.hooksPath".to_owned(), former: now, values });
    }
    Ok(())
}

/// Adds the steps that remove an installation. Files edited since are kept.
pub fn revert(
    repo: &Repository,
    hooks: &InstalledHooks,
    steps: &mut Vec<SetupStep>,
    warnings: &mut Vec<SetupWarning>,
) -> Result<()> {
    if hooks.placement == HookPlacement::Folder {
        let file = hooks.file();
        // the setting was removed with its worktree
        let gone = hooks.config.as_ref().is_some_and(|path| !path.exists());
        let now = if gone { Vec::new() } else { config::own(repo, &file, "core.hooksPath")? };
        if matches!(now.as_slice(), [value] if hooks.is_named_by(value)) {
            let (former, values) = (now, hooks.former.clone());
            steps.push(SetupStep::SetValues { file, key: "core.hooksPath".to_owned(), former, values });
        }
    }
    hooks.files.keys().for_each(|name| remove(hooks, name, steps, warnings));
    if hooks.made {
        steps.push(SetupStep::RemoveFolder(hooks.folder.clone()));
    }
    Ok(())
}

/// Adds the steps that remove one of our scripts, also where another tool moved it, and restore the hook that it replaced.
fn remove(hooks: &InstalledHooks, name: &str, steps: &mut Vec<SetupStep>, warnings: &mut Vec<SetupWarning>) {
    let kept = |path: &Path, why: &str| SetupWarning::new(format!("{} {why}; it is kept", path.display()));
    let path = hooks.folder.join(name);
    let before = hooks.folder.join(format!("{name}{BEFORE}"));
    let renamed = hooks.placement == HookPlacement::Default && hooks.renamed.iter().any(|renamed| renamed == name);
    let back = renamed && std::fs::symlink_metadata(&before).is_ok();
    let idle = scripts::idle_copies(&hooks.folder, name, hooks.files.get(name));
    let is_moved = !idle.is_empty();
    steps.extend(idle.into_iter().map(SetupStep::Remove));
    match found(&path, scripts::script(name), hooks.files.get(name)) {
        HookFile::Current | HookFile::Stale | HookFile::Absent if back => {
            steps.push(SetupStep::Restore { from: before, to: path });
        }
        HookFile::Current | HookFile::Stale => steps.push(SetupStep::Remove(path)),
        HookFile::Absent => {}
        HookFile::Edited => warnings.push(kept(&path, "was edited by hand")),
        // interrupted while renaming: this is the former hook
        HookFile::Foreign if renamed && std::fs::read(&path).ok() == std::fs::read(&before).ok() => {
            steps.push(SetupStep::Restore { from: before, to: path });
        }
        HookFile::Foreign if back => warnings.push(kept(&before, "was replaced by another hook")),
        HookFile::Foreign if is_moved => {}
        HookFile::Foreign => warnings.push(kept(&path, "is no longer ours")),
    }
}
