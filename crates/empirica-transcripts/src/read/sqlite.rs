//! Reads SQLite databases, and writes neither to them nor a WAL.

use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

/// The first bytes of an SQLite file.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The time SQLite waits for a writing process.
const BUSY: std::time::Duration = std::time::Duration::from_secs(2);

/// The URI of a file for SQLite, with query parameters.
fn uri(path: &Path, parameters: &str) -> String {
    let mut out = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => out.push(*byte as char),
            byte if byte.is_ascii_alphanumeric() => out.push(*byte as char),
            byte => out.push_str(&format!("%{byte:02x}")),
        }
    }
    out + "?" + parameters
}

fn connect(path: &Path, parameters: &str) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(uri(path, parameters), flags)?;
    db.busy_timeout(BUSY)?;
    db.execute_batch("PRAGMA trusted_schema=OFF; PRAGMA temp_store=MEMORY; PRAGMA query_only=ON;")?;
    db.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(db)
}

/// Opens the database. If it is in WAL mode but has no WAL, SQLite would create one for reading: it is then opened as
/// immutable.
pub fn open(path: &Path) -> rusqlite::Result<Connection> {
    let mut wal = path.as_os_str().to_owned();
    wal.push("-wal");
    let has_wal = std::fs::metadata(PathBuf::from(wal)).is_ok_and(|wal| wal.len() > 0);
    if !has_wal && is_wal_mode(path) {
        return connect(path, "mode=ro&immutable=1");
    }
    connect(path, "mode=ro").or_else(|error| match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::CannotOpen | rusqlite::ErrorCode::ReadOnly) => connect(path, "mode=ro&immutable=1"),
        _ => Err(error),
    })
}

/// Whether a file is an SQLite file.
pub fn is_database(path: &Path) -> bool {
    head(path).starts_with(MAGIC)
}

/// Whether the header of the database says WAL mode.
fn is_wal_mode(path: &Path) -> bool {
    head(path)[18..].contains(&2)
}

/// The first 20 bytes of a regular file; zeros if it has fewer.
fn head(path: &Path) -> [u8; 20] {
    let mut head = [0; 20];
    let file = Some(path).filter(|path| path.is_file()).and_then(|path| File::open(path).ok());
    match file.map(|mut file| file.read_exact(&mut head)) {
        Some(Ok(())) => head,
        _ => [0; 20],
    }
}
