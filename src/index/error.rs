//! Errors of building and querying the index.

use empirica_notes::error::Error;

#[derive(Debug)]
pub enum IndexError {
    /// The database is damaged or cannot be written.
    File(rusqlite::Error),
    /// The notes cannot be read.
    Notes(Error),
    /// The former content of a note is missing: the index must be rebuilt.
    Lost,
    /// It takes longer than the caller can wait.
    Late,
}

impl From<rusqlite::Error> for IndexError {
    fn from(error: rusqlite::Error) -> Self {
        IndexError::File(error)
    }
}

impl From<Error> for IndexError {
    fn from(error: Error) -> Self {
        IndexError::Notes(error)
    }
}
