//! The format of an agent's transcripts: their places, how they are detected, and their reader.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::error::Result;
use crate::model::{Agent, Transcript};
use crate::read::call::Tools;
use crate::read::files::modified;
use crate::read::keys::Keys;
use crate::read::lenient::is_read;
use crate::read::rows;
use crate::read::rows::{Piece, Rows};
use crate::summary::fold::Fold;

pub(crate) struct Format {
    pub agent: Agent,
    /// The categories of tools that it alone has by these names.
    pub tools: Tools,
    /// The variable that names its data folder, if any, and the default below the home folder.
    pub data: (Option<&'static str>, &'static str),
    pub sessions: Sessions,
}

pub(crate) enum Sessions {
    /// Each in a file of rows.
    Rows(RowFormat),
    /// Several in one place.
    Store(Store),
}

pub(crate) struct RowFormat {
    /// The files in the data folder that may be transcripts, as patterns of [`matching`](crate::read::files::matching).
    pub files: &'static [&'static str],
    pub matches: fn(&Keys) -> Match,
    /// The reader of a file's rows.
    pub reader: fn() -> Box<dyn Reader>,
    /// The folder a transcript was made in, by its path and adjacent files. The second path is a folder to compare names
    /// with.
    pub folder_by_path: fn(&Path, Option<&Path>) -> Option<String>,
    /// The same, by a row.
    pub folder_in_row: fn(&Keys, &Path) -> Option<String>,
    /// The repository it was made in, by that row.
    pub repository_in_row: fn(&Keys) -> NamedRepository,
}

/// The repository that a transcript names, as written.
#[derive(Debug, Default)]
pub(crate) struct NamedRepository {
    pub root: Option<String>,
    /// HEAD at the start.
    pub commit: Option<String>,
    /// The URL of a remote, or the end of it.
    pub remote: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Match {
    No,
    /// Unless it is certainly of another agent.
    Possible,
    Certain,
}

impl Match {
    pub(crate) fn of(matches: bool) -> Self {
        if matches { Match::Certain } else { Match::No }
    }
}

/// A place with several sessions.
pub(crate) struct Store {
    /// Whether a file or folder is a store, or in one.
    pub is_store: fn(&Path) -> bool,
    /// Reads the session of a file, else the newest made in the root; without a root, the newest of all. `None` if it is
    /// no store.
    pub read: fn(&Path, Option<&Path>) -> Option<Result<Transcript>>,
    /// Reads the session with that id in a file that has several; paths are relative to the root.
    pub read_session: fn(&Path, &str, &Path) -> Result<Transcript>,
    /// The newest session in the data folder made in the root: its time and path.
    pub newest: fn(&Path, &Path) -> Option<(SystemTime, PathBuf)>,
    /// The sessions in the data folder, without those of subagents.
    pub list: fn(&Path) -> Vec<StoredSession>,
    /// The size of a session, in bytes.
    pub size: fn(&StoredSession) -> u64,
}

/// A session in a store.
#[derive(Debug)]
pub(crate) struct StoredSession {
    pub path: PathBuf,
    pub id: String,
    /// Whether the path is that of several sessions.
    pub is_shared: bool,
    /// The folder it was made in, as written.
    pub folder: String,
    /// The time of its last change.
    pub updated: SystemTime,
}

pub(crate) trait Reader {
    /// Reads a row; `false` if it is invalid JSON.
    fn row(&mut self, text: &str, fold: &mut Fold) -> bool;

    /// Reads adjacent files, after the rows.
    fn read_adjacent(&mut self, _path: &Path, _fold: &mut Fold) {}

    fn end(&mut self, _fold: &mut Fold) {}
}

pub(crate) fn read_rows<R: BufRead>(reader: &mut dyn Reader, rows: &mut Rows<R>, fold: &mut Fold) -> io::Result<()> {
    while let Some(piece) = rows.next()? {
        let row = std::mem::take(&mut rows.row);
        read_row(reader, piece, &row, rows, fold);
        rows.row = row;
    }
    Ok(())
}

/// Reads the rows of a subagent's file. A torn end is not counted. `None` if it is no file that can be read.
pub(crate) fn read_subagent(reader: &mut dyn Reader, path: &Path, fold: &mut Fold) -> Option<()> {
    modified(path)?;
    let (_, mut rows) = rows::rows(BufReader::new(File::open(path).ok()?)).ok()?;
    let torn = std::mem::take(&mut fold.out.torn);
    // a read error ends it
    let _ = read_rows(reader, &mut rows, fold);
    if std::mem::replace(&mut fold.out.torn, torn) {
        fold.out.skipped_rows -= 1;
    }
    fold.out.size = fold.out.size.saturating_add(rows.size);
    Some(())
}

/// The value that `value` gives for the first row of a file that is JSON and not blank.
pub(crate) fn in_first_row<T>(path: &Path, value: impl Fn(&Keys) -> Option<T>) -> Option<T> {
    modified(path)?;
    let (_, mut rows) = rows::rows(BufReader::new(File::open(path).ok()?)).ok()?;
    rows.next().ok()??;
    Keys::with(&rows.row, value).flatten()
}

/// Reads a row, repaired if necessary, and counts it; members of a document are not counted.
pub(crate) fn read_row<R: BufRead>(
    reader: &mut dyn Reader,
    piece: Piece,
    row: &[u8],
    rows: &mut Rows<R>,
    fold: &mut Fold,
) {
    if piece == Piece::Skipped {
        fold.out.skipped_rows += 1;
        fold.out.torn = rows.is_torn();
    } else if !row.trim_ascii().is_empty() {
        let read = is_read(&String::from_utf8_lossy(row), |text| reader.row(text, fold));
        match (read, piece) {
            (true, Piece::Member) => {}
            (true, _) => fold.out.rows += 1,
            (false, _) => fold.out.skipped_rows += 1,
        }
        let is_unended = piece == (Piece::Row { whole: false });
        if read && is_unended {
            rows.accept_last();
        }
        fold.out.torn = !read && is_unended;
    }
}
