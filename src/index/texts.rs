//! Texts of notes by row, cached up to a limit: texts read for one session are read again for others.

use std::cell::{RefCell, RefMut};
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension};

use crate::index::error::IndexError;
use crate::index::known::KnownCorrections;
use crate::index::schema;
use empirica_notes::format::lines;
use empirica_notes::git::{Oid, Repository};
use empirica_notes::model::Id;

/// Most bytes of notes that an update caches, and that stay cached while an index is open.
pub const CACHED: usize = 32 << 20;
const KEPT: usize = 4 << 20;

/// Blob and text of a row.
type Columns = (Option<Vec<u8>>, Option<Vec<u8>>);

pub struct Texts<'r> {
    repo: &'r Repository,
    most: usize,
    cache: SharedCache,
}

/// The cache of an open index.
pub type SharedCache = Rc<RefCell<Cache>>;

#[derive(Debug, Default)]
pub struct Cache {
    /// In bytes.
    size: usize,
    /// By row.
    texts: HashMap<i64, Arc<Vec<u8>>>,
    /// By row, where in its text the lines of each id are, sorted by id.
    lines: HashMap<i64, LinePlaces>,
    corrections: KnownCorrections,
}

/// Lines, by the stored form of their ids.
type LinePlaces = Vec<([u8; 16], Range<usize>)>;

impl<'r> Texts<'r> {
    /// An empty cache.
    pub fn new(repo: &'r Repository) -> Self {
        Texts { repo, most: CACHED, cache: SharedCache::default() }
    }

    /// With the cache of an open index.
    pub fn sharing(repo: &'r Repository, cache: &SharedCache) -> Self {
        Texts { repo, most: KEPT, cache: cache.clone() }
    }

    /// The text of a note; empty if its blob is missing.
    pub fn get(&self, db: &Connection, n: i64) -> Result<Arc<Vec<u8>>, IndexError> {
        Ok(self.read(db, n)?.unwrap_or_default())
    }

    /// The text of a note; [`IndexError::Lost`] if its blob is missing.
    pub fn whole(&self, db: &Connection, n: i64) -> Result<Arc<Vec<u8>>, IndexError> {
        self.read(db, n)?.ok_or(IndexError::Lost)
    }

    fn read(&self, db: &Connection, n: i64) -> Result<Option<Arc<Vec<u8>>>, IndexError> {
        if let Some(text) = self.cache.borrow().texts.get(&n) {
            return Ok(Some(text.clone()));
        }
        let mut find = db.prepare_cached("SELECT blob, text FROM note WHERE n = ?")?;
        let row: Option<Columns> = find.query_row([n], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        let text = match row {
            Some((_, Some(text))) => Some(text),
            Some((Some(blob), None)) => {
                Oid::try_from(blob.as_slice()).ok().and_then(|id| self.repo.read_blob(id).ok().flatten())
            }
            _ => Some(Vec::new()),
        };
        Ok(text.map(|text| self.remember(n, text)))
    }

    /// The lines of a note that have an id. Splits the note once for many ids.
    pub fn lines(&self, db: &Connection, n: i64, id: &Id) -> Result<Vec<Vec<u8>>, IndexError> {
        let text = self.get(db, n)?;
        let mut cache = self.cache.borrow_mut();
        let at = cache.lines.entry(n).or_insert_with(|| {
            let place = |line: &[u8]| {
                let begin = line.as_ptr() as usize - text.as_ptr() as usize;
                Some((schema::id(&Id::parse(lines::id(line)?)?), begin..begin + line.len()))
            };
            let mut at: LinePlaces = lines::split(&text).filter_map(place).collect();
            at.sort_by_key(|(id, _)| *id);
            at
        });
        let id = schema::id(id);
        let first = at.partition_point(|(other, _)| *other < id);
        let at = at.iter().skip(first).take_while(|(other, _)| *other == id);
        Ok(at.filter_map(|(_, range)| text.get(range.clone())).map(<[u8]>::to_vec).collect())
    }

    /// The corrections found so far.
    pub fn known(&self) -> RefMut<'_, KnownCorrections> {
        RefMut::map(self.cache.borrow_mut(), |cache| &mut cache.corrections)
    }

    pub fn remember(&self, n: i64, text: Vec<u8>) -> Arc<Vec<u8>> {
        let mut cache = self.cache.borrow_mut();
        if cache.size > self.most {
            *cache = Cache::default();
        }
        cache.size += text.len();
        let text = Arc::new(text);
        cache.texts.insert(n, text.clone());
        cache.lines.remove(&n);
        text
    }

    /// Drops a text from the cache, as the note changes.
    pub fn forget(&self, n: i64) {
        let mut cache = self.cache.borrow_mut();
        cache.texts.remove(&n);
        cache.lines.remove(&n);
    }
}
