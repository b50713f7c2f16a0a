//! Reads OpenCode's database, and writes neither to it nor a WAL.

use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};

use crate::agents::opencode;
use crate::agents::opencode::{OpenCode, SessionInfo, read_document};
use crate::error::{Error, Result};
use crate::model::Transcript;
use crate::read::rows::LONGEST;
use crate::summary::fold::Fold;

/// The first bytes of an SQLite file.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The time SQLite waits for a writing process.
const BUSY: std::time::Duration = std::time::Duration::from_secs(2);

fn unreadable(path: &Path, error: rusqlite::Error) -> Error {
    Error::Database { path: path.to_owned(), source: error.into() }
}

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
fn open(path: &Path) -> rusqlite::Result<Connection> {
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

fn text(row: &Row, column: usize) -> rusqlite::Result<Option<String>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    })
}

fn info(row: &Row) -> rusqlite::Result<Option<SessionInfo>> {
    let Some(id) = text(row, 0)? else { return Ok(None) };
    let updated = match row.get_ref(4)? {
        ValueRef::Integer(ms) => u64::try_from(ms).unwrap_or_default(),
        ValueRef::Real(ms) => ms as u64,
        _ => 0,
    };
    let (parent, folder) = (text(row, 1)?.filter(|id| !id.is_empty()), text(row, 2)?.unwrap_or_default());
    Ok(Some(SessionInfo { id, parent, folder, title: text(row, 3)?.unwrap_or_default(), updated }))
}

fn sessions(db: &Connection) -> rusqlite::Result<Vec<SessionInfo>> {
    let mut statement =
        db.prepare("SELECT id, parent_id, directory, title, time_updated FROM session ORDER BY time_created, id")?;
    let infos = statement.query_map([], info)?.filter_map(Result::transpose);
    infos.collect()
}

pub fn list(path: &Path) -> Result<Vec<SessionInfo>> {
    open(path).and_then(|db| sessions(&db)).map_err(|error| unreadable(path, error))
}

/// Reads the newest session made in `root`, or the newest of all without a root, with its subagents.
pub fn read(path: &Path, root: Option<&Path>) -> Result<Transcript> {
    let db = open(path).map_err(|error| unreadable(path, error))?;
    let sessions = sessions(&db).map_err(|error| unreadable(path, error))?;
    let Some(main) = opencode::newest(&sessions, root) else { return Err(Error::no_session(path, root)) };
    opencode::read(&sessions, main, root, |session, reader, fold| {
        messages(&db, session, reader, fold).map_err(|error| unreadable(path, error))
    })
}

/// Reads the column `data`, unless it is null or too long.
fn read_column(
    row: &Row,
    column: usize,
    fold: &mut Fold,
    read: impl FnMut(&str, &mut Fold) -> bool,
) -> rusqlite::Result<()> {
    let bytes = match row.get_ref(column)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes,
        _ => &[],
    };
    fold.out.size = fold.out.size.saturating_add(bytes.len() as u64);
    read_document(&String::from_utf8_lossy(bytes), fold, read);
    Ok(())
}

fn messages(db: &Connection, session: &SessionInfo, reader: &mut OpenCode, fold: &mut Fold) -> rusqlite::Result<()> {
    let data = format!("CASE WHEN octet_length(data) <= {LONGEST} THEN data END");
    let mut messages =
        db.prepare(&format!("SELECT id, {data} FROM message WHERE session_id = ?1 ORDER BY time_created, id"))?;
    let mut parts = db.prepare(&format!("SELECT {data} FROM part WHERE message_id = ?1 ORDER BY id"))?;
    let mut rows = messages.query([&session.id])?;
    while let Some(row) = rows.next()? {
        let Some(id) = text(row, 0)? else { continue };
        read_column(row, 1, fold, |text, fold| reader.message(text, &id, fold))?;
        let mut rows = parts.query([&id])?;
        while let Some(row) = rows.next()? {
            read_column(row, 0, fold, |text, fold| reader.part(text, fold))?;
        }
    }
    Ok(())
}
