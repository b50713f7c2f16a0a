//! Notes read and understood by two threads, of which one puts them into the database.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{TryRecvError, sync_channel};

use super::words;
use super::{Fault, has_threads};
use crate::git::objects::Objects;
use crate::git::{Oid, Repository};
use crate::model::hash::fnv;
use crate::model::{Id, Record};
use crate::wire;
use crate::wire::lines;

/// So many notes one thread takes at once, so many bytes of them it gives to the other, and so often before that takes them.
const BATCH: usize = 16;
const BYTES: usize = 512 << 10;
const AHEAD: usize = 8;
/// Fewer notes are read by one thread; where assertions are checked nearly none, so that tests see it.
const FEW: usize = if cfg!(debug_assertions) { 2 } else { 64 };

/// A line of a note that has an id.
#[derive(Debug)]
pub struct Line {
    /// The id.
    pub id: Id,
    /// Stands for the bytes.
    pub version: i64,
    /// What is understood of it, with its text to search, if it is searched.
    pub said: Option<(Record, Option<String>)>,
}

impl Line {
    /// Reads a line; `None` for one without an id.
    pub fn read(line: &[u8]) -> Option<Self> {
        let id = lines::id(line).and_then(Id::parse)?;
        let said = wire::record::decode(line).map(|record| {
            let words = words::of(&record.body);
            (record, words)
        });
        Some(Line { id, version: fnv(line) as i64, said })
    }

    /// Reads those of a note, and puts them in the order of their ids.
    pub fn of_note(note: &[u8]) -> Note {
        let mut lines: Vec<Line> = lines::split(note).filter_map(Line::read).collect();
        lines.sort_by(|a, b| a.id.cmp(&b.id));
        Note { lines: Arc::new(lines), bytes: note.len() }
    }

    /// Of the lines of a note, in order, the one with this id and version.
    pub fn find<'l>(lines: &'l [Line], id: &str, version: i64) -> Option<&'l Line> {
        let begin = lines.partition_point(|line| line.id.as_str() < id);
        lines[begin..].iter().take_while(|line| line.id.as_str() == id).find(|line| line.version == version)
    }
}

/// A note.
#[derive(Debug)]
pub struct Note {
    /// Its lines that have an id.
    pub lines: Arc<Vec<Line>>,
    /// How long it is.
    pub bytes: usize,
}

/// Notes one behind the other, with the place of the first; `None` for what could not be read.
type Batch = (usize, Vec<Option<Note>>);

/// Has `take` take each of these blobs, with its place among them; `None` for one that is not here. They come in any order.
pub fn each(
    repo: &Repository,
    blobs: &[Oid],
    take: &mut dyn FnMut(usize, Option<Note>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let next = AtomicUsize::new(0);
    let some = || {
        let begin = next.fetch_add(BATCH, Ordering::Relaxed);
        (begin < blobs.len()).then(|| begin..(begin + BATCH).min(blobs.len()))
    };
    let mut room = Vec::new();
    let mut here = |at: usize, take: &mut dyn FnMut(usize, Option<Note>) -> Result<(), Fault>| {
        let is_here = repo.read_blob_into(blobs[at], &mut room)?;
        take(at, is_here.then(|| Line::of_note(&room)))
    };
    if blobs.len() < FEW || !has_threads() {
        return (0..blobs.len()).try_for_each(|at| here(at, take));
    }
    let objects = Objects::of(repo);
    std::thread::scope(|scope| {
        let (give, given) = sync_channel::<Batch>(AHEAD);
        let some = &some;
        scope.spawn(move || {
            let (store, mut room) = (objects.open(), Vec::new());
            while let Some(range) = some() {
                let (mut begin, mut batch, mut bytes) = (range.start, Vec::new(), 0);
                for at in range.clone() {
                    let is_here = store.as_ref().is_some_and(|store| store.read_into(blobs[at], &mut room));
                    batch.push(is_here.then(|| Line::of_note(&room)));
                    bytes += room.len();
                    if bytes < BYTES && at + 1 < range.end {
                        continue;
                    }
                    // nobody waits any more when something failed
                    if give.send((begin, std::mem::take(&mut batch))).is_err() {
                        return;
                    }
                    (begin, bytes) = (at + 1, 0);
                }
            }
        });
        loop {
            let (begin, batch) = match given.try_recv() {
                Ok(batch) => batch,
                // the other one is slower: this one reads, too
                Err(TryRecvError::Empty) => match some() {
                    Some(mut range) => {
                        range.try_for_each(|at| here(at, take))?;
                        continue;
                    }
                    None => match given.recv() {
                        Ok(batch) => batch,
                        Err(_) => return Ok(()),
                    },
                },
                Err(TryRecvError::Disconnected) => return Ok(()),
            };
            for (at, note) in (begin..).zip(batch) {
                match note {
                    Some(_) => take(at, note)?,
                    // whether it is not here, or broken
                    None => here(at, take)?,
                }
            }
        }
    })
}
