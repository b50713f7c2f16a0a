//! I/O errors on a path: the reason, a suggestion, and a command that fixes or shows the problem.

use std::fs::{Metadata, symlink_metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::error::Error;

/// Quotes a word for a POSIX shell.
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Whether an error comes from a write alone: no space is left, or the file system is read-only.
pub fn refuses_writes(error: &io::Error) -> bool {
    use ErrorKind::{FileTooLarge, QuotaExceeded, ReadOnlyFilesystem, StorageFull, WriteZero};
    matches!(error.kind(), FileTooLarge | QuotaExceeded | ReadOnlyFilesystem | StorageFull | WriteZero)
}

/// The cause of a failed lock on a file system without file locks.
#[derive(Debug, thiserror::Error)]
#[error("its file system has no file locks (flock): {0}")]
struct NoFileLocks(io::Error);

/// The error of a lock that could not be tried, which tells a file system without file locks from other causes.
pub fn lock_error(error: io::Error) -> io::Error {
    let no_locks = [Errno::NOLCK, Errno::OPNOTSUPP, Errno::NOSYS].map(Errno::raw_os_error);
    match error.raw_os_error() {
        Some(code) if no_locks.contains(&code) => io::Error::new(ErrorKind::Unsupported, NoFileLocks(error)),
        _ => error,
    }
}

/// How to make a path usable.
#[derive(Debug, PartialEq, Eq)]
struct Remedy {
    reason: String,
    suggestion: &'static str,
    command: String,
}

impl Error {
    /// Adds the reason, suggestion and command for an I/O error on `path`, and the error as the source.
    pub fn on_path(self, path: &Path, error: io::Error) -> Self {
        self.about_path(path, &error).caused_by(error)
    }

    /// As [`Self::on_path`], without setting the source.
    pub fn about_path(self, path: &Path, error: &io::Error) -> Self {
        let Remedy { reason, suggestion, command } = remedy(path, error);
        self.reason(reason).suggest(suggestion).command(command)
    }
}

/// The first I/O error among the sources.
pub fn io_cause<'e>(error: &'e (dyn std::error::Error + 'static)) -> Option<&'e io::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<io::Error>() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

fn shown(path: &Path) -> String {
    quote(&path.to_string_lossy())
}

fn remedy(path: &Path, error: &io::Error) -> Remedy {
    let existing = nearest(path);
    let show = |command: &str| format!("{command} {}", shown(existing));
    let (reason, suggestion, command) = match error.kind() {
        ErrorKind::PermissionDenied => return refused(path, existing),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge | ErrorKind::WriteZero => (
            format!("no space left for {}: {error}", path.display()),
            "Free some space, then run the command again.",
            show("df -h"),
        ),
        ErrorKind::ReadOnlyFilesystem => (
            format!("{} is on a read-only file system", path.display()),
            "Remount it read-write, or work in a copy elsewhere.",
            show("df -h"),
        ),
        ErrorKind::NotFound => (
            format!("{} does not exist", path.display()),
            "List the folder and give a path that exists.",
            show("ls -la"),
        ),
        _ if error.get_ref().is_some_and(|cause| cause.is::<NoFileLocks>()) => (
            format!("{}: {error}", path.display()),
            "Mount that file system with locks, or move the repository to a local disk.",
            show("df -h"),
        ),
        kind => {
            let is_obstacle =
                matches!(kind, ErrorKind::NotADirectory | ErrorKind::IsADirectory | ErrorKind::AlreadyExists);
            match in_the_way(path).filter(|_| is_obstacle) {
                Some((at, problem)) => (
                    format!("{} {problem}", at.display()),
                    "Move it aside, then run the command again.",
                    move_aside(at),
                ),
                None => (
                    format!("{}: {error}", path.display()),
                    "List the path and fix what is wrong with it.",
                    show("ls -ld"),
                ),
            }
        }
    };
    Remedy { reason, suggestion, command }
}

/// The longest prefix of the path that exists.
fn nearest(path: &Path) -> &Path {
    let exists = |path: &&Path| symlink_metadata(path).is_ok();
    path.ancestors().find(exists).unwrap_or(Path::new("."))
}

/// The prefix of a path that is a file in place of a folder, or the reverse.
fn in_the_way(path: &Path) -> Option<(&Path, &'static str)> {
    let existing = nearest(path);
    if !existing.is_dir() {
        return Some((existing, if existing == path { "is in the way" } else { "is a file where a folder has to be" }));
    }
    (existing == path).then_some((existing, "is a folder where a file has to be"))
}

/// The command that renames a file or folder to a free name beside it.
pub fn move_aside(path: &Path) -> String {
    format!("mv {} {}", shown(path), shown(&aside(path)))
}

/// A free name: the path with `.aside`, `.aside1`, … appended.
fn aside(path: &Path) -> PathBuf {
    let name = |n: usize| {
        PathBuf::from(format!("{}.aside{}", path.display(), if n == 0 { String::new() } else { n.to_string() }))
    };
    (0..).map(name).find(|name| symlink_metadata(name).is_err()).unwrap_or_else(|| name(0))
}

fn refused(path: &Path, existing: &Path) -> Remedy {
    let uid = std::fs::metadata("/proc/self").ok().map(|process| process.uid());
    let needed = |metadata: &Metadata| if metadata.is_dir() { ("rwx", 0o700) } else { ("rw", 0o600) };
    // the file may be writable and its folder not
    for place in [Some(existing), existing.parent().filter(|_| existing == path)].into_iter().flatten() {
        let Ok(metadata) = symlink_metadata(place) else { continue };
        let (letters, bits) = needed(&metadata);
        if uid.is_some() && uid != Some(metadata.uid()) {
            continue;
        }
        if metadata.mode() & bits != bits {
            return Remedy {
                reason: format!("permission denied: {} is not readable and writable by its owner", place.display()),
                suggestion: "Give yourself permission, then run the command again.",
                command: format!("chmod u+{letters} {}", shown(place)),
            };
        }
    }
    Remedy {
        reason: format!("permission denied: {} is not readable and writable by you", existing.display()),
        suggestion: "Ask its owner or an administrator for access, with chmod or chown.",
        command: format!("ls -ld {}", shown(existing)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_obstacle_is_named_with_the_command_that_moves_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a b");
        std::fs::write(&file, "").unwrap();
        let found = remedy(&file.join("c/d"), &io::Error::from(ErrorKind::NotADirectory));
        assert!(found.reason.ends_with("a b is a file where a folder has to be"), "{found:?}");
        assert_eq!(found.command, format!("mv '{0}' '{0}.aside'", file.display()));
        std::fs::write(folder.path().join("a b.aside"), "").unwrap();
        let found = remedy(&file.join("c/d"), &io::Error::from(ErrorKind::NotADirectory));
        assert_eq!(found.command, format!("mv '{0}' '{0}.aside1'", file.display()));
        let found = remedy(folder.path(), &io::Error::from(ErrorKind::IsADirectory));
        assert!(found.reason.ends_with("is a folder where a file has to be"), "{found:?}");
    }

    #[test]
    fn a_missing_permission_is_suggested_on_the_path_that_lacks_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        let set = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        let denied = io::Error::from(ErrorKind::PermissionDenied);
        set(&inner, 0o500);
        let new = inner.join("new");
        assert_eq!(remedy(&new, &denied).command, format!("chmod u+rwx {}", inner.display()));
        set(&inner, 0o700);
        std::fs::write(&new, "").unwrap();
        set(&new, 0o400);
        assert_eq!(remedy(&new, &denied).command, format!("chmod u+rw {}", new.display()));
        set(&new, 0o600);
        assert_eq!(remedy(&new, &denied).command, format!("ls -ld {}", new.display()));
    }

    #[test]
    fn a_missing_path_shows_its_nearest_folder() {
        let folder = tempfile::tempdir().unwrap();
        let full = remedy(&folder.path().join("x/y"), &io::Error::from(ErrorKind::StorageFull));
        assert_eq!(full.command, format!("df -h {}", folder.path().display()));
        let gone = remedy(&folder.path().join("x/y"), &io::Error::from(ErrorKind::NotFound));
        assert_eq!(gone.command, format!("ls -la {}", folder.path().display()));
    }
}
