//! Record of what `init` did, for `deinit` to revert exactly that: `$GIT_COMMON_DIR/empirica/init.json`.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::use_cases::setup::agents::edit::AddedEntry;
use crate::use_cases::setup::steps;
use empirica_notes::error::{Error, Result, empirica, move_aside};
use empirica_notes::git::Repository;
use empirica_notes::git::repository::config;
use empirica_notes::git::repository::config::{ConfigFile, ConfigValue};

empirica_notes::named_enum! {
    pub enum HookPlacement {
        /// In git's configuration: `hook.<name>.command`.
        Config = "config",
        /// In our own folder, set by core.hooksPath; calls hooks of the folder set before.
        Folder = "folder",
        /// In the repository's hooks folder.
        Default = "default",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstalledHooks {
    #[serde(rename = "how")]
    pub placement: HookPlacement,
    /// Empty for `config`.
    #[serde(default)]
    pub folder: PathBuf,
    /// The file that sets core.hooksPath; `None` for the repository's own configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<PathBuf>,
    /// Former core.hooksPath values of that file, unexpanded.
    #[serde(default)]
    pub former: Vec<String>,
    /// Folder whose hooks ours call, as given to git: relative to where git runs hooks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theirs: Option<String>,
    /// Written files by name, with a hash of their content.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Hooks renamed to `<name>.before-empirica`.
    #[serde(default)]
    pub renamed: Vec<String>,
    /// Whether `init` created the folder.
    #[serde(default)]
    pub made: bool,
    /// Where core.hooksPath still names the folder, if the repository was moved or copied since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_from: Option<PathBuf>,
}

impl InstalledHooks {
    pub fn new(placement: HookPlacement, folder: PathBuf) -> Self {
        let (files, former, renamed) = Default::default();
        InstalledHooks {
            placement,
            folder,
            config: None,
            former,
            theirs: None,
            files,
            renamed,
            made: false,
            moved_from: None,
        }
    }

    /// The git directory that has the folder; `None` for `config`.
    fn common_dir(&self) -> Option<&Path> {
        match self.placement {
            HookPlacement::Config => None,
            HookPlacement::Folder => self.folder.parent()?.parent(),
            HookPlacement::Default => self.folder.parent(),
        }
    }

    /// Replaces a git directory that is now another, as the repository was moved or copied.
    fn rebase(&mut self, from: &Path, to: &Path) {
        let rebased = |path: &Path| path.strip_prefix(from).ok().map(|rest| to.join(rest));
        let in_text = |path: &mut String| {
            if let Some(now) = rebased(Path::new(path)) {
                *path = now.to_string_lossy().into_owned();
            }
        };
        self.former.iter_mut().chain(&mut self.theirs).for_each(in_text);
        self.config = self.config.take().map(|path| rebased(&path).unwrap_or(path));
        if let Some(now) = rebased(&self.folder) {
            let before = std::mem::replace(&mut self.folder, now);
            // mounted at two paths, it is found by either
            if self.placement == HookPlacement::Folder && !is_same_file(&before, &self.folder) {
                self.moved_from.get_or_insert(before);
            }
        }
    }

    /// Whether core.hooksPath with this value names the folder, by any path, or where it was.
    pub fn is_named_by(&self, value: &str) -> bool {
        let value = Path::new(value);
        value == self.folder || self.moved_from.as_deref() == Some(value) || is_same_file(value, &self.folder)
    }

    /// The file that sets core.hooksPath.
    pub fn file(&self) -> ConfigFile {
        self.config.clone().map_or(ConfigFile::Local, ConfigFile::At)
    }

    /// A core.hooksPath that overrides ours, such as one in an included file: a message, and the value.
    pub fn overridden(&self, repo: &Repository) -> Result<Option<(String, ConfigValue)>> {
        let named = match self.placement {
            HookPlacement::Folder => config::paths(repo, "core.hookspath")?,
            _ => Vec::new(),
        };
        let other = named.into_iter().next_back().filter(|value| !self.is_named_by(&value.value));
        let what =
            |other: &ConfigValue| format!("core.hooksPath is overridden by '{}' in {}", other.value, other.origin);
        Ok(other.map(|other| (what(&other), other)))
    }

    pub fn same_place(&self, other: &InstalledHooks) -> bool {
        (self.placement, &self.folder, &self.config) == (other.placement, &other.folder, &other.config)
    }
}

/// A value added to the repository's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddedConfig {
    pub key: String,
    pub value: String,
}

/// An addition to a worktree file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Insertion {
    /// A marked block of instructions.
    Block {
        /// Hash of the block with its marks and LF line ends.
        hash: String,
        /// Number of line ends added before it.
        before: usize,
        /// Number of line ends added after it.
        after: usize,
        /// Former block not recorded by us, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        former: Option<String>,
    },
    /// Entries in a configuration file.
    Entries {
        /// Entries in the order they were added.
        entries: Vec<AddedEntry>,
        /// Initial text of a new file; absent if the file existed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        began: Option<String>,
    },
    /// The whole file.
    Whole {
        /// Hash of the written content.
        hash: String,
        /// Former content; absent if there was no file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        former: Option<String>,
    },
}

