//! The changes that `init` and `deinit` make.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::{fs, io};

use empirica_notes::error::{Command, Error, Result};
use empirica_notes::fault;
use empirica_notes::git::repository::config;
use empirica_notes::git::repository::config::File;
use empirica_notes::git::{Repository, Sharing};
use empirica_notes::store::files;

/// A change to files or configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetupStep {
    Folder(PathBuf),
    /// Write a script, or make it executable.
    Write {
        path: PathBuf,
        content: Vec<u8>,
    },
    /// Write a worktree file; an existing one keeps its permissions.
    Put {
        /// Its path, symlinks resolved.
        path: PathBuf,
        content: Vec<u8>,
        /// Whether the file is new.
        new: bool,
    },
    /// Rename a hook to make room for ours.
    Aside {
        /// Present path.
        from: PathBuf,
        /// New path.
        to: PathBuf,
    },
    /// Restore the name of a hook.
    Back {
        /// Present path.
        from: PathBuf,
        /// Former path.
        to: PathBuf,
    },
    /// Remove a file the program created.
    Remove(PathBuf),
    /// Remove a folder the program created, if it is empty.
    RemoveFolder(PathBuf),
    /// Add a value to the configuration.
    Add {
        key: String,
        value: String,
    },
    /// Remove a value from the configuration.
    Unset {
        key: String,
        value: String,
    },
    /// Replace the values of a key.
    Set {
        /// The configuration file.
        file: File,
        key: String,
        /// Present values.
        former: Vec<String>,
        /// New values.
        values: Vec<String>,
    },
}

impl SetupStep {
    /// Path from the root of the worktree file written by this step; `None` for other steps.
    pub fn put_below(&self, top: &Path) -> Option<PathBuf> {
        let SetupStep::Put { path, .. } = self else { return None };
        path.strip_prefix(top).ok().map(Path::to_owned)
    }

    /// Makes the change.
    pub fn make(&self, repo: &Repository) -> Result<()> {
        let made = self.make_now(repo);
        fault::step("set-up: step made");
        made
    }

    fn make_now(&self, repo: &Repository) -> Result<()> {
        let (cwd, sharing) = (repo.cwd(), repo.sharing());
        match self {
            SetupStep::Folder(path) => sharing.make_folder(path).map_err(|error| unwritten(path, error)),
            SetupStep::Write { path, content } => {
                write(&sharing, path, content, true).map_err(|error| unwritten(path, error))
            }
            SetupStep::Put { path, content, .. } => put(path, content).map_err(|error| unwritten(path, error)),
            // link first, so that a hook exists at every moment
            SetupStep::Aside { from, to } => {
                let renamed = fault::point("set-up: hook to be renamed").and_then(|()| fs::hard_link(from, to));
                let renamed = renamed.or_else(|_| fs::rename(from, to));
                renamed.map_err(|error| unwritten(to, error))
            }
            SetupStep::Back { from, to } => {
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
                // kept if others put files there
                let _ = fs::remove_dir(path);
                Ok(())
            }
            SetupStep::Add { key, value } => config::add(cwd, &File::Local, key, value),
            SetupStep::Unset { key, value } => config::remove(cwd, &File::Local, key, value),
            SetupStep::Set { file, key, values, .. } => config::set(cwd, file, key, values),
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
fn put(path: &Path, content: &[u8]) -> io::Result<()> {
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
    let begin = format!(".{name}.empirica-");
    let temporary = folder.join(format!("{begin}{}", empirica_notes::store::unique()));
    files::replace_prepared(&temporary, path, content, prepare)?;
    files::sweep(folder, |name| name.starts_with(&begin));
    Ok(())
}

/// Error: a file or folder cannot be changed.
pub fn unwritten(path: &Path, error: io::Error) -> Error {
    Error::refused(format!("cannot write {}", path.display())).on_path(path, error)
}

/// Something that stays as it is and should be known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupWarning {
    /// What it is, without a final stop.
    pub what: String,
    /// The commands that mend it.
    pub commands: Vec<Command>,
}
