//! Errors of reading transcripts.

use std::io;
#[cfg(feature = "read")]
use std::path::Path;
use std::path::PathBuf;

/// The result of reading a transcript.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of reading a transcript.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Error {
    /// Nothing exists at the path.
    #[error("cannot find the transcript {}", path.display())]
    Missing { path: PathBuf, source: io::Error },
    /// A file or folder could not be read.
    #[error("cannot read the transcript {}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// A stream could not be read.
    #[error("cannot read {name}")]
    Stream {
        /// The file's name, or a description of the stream.
        name: String,
        source: io::Error,
    },
    /// It has the format of no agent in [`Agent::ALL`](crate::model::Agent::ALL).
    #[error("cannot read {name}: it is not a transcript of a known agent")]
    UnknownAgent {
        /// The file's name, or a description of the stream.
        name: String,
        reason: &'static str,
    },
    /// No file in a folder is a transcript.
    #[error("cannot find a transcript in {}", folder.display())]
    EmptyFolder { folder: PathBuf },
    /// A database or storage has no session of the repository, or none at all.
    #[error("cannot find a transcript of this work in {}", path.display())]
    NoSession {
        path: PathBuf,
        /// The root of the repository; `None` if any session was accepted.
        root: Option<PathBuf>,
    },
    /// The database is damaged or not OpenCode's.
    #[error("cannot read the database {} as OpenCode's", path.display())]
    Database {
        path: PathBuf,
        /// The error of SQLite.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Error {
    #[cfg(feature = "read")]
    pub(crate) fn unreadable(path: &Path, source: io::Error) -> Self {
        Error::Unreadable { path: path.to_owned(), source }
    }

    #[cfg(feature = "read")]
    pub(crate) fn no_session(path: &Path, root: Option<&Path>) -> Self {
        Error::NoSession { path: path.to_owned(), root: root.map(Path::to_owned) }
    }
}
