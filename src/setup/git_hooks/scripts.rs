//! The shipped hook scripts, and what a file in a hooks folder is to us.

use std::path::{Path, PathBuf};

use crate::setup::record::hash;
use empirica_notes::env::is_executable;
use empirica_notes::git::Repository;
use empirica_notes::git::repository::quote;

/// The hooks of this program and their scripts.
const SCRIPTS: [(&str, &str); 5] = [
    ("post-commit", include_str!("../../../hooks/post-commit")),
    ("post-applypatch", include_str!("../../../hooks/post-applypatch")),
    ("post-merge", include_str!("../../../hooks/post-merge")),
    ("post-rewrite", include_str!("../../../hooks/post-rewrite")),
    ("pre-push", include_str!("../../../hooks/pre-push")),
];
const CHAIN: &str = include_str!("../../../hooks/chain");

/// Every line that marks a file as ours begins so.
const MARK: &str = "# git-empirica ";

/// Hooks that may be added to another folder later, and that cost nothing to git when they do nothing.
const USUAL: [&str; 8] = [
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "pre-merge-commit",
    "pre-rebase",
    "post-checkout",
    "applypatch-msg",
    "pre-applypatch",
];

/// What comes behind the name of a hook that was there before.
pub const BEFORE: &str = ".before-empirica";

/// The names of our hooks.
pub fn names() -> impl Iterator<Item = &'static str> {
    SCRIPTS.iter().map(|(name, _)| *name)
}

/// The hooks that can run in a repository: where nothing is committed, only a push can.
pub fn of(repo: &Repository) -> impl Iterator<Item = &'static str> {
    let linked = || std::fs::read_dir(repo.common_dir().join("worktrees")).is_ok_and(|mut all| all.next().is_some());
    let commits = repo.work_tree().is_some() || linked();
    names().filter(move |name| commits || *name == "pre-push")
}

/// The script of a hook; empty for one that we do not have.
pub fn script(name: &str) -> &'static str {
    SCRIPTS.iter().find(|(known, _)| *known == name).map_or("", |(_, script)| script)
}

/// A script that calls the hook `name` of another folder (as git takes it, relative to where hooks run).
pub fn chain(theirs: &str, name: &str) -> String {
    // git puts a slash behind an empty path, too; a path is no option
    let folder = theirs.strip_suffix('/').unwrap_or(theirs);
    let plain = if folder.starts_with('-') { format!("./{folder}/{name}") } else { format!("{folder}/{name}") };
    CHAIN.replace("@THEIRS@", &format!("'{}'", plain.replace('\'', r"'\''")))
}

/// What git's configuration runs for a hook; git puts the arguments behind it.
pub fn command(name: &str) -> String {
    let there = "command -v git-empirica >/dev/null 2>&1 || exit 0";
    match name {
        // as in the script: only a program that knows hooks stops a push
        "pre-push" => format!(
            "{there}; push() {{ git-empirica hook pre-push \"$@\"; s=$?; case $s in 2|126|127) s=0;; esac; exit $s; }}; push"
        ),
        name => format!("{there}; exec git-empirica hook {name}"),
    }
}

/// The hooks of `folder` that a folder which stands before it must pass on: those that are there, and the usual ones.
pub fn passed_on(folder: &Path) -> Vec<String> {
    let mut out: Vec<String> = USUAL.iter().map(|name| (*name).to_owned()).collect();
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| entry.ok());
    // no hook of git has another character in its name; what cannot run is no hook
    let hook = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '-' || c == '4');
    for entry in entries.filter(|entry| is_executable(&entry.path())) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if hook(&name) && names().all(|ours| ours != name) && !out.contains(&name) {
            out.push(name);
        }
    }
    out.sort();
    out
}

/// What a file is to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookFile {
    /// There is none.
    Absent,
    /// What it should be.
    Current,
    /// Ours, as we wrote it once, or not executable.
    Stale,
    /// Ours, and edited since.
    Edited,
    /// Not ours.
    Foreign,
}

/// What the file at `path` is, which should be `content`; `written` is the hash of what we wrote there.
pub fn found(path: &Path, content: &str, written: Option<&String>) -> HookFile {
    if std::fs::symlink_metadata(path).is_err() {
        return HookFile::Absent;
    }
    let Ok(now) = std::fs::read(path) else { return HookFile::Foreign };
    if now == content.as_bytes() {
        return if is_executable(path) { HookFile::Current } else { HookFile::Stale };
    }
    if written == Some(&hash(&now)) {
        return HookFile::Stale;
    }
    if is_marked(&now) { HookFile::Edited } else { HookFile::Foreign }
}

/// Whether a script says in its second line that it is ours.
fn is_marked(script: &[u8]) -> bool {
    let second = script.split(|byte| *byte == b'\n').nth(1);
    second.is_some_and(|line| line.starts_with(MARK.as_bytes()))
}

/// A copy of our script of `name` under another name in the folder, which another tool made to call it.
pub fn copy_of(folder: &Path, name: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?.filter_map(|entry| entry.ok()).map(|entry| entry.path());
    let mut copies: Vec<PathBuf> = entries
        .filter(|path| {
            let named = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            named != name && named.starts_with(name) && named != format!("{name}{BEFORE}")
        })
        .filter(|path| std::fs::read(path).is_ok_and(|script| is_marked(&script)))
        .collect();
    copies.sort();
    copies.into_iter().next()
}

/// A path as a shell takes it.
pub fn shell_path(path: &Path) -> String {
    quote(&path.to_string_lossy())
}
