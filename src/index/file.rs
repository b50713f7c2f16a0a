//! The file of the index: whether it can be trusted, and who may write it.
//!
//! Beside it lies a stamp: its size, times and inode after the last writing of ours, and the boot they are from. A file
//! that does not look so was changed by other hands, or a writer died over it: it is made anew. So nothing needs to be
//! synced to disk, and a damaged file is not asked. Who writes removes the stamp first: two writings can be of one time.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use empirica_notes::fault;
use empirica_notes::git::Sharing;
use empirica_notes::store::{Paths, files};

/// How a file looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look(String);

/// The places of the index.
pub struct Files {
    /// The database.
    pub db: PathBuf,
    /// The stamp.
    stamp: PathBuf,
    /// The lock of who writes.
    pub lock: PathBuf,
    sharing: Sharing,
}

impl Files {
    /// In the store's folder; nothing is made.
    pub fn within(paths: &Paths) -> Self {
        let folder = paths.state();
        let sharing = paths.sharing().clone();
        Files {
            sharing,
            db: folder.join("index.db"),
            stamp: folder.join("index.stamp"),
            lock: folder.join("index.lock"),
        }
    }

    fn look(&self) -> Option<Look> {
        // opening a pipe would wait for its other end
        let seen = fs::metadata(&self.db).ok().filter(fs::Metadata::is_file)?;
        let (modified, changed) = ((seen.mtime(), seen.mtime_nsec()), (seen.ctime(), seen.ctime_nsec()));
        let (size, inode) = (seen.size(), seen.ino());
        Some(Look(format!("{size} {}.{:09} {}.{:09} {inode}", modified.0, modified.1, changed.0, changed.1)))
    }

    /// Whether the database is as it was left. `db` is open, and has read of it: nobody writes meanwhile; `seen` is how it
    /// looked before it was opened, since another one may have taken its place. After a new start of the machine it is
    /// looked through, since what was written last may not have reached the disk.
    pub fn is_trusted(&self, db: &Connection, seen: &Look) -> bool {
        let is_file = fs::metadata(&self.stamp).is_ok_and(|stamp| stamp.is_file());
        let stamp = is_file.then(|| fs::read_to_string(&self.stamp).ok()).flatten().unwrap_or_default();
        let mut lines = stamp.lines();
        if lines.next() != Some(&seen.0) || self.look().as_ref() != Some(seen) {
            return false;
        }
        lines.next().unwrap_or_default() == boot()
            || db.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0)).is_ok_and(|said| said == "ok")
    }

    /// Writes down how the database looks now. The lock is held by the caller. Without a stamp it is made anew.
    pub fn leave(&self) {
        if let Some(Look(seen)) = self.look() {
            let _ = files::replace(&self.sharing, &self.stamp, &format!("{seen}\n{}\n", boot()));
        }
    }

    /// Has the next command make it anew.
    pub fn distrust(&self) {
        let _ = fs::remove_file(&self.stamp);
        fault::step("index: distrusted");
    }

    /// A database beside it to be filled anew. The lock is held by the caller.
    pub fn begin(&self) -> rusqlite::Result<(Connection, PathBuf)> {
        let path = self.db.with_extension("new");
        let _ = fs::remove_file(&path);
        fault::step("index: to be made anew");
        // SQLite would let no group write to it; what fails here fails below, with a reason
        let _ = fs::File::create(&path).and_then(|_| self.sharing.apply(&path));
        Ok((open(&path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?, path))
    }

    /// The database, to be read, or read and written, with how it looked before. `None` when there is none.
    pub fn open(&self, to_write: bool) -> Option<(Connection, Look)> {
        let seen = self.look()?;
        let write = OpenFlags::SQLITE_OPEN_READ_WRITE;
        let db = open(&self.db, if to_write { write } else { OpenFlags::SQLITE_OPEN_READ_ONLY }).ok()?;
        if !to_write {
            map(&db).ok()?;
        }
        Some((db, seen))
    }
}

/// How long SQLite waits for another process that reads or writes, in milliseconds.
const BUSY: std::time::Duration = std::time::Duration::from_secs(5);

/// How many bytes of the file a reader maps at most. Who writes changes them in place, or makes the file shorter, only while nobody
/// reads. Where other hands cut it off under a reader, that ends, as it does when a pack is cut off.
const MAPPED: i64 = 1 << 31;

/// Has a database mapped from now on, as packs are: what is asked for is seldom worth copying.
pub fn map(db: &Connection) -> rusqlite::Result<()> {
    db.pragma_update(None, "mmap_size", MAPPED)
}

fn open(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let db = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    prepare(&db)?;
    db.busy_timeout(BUSY)?;
    Ok(db)
}

/// What every database is set to.
pub fn prepare(db: &Connection) -> rusqlite::Result<()> {
    db.set_prepared_statement_cache_capacity(64);
    // else a statement is planned anew for each value it is given, where an index is partial
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    db.execute_batch(
        "PRAGMA page_size=8192; PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; PRAGMA temp_store=MEMORY; \
         PRAGMA trusted_schema=OFF;",
    )
}

/// What tells this start of the machine from others; empty where that is not known.
fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}
