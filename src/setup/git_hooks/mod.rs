//! Where the hooks go, and which steps bring them there.

pub mod scripts;

use std::path::{Path, PathBuf};

use crate::setup::git_hooks::scripts::{BEFORE, Found, found, shell_path};
use crate::setup::record::{Hooks, How, Record, hash};
use crate::setup::steps::Step;
use empirica_notes::env::is_executable;
use empirica_notes::error::{Command, Error, Result, empirica};
use empirica_notes::git::Repository;
use empirica_notes::git::repository::config;
use empirica_notes::git::repository::config::{File, Value};

/// Something that stays as it is and should be known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// What it is, without a final stop.
    pub what: String,
    /// The commands that mend it.
    pub commands: Vec<Command>,
}

/// What is to be done for the hooks.
#[derive(Debug)]
pub struct Plan {
    /// What will be written down.
    pub hooks: Hooks,
    /// Earlier entries that are taken back.
    pub left: Vec<Hooks>,
    /// What brings it there; empty when all is there.
    pub steps: Vec<Step>,
    /// What init leaves alone.
    pub troubles: Vec<Trouble>,
}

/// The places of a repository that matter for hooks.
struct Site<'a> {
    repo: &'a Repository,
    common: PathBuf,
    /// Where git runs hooks.
    top: PathBuf,
}

impl<'a> Site<'a> {
    fn new(repo: &'a Repository) -> Self {
        Site { repo, common: repo.common_dir(), top: repo.work_tree().unwrap_or_else(|| repo.git_dir()) }
    }

    /// A path of the configuration as seen from here.
    fn here(&self, path: &str) -> PathBuf {
        let path = self.top.join(path);
        path.canonicalize().unwrap_or(path)
    }

    fn default(&self) -> PathBuf {
        self.common.join("hooks")
    }

    fn is_ours(&self, path: &str) -> bool {
        self.here(path).starts_with(self.common.join("empirica"))
    }

    /// Whether a folder has hooks of others that git runs, of those that we have.
    fn has_hooks(&self, folder: &Path) -> bool {
        scripts::of(self.repo).any(|name| {
            let path = folder.join(name);
            is_executable(&path)
                && found(&path, scripts::script(name), None) == Found::Foreign
                && scripts::copy_of(folder, name).is_none()
        })
    }

    /// The values of core.hooksPath, expanded; the last one is in force.
    fn configured(&self) -> Result<Vec<Value>> {
        config::paths(self.repo.cwd(), r"^core\.hookspath$")
    }
}

/// Where hooks go here.
struct Goal {
    how: How,
    folder: PathBuf,
    file: File,
    former: Vec<String>,
    theirs: Option<String>,
}

fn goal(site: &Site<'_>, record: &Record) -> Result<Goal> {
    let cwd = site.repo.cwd();
    if config::runs_hooks(cwd) {
        let none = PathBuf::new();
        return Ok(Goal { how: How::Config, folder: none, file: File::Local, former: Vec::new(), theirs: None });
    }
    let configured = site.configured()?;
    let default = site.default();
    // a folder that is a link into the work tree is not ours to write to
    let own_default = default.canonicalize().map_or(true, |path| path.starts_with(&site.common));
    let last = configured.last();
    let is_default =
        last.is_none_or(|value| Path::new(&value.value).is_absolute() && site.here(&value.value) == default);
    // a hook may look at its own name, so it keeps it: ours then go elsewhere and call it where it is
    if is_default && own_default && !site.has_hooks(&default) {
        return Ok(Goal { how: How::Default, folder: default, file: File::Local, former: Vec::new(), theirs: None });
    }
    let of_worktree = last.is_some_and(|value| value.scope == "worktree");
    let (file, folder) = if of_worktree {
        let name = format!("empirica/hooks-{}", site.repo.worktree_key());
        (File::At(site.repo.git_dir().join("config.worktree")), site.common.join(name))
    } else {
        (File::Local, site.common.join("empirica/hooks"))
    };
    let default = default.to_string_lossy().into_owned();
    let theirs_of = |value: &Value| value.value.clone();
    let (former, theirs) = match last {
        Some(value) if site.is_ours(&value.value) => {
            let known = record.hooks.iter().find(|hooks| hooks.how == How::Folder && hooks.file() == file);
            let known = known.ok_or_else(|| forgotten(&folder))?;
            // what was set elsewhere can have changed since
            let outer = configured.iter().rev().find(|value| !site.is_ours(&value.value));
            match (&known.theirs, known.former.is_empty()) {
                (Some(theirs), false) => (known.former.clone(), theirs.clone()),
                _ => (Vec::new(), outer.map_or(default, theirs_of)),
            }
        }
        Some(value) => (config::own(cwd, &file, "core.hooksPath")?, theirs_of(value)),
        None => (Vec::new(), default),
    };
    Ok(Goal { how: How::Folder, folder, file, former, theirs: Some(theirs) })
}

