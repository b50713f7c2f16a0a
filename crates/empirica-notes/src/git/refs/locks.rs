//! Lock files of refs: their paths, and the error for a stale one.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::error::{Error, quote};
use crate::git::Repository;

impl Repository {
    /// The lock files that git takes to update these refs, or to delete them, too.
    pub fn ref_locks(&self, names: &[&str], deletes: bool) -> Vec<PathBuf> {
        let common = self.common_dir();
        if self.capabilities.reftable {
            // a linked worktree has its own tables for HEAD
            let mut all = [common, self.git_dir()].map(|folder| folder.join("reftable/tables.list.lock")).to_vec();
            all.dedup();
            return all;
        }
        let own = names.iter().map(|name| common.join(format!("{name}.lock")));
        own.chain(deletes.then(|| common.join("packed-refs.lock"))).collect()
    }

    /// Those of [`Self::ref_locks`] that exist.
    pub fn held_locks(&self, names: &[&str], deletes: bool) -> Vec<PathBuf> {
        self.ref_locks(names, deletes).into_iter().filter(|lock| lock.exists()).collect()
    }
}

/// Adds lock files, possibly stale, as the reason of an error; none change nothing.
pub fn add_stale_locks(error: Error, locks: &[PathBuf]) -> Error {
    let Some((lock, others)) = locks.split_first() else { return error };
    let since = age(lock).map_or_else(String::new, |age| format!(" since {}", long(age)));
    let (more, stale) = match others.len() {
        0 => (String::new(), format!("the stale lock {}", lock.display())),
        1 => (", and another".to_owned(), "the two stale locks".to_owned()),
        count => (format!(", and {count} others"), format!("the {} stale locks", count + 1)),
    };
    let all: Vec<String> = locks.iter().map(|lock| quote(&lock.to_string_lossy())).collect();
    error
        .reason(format!("the lock {} exists{since}{more}", lock.display()))
        .suggest(format!("If no git process is running, remove {stale}."))
        .command(format!("rm -f {}", all.join(" ")))
}

/// The age of a lock; `None` if it no longer exists.
pub fn age(lock: &Path) -> Option<Duration> {
    let made = std::fs::metadata(lock).and_then(|file| file.modified()).ok()?;
    Some(SystemTime::now().duration_since(made).unwrap_or_default())
}

/// A duration in its largest unit.
pub fn long(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min", seconds / 60),
        seconds @ 3600..86_400 => format!("{} h", seconds / 3600),
        seconds => format!("{} d", seconds / 86_400),
    }
}
