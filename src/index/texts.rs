//! Texts of notes by row, cached up to a limit.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension};

use crate::index::fault::IndexError;
use crate::index::note::{ParsedLine, ParsedNote};
use empirica_notes::git::{Oid, Repository};

/// Most bytes of notes to cache: texts read for one session are read again for others.
const REMEMBERED: usize = 32 << 20;

/// Parsed notes by row, cached up to a limit for the sessions that read them later.
#[derive(Debug, Default)]
pub struct ParsedNotes {
    bytes: usize,
    notes: HashMap<i64, Arc<Vec<ParsedLine>>>,
}

impl ParsedNotes {
    /// Keeps a note of this size, or returns it if the cache is full.
    pub fn keep(&mut self, n: i64, lines: Arc<Vec<ParsedLine>>, bytes: usize) -> Option<ParsedNote> {
        if self.bytes + bytes > REMEMBERED {
            return Some(ParsedNote::Lines(lines, bytes));
        }
        self.bytes += bytes;
        self.notes.insert(n, lines);
        None
    }

    /// A cached note.
    pub fn get(&self, n: i64) -> Option<Arc<Vec<ParsedLine>>> {
        self.notes.get(&n).cloned()
    }
}

/// Source of a note's text.
#[derive(Debug, Clone)]
pub enum NotePlace {
    /// Already parsed.
    Lines(Arc<Vec<ParsedLine>>),
    /// A blob in the object store.
    Blob(Oid),
    /// Outside our refs, stored in the index.
    Text(Arc<Vec<u8>>),
    /// The note no longer exists.
    Nowhere,
}

/// Source of the text of the note in a row.
pub fn place(db: &Connection, n: i64) -> Result<NotePlace, IndexError> {
    let find = "SELECT blob, text FROM note WHERE n = ?";
    let found = db
        .prepare_cached(find)?
        .query_row([n], |row| Ok((row.get::<_, Option<Vec<u8>>>(0)?, row.get::<_, Option<Vec<u8>>>(1)?)));
    Ok(match found.optional()? {
        Some((_, Some(text))) => NotePlace::Text(Arc::new(text)),
        Some((Some(blob), None)) => Oid::try_from(blob.as_slice()).map_or(NotePlace::Nowhere, NotePlace::Blob),
        _ => NotePlace::Nowhere,
    })
}

/// Texts of notes by row, after their total size in bytes.
type Remembered = (usize, HashMap<i64, Arc<Vec<u8>>>);

/// Reads a blob; `None` if missing.
type Read<'r> = dyn Fn(Oid) -> Result<Option<Vec<u8>>, IndexError> + 'r;

/// Cached texts of notes by row.
pub struct Texts<'r> {
    read: Box<Read<'r>>,
    known: RefCell<Remembered>,
}

impl<'r> Texts<'r> {
    /// An empty cache.
    pub fn new(repo: &'r Repository) -> Self {
        Texts { read: Box::new(|id| Ok(repo.read_blob(id).ok().flatten())), known: RefCell::default() }
    }

    /// The text of a note; empty if its blob is missing.
    pub fn get(&self, db: &Connection, n: i64) -> Result<Arc<Vec<u8>>, IndexError> {
        match self.remembered(n) {
            Some(text) => Ok(text),
            None => self.at(n, &place(db, n)?),
        }
    }

    /// Same, from a known source.
    pub fn at(&self, n: i64, place: &NotePlace) -> Result<Arc<Vec<u8>>, IndexError> {
        if let Some(text) = self.remembered(n) {
            return Ok(text);
        }
        match place {
            NotePlace::Blob(id) => Ok(self.remember(n, (self.read)(*id)?.unwrap_or_default())),
            NotePlace::Text(text) => Ok(text.clone()),
            NotePlace::Lines(_) | NotePlace::Nowhere => Ok(Arc::default()),
        }
    }

    /// The text of a note; [`IndexError::Lost`] if its blob is missing.
    pub fn whole(&self, db: &Connection, n: i64) -> Result<Arc<Vec<u8>>, IndexError> {
        let text = self.get(db, n)?;
        if text.is_empty()
            && let NotePlace::Blob(id) = place(db, n)?
            && (self.read)(id)?.is_none()
        {
            return Err(IndexError::Lost);
        }
        Ok(text)
    }

    fn remembered(&self, n: i64) -> Option<Arc<Vec<u8>>> {
        self.known.borrow().1.get(&n).cloned()
    }

    /// Caches and returns the text of a note.
    pub fn remember(&self, n: i64, text: Vec<u8>) -> Arc<Vec<u8>> {
        let mut known = self.known.borrow_mut();
        if known.0 > REMEMBERED {
            *known = Default::default();
        }
        known.0 += text.len();
        let text = Arc::new(text);
        known.1.insert(n, text.clone());
        text
    }

    /// Drops a text from the cache, as the note changes.
    pub fn forget(&self, n: i64) {
        self.known.borrow_mut().1.remove(&n);
    }
}
