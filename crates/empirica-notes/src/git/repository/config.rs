//! The configuration by the user's git: all values of a key with their origins, and changes.

use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::git::process::{git, optional_output, output};
use crate::git::repository::Repository;

/// A configuration file to write.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfigFile {
    /// The repository's, shared by all worktrees.
    Local,
    /// Another one, such as that of a worktree.
    At(PathBuf),
}

/// A value and its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigValue {
    /// The full key, as git prints it.
    pub key: String,
    /// system, global, local, worktree or command.
    pub scope: String,
    /// `file:` and a path relative to git's folder, or another origin as printed by git.
    pub origin: String,
    /// The value; empty for a key without one.
    pub value: String,
}

impl ConfigValue {
    /// Whether it is from the repository, not the user or system.
    pub fn in_repository(&self) -> bool {
        self.scope == "local" || self.scope == "worktree"
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The values of keys that `is_wanted`, as git prints keys, of all scopes, in git's order: the last one wins. Without
/// those of the command line (`git -c`), which do not last. Asks git once, and again after a change by this module.
pub fn matching(repo: &Repository, is_wanted: impl Fn(&str) -> bool) -> Result<Vec<ConfigValue>> {
    let mut known = repo.config_listing.borrow_mut();
    let listing = match known.take() {
        Some(listing) => listing,
        None => listing(repo.cwd(), &["--list"])?,
    };
    let values = values(known.insert(listing));
    Ok(values.into_iter().filter(|value| is_wanted(&value.key)).collect())
}

/// The values of a key (in lower case), of all scopes, expanded as paths (`~/hooks`).
pub fn paths(repo: &Repository, key: &str) -> Result<Vec<ConfigValue>> {
    let pattern = format!("^{}$", key.replace('.', r"\."));
    Ok(values(&listing(repo.cwd(), &["--type=path", "--get-regexp", &pattern])?))
}

/// Empty if nothing matches.
fn listing(cwd: &Path, query: &[&str]) -> Result<Vec<u8>> {
    let mut command = git(cwd);
    command.args(["config", "-z", "--show-scope", "--show-origin"]).args(query);
    Ok(optional_output(&mut command)?.unwrap_or_default())
}

fn values(listing: &[u8]) -> Vec<ConfigValue> {
    let parts: Vec<&[u8]> = listing.split(|byte| *byte == 0).collect();
    let values = parts.chunks_exact(3).map(|part| {
        let entry = text(part[2]);
        let (key, value) = entry.split_once('\n').unwrap_or((&entry, ""));
        ConfigValue { key: key.to_owned(), scope: text(part[0]), origin: text(part[1]), value: value.to_owned() }
    });
    values.filter(|value| value.scope != "command").collect()
}

/// The values of `key` in `file`, as written, without includes; empty if the file is missing.
pub fn own(repo: &Repository, file: &ConfigFile, key: &str) -> Result<Vec<String>> {
    let mut command = at(repo, file);
    command.args(["-z", "--get-all", key]);
    let out = optional_output(&mut command)?.unwrap_or_default();
    Ok(out.split_inclusive(|byte| *byte == 0).map(|value| text(value.strip_suffix(b"\0").unwrap_or(value))).collect())
}

fn at(repo: &Repository, file: &ConfigFile) -> std::process::Command {
    let mut command = git(repo.cwd());
    command.arg("config");
    match file {
        ConfigFile::Local => command.arg("--local"),
        ConfigFile::At(path) => command.arg("--file").arg(path),
    };
    command
}

/// Adds a value to the existing ones.
pub fn add(repo: &Repository, file: &ConfigFile, key: &str, value: &str) -> Result<()> {
    repo.config_listing.take();
    output(at(repo, file).args(["--add", key, value])).map(|_| ())
}

/// Replaces all values of `key` in the file; empty `values` remove the key.
pub fn set(repo: &Repository, file: &ConfigFile, key: &str, values: &[String]) -> Result<()> {
    repo.config_listing.take();
    match values {
        [] => optional_output(at(repo, file).args(["--unset-all", key])).map(|_| ()),
        [first, more @ ..] => {
            output(at(repo, file).args(["--replace-all", key, first]))?;
            more.iter().try_for_each(|value| add(repo, file, key, value))
        }
    }
}

/// Removes all occurrences of one value of a key in the file.
pub fn remove(repo: &Repository, file: &ConfigFile, key: &str, value: &str) -> Result<()> {
    repo.config_listing.take();
    // 5: there was none
    output(at(repo, file).args(["--fixed-value", "--unset-all", key, value])).map(|_| ())
}

/// Whether the installed git runs configured hooks (`hook.<name>.command`).
pub fn runs_hooks(cwd: &Path) -> bool {
    // it prints a usage text and fails
    let usage = git(cwd).args(["hook", "-h"]).output();
    usage.is_ok_and(|usage| [usage.stdout, usage.stderr].iter().any(|out| text(out).contains("git hook list")))
}

/// Whether a name is a valid full ref name.
pub fn valid_ref(name: &str) -> bool {
    gix::refs::FullName::try_from(name).is_ok()
}

/// Whether a ref name matches a pattern as git matches notes refs: `*` and `?` match a slash, too.
pub fn matches(pattern: &str, name: &str) -> bool {
    gix::glob::wildmatch(pattern.into(), name.into(), gix::glob::wildmatch::Mode::empty())
}
