//! One change of what `init` and `deinit` do, and making it.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use empirica_notes::error::{Command, Error, Result};
use empirica_notes::fault;
use empirica_notes::git::repository::config;
use empirica_notes::git::repository::config::File;
use empirica_notes::git::{Repository, Sharing};

/// A change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetupStep {
    /// A folder is made.
    Folder(PathBuf),
    /// A script is written, or made executable.
    Write {
        /// Where.
        path: PathBuf,
        /// What.
        content: Vec<u8>,
    },
    /// A file of the work tree is written; one that is there keeps its permissions.
    Put {
        /// Where, links followed.
        path: PathBuf,
        /// What.
        content: Vec<u8>,
        /// Whether it is not there yet.
        new: bool,
    },
    /// A hook is given another name, and one of ours will take its place.
    Aside {
        /// Its name now.
        from: PathBuf,
        /// Its name then.
        to: PathBuf,
    },
    /// A hook gets its name back.
    Back {
        /// Its name now.
        from: PathBuf,
        /// Its name then.
        to: PathBuf,
    },
    /// A file of ours is removed.
    Remove(PathBuf),
    /// A folder of ours is removed, if nothing is in it.
    RemoveFolder(PathBuf),
    /// A value is added to the configuration.
    Add {
        /// The key.
        key: String,
        /// The value.
        value: String,
    },
    /// A value is removed from the configuration.
    Unset {
        /// The key.
        key: String,
        /// The value.
        value: String,
    },
    /// A key gets other values.
    Set {
        /// Where it is written.
        file: File,
        /// The key.
        key: String,
        /// What the file says of it now.
        former: Vec<String>,
        /// What it will say.
        values: Vec<String>,
    },
}

impl SetupStep {
    /// The file of a work tree that it writes, from the root; `None` for every other change.
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
            // a second name first: at no moment is there no hook
            SetupStep::Aside { from, to } => {
                let renamed = fault::point("set-up: hook to be renamed").and_then(|()| fs::hard_link(from, to));
                let renamed = renamed.or_else(|_| fs::rename(from, to));
                renamed.map_err(|error| unwritten(to, error))
            }
            SetupStep::Back { from, to } => {
                fs::rename(from, to).map_err(|error| unwritten(to, error))?;
                // two names of one file are not renamed onto each other
                let _ = fs::remove_file(from);
                Ok(())
            }
            SetupStep::Remove(path) => match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unwritten(path, error)),
                _ => Ok(()),
            },
            SetupStep::RemoveFolder(path) => {
                // what others put there keeps it
                let _ = fs::remove_dir(path);
                Ok(())
            }
            SetupStep::Add { key, value } => config::add(cwd, &File::Local, key, value),
            SetupStep::Unset { key, value } => config::remove(cwd, &File::Local, key, value),
            SetupStep::Set { file, key, values, .. } => config::set(cwd, file, key, values),
        }
    }
}

/// Replaces a file whole; an executable one can be executed by whoever can read it.
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

/// Writes a file of the work tree, which keeps its permissions and its other names.
fn put(path: &Path, content: &[u8]) -> io::Result<()> {
    match fs::metadata(path) {
        // replaced, it would be another file than the one the other name has
        Ok(now) if now.nlink() > 1 => fs::write(path, content),
        Ok(now) => replace(path, content, |written| fs::set_permissions(written, now.permissions())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => replace(path, content, |_| Ok(())),
        Err(error) => Err(error),
    }
}

/// Replaces a file by a new one, which `prepare` sees before it gets the name.
fn replace(path: &Path, content: &[u8], prepare: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let begin = format!(".{name}.empirica-");
    let temporary = folder.join(format!("{begin}{}", empirica_notes::store::unique()));
    let written = (|| {
        fault::point("set-up: file to be written")?;
        fs::write(&temporary, content)?;
        prepare(&temporary)?;
        fault::point("set-up: file to be renamed")?;
        fs::rename(&temporary, path)
    })();
    written.inspect(|()| sweep(folder, &begin)).inspect_err(|_| {
        // the error that matters is the first one
        let _ = fs::remove_file(&temporary);
    })
}

/// Removes what is left of replacing the same file where a process died meanwhile: what was not finished in ten minutes.
fn sweep(folder: &Path, begin: &str) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(begin)) {
        let age = entry.metadata().and_then(|file| file.modified()).map(|at| at.elapsed().unwrap_or_default());
        if age.is_ok_and(|age| age > Duration::from_secs(600)) {
            // another one may do the same
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// A file or folder could not be changed.
pub fn unwritten(path: &Path, error: io::Error) -> Error {
    Error::refused(format!("{} cannot be written", path.display())).on_path(path, error)
}

/// Something that stays as it is and should be known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupWarning {
    /// What it is, without a final stop.
    pub what: String,
    /// The commands that mend it.
    pub commands: Vec<Command>,
}