fn forgotten(folder: &Path) -> Error {
    let folder = shell_path(&folder.join("pre-commit"));
    Error::refused("core.hooksPath names our folder, and nothing says what it named before")
        .reason("empirica/init.json in the git directory is gone")
        .suggest(
            "Look up the folder of your hooks in our script, set core.hooksPath to it or unset it, then set up again.",
        )
        .command(format!("grep theirs= {folder}"))
        .command(format!("git config --unset-all core.hooksPath && {}", empirica("init")))
}

/// What is to be done so that git runs our hooks in the present worktree, beside those that it runs now.
pub fn plan(repo: &Repository, record: &Record) -> Result<Plan> {
    let site = Site::new(repo);
    let goal = goal(&site, record)?;
    let mut hooks = Hooks {
        how: goal.how,
        folder: goal.folder,
        config: match &goal.file {
            File::Local => None,
            File::At(path) => Some(path.clone()),
        },
        former: goal.former,
        theirs: goal.theirs,
        files: Default::default(),
        renamed: Vec::new(),
        made: false,
    };
    if hooks.folder.to_str().is_none() {
        return Err(Error::refused("the path of the git directory is not UTF-8")
            .reason("git's configuration and our scripts name it")
            .suggest("Move the repository to a folder whose name is UTF-8."));
    }
    let known = record.hooks.iter().find(|known| known.same_place(&hooks));
    if let Some(known) = known {
        hooks.files = known.files.clone();
        hooks.renamed = known.renamed.clone();
        hooks.made = known.made;
    }
    // a worktree's own setting says nothing of what the others run
    let replaced =
        |known: &&Hooks| !known.same_place(&hooks) && (hooks.how == How::Config || known.file() == hooks.file());
    let left: Vec<Hooks> = record.hooks.iter().filter(replaced).cloned().collect();
    let mut plan = Plan { left: Vec::new(), steps: Vec::new(), troubles: Vec::new(), hooks };
    for known in &left {
        take_back(repo, known, &mut plan.steps, &mut plan.troubles)?;
    }
    plan.left = left;
    match plan.hooks.how {
        How::Config => {}
        How::Default => in_default(repo, &mut plan),
        How::Folder => in_folder(&site, &mut plan)?,
    }
    Ok(plan)
}

fn put(plan: &mut Plan, name: &str, content: &str) {
    plan.hooks.files.insert(name.to_owned(), hash(content.as_bytes()));
    plan.steps.push(Step::Write { path: plan.hooks.folder.join(name), content: content.as_bytes().to_vec() });
}

fn renamed(plan: &mut Plan, name: &str) {
    if !plan.hooks.renamed.iter().any(|renamed| renamed == name) {
        plan.hooks.renamed.push(name.to_owned());
    }
}

fn edited(plan: &mut Plan, path: &Path) {
    plan.troubles.push(Trouble {
        what: format!("{} is ours and was edited by hand; it is kept as it is", path.display()),
        commands: vec![format!("rm -f {} && {}", shell_path(path), empirica("init")).into()],
    });
}

/// Our scripts in the repository's own hooks folder, each before the hook that was there.
fn in_default(repo: &Repository, plan: &mut Plan) {
    let folder = plan.hooks.folder.clone();
    if !folder.exists() {
        plan.hooks.made = true;
        plan.steps.push(Step::Folder(folder.clone()));
    }
    for name in scripts::of(repo) {
        let (path, before) = (folder.join(name), folder.join(format!("{name}{BEFORE}")));
        let script = scripts::script(name);
        let found = found(&path, script, plan.hooks.files.get(name));
        // the name is ours to give: also when what was written down is lost
        if found != Found::Foreign && std::fs::symlink_metadata(&before).is_ok() {
            renamed(plan, name);
        }
        match found {
            Found::Current => {
                plan.hooks.files.insert(name.to_owned(), hash(script.as_bytes()));
            }
            Found::Absent | Found::Stale => put(plan, name, script),
            Found::Edited => edited(plan, &path),
            // another tool gave our script another name and calls it
            Found::Foreign if scripts::copy_of(&folder, name).is_some() => {}
            Found::Foreign => {
                let taken = std::fs::symlink_metadata(&before).is_ok();
                let same = taken && std::fs::read(&path).ok() == std::fs::read(&before).ok();
                if taken && !same {
                    let (from, to) = (shell_path(&before), shell_path(&folder.join(format!("{name}.old"))));
                    plan.troubles.push(Trouble {
                        what: format!(
                            "{} took the place of our hook, and {} is still there; it does not call us",
                            path.display(),
                            before.display()
                        ),
                        commands: vec![format!("mv {from} {to} && {}", empirica("init")).into()],
                    });
                    continue;
                }
                if !taken {
                    plan.steps.push(Step::Aside { from: path, to: before });
                }
                renamed(plan, name);
                put(plan, name, script);
            }
        }
    }
}

