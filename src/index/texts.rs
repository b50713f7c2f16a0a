//! The texts of notes by row, each read once as long as there is room.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension};

use crate::index::fault::IndexError;
use crate::index::note::{ParsedLine, ParsedNote};
use empirica_notes::git::{Oid, Repository};

/// How many bytes of notes are remembered: what was read for one session is read again for others.
const REMEMBERED: usize = 32 << 20;

/// Notes that were understood once, by row, as far as there is room: their sessions need them again.
#[derive(Debug, Default)]
pub struct ParsedNotes {
    bytes: usize,
    notes: HashMap<i64, Arc<Vec<ParsedLine>>>,
}

impl ParsedNotes {
    /// Keeps a note that is so long, or gives it back.
    pub fn keep(&mut self, n: i64, lines: Arc<Vec<ParsedLine>>, bytes: usize) -> Option<ParsedNote> {
        if self.bytes + bytes > REMEMBERED {
            return Some(ParsedNote::Lines(lines, bytes));
        }
        self.bytes += bytes;
        self.notes.insert(n, lines);
        None
    }

    /// One that was kept.
    pub fn get(&self, n: i64) -> Option<Arc<Vec<ParsedLine>>> {
        self.notes.get(&n).cloned()
    }
}

/// Where the text of a note is.
#[derive(Debug, Clone)]
pub enum NotePlace {
    /// It was understood before.
    Lines(Arc<Vec<ParsedLine>>),
    /// In the object store.
    Blob(Oid),
    /// Beside our refs: here it is.
    Text(Arc<Vec<u8>>),
    /// There is no such note any more.
    Nowhere,
}

/// Where the text of the note in a row is.
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

/// Texts of notes by row, and how many bytes they have.
type Remembered = (usize, HashMap<i64, Arc<Vec<u8>>>);

/// Reads a blob; `None` when it is not here.
type Read<'r> = dyn Fn(Oid) -> Result<Option<Vec<u8>>, IndexError> + 'r;

/// The texts of notes by row.
pub struct Texts<'r> {
    read: Box<Read<'r>>,
    known: RefCell<Remembered>,
}

impl<'r> Texts<'r> {
    /// None is read yet.
    pub fn new(repo: &'r Repository) -> Self {
        Texts { read: Box::new(|id| Ok(repo.read_blob(id).ok().flatten())), known: RefCell::default() }
    }

    /// The text of a note; empty when its blob is not here.
    pub fn get(&self, db: &Connection, n: i64) -> Result<Arc<Vec<u8>>, IndexError> {
        match self.remembered(n) {
            Some(text) => Ok(text),
            None => self.at(n, &place(db, n)?),
        }
    }

    /// The same, for who knows where it is.
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

    /// The text of a note; a fault when its blob is not here: what it held is not known.
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

    /// Remembers the text of a note, and gives it.
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

    /// Forgets the text of a note: it has another one.
    pub fn forget(&self, n: i64) {
        self.known.borrow_mut().1.remove(&n);
    }
}
