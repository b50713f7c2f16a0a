//! Reads and parses notes in another thread, ahead of the one that inserts their records.

use std::sync::mpsc::sync_channel;

use crate::index::error::IndexError;
use crate::index::note::ParsedLine;
use empirica_notes::format::lines;
use empirica_notes::git::objects::blobs::Objects;
use empirica_notes::git::{Oid, Repository};

/// Text per batch, in bytes. A longer note is in several.
const BATCH: usize = 1 << 18;
/// Batches that wait.
const WAITING: usize = 4;

/// Wanted lines of a note, in order.
pub struct NotePart {
    /// Position of its blob.
    pub at: usize,
    pub lines: Vec<ParsedLine>,
    /// Length of their text.
    pub bytes: usize,
    /// Whether these are all lines.
    pub is_whole: bool,
    /// Whether the blob could be read.
    pub is_there: bool,
}

/// Receives parts of notes.
type Take<'t> = dyn FnMut(NotePart) -> Result<(), IndexError> + 't;

/// Whether a line is wanted.
pub type Wants<'w> = dyn Fn(&[u8]) -> bool + Sync + 'w;

/// Calls `take` with the wanted lines of each blob, in order: with one part of a note or, if they are long, several. Only a new index
/// or very many notes are worth a thread (`aside`). What waits takes a few MB.
pub fn read(
    repo: &Repository,
    blobs: &[Oid],
    aside: bool,
    wants: &Wants<'_>,
    take: &mut Take<'_>,
) -> Result<(), IndexError> {
    if !aside || blobs.is_empty() || std::thread::available_parallelism().is_ok_and(|cores| cores.get() == 1) {
        return here(repo, 0, blobs, wants, take);
    }
    let objects = Objects::of(repo);
    std::thread::scope(|scope| {
        let (give, taken) = sync_channel(WAITING);
        let reading = move || {
            let objects = objects.open();
            let read = |blob, text: &mut Vec<u8>| objects.as_ref().is_some_and(|objects| objects.read_into(blob, text));
            // the receiver is gone if inserting failed
            let _ = batches(blobs, &read, wants, &mut |batch| give.send(batch));
        };
        if std::thread::Builder::new().spawn_scoped(scope, reading).is_err() {
            return here(repo, 0, blobs, wants, take);
        }
        for part in taken.into_iter().flatten() {
            match part.is_there {
                true => take(part)?,
                // the repository has its own ways to find one
                false => here(repo, part.at, &blobs[part.at..=part.at], wants, take)?,
            }
        }
        Ok(())
    })
}

/// The same in this thread, from the blob at a position on.
fn here(
    repo: &Repository,
    first: usize,
    blobs: &[Oid],
    wants: &Wants<'_>,
    take: &mut Take<'_>,
) -> Result<(), IndexError> {
    let read = |blob: Oid, text: &mut Vec<u8>| matches!(repo.read_blob_into(blob, text), Ok(true));
    batches(blobs, &read, wants, &mut |batch| {
        batch.into_iter().try_for_each(|part| take(NotePart { at: first + part.at, ..part }))
    })
}

/// Reads a blob into a buffer; returns whether it succeeded.
type Read<'r> = dyn Fn(Oid, &mut Vec<u8>) -> bool + 'r;

fn batches<E>(
    blobs: &[Oid],
    read: &Read<'_>,
    wants: &Wants<'_>,
    give: &mut dyn FnMut(Vec<NotePart>) -> Result<(), E>,
) -> Result<(), E> {
    let (mut text, mut batch, mut size) = (Vec::new(), Vec::new(), 0);
    for (at, blob) in blobs.iter().enumerate() {
        let is_there = read(*blob, &mut text);
        if !is_there {
            text.clear();
        }
        let mut left = lines::split(&text).filter(|line| wants(line)).peekable();
        let mut is_first = true;
        while is_first || left.peek().is_some() {
            let (mut lines, mut bytes) = (Vec::new(), 0);
            while bytes < BATCH
                && let Some(line) = left.next()
            {
                bytes += line.len() + 1;
                lines.extend(ParsedLine::read(line));
            }
            let is_whole = is_first && left.peek().is_none();
            batch.push(NotePart { at, lines, bytes, is_whole, is_there });
            is_first = false;
            size += bytes;
            if size >= BATCH {
                give(std::mem::take(&mut batch))?;
                size = 0;
            }
        }
        // the caller checks its time limit with each batch: a large note of which few lines are wanted must not delay that
        if text.len() >= BATCH {
            give(std::mem::take(&mut batch))?;
            size = 0;
        }
    }
    give(batch)
}
