//! Reads a transcript: detects the agent, then reads row by row.

pub mod folder;
pub mod probe;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use crate::agents::opencode::{database, storage};
use crate::agents::{Any, take};
use crate::error::{Error, Result};
use crate::model::{Agent, Transcript};
use crate::read::rows;
use crate::read::rows::{Piece, Rows, Start};
use crate::reader::probe::Guess;
use crate::summary::fold::Fold;

/// How many readable rows are looked at to find out whose a transcript is.
const FIRST: usize = 100;
/// The memory limit for these rows, in bytes.
const HELD: usize = 32 << 20;

/// Reads the transcript at `path`, a file or an agent's folder. Paths are relative to `root`; those of a transcript
/// made elsewhere, or without a root, to its own repository or first folder. From a database or storage with several
/// sessions, reads the newest made in `root`, or the newest of all without one.
///
/// Fails if nothing is at the path, if it cannot be read, or if it has the format of no supported agent.
pub fn read(path: &Path, root: Option<&Path>) -> Result<Transcript> {
    let about = std::fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::Missing { path: path.to_owned(), source: error },
        _ => Error::unreadable(path, error),
    })?;
    if about.is_dir() {
        return read_folder(path, root);
    }
    let mut input =
        BufReader::with_capacity(64 << 10, File::open(path).map_err(|error| Error::unreadable(path, error))?);
    if about.is_file() {
        let head = input.fill_buf().map_err(|error| Error::unreadable(path, error))?;
        if head.starts_with(database::MAGIC) {
            return database::read(path, root);
        }
        if let Some((storage, info)) =
            storage::around(path).and_then(|storage| Some((storage, storage::session(path)?)))
        {
            return storage::read(&storage, Some(&info.id), root);
        }
    }
    let name = path.display().to_string();
    let (mut any, mut fold) = gather(input, &name, |agent| folder::hint(agent, path, root))?;
    folder::complete(&mut any, &mut fold, path);
    any.reader().end(&mut fold);
    Ok(fold.finish(root))
}

/// Reads a transcript from a stream: JSON Lines, or one JSON document with `messages`; `root` as in [`read`].
///
/// Fails if it cannot be read or has the format of no supported agent. No input makes this panic.
pub fn read_from(input: impl BufRead, root: Option<&Path>) -> Result<Transcript> {
    let (mut any, mut fold) = gather(input, "the input", |_| None)?;
    any.reader().end(&mut fold);
    Ok(fold.finish(root))
}

/// Detects the agent of a file or folder by content; `None` if it has no known format or cannot be read.
pub fn recognise(path: &Path) -> Option<Agent> {
    let about = std::fs::metadata(path).ok()?;
    if about.is_dir() {
        return recognise_folder(path);
    }
    // a pipe can be read only once
    if !about.is_file() {
        return None;
    }
    let mut input = BufReader::with_capacity(64 << 10, File::open(path).ok()?);
    if input.fill_buf().ok()?.starts_with(database::MAGIC) {
        return database::list(path).ok().map(|_| Agent::OpenCode);
    }
    if storage::around(path).is_some() && storage::session(path).is_some() {
        return Some(Agent::OpenCode);
    }
    let (Start::Text, mut rows) = rows::rows(input).ok()? else { return None };
    let mut seen = 0;
    while let Some(piece) = rows.next().ok()? {
        match (piece, probe::guess(&rows.row)) {
            (Piece::Lost, _) | (_, Guess::Unreadable) => {}
            (_, Guess::Agent(agent)) => return Some(agent),
            (Piece::Member, Guess::Unknown) => {}
            (_, Guess::Unknown) => seen += 1,
        }
        if seen == FIRST {
            break;
        }
    }
    None
}

