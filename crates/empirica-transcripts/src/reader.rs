//! Reads a transcript: detects the agent, then reads row by row.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use crate::agents;
use crate::agents::FORMATS;
use crate::agents::format::{Reader, RowFormat, Sessions, Store, read_row, read_rows};
use crate::error::{Error, Result};
use crate::model::{Agent, Transcript};
use crate::read::files::{entries, newest_first};
use crate::read::keys::Keys;
use crate::read::rows;
use crate::read::rows::{Piece, Rows, Start};
use crate::summary::fold::Fold;

/// The number of readable rows by which the agent is detected.
const DETECT_ROWS: usize = 100;
/// Their memory limit, in bytes.
const DETECT_BYTES: usize = 32 << 20;

/// Reads the transcript at `path`, a file or an agent's folder. Paths are relative to `root`; those of a transcript
/// made elsewhere, or without a root, to its own repository or first folder. From a database or storage with several
/// sessions, reads the newest made in `root`, or the newest of all without one.
///
/// Fails if nothing is at the path, if it cannot be read, or if it has the format of no supported agent.
pub fn read(path: &Path, root: Option<&Path>) -> Result<Transcript> {
    let metadata = std::fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::Missing { path: path.to_owned(), source: error },
        _ => Error::unreadable(path, error),
    })?;
    // a pipe can be read only once
    let is_pipe = !metadata.is_file() && !metadata.is_dir();
    if let Some(read) = stores().filter(|_| !is_pipe).find_map(|(_, store)| (store.read)(path, root)) {
        return read;
    }
    if metadata.is_dir() {
        let mut files = transcripts(path);
        let newest = files.find(|path| detect(path).is_some());
        return read(&newest.ok_or_else(|| Error::EmptyFolder { folder: path.to_owned() })?, root);
    }
    let input = BufReader::with_capacity(64 << 10, File::open(path).map_err(|error| Error::unreadable(path, error))?);
    let name = path.display().to_string();
    let (mut reader, mut fold) = gather(input, &name, |format| (format.folder_by_path)(path, root))?;
    reader.read_adjacent(path, &mut fold);
    reader.end(&mut fold);
    Ok(fold.finish(root))
}

/// Reads a transcript from a stream: JSON Lines, or one JSON document with `messages`; `root` as in [`read`].
///
/// Fails if it cannot be read or has the format of no supported agent. No input makes this panic.
pub fn read_from(input: impl BufRead, root: Option<&Path>) -> Result<Transcript> {
    let (mut reader, mut fold) = gather(input, "the input", |_| None)?;
    reader.end(&mut fold);
    Ok(fold.finish(root))
}

/// Detects the agent of a file or folder by content; `None` if it has no known format or cannot be read.
pub fn detect(path: &Path) -> Option<Agent> {
    let metadata = std::fs::metadata(path).ok()?;
    if let Some((agent, _)) = stores().find(|(_, store)| (store.is_store)(path)) {
        return Some(agent);
    }
    if metadata.is_dir() {
        return transcripts(path).find_map(|path| detect(&path));
    }
    // a pipe can be read only once
    let input = File::open(path).ok().filter(|_| metadata.is_file())?;
    let (Start::Text, mut rows) = rows::rows(BufReader::with_capacity(64 << 10, input)).ok()? else { return None };
    Some(detect_format(&mut rows, &mut 0).ok()??.agent)
}

fn stores() -> impl Iterator<Item = (Agent, &'static Store)> {
    FORMATS.iter().filter_map(|format| match &format.sessions {
        Sessions::Store(store) => Some((format.agent, store)),
        Sessions::Rows(_) => None,
    })
}

/// The files of a folder that may be transcripts, newest first.
fn transcripts(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let is_json = |path: &PathBuf| path.extension().is_some_and(|end| end == "jsonl" || end == "json");
    newest_first(entries(folder).into_iter().filter(is_json)).into_iter().map(|(_, path)| path)
}

/// Reads the rows of `input`. `folder_by_path` gives the agent's folder if the rows lack it.
fn gather(
    input: impl BufRead,
    name: &str,
    folder_by_path: impl FnOnce(&RowFormat) -> Option<String>,
) -> Result<(Box<dyn Reader>, Fold)> {
    let stream_error = |source: std::io::Error| Error::Stream { name: name.to_owned(), source };
    let (start, mut rows) = rows::rows(input).map_err(stream_error)?;
    let unknown = |reason| Err(Error::UnknownAgent { name: name.to_owned(), reason });
    match start {
        Start::Text => {}
        Start::Empty => return unknown("it is empty"),
        Start::Utf16 => return unknown("it is UTF-16 or not text; transcripts are UTF-8"),
    }
    let mut skipped = 0;
    let Some(Detected { agent, format, rows: first }) = detect_format(&mut rows, &mut skipped).map_err(stream_error)?
    else {
        return unknown("none of its first 100 rows has a known format");
    };
    let (mut reader, mut fold) = ((format.reader)(), Fold::new(agent));
    fold.out.skipped_rows = skipped;
    fold.set_cwd(folder_by_path(format).as_deref());
    for (piece, row) in first {
        read_row(&mut *reader, piece, &row, &mut rows, &mut fold);
    }
    read_rows(&mut *reader, &mut rows, &mut fold).map_err(stream_error)?;
    fold.out.size = rows.size;
    Ok((reader, fold))
}

struct Detected {
    agent: Agent,
    format: &'static RowFormat,
    /// The rows read so far.
    rows: Vec<(Piece, Vec<u8>)>,
}

/// Detects the agent by the first rows; `None` if it is unknown. Counts skipped rows.
fn detect_format<R: BufRead>(rows: &mut Rows<R>, skipped: &mut u64) -> std::io::Result<Option<Detected>> {
    let (mut first, mut bytes, mut seen) = (Vec::new(), 0, 0);
    while let Some(piece) = rows.next()? {
        let row = if piece == Piece::Skipped { None } else { Keys::with(&rows.row, agents::format_of_row) };
        let Some(found) = row else {
            let is_blank = piece != Piece::Skipped && rows.row.trim_ascii().is_empty();
            *skipped += u64::from(!is_blank);
            continue;
        };
        bytes += rows.row.len();
        seen += usize::from(piece != Piece::Member);
        if bytes > DETECT_BYTES {
            break;
        }
        first.push((piece, std::mem::take(&mut rows.row)));
        if let Some((agent, format)) = found {
            return Ok(Some(Detected { agent, format, rows: first }));
        }
        if seen == DETECT_ROWS {
            break;
        }
    }
    Ok(None)
}
