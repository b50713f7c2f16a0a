//! Where a transcript was made, by its path or its first rows.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use crate::agents::format::{NamedRepository, RowFormat};
use crate::read::keys::Keys;
use crate::read::rows;
use crate::read::rows::Piece;

/// The number of rows searched for the folder of a transcript.
const ROWS: usize = 100;

#[derive(Debug)]
pub struct Origin {
    /// As written, or one of the folders to compare names with.
    pub folder: String,
    pub repository: NamedRepository,
    /// The first time in the rows read, as written.
    pub started_at: Option<String>,
}

impl Origin {
    /// Whether the transcript is that of a subagent: it is not a separate session, and so made nowhere.
    pub fn is_subagent(&self) -> bool {
        self.folder.is_empty()
    }
}

/// The origin of a transcript; `None` if neither its path nor its first rows tell the folder. Agents that store a
/// folder only as a slug or hash need `folders` to compare with.
pub fn origin(path: &Path, format: &RowFormat, folders: &[PathBuf]) -> Option<Origin> {
    let by_path = folders.iter().find_map(|folder| (format.folder_by_path)(path, Some(folder)));
    let by_path = by_path.or_else(|| (format.folder_by_path)(path, None));
    let (mut started_at, mut left) = (None, ROWS);
    let by_row = rows_of(path).and_then(|mut rows| {
        // the path tells the folder: only the first row is of interest
        while left > 0 && (left == ROWS || by_path.is_none()) {
            left -= 1;
            if rows.next().ok()?? == Piece::Skipped {
                continue;
            }
            let in_row = |row: &Keys| {
                let time = || row.text("timestamp").or_else(|| row.text("startTime"));
                started_at = started_at.take().or_else(time);
                let folder = folders.iter().find_map(|folder| (format.folder_in_row)(row, folder));
                folder.map(|folder| (folder, (format.repository_in_row)(row)))
            };
            if let Some(found) = Keys::with(&rows.row, in_row).flatten() {
                return Some(found);
            }
        }
        None
    });
    let (folder, repository) =
        by_row.map_or((None, NamedRepository::default()), |(folder, named)| (Some(folder), named));
    Some(Origin { folder: by_path.or(folder)?, repository, started_at })
}

fn rows_of(path: &Path) -> Option<rows::Rows<impl std::io::BufRead>> {
    let file = BufReader::with_capacity(64 << 10, File::open(path).ok()?);
    Some(rows::rows(file).ok()?.1)
}