/// Reads the transcript of a folder: a session of Copilot, a storage or the data of OpenCode, else the newest transcript
/// right below it.
fn read_folder(folder: &Path, root: Option<&Path>) -> Result<Transcript> {
    if storage::is_storage(folder) {
        return storage::read(folder, None, root);
    }
    let (database, storage) = (folder.join(folder::DATABASE), folder.join("storage"));
    if database.is_file() {
        let read = database::read(&database, root);
        if read.is_ok() || !storage::is_storage(&storage) {
            return read;
        }
    }
    if storage::is_storage(&storage) {
        return storage::read(&storage, None, root);
    }
    match file_in(folder) {
        Some(path) => read(&path, root),
        None => Err(Error::EmptyFolder { folder: folder.to_owned() }),
    }
}

/// Whose transcript a folder is; `None` when it holds none.
fn recognise_folder(folder: &Path) -> Option<Agent> {
    if storage::is_storage(folder) || storage::is_storage(&folder.join("storage")) {
        return Some(Agent::OpenCode);
    }
    let database = folder.join(folder::DATABASE);
    recognise(&if database.is_file() { database } else { file_in(folder)? })
}

/// The file in a folder that is its transcript.
fn file_in(folder: &Path) -> Option<PathBuf> {
    let events = folder.join("events.jsonl");
    if events.is_file() {
        return Some(events);
    }
    folder::newest_first(folder).into_iter().find(|path| recognise(path).is_some())
}

/// Reads the rows of `input`. `hint` is asked for the folder the agent was started in, where rows do not say it.
pub(crate) fn gather(
    input: impl BufRead,
    name: &str,
    hint: impl FnOnce(Agent) -> Option<String>,
) -> Result<(Any, Fold)> {
    let stream_error = |source: std::io::Error| Error::Stream { name: name.to_owned(), source };
    let (start, mut rows) = rows::rows(input).map_err(stream_error)?;
    let unknown = |reason| Err(Error::UnknownAgent { name: name.to_owned(), reason });
    match start {
        Start::Text => {}
        Start::Empty => return unknown("it is empty"),
        Start::Utf16 => return unknown("it is UTF-16 or not text; transcripts are UTF-8"),
    }
    let mut skipped = 0;
    let Some((agent, held)) = detect(&mut rows, &mut skipped).map_err(stream_error)? else {
        return unknown("none of its first 100 rows has a known format");
    };
    let Some(mut any) = Any::of(agent) else { return unknown("a session of OpenCode consists of several files") };
    let mut fold = Fold::new(agent);
    fold.out.skipped_rows = skipped;
    if let Some(cwd) = hint(agent) {
        fold.set_cwd(&cwd);
    }
    for (piece, row) in &held {
        take(&mut any, *piece, row, &mut rows, &mut fold);
    }
    drop(held);
    while let Some(piece) = rows.next().map_err(stream_error)? {
        let row = std::mem::take(&mut rows.row);
        take(&mut any, piece, &row, &mut rows, &mut fold);
        rows.row = row;
    }
    fold.out.size = rows.size;
    Ok((any, fold))
}

/// Whose the rows are, and those that were read to find that out. `None` when nobody is recognised.
#[allow(clippy::type_complexity)]
pub(crate) fn detect<R: BufRead>(
    rows: &mut Rows<R>,
    skipped: &mut u64,
) -> std::io::Result<Option<(Agent, Vec<(Piece, Vec<u8>)>)>> {
    let (mut held, mut bytes, mut seen) = (Vec::new(), 0, 0);
    while let Some(piece) = rows.next()? {
        let guess = if piece == Piece::Lost { Guess::Unreadable } else { probe::guess(&rows.row) };
        match guess {
            Guess::Unreadable if rows.row.trim_ascii().is_empty() && piece != Piece::Lost => continue,
            Guess::Unreadable => {
                *skipped += 1;
                continue;
            }
            Guess::Agent(_) => {}
            Guess::Unknown if piece == Piece::Member => {}
            Guess::Unknown => seen += 1,
        }
        bytes += rows.row.len();
        if bytes > HELD {
            return Ok(None);
        }
        held.push((piece, std::mem::take(&mut rows.row)));
        match guess {
            Guess::Agent(agent) => return Ok(Some((agent, held))),
            _ if seen == FIRST => return Ok(None),
            _ => {}
        }
    }
    Ok(None)
}
