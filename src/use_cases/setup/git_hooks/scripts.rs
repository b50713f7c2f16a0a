//! The shipped hook scripts, and classification of files in a hooks folder.

use std::path::{Path, PathBuf};

use crate::use_cases::setup::record::hash;
use empirica_notes::env::is_executable;
use empirica_notes::error::quote;
use empirica_notes::git::Repository;

const SCRIPTS: [(&str, &str); 6] = [
    ("commit-msg", include_str!("../../../../hooks/commit-msg")),
    ("post-commit", include_str!("../../../../hooks/post-commit")),
    ("post-applypatch", include_str!("../../../../hooks/post-applypatch")),
    ("post-merge", include_str!("../../../../hooks/post-merge")),
    ("post-rewrite", include_str!("../../../../hooks/post-rewrite")),
    ("pre-push", include_str!("../../../../hooks/pre-push")),
];
const CHAIN: &str = include_str!("../../../../hooks/chain");

/// Prefix of the line that marks a file as ours.
const MARK: &str = "# git-empirica ";

/// Hooks that may be added to another folder later, and are cheap to pass on until then.
const USUAL: [&str; 7] = [
    "pre-commit",
    "prepare-commit-msg",
    "pre-merge-commit",
    "pre-rebase",
    "post-checkout",
    "applypatch-msg",
    "pre-applypatch",
];

/// Suffix of a hook renamed for ours.
pub const BEFORE: &str = ".before-empirica";

pub fn names() -> impl Iterator<Item = &'static str> {
    SCRIPTS.iter().map(|(name, _)| *name)
}

/// The hooks that a repository needs: in a bare one, only pushes can run them; `commit-msg` is for trailers only.
pub fn hook_names(repo: &Repository) -> impl Iterator<Item = &'static str> {
    let linked = || std::fs::read_dir(repo.common_dir().join("worktrees")).is_ok_and(|mut all| all.next().is_some());
    let commits = repo.work_tree().is_some() || linked();
    let trailers = adds_trailers(repo);
    names().filter(move |name| match *name {
        "pre-push" => true,
        "commit-msg" => commits && trailers,
        _ => commits,
    })
}

/// Whether commits made in a session name it in a trailer: `empirica.trailers`, false by default.
pub fn adds_trailers(repo: &Repository) -> bool {
    repo.config_bool("empirica.trailers") == Some(true)
}

/// The script of a hook; empty for hooks we do not have.
pub fn script(name: &str) -> &'static str {
    SCRIPTS.iter().find(|(script_name, _)| *script_name == name).map_or("", |(_, script)| script)
}

/// A script that calls the hook `name` in another folder, given relative to where git runs hooks; `None` is the repository's
/// own, found from the script, by whichever path git calls that.
pub fn chain(theirs: Option<&str>, name: &str) -> String {
    let Some(theirs) = theirs else {
        return CHAIN.replace("@THEIRS@", &format!("\"${{0%/*/*/*}}/hooks/{name}\""));
    };
    // git adds a slash even to an empty path; a path must not look like an option
    let folder = theirs.strip_suffix('/').unwrap_or(theirs);
    let plain = if folder.starts_with('-') { format!("./{folder}/{name}") } else { format!("{folder}/{name}") };
    CHAIN.replace("@THEIRS@", &format!("'{}'", plain.replace('\'', r"'\''")))
}

/// Command of a hook in git's configuration; git appends the arguments.
pub fn command(name: &str) -> String {
    let guard = "command -v git-empirica >/dev/null 2>&1 || exit 0";
    match name {
        // as in the script: only a program that knows hooks may stop a push
        "pre-push" => format!(
            "{guard}; push() {{ git-empirica hook pre-push \"$@\"; s=$?; case $s in 2|126|127) s=0;; esac; exit $s; }}; push"
        ),
        // only theirs may refuse a message
        "commit-msg" => format!("{guard}; message() {{ git-empirica hook commit-msg \"$@\"; exit 0; }}; message"),
        name => format!("{guard}; exec git-empirica hook {name}"),
    }
}

/// Hooks of `folder` to pass on when ours takes precedence: the existing and the usual ones.
pub fn passed_on(folder: &Path) -> Vec<String> {
    let mut out: Vec<String> = USUAL.iter().map(|name| (*name).to_owned()).collect();
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| entry.ok());
    // names of git hooks have no other characters; only executable files are hooks
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

/// State of a file in a hooks folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookFile {
    Absent,
    /// Ours and up to date.
    Current,
    /// Ours, of another version or not executable.
    Stale,
    /// Ours, edited since.
    Edited,
    Foreign,
}

/// State of the file at `path`, expected to be `content`; `written` is the recorded hash of what we wrote.
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

/// Whether the second line marks a script as ours.
fn is_marked(script: &[u8]) -> bool {
    let second = script.split(|byte| *byte == b'\n').nth(1);
    second.is_some_and(|line| line.starts_with(MARK.as_bytes()))
}

/// A copy of our script that another tool made under another name.
fn copies(folder: &Path, name: &str) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| entry.ok());
    let is_beside = move |path: &PathBuf| {
        let named = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        named != name && named.starts_with(name) && named != format!("{name}{BEFORE}")
    };
    entries
        .map(|entry| entry.path())
        .filter(is_beside)
        .filter(|path| std::fs::read(path).is_ok_and(|script| is_marked(&script)))
}

/// Whether the hook that replaced ours calls our renamed script. Pre-commit calls `<name>.legacy` without naming it; lefthook
/// renames ours to `<name>.old`, and does not call it.
pub fn calls_copy(folder: &Path, name: &str) -> bool {
    let script = std::fs::read(folder.join(name)).unwrap_or_default();
    let script = String::from_utf8_lossy(&script);
    copies(folder, name).any(|copy| {
        let copy = copy.file_name().unwrap_or_default().to_string_lossy().into_owned();
        copy == format!("{name}.legacy") || script.contains(&copy)
    })
}

/// The unedited copies of our script that the hook in its place does not name; `written` as for [`found`].
pub fn idle_copies(folder: &Path, name: &str, written: Option<&String>) -> Vec<PathBuf> {
    let hook = std::fs::read(folder.join(name)).unwrap_or_default();
    let hook = String::from_utf8_lossy(&hook);
    let is_named = |copy: &Path| hook.contains(&*copy.file_name().unwrap_or_default().to_string_lossy());
    let is_unedited = |copy: &Path| matches!(found(copy, script(name), written), HookFile::Current | HookFile::Stale);
    let mut idle: Vec<PathBuf> = copies(folder, name).filter(|copy| !is_named(copy) && is_unedited(copy)).collect();
    idle.sort();
    idle
}

/// A path quoted for the shell if needed.
pub fn shell_path(path: &Path) -> String {
    quote(&path.to_string_lossy())
}
