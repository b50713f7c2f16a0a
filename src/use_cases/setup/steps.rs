//! The changes that `init` and `deinit` make.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::{fs, io};

use empirica_notes::error::{Command, Error, Result};
use empirica_notes::fault;
use empirica_notes::git::repository::config;
use empirica_notes::git::repository::config::ConfigFile;
use empirica_notes::git::{Repository, Sharing};
use empirica_notes::store::files;

/// A change to files or configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetupStep {
    MakeFolder(PathBuf),
    /// Write a script, or make it executable.
    WriteScript {
        path: PathBuf,
        content: Vec<u8>,
    },
    /// Write a worktree file; an existing one keeps its permissions.
    WriteFile {
        /// With symlinks resolved.
        path: PathBuf,
        content: Vec<u8>,
        new: bool,
    },
    /// Rename a hook to make room for ours.
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    /// Restore the name of a hook.
    Restore {
        from: PathBuf,
        to: PathBuf,
    },
    /// Remove a file the program created.
    Remove(PathBuf),
    /// Remove a folder the program created, if it is empty.
    RemoveFolder(PathBuf),
    /// Add a value to the configuration.
    AddValue {
        key: String,
        value: String,
    },
    /// Remove a value from the configuration.
    UnsetValue {
        key: String,
        value: String,
    },
    /// Replace the values of a key.
    SetValues {
        file: ConfigFile,
        key: String,
        former: Vec<String>,
        values: Vec<String>,
    },
}

/// Makes the changes in order.
pub fn apply(repo: &Repository, steps: &[SetupStep]) -> Result<()> {
    for step in steps {
        step.apply(repo)?;
        fault::step("set-up: step made");
    }
    Ok(())
}

impl SetupStep {
    /// Path from the root of the worktree file written by this step; `None` for other steps.
    pub fn written_below(&self, top: &Path) -> Option<PathBuf> {
        let SetupStep::WriteFile { path, .. } = self else { return None };
        path.strip_prefix(top).ok().map(Path::to_owned)
    }

    /// The changed key of the configuration.
    pub fn key(&self) -> Option<&str> {
        match self {
            SetupStep::AddValue { key, .. } | SetupStep::UnsetValue { key, .. } | SetupStep::SetValues { key, .. } => {
                Some(key)
            }
            _ => None,
        }
    }

    fn apply(&self, repo: &Repository) -> Result<()> {
        let sharing = repo.sharing();
        match self {
            SetupStep::MakeFolder(path) => sharing.make_folder(path).map_err(|error| unwritten(path, error)),
            SetupStep::WriteScript { path, content } => {
                write(&sharing, path, content, true).map_err(|error| unwritten(path, error))
            }
            SetupStep::WriteFile { path, content, .. } => {
                write_file(path, content).map_err(|error| unwritten(path, error))
            }
            // link first, so that a hook exists at every moment
            SetupStep::Rename { from, to } => {
                let renamed = fault::point("set-up: hook to be renamed").and_then(|()| fs::hard_link(from, to));
                let renamed = renamed.or_else(|_| fs::rename(from, to));
                renamed.map_err(|error| unwritten(to, error))
            }
            SetupStep::Restore { from, to } => {
                fs::rename(from, to).map_err(|error| unwritten(to, error))?;
                // rename does nothing if both names are the same file
                let _ = fs::remove_file(from);
                Ok(())
            }
            SetupStep::Remove(path) => match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unwritten(path, error)),
                _ => Ok(()),
            },
            SetupStep::RemoveFolder(path) => {
                let _ = fs::remove_dir(path);
                Ok(())
            }
            SetupStep::AddValue { key, value } => config::add(repo, &ConfigFile::Local, key, value),
            SetupStep::UnsetValue { key, value } => config::remove(repo, &ConfigFile::Local, key, value),
            SetupStep::SetValues { file, key, values, .. } => config::set(repo, file, key, values),
        }
    }
}

/// Replaces a file atomically; an executable file can be executed by all who can read it.
pub fn write(sharing: &Sharing, path: &Path, content: &[u8], executable: bool) -> io::Result<()> {
    sharing.make_folder(path.parent().unwrap_or(path))?;
    replace(path, content, |written| {
        if executable {
            let mut mode = fs::metadata(written)?.permissions();
            mode.set_mode(mode.mode() | (mode.mode() & 0o444) >> 2);
            fs::set_permissions(written, mode)?;
        }
        sharing.apply(written)
    })
}

/// Writes a worktree file, keeping permissions and hard links.
fn write_file(path: &Path, content: &[u8]) -> io::Result<()> {
    match fs::metadata(path) {
        // replacing it would break the hard link
        Ok(now) if now.nlink() > 1 => fs::write(path, content),
        Ok(now) => replace(path, content, |written| fs::set_permissions(written, now.permissions())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => replace(path, content, |_| Ok(())),
        Err(error) => Err(error),
    }
}

/// Replaces a file atomically; `prepare` is called before the rename.
fn replace(path: &Path, content: &[u8], prepare: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let prefix = format!(".{name}.empirica-");
    let temporary = folder.join(format!("{prefix}{}", empirica_notes::store::unique()));
    files::replace_prepared(&temporary, path, content, prepare)?;
    files::sweep(folder, |name| name.starts_with(&prefix));
    Ok(())
}

pub fn unwritten(path: &Path, error: io::Error) -> Error {
    Error::refused(format!("cannot write {}", path.display())).on_path(path, error)
}

/// A problem left to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupWarning {
    /// Without a final stop.
    pub what: String,
    /// The commands that fix it.
    pub commands: Vec<Command>,
}

impl SetupWarning {
    pub fn new(what: impl Into<String>) -> Self {
        SetupWarning { what: what.into(), commands: Vec::new() }
    }

    pub fn command(mut self, command: impl Into<Command>) -> Self {
        self.commands.push(command.into());
        self
    }
}
