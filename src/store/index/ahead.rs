//! Notes read and understood by two threads, of which one puts them into the database.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{channel, sync_channel};

use super::words;
use super::{Fault, has_threads};
use crate::git::objects::Objects;
use crate::git::{Oid, Repository};
use crate::model::Record;
use crate::model::hash::fnv;
use crate::wire;
use crate::wire::lines;

/// So many notes one thread takes at once, so many bytes of them it gives to the other, and so often before that takes them.
const BATCH: usize = 16;
const BYTES: usize = 512 << 10;
const AHEAD: usize = 8;
/// A longer note, in bytes, is not kept in memory as lines.
const LONG: usize = 1 << 20;
/// Fewer notes are read by one thread; where assertions are checked nearly none, so that tests see it.
const FEW: usize = if cfg!(debug_assertions) { 2 } else { 64 };

/// A line of a note that is understood.
#[derive(Debug)]
pub struct Line {
    /// Stands for the bytes.
    pub version: i64,
    /// What it says.
    pub record: Record,
    /// The words of its text, if it is searched.
    pub words: Option<String>,
}

impl Line {
    /// Reads a line; `None` for one that nobody understands.
    pub fn read(line: &[u8]) -> Option<Self> {
        let record = wire::record::decode(line)?;
        Some(Line { version: fnv(line) as i64, words: words::compared(&record.body), record })
    }

    /// Of the lines of a note, in order, the one with this id and version.
    pub fn find<'l>(lines: &'l [Line], id: &str, version: i64) -> Option<&'l Line> {
        fn id_of(line: &Line) -> &str {
            line.record.head.id.as_str()
        }
        let begin = lines.partition_point(|line| id_of(line) < id);
        lines[begin..].iter().take_while(|line| id_of(line) == id).find(|line| line.version == version)
    }
}

/// A note.
#[derive(Debug)]
pub enum Note {
    /// What is understood of it, in the order of the ids, and how many bytes that is.
    Lines(Arc<Vec<Line>>, usize),
    /// One so long that its lines are better read one by one.
    Text(Vec<u8>),
}

impl Note {
    fn of(text: &mut Vec<u8>) -> Self {
        if text.len() > LONG {
            return Note::Text(std::mem::take(text));
        }
        let mut lines: Vec<Line> = lines::split(text).filter_map(Line::read).collect();
        lines.sort_by(|a, b| a.record.head.id.cmp(&b.record.head.id));
        let bytes = text.len() + lines.len() * size_of::<Line>();
        Note::Lines(Arc::new(lines), bytes)
    }
}

/// Notes one behind the other, with the place of the first; `None` for what could not be read.
type Batch = (usize, Vec<Option<Note>>);

/// Takes a note, with its place; `None` for one that is not here. Gives back what it does not keep.
pub type Take<'t> = dyn FnMut(usize, Option<Note>) -> Result<Option<Note>, Fault> + 't;

/// Has `take` take each of these blobs, with its place among them. They come in any order.
pub fn each(repo: &Repository, blobs: &[Oid], take: &mut Take<'_>) -> Result<(), Fault> {
    let next = AtomicUsize::new(0);
    let some = || {
        let begin = next.fetch_add(BATCH, Ordering::Relaxed);
        (begin < blobs.len()).then(|| begin..(begin + BATCH).min(blobs.len()))
    };
    let mut room = Vec::new();
    let mut here = |at: usize, take: &mut Take<'_>| {
        // one that is damaged hides no other: doctor names it
        let is_here = repo.read_blob_into(blobs[at], &mut room).unwrap_or(false);
        take(at, is_here.then(|| Note::of(&mut room))).map(drop)
    };
    if blobs.len() < FEW || !has_threads() {
        return (0..blobs.len()).try_for_each(|at| here(at, take));
    }
    let objects = Objects::of(repo);
    std::thread::scope(|scope| {
        let (give, given) = sync_channel::<Batch>(AHEAD);
        let (give_back, back) = channel::<Vec<Note>>();
        let some = &some;
        let other = move || {
            let (store, mut room) = (objects.open(), Vec::new());
            while let Some(range) = some() {
                let (mut begin, mut batch, mut bytes) = (range.start, Vec::new(), 0);
                for at in range.clone() {
                    let is_here = store.as_ref().is_some_and(|store| store.read_into(blobs[at], &mut room));
                    bytes += room.len();
                    // the first thread reads a long one itself: none of them waits in memory
                    batch.push((is_here && room.len() <= LONG).then(|| Note::of(&mut room)));
                    if bytes < BYTES && at + 1 < range.end {
                        continue;
                    }
                    // nobody waits any more when something failed
                    if give.send((begin, std::mem::take(&mut batch))).is_err() {
                        return;
                    }
                    (begin, bytes) = (at + 1, 0);
                    // what one thread has allocated is slow to free for another
                    back.try_iter().for_each(drop);
                }
            }
        };
        // without another thread this one reads them all
        let _ = std::thread::Builder::new().spawn_scoped(scope, other);
        loop {
            let (begin, batch) = match given.try_recv() {
                Ok(batch) => batch,
                // the other one is slower: this one reads, too
                Err(_) => {
                    if let Some(mut range) = some() {
                        range.try_for_each(|at| here(at, take))?;
                        continue;
                    }
                    match given.recv() {
                        Ok(batch) => batch,
                        Err(_) => return Ok(()),
                    }
                }
            };
            let mut done = Vec::with_capacity(batch.len());
            for (at, note) in (begin..).zip(batch) {
                match note {
                    Some(_) => done.extend(take(at, note)?),
                    // whether it is not here, or long, or broken
                    None => here(at, take)?,
                }
            }
            // who gave it may have ended
            let _ = give_back.send(done);
        }
    })
}