/// A worktree file with an addition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditedFile {
    /// The worktree: `main`, or `wt-<name>@<hex>`.
    pub worktree: String,
    /// Its root at that time, absolute.
    pub top: PathBuf,
    /// The file, from the root.
    pub file: PathBuf,
    /// Whether `init` created it.
    #[serde(default)]
    pub made: bool,
    /// Folders created for it, from the root, outermost first.
    #[serde(default)]
    pub folders: Vec<PathBuf>,
    pub put: Insertion,
}

impl EditedFile {
    pub fn same_place(&self, other: &EditedFile) -> bool {
        (&self.worktree, &self.file) == (&other.worktree, &other.file)
    }
}

/// What `init` and `instructions --write` did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupRecord {
    /// Version of the file format, 1.
    pub version: u32,
    /// One per place.
    pub hooks: Vec<InstalledHooks>,
    /// In order.
    pub config: Vec<AddedConfig>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<EditedFile>,
}

impl Default for SetupRecord {
    fn default() -> Self {
        SetupRecord { version: 1, hooks: Vec::new(), config: Vec::new(), files: Vec::new() }
    }
}

pub fn path(common_dir: &Path) -> PathBuf {
    common_dir.join("empirica/init.json")
}

impl SetupRecord {
    /// Whether git looks for our hooks of this worktree where the repository was before it was moved or copied.
    pub fn is_left_behind(&self, repo: &Repository) -> bool {
        let of_worktree = repo.git_dir().join("config.worktree");
        let is_here = |hooks: &&InstalledHooks| hooks.config.as_ref().is_none_or(|config| *config == of_worktree);
        self.hooks.iter().filter(is_here).any(|hooks| hooks.moved_from.is_some())
    }

    /// Whether the repository is set up, rather than only worktree files written.
    pub fn is_set_up(&self) -> bool {
        !self.hooks.is_empty() || !self.config.is_empty()
    }

    /// Reads the record, with the paths of a repository that was moved or copied as they are now; `None` if there is
    /// none, an error if it cannot be parsed.
    pub fn load(common_dir: &Path) -> Result<Option<Self>> {
        let path = path(common_dir);
        let unusable = |error: Box<dyn std::error::Error + Send + Sync>| {
            Error::refused(format!("cannot parse {}", path.display()))
                .suggest("Rename it and set up again; changes of the earlier init are kept.")
                .command(format!("{} && {}", move_aside(&path), empirica("init")))
                .caused_by(error)
        };
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
            Err(error) => return Err(unusable(error.into())),
        };
        let mut record: SetupRecord = serde_json::from_slice(&text).map_err(|error| unusable(error.into()))?;
        if record.version != 1 {
            return Err(unusable(format!("it has version {}", record.version).into()));
        }
        let former = record.hooks.iter().find_map(InstalledHooks::common_dir).map(Path::to_owned);
        if let Some(former) = former.filter(|former| former != common_dir) {
            record.hooks.iter_mut().for_each(|hooks| hooks.rebase(&former, common_dir));
        }
        Ok(Some(record))
    }

    pub fn save(&self, repo: &Repository) -> Result<()> {
        let path = path(&repo.common_dir());
        let text = serde_json::to_string_pretty(self).unwrap_or_default() + "\n";
        steps::write(&repo.sharing(), &path, text.as_bytes(), false).map_err(|error| steps::unwritten(&path, error))
    }

    /// Merges another record without duplicates.
    pub fn merge(&mut self, other: &SetupRecord) {
        merge(&mut self.hooks, &other.hooks, InstalledHooks::same_place);
        merge(&mut self.config, &other.config, PartialEq::eq);
        merge(&mut self.files, &other.files, EditedFile::same_place);
    }
}

fn merge<T: Clone>(to: &mut Vec<T>, from: &[T], is_same: fn(&T, &T) -> bool) {
    let new: Vec<T> = from.iter().filter(|entry| !to.iter().any(|other| is_same(other, entry))).cloned().collect();
    to.extend(new);
}

/// Whether two paths name one file, as two mounts of a folder do.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    let file = |path: &Path| std::fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    file(one).is_some() && file(one) == file(other)
}

/// Hash of a file's content: FNV-1a, 64 bits, 16 hex digits. Tells our content from edited content.
pub fn hash(content: &[u8]) -> String {
    format!("{:016x}", empirica_notes::model::hash::fnv(content))
}
