//! The index file: whether it can be trusted, and its lock.
//!
//! A stamp beside it holds the size, times and inode after our last write, and the boot ID. A mismatch means that
//! something else changed the file or a writer died, so the index is rebuilt; neither an fsync nor a check for damage
//! is needed. A writer removes the stamp first, since two writes can have the same time.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use empirica_notes::fault;
use empirica_notes::git::Sharing;
use empirica_notes::store::{Paths, files};

/// State of a file: size, times and inode.
#[derive(PartialEq)]
pub struct FileState(String);

pub struct Files {
    pub db: PathBuf,
    stamp: PathBuf,
    /// Lock held by the writer.
    pub lock: PathBuf,
    sharing: Sharing,
}

impl Files {
    /// Paths in the store's folder; creates nothing.
    pub fn within(paths: &Paths) -> Self {
        let folder = paths.state();
        Files {
            sharing: paths.sharing().clone(),
            db: folder.join("index.db"),
            stamp: folder.join("index.stamp"),
            lock: folder.join("index.lock"),
        }
    }

    fn state(&self) -> Option<FileState> {
        // opening a FIFO would block
        let seen = fs::metadata(&self.db).ok().filter(fs::Metadata::is_file)?;
        let time = |seconds: i64, nanos: i64| format!("{seconds}.{nanos:09}");
        let (modified, changed) = (time(seen.mtime(), seen.mtime_nsec()), time(seen.ctime(), seen.ctime_nsec()));
        Some(FileState(format!("{} {modified} {changed} {}", seen.size(), seen.ino())))
    }

    /// Whether the database is unchanged since the stamp was written. `db` must be open with a read transaction, so
    /// that no process writes meanwhile; `state` is from before it was opened, since it may have been replaced. After
    /// a reboot the database is checked, as the last writes may not have reached the disk.
    pub fn is_trusted(&self, db: &Connection, state: &FileState) -> bool {
        let is_file = fs::metadata(&self.stamp).is_ok_and(|stamp| stamp.is_file());
        let stamp = is_file.then(|| fs::read_to_string(&self.stamp).ok()).flatten().unwrap_or_default();
        let mut lines = stamp.lines();
        if lines.next() != Some(&state.0) || self.state().as_ref() != Some(state) {
            return false;
        }
        lines.next().unwrap_or_default() == boot()
            || db
                .query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0))
                .is_ok_and(|answer| answer == "ok")
    }

    /// Writes the stamp of the database as it is now; the caller holds the lock. If this fails, the next command
    /// rebuilds the index.
    pub fn stamp(&self) {
        if let Some(FileState(state)) = self.state() {
            let _ = files::replace(&self.sharing, &self.stamp, &format!("{state}\n{}\n", boot()));
        }
    }

    /// Removes the stamp, so that the next command rebuilds the index.
    pub fn distrust(&self) {
        let _ = fs::remove_file(&self.stamp);
        fault::step("index: distrusted");
    }

    /// Creates an empty database beside the current one; the caller holds the lock.
    pub fn create(&self) -> rusqlite::Result<(Connection, PathBuf)> {
        let path = self.db.with_extension("new");
        let _ = fs::remove_file(&path);
        fault::step("index: to be rebuilt");
        // SQLite would not make it group-writable; if this fails, opening it fails too and gives the reason
        let _ = fs::File::create(&path).and_then(|_| self.sharing.apply(&path));
        Ok((open(&path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?, path))
    }

    /// Opens the database, with its state from before. `None` if it does not exist, or cannot be opened or locked.
    pub fn open(&self, to_write: bool) -> Option<(Connection, FileState)> {
        let state = self.state()?;
        // where there are no file locks, SQLite would try for `BUSY`
        let tried = fs::File::open(&self.db).map(|file| file.try_lock_shared());
        if matches!(tried, Ok(Err(fs::TryLockError::Error(_)))) {
            return None;
        }
        let write = OpenFlags::SQLITE_OPEN_READ_WRITE;
        let db = open(&self.db, if to_write { write } else { OpenFlags::SQLITE_OPEN_READ_ONLY }).ok()?;
        if !to_write {
            map(&db).ok()?;
        }
        Some((db, state))
    }
}

/// How long SQLite waits for another process that reads or writes.
const BUSY: std::time::Duration = std::time::Duration::from_secs(5);

/// Most bytes of the file that a reader maps. Writers change or truncate it only while nobody reads; if another
/// program truncates it under a reader, the reader crashes, as with a truncated pack.
const MAPPED: i64 = 1 << 31;

/// Maps a database instead of copying its pages, as git does with packs.
pub fn map(db: &Connection) -> rusqlite::Result<()> {
    db.pragma_update(None, "mmap_size", MAPPED)
}

fn open(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let db = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    prepare(&db)?;
    db.busy_timeout(BUSY)?;
    Ok(db)
}

/// Settings of every database.
pub fn prepare(db: &Connection) -> rusqlite::Result<()> {
    db.set_prepared_statement_cache_capacity(64);
    // otherwise SQLite plans a statement again for each bound value if an index is partial
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    db.execute_batch(
        "PRAGMA page_size=8192; PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; PRAGMA temp_store=MEMORY; \
         PRAGMA trusted_schema=OFF;",
    )
}

/// Boot ID; empty if unknown.
fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}
