//! Updates of refs in files, as git makes them: each under its own lock. A transaction of gix holds `packed-refs.lock`, too; a kill
//! would leave that behind, and no other ref could be deleted.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use gix::lock::acquire::Fail;
use gix::lock::{File, Marker};
use gix::refs::store::WriteReflog;

use crate::git::refs::{Identity, RefUpdate, UpdateError};

/// The refs of a repository that is not shared, in files.
pub(crate) struct RefFiles<'r> {
    repo: &'r gix::Repository,
    /// `core.filesRefLockTimeout`.
    patience: Fail,
}

/// An error that a retry would not mend.
pub(crate) fn failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> UpdateError {
    UpdateError::Failed(error.into())
}

impl<'r> RefFiles<'r> {
    pub(crate) fn of(repo: &'r gix::Repository) -> Self {
        let milliseconds = repo.config_snapshot().integer("core.filesRefLockTimeout").unwrap_or(100);
        let patience = match u64::try_from(milliseconds) {
            Ok(0) => Fail::Immediately,
            Ok(some) => Fail::AfterDurationWithBackoff(Duration::from_millis(some)),
            // forever, to git; the caller tries again for as long as it may wait
            Err(_) => Fail::AfterDurationWithBackoff(Duration::from_secs(1)),
        };
        RefFiles { repo, patience }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.repo.common_dir().join(name)
    }

    /// Locks a ref that has the expected value, and writes the new one into the lock.
    pub(crate) fn lock(&self, update: &RefUpdate) -> Result<Marker, UpdateError> {
        let refs = self.path("refs");
        let locked = File::acquire_to_update_resource(self.path(&update.name), self.patience, Some(refs), 0);
        let mut lock = locked.map_err(|error| match error.is_retryable() {
            true => UpdateError::Contended(format!("{}.lock exists", update.name).into()),
            false => failed(error),
        })?;
        let found = self.repo.try_find_reference(update.name.as_str()).map_err(failed)?;
        let found = found.map(|found| found.target().try_id().map(ToOwned::to_owned));
        if found != update.expected.map(Some) {
            return Err(UpdateError::Contended(format!("{} moved", update.name).into()));
        }
        lock.with_mut(|file| writeln!(file, "{}", update.new)).and_then(|()| lock.close()).map_err(failed)
    }

    /// Appends to the reflog of a ref, if `core.logAllRefUpdates` wants it.
    pub(crate) fn log(&self, update: &RefUpdate, message: &str, identity: &Identity) -> io::Result<()> {
        let log = self.path("logs").join(&update.name);
        if self.repo.refs.write_reflog == WriteReflog::Disable && !log.exists() {
            return Ok(());
        }
        let old = update.expected.unwrap_or_else(|| update.new.kind().null());
        let mut line = format!("{old} {} ", update.new).into_bytes();
        let mut time = gix::date::parse::TimeBuf::default();
        identity.signature().to_ref(&mut time).trim().write_to(&mut line)?;
        line.extend(format!("\t{message}\n").bytes());
        let append = || std::fs::OpenOptions::new().append(true).create(true).open(&log);
        let mut file = match append() {
            Ok(file) => file,
            Err(_) => {
                make_room(&log)?;
                append()?
            }
        };
        file.write_all(&line)
    }

    /// Gives the locked ref its new value.
    pub(crate) fn put(&self, lock: Marker) -> Result<(), UpdateError> {
        let Err(first) = lock.commit() else { return Ok(()) };
        make_room(&first.instance.resource_path()).map_err(failed)?;
        first.instance.commit().map(drop).map_err(|error| failed(error.error))
    }
}

/// Makes the folder of a file, and removes the empty folders of deleted refs below its path.
fn make_room(file: &Path) -> io::Result<()> {
    if file.is_dir() {
        gix::tempfile::remove_dir::empty_depth_first(file.to_owned())?;
    }
    file.parent().map_or(Ok(()), std::fs::create_dir_all)
}
