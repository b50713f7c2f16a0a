//! Why a transcript could not be read.

use std::io;
#[cfg(feature = "read")]
use std::path::Path;
use std::path::PathBuf;

/// The result of reading a transcript.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a transcript could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is nothing at the path.
    #[error("there is no transcript {}", path.display())]
    Missing {
        /// The path.
        path: PathBuf,
        /// Why it could not be looked at.
        source: io::Error,
    },
    /// A file or folder could not be read.
    #[error("cannot read the transcript {}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A stream could not be read.
    #[error("cannot read {name}")]
    Stream {
        /// The file's name, or what stands for it.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// No agent in [`Agent::ALL`](crate::model::Agent::ALL) wrote it.
    #[error("{name} is not a transcript of a known agent")]
    UnknownAgent {
        /// The file's name, or what stands for it.
        name: String,
        /// How that was seen.
        reason: &'static str,
    },
    /// No file in a folder is a transcript.
    #[error("there is no transcript in {}", folder.display())]
    EmptyFolder {
        /// The folder.
        folder: PathBuf,
    },
    /// A database or storage has no session of the repository, or none at all.
    #[error("there is no transcript of this work in {}", path.display())]
    NoSession {
        /// The database or storage.
        path: PathBuf,
        /// The root of the repository; `None` when any session would have done.
        root: Option<PathBuf>,
    },
    /// The database is damaged or not OpenCode's.
    #[error("cannot read the database {} as OpenCode's", path.display())]
    Database {
        /// The database.
        path: PathBuf,
        /// What SQLite says.
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
