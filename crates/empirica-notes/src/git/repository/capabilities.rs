//! Properties of a repository that require writing through git.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use gix::bstr::ByteSlice;

use crate::env::is_executable;

/// Why writing, or reading refs, goes through git.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Capabilities {
    /// Refs are in reftables.
    pub reftable: bool,
    /// The repository is shared (`core.sharedRepository`).
    pub shared: Option<Shared>,
    /// A `reference-transaction` hook runs on every ref update, and may refuse it.
    pub hook: bool,
    /// Writes must be synced to disk (`core.fsync`).
    pub durable: bool,
}

impl Capabilities {
    /// Reads them from a repository. Relative paths are resolved from `cwd`.
    pub(crate) fn of(repo: &gix::Repository, cwd: &Path) -> Self {
        let config = repo.config_snapshot();
        let text = |key: &str| config.string(key).map(|value| value.to_str_lossy().into_owned());
        Capabilities {
            reftable: text("extensions.refStorage").as_deref() == Some("reftable"),
            shared: text("core.sharedRepository").and_then(|value| shared(&value)),
            hook: has_hook(repo, cwd),
            durable: durable(text("core.fsync").as_deref(), config.boolean("core.fsyncObjectFiles").unwrap_or(false)),
        }
    }

    /// Whether objects and refs are written by git.
    pub(crate) fn writes_by_git(self) -> bool {
        self.reftable || self.shared.is_some() || self.hook || self.durable
    }
}

/// A value of `core.sharedRepository` other than `umask`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shared {
    /// Bits added to a file's mode.
    Added(u32),
    /// The exact mode of a file.
    Exact(u32),
}

/// Parses `core.sharedRepository`; `None` for `umask`, its synonyms and invalid values.
fn shared(value: &str) -> Option<Shared> {
    let octal = |text: &str| u32::from_str_radix(text, 8).ok().filter(|mode| text.len() >= 3 && mode & 0o600 == 0o600);
    match value.to_ascii_lowercase().as_str() {
        "group" | "true" | "yes" | "on" | "1" => Some(Shared::Added(0o060)),
        "all" | "world" | "everybody" | "2" => Some(Shared::Added(0o064)),
        other => octal(other).map(|mode| Shared::Exact(mode & 0o666)),
    }
}

/// The permissions for new files in the git directory, as git sets them.
#[derive(Debug, Clone, Default)]
pub struct Sharing {
    root: PathBuf,
    shared: Option<Shared>,
}

impl Sharing {
    /// The permissions in the git directory `root`.
    pub(crate) fn new(root: PathBuf, shared: Option<Shared>) -> Self {
        Sharing { root, shared }
    }

    /// Sets the permissions of a new file or folder by `core.sharedRepository`. No effect outside the git directory, and in
    /// a repository that is not shared.
    pub fn apply(&self, path: &Path) -> io::Result<()> {
        let Some(shared) = self.shared.filter(|_| path.starts_with(&self.root)) else { return Ok(()) };
        let found = fs::metadata(path)?;
        let mode = found.permissions().mode() & 0o7777;
        let wanted = shared.mode(mode, found.is_dir());
        if wanted == mode { Ok(()) } else { fs::set_permissions(path, fs::Permissions::from_mode(wanted)) }
    }

    /// The git directory, if files at `path` get permissions by `core.sharedRepository`.
    pub fn root_of(&self, path: &Path) -> Option<&Path> {
        self.shared.is_some().then_some(self.root.as_path()).filter(|root| path.starts_with(root))
    }

    /// Creates a folder and its missing ancestors. In a shared repository it has its permissions before it has its name.
    pub fn make_folder(&self, path: &Path) -> io::Result<()> {
        if path.is_dir() {
            return Ok(());
        }
        if let Some(parent) = path.parent() {
            self.make_folder(parent)?;
        }
        let made = match self.root_of(path) {
            Some(_) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let temporary = path.with_file_name(format!(".{name}.{}", uuid::Uuid::new_v4().simple()));
                fs::create_dir(&temporary)?;
                let made = self.apply(&temporary).and_then(|()| fs::rename(&temporary, path));
                made.inspect_err(|_| {
                    // the first error is the one to report
                    let _ = fs::remove_dir(&temporary);
                })
            }
            None => fs::create_dir(path),
        };
        // another process may have made it
        if path.is_dir() { Ok(()) } else { made }
    }
}

