//! What `init` did, written down so that `deinit` takes back exactly that: `$GIT_COMMON_DIR/empirica/init.json`.

use schemars::JsonSchema;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::setup::agents::edit::AddedEntry;
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::git::Repository;
use empirica_notes::git::repository::config;
use empirica_notes::git::repository::config::{File, Value};

/// Where the hooks are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum HookPlacement {
    /// Named by git's configuration: `hook.<name>.command`.
    Config,
    /// In a folder of ours that core.hooksPath names; it chains to the folder that was named before.
    Folder,
    /// In the hooks folder of the repository.
    Default,
}

impl HookPlacement {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            HookPlacement::Config => "config",
            HookPlacement::Folder => "folder",
            HookPlacement::Default => "default",
        }
    }
}

/// Hooks that were installed in one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstalledHooks {
    /// Where they are.
    pub how: HookPlacement,
    /// The folder they are in; empty for `config`.
    #[serde(default)]
    pub folder: PathBuf,
    /// The file whose core.hooksPath names the folder; absent for the repository's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<PathBuf>,
    /// What that file said of core.hooksPath before, as written there; empty when nothing.
    #[serde(default)]
    pub former: Vec<String>,
    /// The folder whose hooks are called, as git takes it; relative to where git runs hooks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theirs: Option<String>,
    /// The files that were written, by name, with a hash of what was written.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// The hooks that were renamed to `<name>.before-empirica`.
    #[serde(default)]
    pub renamed: Vec<String>,
    /// Whether the folder was made.
    #[serde(default)]
    pub made: bool,
}

impl InstalledHooks {
    /// The file whose core.hooksPath names the folder.
    pub fn file(&self) -> File {
        self.config.clone().map_or(File::Local, File::At)
    }

    /// A core.hooksPath that comes behind ours, such as one of an included file: what it says, in words and as it is.
    pub fn behind(&self, repo: &Repository) -> Result<Option<(String, Value)>> {
        let named = match self.how {
            HookPlacement::Folder => config::paths(repo.cwd(), r"^core\.hookspath$")?,
            _ => Vec::new(),
        };
        let other = named.into_iter().next_back().filter(|value| Path::new(&value.value) != self.folder);
        let what =
            |other: &Value| format!("core.hooksPath is set to '{}' behind ours, in {}", other.value, other.origin);
        Ok(other.map(|other| (what(&other), other)))
    }

    /// Whether it is about the same place.
    pub fn same_place(&self, other: &InstalledHooks) -> bool {
        (self.how, &self.folder, &self.config) == (other.how, &other.folder, &other.config)
    }
}

/// A value that was added to the repository's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct AddedConfig {
    pub key: String,
    pub value: String,
}

/// Something that was put into a file of the work tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Insertion {
    /// A marked block of instructions.
    Block {
        /// A hash of the block with its marks, its lines ended by LF.
        hash: String,
        /// How many line ends were put before it.
        before: usize,
        /// How many were put behind it.
        after: usize,
        /// The block that was there before and that nobody had written down; absent when there was none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        former: Option<String>,
    },
    /// Entries in a configuration file.
    Entries {
        /// What was put in, in its order.
        entries: Vec<AddedEntry>,
        /// What the file began with; absent for one that was there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        began: Option<String>,
    },
    /// The whole file.
    Whole {
        /// A hash of what was written.
        hash: String,
        /// What was there before; absent when nothing was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        former: Option<String>,
    },
}

/// A file of a work tree that something was put into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditedFile {
    /// The work tree: `main`, or `wt-<name>@<hex>`.
    pub worktree: String,
    /// Its root then, absolute.
    pub top: PathBuf,
    /// The file, from the root.
    pub file: PathBuf,
    /// Whether the file was made.
    #[serde(default)]
    pub made: bool,
    /// The folders that were made for it, from the root, outermost first.
    #[serde(default)]
    pub folders: Vec<PathBuf>,
    /// What was put in.
    pub put: Insertion,
}

impl EditedFile {
    /// Whether it is about the same file.
    pub fn same_place(&self, other: &EditedFile) -> bool {
        (&self.worktree, &self.file) == (&other.worktree, &other.file)
    }
}

/// What `init` did, and `instructions --write`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupRecord {
    /// The version of the file, 1.
    pub version: u32,
    /// The hooks, one entry a place.
    pub hooks: Vec<InstalledHooks>,
    /// The values that were added, in the order in which they were.
    pub config: Vec<AddedConfig>,
    /// The files of work trees that something was put into.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<EditedFile>,
}

impl Default for SetupRecord {
    fn default() -> Self {
        SetupRecord { version: 1, hooks: Vec::new(), config: Vec::new(), files: Vec::new() }
    }
}

/// Where it is written down.
pub fn path(common_dir: &Path) -> PathBuf {
    common_dir.join("empirica/init.json")
}

impl SetupRecord {
    /// Whether the repository was set up, not only files of the work tree written.
    pub fn is_set_up(&self) -> bool {
        !self.hooks.is_empty() || !self.config.is_empty()
    }

    /// Reads it; `None` where nothing was done. One that cannot be understood is an error.
    pub fn load(common_dir: &Path) -> Result<Option<Self>> {
        let path = path(common_dir);
        let unusable = |error: Box<dyn std::error::Error + Send + Sync>| {
            let aside = empirica_notes::git::repository::quote(&path.to_string_lossy());
            Error::refused(format!("{} cannot be understood", path.display()))
                .suggest("Put it aside and set up again; what an earlier init changed then stays as it is.")
                .command(format!("mv {aside} {aside}.old && {}", empirica("init")))
                .caused_by(error)
        };
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
            Err(error) => return Err(unusable(error.into())),
        };
        let record: SetupRecord = serde_json::from_slice(&text).map_err(|error| unusable(error.into()))?;
        if record.version != 1 {
            return Err(unusable(format!("it has version {}", record.version).into()));
        }
        Ok(Some(record))
    }

    /// Writes it.
    pub fn save(&self, repo: &Repository) -> Result<()> {
        let path = path(&repo.common_dir());
        let text = serde_json::to_string_pretty(self).unwrap_or_default() + "\n";
        let written = crate::setup::steps::write(&repo.sharing(), &path, text.as_bytes(), false);
        written.map_err(|error| crate::setup::steps::unwritten(&path, error))
    }

    /// Takes in what another record says, without saying anything twice.
    pub fn merge(&mut self, other: &SetupRecord) {
        for hooks in &other.hooks {
            if !self.hooks.iter().any(|known| known.same_place(hooks)) {
                self.hooks.push(hooks.clone());
            }
        }
        for added in &other.config {
            if !self.config.contains(added) {
                self.config.push(added.clone());
            }
        }
        for edited in &other.files {
            if !self.files.iter().any(|known| known.same_place(edited)) {
                self.files.push(edited.clone());
            }
        }
    }
}

/// A hash of a file's content: FNV-1a, 64 bits, 16 hex digits. It tells what we wrote from what was edited.
pub fn hash(content: &[u8]) -> String {
    format!("{:016x}", empirica_notes::model::hash::fnv(content))
}
