//! The files that git takes as locks while it sets refs: where they are, and what to say of one that is in the way.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::error::{Error, quote};
use crate::git::Repository;

impl Repository {
    /// The files that git takes as locks while it sets one of the refs.
    pub fn ref_locks(&self, names: &[&str]) -> Vec<PathBuf> {
        let common = self.common_dir();
        if self.needs.reftable {
            // a linked worktree keeps its HEAD in tables of its own
            let mut all = [common, self.git_dir()].map(|folder| folder.join("reftable/tables.list.lock")).to_vec();
            all.dedup();
            return all;
        }
        let own = names.iter().map(|name| common.join(format!("{name}.lock")));
        own.chain([common.join("packed-refs.lock")]).collect()
    }

    /// The first of them that is there.
    pub fn ref_lock(&self, names: &[&str]) -> Option<PathBuf> {
        self.ref_locks(names).into_iter().find(|lock| lock.exists())
    }
}

/// An error that a lock file explains, which a process that died may have left.
pub fn left_behind(error: Error, lock: &Path) -> Error {
    let since = age(lock).map_or_else(String::new, |age| format!(" since {}", long(age)));
    error
        .reason(format!("the lock {} is there{since}", lock.display()))
        .suggest(format!("If no git process is running, remove the stale lock {}.", lock.display()))
        .command(format!("rm -f {}", quote(&lock.to_string_lossy())))
}

/// How old a lock is; `None` when it is not there any more.
pub fn age(lock: &Path) -> Option<Duration> {
    let made = std::fs::metadata(lock).and_then(|file| file.modified()).ok()?;
    Some(SystemTime::now().duration_since(made).unwrap_or_default())
}

/// A span of time in its largest unit.
pub fn long(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min", seconds / 60),
        seconds @ 3600..86_400 => format!("{} h", seconds / 3600),
        seconds => format!("{} d", seconds / 86_400),
    }
}
