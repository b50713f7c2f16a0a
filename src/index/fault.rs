//! Errors of building and querying the index.

use empirica_notes::error::Error;

/// Why the index could not be made or asked.
#[derive(Debug)]
pub enum IndexError {
    /// The database: it is damaged, or cannot be written.
    File(rusqlite::Error),
    /// The notes cannot be read: nobody can help that here.
    Notes(Error),
    /// What a note held before is not known any more: it has to be rebuilt.
    Lost,
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
