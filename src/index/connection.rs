//! A database that holds all records as they are at one moment, and the index over it.

use std::rc::Rc;

use rusqlite::{Connection, Params, Row};

use crate::index::error::IndexError;
use crate::index::file::Files;
use crate::index::texts::SharedCache;
use empirica_notes::error::{Error, Result};
use empirica_notes::store::Store;

/// An up-to-date database, in a transaction that sees nothing of later writers until this process opens a newer one.
#[derive(Debug)]
pub struct OpenIndex {
    pub(crate) db: Connection,
    pub(crate) key: String,
    pub(crate) texts: SharedCache,
}

/// A snapshot of all records; their content is read from the notes.
pub struct Index<'s> {
    pub(crate) store: &'s Store<'s>,
    pub(crate) opened: Rc<OpenIndex>,
}

impl Index<'_> {
    /// The result of a query. If the database fails, the next command rebuilds it.
    pub(crate) fn checked<T>(&self, result: Result<T, IndexError>) -> Result<T> {
        result.map_err(|error| {
            if !matches!(error, IndexError::Notes(_)) {
                Files::within(self.store.paths()).distrust();
            }
            error.into()
        })
    }

    /// The rows of a query, as converted by `read`.
    pub(crate) fn select<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        self.checked(select(&self.opened.db, sql, values, read))
    }

    /// The number that a query counts; 0 without a row.
    pub(crate) fn number(&self, sql: &str, values: impl Params) -> Result<usize> {
        Ok(self.select(sql, values, |row| row.get(0))?.first().map_or(0, |count: &i64| *count as usize))
    }
}

/// The rows of a query, as converted by `read`.
pub(crate) fn select<T>(
    db: &Connection,
    sql: &str,
    values: impl Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, IndexError> {
    Ok(db.prepare_cached(sql)?.query_map(values, read)?.collect::<rusqlite::Result<_>>()?)
}

impl From<IndexError> for Error {
    fn from(error: IndexError) -> Self {
        let error = match error {
            IndexError::Notes(error) => return error,
            IndexError::File(error) => error,
            IndexError::Lost => rusqlite::Error::QueryReturnedNoRows,
            IndexError::Late => {
                return Error::refused("cannot read the index in time: it is being made from all notes")
                    .reason("that takes longer than an agent's hook may")
                    .suggest("Nothing is lost: the hook goes on in the background.");
            }
        };
        Error::storage("cannot use the index over the notes")
            .reason("it is derived from the notes, so nothing is lost with it; the next command rebuilds it")
            .suggest("Run the command again.")
            .caused_by(error)
    }
}
