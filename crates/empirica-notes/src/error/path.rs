//! What a file or folder that cannot be used calls for: why, what to do, and the command that does it or shows more.

use std::fs::{Metadata, symlink_metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// A word as a shell takes it.
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// What a path needs before it can be used.
#[derive(Debug, PartialEq, Eq)]
struct Remedy {
    reason: String,
    suggestion: &'static str,
    command: String,
}

impl Error {
    /// This error, which happened on a file or folder: says what is wrong with it, and the command that mends that, or shows
    /// it where no command can.
    pub fn on_path(self, path: &Path, error: io::Error) -> Self {
        self.about_path(path, &error).caused_by(error)
    }

    /// The same, when the error is a cause of another one.
    pub fn about_path(self, path: &Path, error: &io::Error) -> Self {
        let Remedy { reason, suggestion, command } = remedy(path, error);
        self.reason(reason).suggest(suggestion).command(command)
    }
}

/// The first error of files and folders among the causes.
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
    let there = nearest(path);
    let look = || format!("ls -ld {}", shown(there));
    match error.kind() {
        ErrorKind::PermissionDenied => refused(path, there),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge | ErrorKind::WriteZero => Remedy {
            reason: format!("there is no room for {}: {error}", path.display()),
            suggestion: "Make room, then run the command again.",
            command: format!("df -h {}", shown(there)),
        },
        ErrorKind::ReadOnlyFilesystem => Remedy {
            reason: format!("{} lies on a file system that cannot be written", path.display()),
            suggestion: "Mount it so that it can be written, or work in a copy elsewhere.",
            command: format!("df -h {}", shown(there)),
        },
        ErrorKind::NotADirectory | ErrorKind::IsADirectory | ErrorKind::AlreadyExists => match in_the_way(path) {
            Some((at, what)) => Remedy {
                reason: format!("{} {what}", at.display()),
                suggestion: "Move it aside, then run the command again.",
                command: move_aside(at),
            },
            None => Remedy {
                reason: format!("{}: {error}", path.display()),
                suggestion: "See what is there, and put it right.",
                command: look(),
            },
        },
        ErrorKind::NotFound => Remedy {
            reason: format!("{} does not exist", path.display()),
            suggestion: "See what is there, and give a path that exists.",
            command: format!("ls -la {}", shown(there)),
        },
        _ => Remedy {
            reason: format!("{}: {error}", path.display()),
            suggestion: "See what is there, and put it right.",
            command: look(),
        },
    }
}

/// The path, or what of it exists.
fn nearest(path: &Path) -> &Path {
    let exists = |path: &&Path| symlink_metadata(path).is_ok();
    path.ancestors().find(exists).unwrap_or(Path::new("."))
}

/// What of a path is a file where a folder has to be, or a folder where a file has to be.
fn in_the_way(path: &Path) -> Option<(&Path, &'static str)> {
    let there = nearest(path);
    if !there.is_dir() {
        return Some((there, if there == path { "is in the way" } else { "is a file where a folder has to be" }));
    }
    (there == path).then_some((there, "is a folder where a file has to be"))
}

/// The command that moves a file or folder out of the way, to a name that is free.
pub fn move_aside(path: &Path) -> String {
    format!("mv {} {}", shown(path), shown(&aside(path)))
}

/// A name beside it that is free.
fn aside(path: &Path) -> PathBuf {
    let name = |n: usize| {
        PathBuf::from(format!("{}.aside{}", path.display(), if n == 0 { String::new() } else { n.to_string() }))
    };
    (0..).map(name).find(|name| symlink_metadata(name).is_err()).unwrap_or_else(|| name(0))
}

fn refused(path: &Path, there: &Path) -> Remedy {
    let own = std::fs::metadata("/proc/self").ok().map(|process| process.uid());
    let wanted = |metadata: &Metadata| if metadata.is_dir() { ("rwx", 0o700) } else { ("rw", 0o600) };
    // a file may be written and its folder not
    for place in [Some(there), there.parent().filter(|_| there == path)].into_iter().flatten() {
        let Ok(metadata) = symlink_metadata(place) else { continue };
        let (letters, bits) = wanted(&metadata);
        if own.is_some() && own != Some(metadata.uid()) {
            continue;
        }
        if metadata.mode() & bits != bits {
            return Remedy {
                reason: format!("permission denied: {} does not let its owner read and write", place.display()),
                suggestion: "Give yourself permission, then run the command again.",
                command: format!("chmod u+{letters} {}", shown(place)),
            };
        }
    }
    Remedy {
        reason: format!("permission denied: {} does not let you read and write", there.display()),
        suggestion: "See who owns it; its owner or the administrator can let you in, with chmod or chown.",
        command: format!("ls -ld {}", shown(there)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_what_is_in_its_way_and_the_command_that_moves_it() {
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
    fn a_refused_permission_is_mended_at_the_place_that_lacks_it() {
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
    fn what_does_not_exist_shows_the_folder_that_does() {
        let folder = tempfile::tempdir().unwrap();
        let full = remedy(&folder.path().join("x/y"), &io::Error::from(ErrorKind::StorageFull));
        assert_eq!(full.command, format!("df -h {}", folder.path().display()));
        let gone = remedy(&folder.path().join("x/y"), &io::Error::from(ErrorKind::NotFound));
        assert_eq!(gone.command, format!("ls -la {}", folder.path().display()));
    }
}
