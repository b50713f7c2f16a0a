//! Reads OpenCode's database.

use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

use crate::agents::opencode;
use crate::agents::opencode::{OpenCode, SessionInfo, read_document};
use crate::error::{Error, Result};
use crate::model::Transcript;
use crate::read::rows::LONGEST;
use crate::read::sqlite::open;
use crate::summary::fold::Fold;

fn unreadable(path: &Path, error: rusqlite::Error) -> Error {
    Error::Database { path: path.to_owned(), source: error.into() }
}

fn text(row: &Row, column: usize) -> rusqlite::Result<Option<String>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    })
}

fn info(row: &Row) -> rusqlite::Result<Option<SessionInfo>> {
    let Some(id) = text(row, 0)? else { return Ok(None) };
    let millis = |column| {
        row.get_ref(column).map(|value| match value {
            ValueRef::Integer(ms) => u64::try_from(ms).unwrap_or_default(),
            ValueRef::Real(ms) => ms as u64,
            _ => 0,
        })
    };
    let (parent, folder) = (text(row, 1)?.filter(|id| !id.is_empty()), text(row, 2)?.unwrap_or_default());
    let title = text(row, 3)?.unwrap_or_default();
    Ok(Some(SessionInfo { id, parent, folder, title, created: millis(4)?, updated: millis(5)? }))
}

fn sessions(db: &Connection) -> rusqlite::Result<Vec<SessionInfo>> {
    let mut statement = db.prepare(
        "SELECT id, parent_id, directory, title, time_created, time_updated FROM session ORDER BY time_created, id",
    )?;
    let infos = statement.query_map([], info)?.filter_map(Result::transpose);
    infos.collect()
}

pub fn list(path: &Path) -> Result<Vec<SessionInfo>> {
    open(path).and_then(|db| sessions(&db)).map_err(|error| unreadable(path, error))
}

/// The length of a session's data, in bytes; 0 if it cannot be read.
pub fn size(path: &Path, id: &str) -> u64 {
    let total = "SELECT total(octet_length(m.data)) + total((SELECT total(octet_length(data)) FROM part WHERE message_id = m.id)) \
                 FROM message m WHERE session_id = ?1";
    let size = open(path).and_then(|db| db.query_row(total, [id], |row| row.get::<_, f64>(0)));
    size.map_or(0, |size| size as u64)
}

/// Reads the session `id`, else the newest one made in `root`, or the newest of all without a root, with its subagents.
pub fn read(path: &Path, id: Option<&str>, root: Option<&Path>) -> Result<Transcript> {
    let db = open(path).map_err(|error| unreadable(path, error))?;
    let sessions = sessions(&db).map_err(|error| unreadable(path, error))?;
    let main = match id {
        Some(id) => sessions.iter().find(|info| info.id == id),
        None => opencode::newest(&sessions, root),
    };
    let Some(main) = main else { return Err(Error::no_session(path, root)) };
    opencode::read(&sessions, main, root, |session, reader, fold| {
        let read =
            messages(&db, session, reader, fold).and_then(|()| match reader.copied.filter(|_| session == main) {
                Some(at) => origin(&db, &sessions, session, at),
                None => Ok(None),
            });
        fold.out.parent = read.map_err(|error| unreadable(path, error))?.or(fold.out.parent.take());
        Ok(())
    })
}

/// The session that a copied message is from: of the others with a message of that time, the newest that is older.
fn origin(db: &Connection, sessions: &[SessionInfo], of: &SessionInfo, at: u64) -> rusqlite::Result<Option<String>> {
    let mut statement =
        db.prepare("SELECT DISTINCT session_id FROM message WHERE time_created = ?1 AND session_id <> ?2")?;
    let ids = statement.query_map((at as i64, &of.id), |row| text(row, 0))?.filter_map(Result::transpose);
    let ids = ids.collect::<rusqlite::Result<Vec<String>>>()?;
    let older = sessions.iter().filter(|session| session.created <= at && ids.contains(&session.id));
    Ok(older.max_by_key(|session| session.created).map(|session| session.id.clone()))
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
