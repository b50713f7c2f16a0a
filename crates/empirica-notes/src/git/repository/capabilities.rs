//! What a repository asks of who writes to it that only git itself does.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use gix::bstr::ByteSlice;

/// Why writing, or reading refs, goes through git.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Capabilities {
    /// Refs are in tables, not in files.
    pub reftable: bool,
    /// Others of a group, or all, write here, too (`core.sharedRepository`).
    pub shared: Option<Shared>,
    /// A `reference-transaction` hook is told of every change of a ref, and may refuse it.
    pub hook: bool,
    /// What is written must have reached the disk (`core.fsync`).
    pub durable: bool,
}

impl Capabilities {
    /// Those of an opened repository. `cwd` is what relative paths are meant from.
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

/// A value of `core.sharedRepository` that lets others in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shared {
    /// These bits are added to a file's mode.
    Added(u32),
    /// A file's mode is this one.
    Exact(u32),
}

/// Reads `core.sharedRepository`; `None` for the value `umask` and its like, and for no valid one.
fn shared(value: &str) -> Option<Shared> {
    let octal = |text: &str| u32::from_str_radix(text, 8).ok().filter(|mode| text.len() >= 3 && mode & 0o600 == 0o600);
    match value.to_ascii_lowercase().as_str() {
        "group" | "true" | "yes" | "on" | "1" => Some(Shared::Added(0o060)),
        "all" | "world" | "everybody" | "2" => Some(Shared::Added(0o064)),
        other => octal(other).map(|mode| Shared::Exact(mode & 0o666)),
    }
}

/// The permissions of what this program makes in the git directory, as git gives them to its own files.
#[derive(Debug, Clone, Default)]
pub struct Sharing {
    root: PathBuf,
    shared: Option<Shared>,
}

impl Sharing {
    /// Those of a git directory that is shared so, or with nobody.
    pub(crate) fn new(root: PathBuf, shared: Option<Shared>) -> Self {
        Sharing { root, shared }
    }

    /// Gives a new file or folder the permissions that `core.sharedRepository` asks for. Nothing outside of the git directory
    /// changes, and nothing where the repository is not shared.
    pub fn apply(&self, path: &Path) -> io::Result<()> {
        let Some(shared) = self.shared.filter(|_| path.starts_with(&self.root)) else { return Ok(()) };
        let found = fs::metadata(path)?;
        let mode = found.permissions().mode() & 0o7777;
        let wanted = shared.mode(mode, found.is_dir());
        if wanted == mode { Ok(()) } else { fs::set_permissions(path, fs::Permissions::from_mode(wanted)) }
    }

    /// Makes a folder and those above it that are not there.
    pub fn make_folder(&self, path: &Path) -> io::Result<()> {
        if path.is_dir() {
            return Ok(());
        }
        if let Some(parent) = path.parent() {
            self.make_folder(parent)?;
        }
        match fs::create_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            made => made.and_then(|()| self.apply(path)),
        }
    }
}

impl Shared {
    /// The mode of a file or folder that was made with this one (`calc_shared_perm` of git).
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

/// Whether objects or refs must have reached the disk before git goes on, as `core.fsync` (git-config(1)) and the older
/// `core.fsyncObjectFiles` say. By default neither must.
fn durable(components: Option<&str>, object_files: bool) -> bool {
    const OURS: [(&str, [bool; 2]); 8] = [
        // whether it covers loose objects, and references
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
        let covered = OURS.iter().find(|(known, _)| *known == name).map_or([false; 2], |(_, covered)| *covered);
        (0..2).for_each(|at| target[at] |= covered[at]);
    }
    (0..2).any(|at| on[at] && !off[at])
}

/// Whether a `reference-transaction` hook would be run: an executable file in the folder of hooks, or a command that the
/// configuration names.
fn has_hook(repo: &gix::Repository, cwd: &Path) -> bool {
    const NAME: &str = "reference-transaction";
    let config = repo.config_snapshot();
    let configured = config.trusted_path("core.hooksPath").ok().flatten();
    let folder = match configured {
        // git runs hooks at the root of the work tree, or in the git directory
        Some(path) => cwd.join(repo.workdir().unwrap_or(repo.git_dir())).join(path),
        None => cwd.join(repo.common_dir()).join("hooks"),
    };
    let file = std::fs::metadata(folder.join(NAME));
    if file.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0) {
        return true;
    }
    let sections = config.plumbing().sections_by_name("hook").into_iter().flatten();
    sections.into_iter().any(|section| section.values("event").iter().any(|event| *event == NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_default_nothing_must_have_reached_the_disk() {
        for as_git_does in
            [None, Some(""), Some("none"), Some("default"), Some("pack,index"), Some("committed,-loose-object")]
        {
            assert!(!durable(as_git_does, false), "{as_git_does:?}");
        }
        for asked in ["all", "loose-object", "reference", "objects", "committed", "added", "all,-loose-object"] {
            assert!(durable(Some(asked), false), "{asked}");
        }
        assert!(durable(None, true));
        assert!(!durable(Some("none"), true), "the newer setting counts");
    }

    #[test]
    fn who_a_repository_is_shared_with_is_read_as_git_reads_it() {
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