/// Our scripts in a folder of ours, and scripts that call what is in theirs.
fn in_folder(site: &Site<'_>, plan: &mut Plan) -> Result<()> {
    let folder = plan.hooks.folder.clone();
    let theirs = plan.hooks.theirs.clone().unwrap_or_default();
    let there = site.here(if theirs.is_empty() { "/" } else { &theirs });
    let mut wanted: Vec<(String, String)> = Vec::new();
    for name in scripts::of(site.repo) {
        wanted.push((name.to_owned(), scripts::script(name).to_owned()));
        wanted.push((format!("{name}{BEFORE}"), scripts::chain(&theirs, name)));
    }
    // those of our names that cannot run yet may some day: with a worktree
    let later = scripts::names().filter(|name| scripts::of(site.repo).all(|ours| ours != *name)).map(str::to_owned);
    let passed = scripts::passed_on(&there).into_iter().chain(later.collect::<Vec<_>>());
    wanted.extend(passed.map(|name| (name.clone(), scripts::chain(&theirs, &name))));
    if !folder.exists() {
        plan.hooks.made = true;
        plan.steps.push(Step::Folder(folder.clone()));
    }
    for (name, content) in &wanted {
        let path = folder.join(name);
        match found(&path, content, plan.hooks.files.get(name)) {
            Found::Current => {
                plan.hooks.files.insert(name.clone(), hash(content.as_bytes()));
            }
            Found::Absent | Found::Stale => put(plan, name, content),
            Found::Edited => edited(plan, &path),
            Found::Foreign if scripts::names().all(|ours| ours != name) => {}
            Found::Foreign if scripts::copy_of(&folder, name).is_some() => {}
            Found::Foreign => {
                let before = shell_path(&folder.join(format!("{name}{BEFORE}")));
                plan.troubles.push(Trouble {
                    what: format!("{} was put there by another tool and does not call us", path.display()),
                    commands: vec![format!("mv {} {before} && {}", shell_path(&path), empirica("init")).into()],
                });
            }
        }
    }
    // hooks that theirs no longer has
    let gone: Vec<String> =
        plan.hooks.files.keys().filter(|name| wanted.iter().all(|(wanted, _)| wanted != *name)).cloned().collect();
    for name in gone {
        let path = folder.join(&name);
        if found(&path, "", plan.hooks.files.get(&name)) == Found::Stale {
            plan.steps.push(Step::Remove(path));
        }
        plan.hooks.files.remove(&name);
    }
    // last: until then git runs theirs as before
    let values = vec![folder.to_string_lossy().into_owned()];
    let file = plan.hooks.file();
    let now = config::own(site.repo.cwd(), &file, "core.hooksPath")?;
    if now != values {
        plan.steps.push(Step::Set { file, key: "core.hooksPath".to_owned(), former: now, values });
    }
    Ok(())
}

/// The steps that take an installation back. What is no longer as we wrote it stays.
pub fn take_back(repo: &Repository, hooks: &Hooks, steps: &mut Vec<Step>, troubles: &mut Vec<Trouble>) -> Result<()> {
    let kept = |path: &Path, why: &str| Trouble {
        what: format!("{} {why}; it is kept", path.display()),
        commands: Vec::new(),
    };
    if hooks.how == How::Folder {
        let file = hooks.file();
        let ours = hooks.folder.to_string_lossy().into_owned();
        // a worktree that is gone took its setting with it
        let gone = hooks.config.as_ref().is_some_and(|path| !path.exists());
        let now = if gone { Vec::new() } else { config::own(repo.cwd(), &file, "core.hooksPath")? };
        if now == [ours] {
            let (former, values) = (now, hooks.former.clone());
            steps.push(Step::Set { file, key: "core.hooksPath".to_owned(), former, values });
        }
    }
    for (name, written) in &hooks.files {
        let path = hooks.folder.join(name);
        let before = hooks.folder.join(format!("{name}{BEFORE}"));
        let renamed = hooks.how == How::Default && hooks.renamed.contains(name);
        let back = renamed && std::fs::symlink_metadata(&before).is_ok();
        match found(&path, scripts::script(name), Some(written)) {
            Found::Current | Found::Stale | Found::Absent if back => {
                steps.push(Step::Back { from: before, to: path });
            }
            Found::Current | Found::Stale => steps.push(Step::Remove(path)),
            Found::Absent => {}
            Found::Edited => troubles.push(kept(&path, "was edited by hand")),
            // renamed or replaced half-way: it is what was there before
            Found::Foreign if renamed && std::fs::read(&path).ok() == std::fs::read(&before).ok() => {
                steps.push(Step::Back { from: before, to: path });
            }
            Found::Foreign if back => troubles.push(kept(&before, "has lost its name to another hook")),
            Found::Foreign => troubles.push(kept(&path, "is not ours any more")),
        }
    }
    if hooks.made {
        steps.push(Step::RemoveFolder(hooks.folder.clone()));
    }
    Ok(())
}
