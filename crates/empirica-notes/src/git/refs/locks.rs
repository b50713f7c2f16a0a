//! Lock files of refs: their paths, and the error for a stale one.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::error::{Error, quote};
use crate::git::Repository;

impl Repository {
    /// The lock files that git takes to update these refs.
    pub fn ref_locks(&self, names: &[&str]) -> Vec<PathBuf> {
        let common = self.common_dir();
        if self.capabilities.reftable {
            // a linked worktree has its own tables for HEAD
            let mut all = [common, self.git_dir()].map(|folder| folder.join("reftable/tables.list.lock")).to_vec();
            all.dedup();
            return all;
        }
        let own = names.iter().map(|name| common.join(format!("{name}.lock")));
        own.chain([common.join("packed-refs.lock")]).collect()
    }

    /// The first of [`Self::ref_locks`] that exists.
    pub fn ref_lock(&self, names: &[&str]) -> Option<PathBuf> {
        self.ref_locks(names).into_iter().find(|lock| lock.exists())
    }
}

/// Adds a lock file, possibly stale, as the reason of an error.
pub fn add_stale_lock(error: Error, lock: &Path) -> Error {
    let since = age(lock).map_or_else(String::new, |age| format!(" since {}", long(age)));
    error
        .reason(format!("the lock {} exists{since}", lock.display()))
        .suggest(format!("If no git process is running, remove the stale lock {}.", lock.display()))
        .command(format!("rm -f {}", quote(&lock.to_string_lossy())))
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