impl Shared {
    /// The mode for a file or folder created with the mode `made` (`calc_shared_perm` of git).
    fn mode(self, made: u32, is_folder: bool) -> u32 {
        let (kept, bits) = match self {
            Shared::Added(bits) => (made, bits),
            Shared::Exact(bits) => (made & !0o777, bits),
        };
        let writable = if made & 0o200 == 0 { bits & !0o222 } else { bits };
        let executable = if made & 0o100 == 0 { writable } else { writable | (writable & 0o444) >> 2 };
        let mode = kept | executable;
        if !is_folder {
            return mode;
        }
        let entered = mode | (mode & 0o444) >> 2;
        if entered & 0o060 == 0 { entered } else { entered | 0o2000 }
    }
}

/// Whether objects or refs must be synced to disk, by `core.fsync` (git-config(1)) and the older
/// `core.fsyncObjectFiles`; neither by default.
fn durable(components: Option<&str>, object_files: bool) -> bool {
    const COMPONENTS: [(&str, [bool; 2]); 8] = [
        // (component, [covers loose objects, covers references])
        ("loose-object", [true, false]),
        ("reference", [false, true]),
        ("objects", [true, false]),
        ("committed", [true, false]),
        ("added", [true, false]),
        ("all", [true, true]),
        ("derived-metadata", [false, false]),
        ("none", [false, false]),
    ];
    let Some(components) = components else { return object_files };
    let (mut on, mut off) = ([false; 2], [false; 2]);
    for word in components.split([',', ' ']).filter(|word| !word.is_empty()) {
        let (target, name) = word.strip_prefix('-').map_or((&mut on, word), |name| (&mut off, name));
        let covered =
            COMPONENTS.iter().find(|(component, _)| *component == name).map_or([false; 2], |(_, covered)| *covered);
        (0..2).for_each(|at| target[at] |= covered[at]);
    }
    (0..2).any(|at| on[at] && !off[at])
}

/// Whether a `reference-transaction` hook would run: an executable in the hooks folder, or a configured command.
fn has_hook(repo: &gix::Repository, cwd: &Path) -> bool {
    const NAME: &str = "reference-transaction";
    let config = repo.config_snapshot();
    let configured = config.trusted_path("core.hooksPath").ok().flatten();
    let folder = match configured {
        // git runs hooks in the root of the work tree, or in the git directory
        Some(path) => cwd.join(repo.workdir().unwrap_or(repo.git_dir())).join(path),
        None => cwd.join(repo.common_dir()).join("hooks"),
    };
    let mut sections = config.plumbing().sections_by_name("hook").into_iter().flatten();
    is_executable(&folder.join(NAME))
        || sections.any(|section| section.values("event").iter().any(|event| *event == NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_default_nothing_is_synced_to_disk() {
        for as_git_does in
            [None, Some(""), Some("none"), Some("default"), Some("pack,index"), Some("committed,-loose-object")]
        {
            assert!(!durable(as_git_does, false), "{as_git_does:?}");
        }
        for setting in ["all", "loose-object", "reference", "objects", "committed", "added", "all,-loose-object"] {
            assert!(durable(Some(setting), false), "{setting}");
        }
        assert!(durable(None, true));
        assert!(!durable(Some("none"), true), "the newer setting counts");
    }

    #[test]
    fn the_sharing_of_a_repository_is_parsed_like_git() {
        for (value, bits) in
            [("group", Shared::Added(0o060)), ("all", Shared::Added(0o064)), ("0640", Shared::Exact(0o640))]
        {
            assert_eq!(shared(value), Some(bits), "{value}");
        }
        for nobody in ["umask", "false", "no", "0", "0060", "odd"] {
            assert_eq!(shared(nobody), None, "{nobody}");
        }
    }
}
