//! A database that holds all records as they are at one moment, and the index over it.

use std::rc::Rc;

use rusqlite::Connection;

use crate::index::fault::IndexError;
use crate::index::file::Files;
use empirica_notes::error::{Error, Result};
use empirica_notes::store::Store;

/// A database that holds what it must hold, in a transaction that sees nothing of later writers.
#[derive(Debug)]
pub struct Opened {
    pub(crate) db: Connection,
    pub(crate) key: String,
}

/// A snapshot of all records; their content is read from the notes.
pub struct Index<'s> {
    pub(crate) store: &'s Store<'s>,
    pub(crate) opened: Rc<Opened>,
}

impl<'s> Index<'s> {
    /// What the database answered. When it cannot, it is rebuilt next time.
    pub(crate) fn fine<T>(&self, answer: Result<T, IndexError>) -> Result<T> {
        answer.map_err(|fault| match fault {
            IndexError::Notes(error) => error,
            fault => {
                Files::within(self.store.paths()).distrust();
                match fault {
                    IndexError::File(error) => unusable(error),
                    _ => unusable(rusqlite::Error::QueryReturnedNoRows),
                }
            }
        })
    }
}

pub(crate) fn unusable(error: rusqlite::Error) -> Error {
    Error::storage("the index over the notes cannot be used")
        .reason("it is derived from the notes, so nothing is lost with it; the next command rebuilds it")
        .suggest("Run the command again.")
        .caused_by(error)
}
