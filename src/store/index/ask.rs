//! Questions to the index whose answer is records: which, by SQL; what they say, from their notes.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension, ToSql, params};

use super::fill::Texts;
use super::schema;
use super::{Fault, Index};
use crate::error::Result;
use crate::git::Oid;
use crate::model::{Id, Record, SessionId};
use crate::store::{Entry, Scan};
use crate::wire;
use crate::wire::lines;

/// Everything a session said, what that is about, and everything that is about either.
const OF_SESSION: &str = "WITH own(r) AS (SELECT r FROM concerns WHERE s = ?1), \
    about(id) AS (SELECT o.id FROM own JOIN record o USING(r) UNION SELECT x.id FROM own JOIN names x USING(r)) \
    SELECT r FROM record WHERE id IN (SELECT id FROM about) UNION SELECT r FROM names WHERE id IN (SELECT id FROM about)";

/// The records of these rows.
pub fn taken(db: &Connection, texts: &Texts<'_>, rows: &[i64]) -> Result<Scan, Fault> {
    // each note is read once
    let mut by_note: BTreeMap<i64, Vec<(i64, String, bool)>> = BTreeMap::new();
    let mut find = db.prepare_cached("SELECT id, note, doubled FROM record WHERE r = ?")?;
    for r in rows {
        let found: Option<(Vec<u8>, i64, bool)> =
            find.query_row([r], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional()?;
        if let Some((id, note, doubled)) = found {
            by_note.entry(note).or_default().push((*r, schema::text(&id), doubled));
        }
    }
    let mut out = Scan::default();
    for (note, wanted) in by_note {
        let text = texts.get(db, note)?;
        let mut lines_of: BTreeMap<&str, &[u8]> = BTreeMap::new();
        let ids: BTreeSet<&str> = wanted.iter().map(|(_, id, _)| id.as_str()).collect();
        for line in lines::split(&text) {
            let Some(id) = lines::id(line).filter(|id| ids.contains(id)) else { continue };
            let known = lines_of.entry(id).or_insert(line);
            // canonical notes have the greatest last; others may not, and lines nobody understands do not count
            if line > *known && (wire::record::decode(line).is_some() || wire::record::decode(known).is_none()) {
                *known = line;
            }
        }
        for (r, id, doubled) in &wanted {
            let Some(line) = lines_of.get(id.as_str()) else { continue };
            let Some(record) = wire::record::decode(line) else { continue };
            if *doubled {
                out.doubled.insert(record.head.id.clone());
            }
            out.put(line.to_vec(), Entry { record, on: places(db, *r)? });
        }
    }
    Ok(out)
}

/// The objects a record stands on.
fn places(db: &Connection, r: i64) -> Result<BTreeSet<Oid>, Fault> {
    let mut find = db.prepare_cached("SELECT note.target FROM stands JOIN note USING(n) WHERE stands.r = ?")?;
    let mut rows = find.query([r])?;
    let mut out = BTreeSet::new();
    while let Some(row) = rows.next()? {
        out.extend(Oid::try_from(row.get::<_, Vec<u8>>(0)?.as_slice()).ok());
    }
    Ok(out)
}

/// The rows that a statement gives in its first column.
pub fn rows(db: &Connection, sql: &str, values: &[&dyn ToSql]) -> Result<Vec<i64>, Fault> {
    let mut find = db.prepare_cached(sql)?;
    let found = find.query_map(values, |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    Ok(found)
}

/// Everything of the session in a row, as [`OF_SESSION`] says.
pub fn of_session(db: &Connection, texts: &Texts<'_>, s: i64) -> Result<Scan, Fault> {
    taken(db, texts, &rows(db, OF_SESSION, &[&s])?)
}

/// Which records of some kinds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Only<'a> {
    /// Those of this session; all when `None`.
    pub session: Option<&'a SessionId>,
    /// So many of each kind, the newest by id; all when `None`.
    pub newest: Option<usize>,
}

impl Index<'_> {
    fn take(&self, rows: Result<Vec<i64>, Fault>) -> Result<Scan> {
        let opened = &self.opened;
        let texts = Texts::new(self.store.repo);
        self.fine(rows.and_then(|rows| taken(&opened.db, &texts, &rows)))
    }

    /// The records of some kinds, in the words of their `kind` key.
    pub fn kinds(&self, kinds: &[&str], only: Only<'_>) -> Result<Scan> {
        let newest = only.newest.map_or(-1, |newest| newest as i64);
        let session = only.session.map(schema::session);
        let mut all = Ok(Vec::new());
        for kind in kinds {
            let found = match &session {
                None => rows(
                    &self.opened.db,
                    "SELECT r FROM record WHERE kind = ? ORDER BY id DESC LIMIT ?",
                    params![kind, newest],
                ),
                Some(session) => rows(
                    &self.opened.db,
                    "SELECT o.r FROM record o JOIN session USING(s) WHERE o.kind = ? AND session.id = ? ORDER BY o.id DESC LIMIT ?",
                    params![kind, session, newest],
                ),
            };
            all = all.and_then(|mut all: Vec<i64>| {
                all.extend(found?);
                Ok(all)
            });
        }
        self.take(all)
    }

    /// Everything a session said, everything that is about what it said, and what that is about.
    pub fn session(&self, id: &SessionId) -> Result<Scan> {
        let found = rows(&self.opened.db, "SELECT s FROM session WHERE id = ?", &[&schema::session(id)]);
        self.take(found.and_then(|found| match found.first() {
            Some(s) => rows(&self.opened.db, OF_SESSION, &[s]),
            None => Ok(Vec::new()),
        }))
    }

    /// The records of these ids.
    pub fn ids<'i>(&self, ids: impl IntoIterator<Item = &'i Id>) -> Result<Scan> {
        let mut all = Vec::new();
        for id in ids {
            let found = rows(&self.opened.db, "SELECT r FROM record WHERE id = ?", &[&schema::id(id)]);
            all.extend(self.fine(found)?);
        }
        self.take(Ok(all))
    }

    /// The records of some kinds that name one of these ids: what resolves, ends, attaches or takes the place of it.
    pub fn naming<'i>(&self, ids: impl IntoIterator<Item = &'i Id>, kinds: &[&str]) -> Result<Scan> {
        let mut all = BTreeSet::new();
        for id in ids {
            let find = "SELECT x.r FROM names x JOIN record o USING(r) WHERE x.id = ? AND o.kind = ?";
            for kind in kinds {
                all.extend(self.fine(rows(&self.opened.db, find, params![schema::id(id), kind]))?);
            }
        }
        self.take(Ok(all.into_iter().collect()))
    }

    /// The records whose id may begin or end with `given`, or whose short form may begin with it: lower-case hex digits and
    /// hyphens. None that does is missing.
    pub fn ids_like(&self, given: &str) -> Result<Scan> {
        let digits: String = given.chars().filter(|c| *c != '-').collect();
        let db = &self.opened.db;
        let mut all = BTreeSet::new();
        let bound = |fill: char| {
            let mut text: String = digits.chars().take(32).collect();
            while text.len() < 32 {
                text.push(fill);
            }
            (0..16).filter_map(|at| u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()).collect::<Vec<u8>>()
        };
        let find = "SELECT r FROM record WHERE id BETWEEN ? AND ?";
        all.extend(self.fine(rows(db, find, params![bound('0'), bound('f')]))?);
        if let Some((least, most)) = schema::range(&digits, 8) {
            all.extend(self.fine(rows(db, "SELECT r FROM record WHERE short BETWEEN ? AND ?", &[&least, &most]))?);
        }
        let end: String = digits.chars().rev().take(schema::TAIL).collect();
        if let Some((least, most)) = schema::range(&end, schema::TAIL) {
            all.extend(self.fine(rows(db, "SELECT r FROM record WHERE tail BETWEEN ? AND ?", &[&least, &most]))?);
        }
        self.take(Ok(all.into_iter().collect()))
    }

    /// Whether a record of this id is stored.
    pub fn has(&self, id: &Id) -> Result<bool> {
        let found = rows(&self.opened.db, "SELECT r FROM record WHERE id = ?", &[&schema::id(id)]);
        Ok(!self.fine(found)?.is_empty())
    }

    /// Goals by their ids or those of their steps, with everything that was said of them.
    pub fn goals<'i>(&self, ids: impl IntoIterator<Item = &'i Id>) -> Result<Scan> {
        let mut out = self.ids(ids)?;
        let above: Vec<Id> =
            out.records().filter(|record| record.body.kind() == "subtask").flat_map(Record::names).cloned().collect();
        out.merge(self.ids(&above)?);
        // what is said of a goal, then of its steps
        for _ in 0..2 {
            let known: Vec<Id> = out.records().map(|record| record.head.id.clone()).collect();
            out.merge(self.naming(&known, &["subtask", "goal_done", "goal_drop", "goal_take"])?);
        }
        Ok(out)
    }

    /// The newest checkpoints that an agent's sessions of a place took, newest first; `most` of them.
    pub fn checkpoints_at(&self, ai: &str, place: &str, most: usize) -> Result<Scan> {
        let sql = "SELECT o.r FROM session JOIN record o USING(s) WHERE session.ai = ? AND session.place = ? \
                   AND o.kind = 'checkpoint' ORDER BY o.id DESC LIMIT ?";
        self.take(rows(&self.opened.db, sql, params![ai, place, most as i64]))
    }

    /// The records that stand on an object.
    pub fn on(&self, target: Oid) -> Result<Scan> {
        let find = "SELECT DISTINCT stands.r FROM note JOIN stands USING(n) WHERE note.target = ?";
        self.take(rows(&self.opened.db, find, &[&target.as_bytes()]))
    }

    /// The ids of which two different versions are stored, oldest first.
    pub fn doubled(&self) -> Result<Vec<Id>> {
        let read = || -> Result<Vec<Id>, Fault> {
            let mut find = self.opened.db.prepare_cached("SELECT id FROM record WHERE doubled = 1 ORDER BY id")?;
            let found: Vec<Vec<u8>> = find.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            Ok(found.iter().filter_map(|id| Id::parse(&schema::text(id))).collect())
        };
        self.fine(read())
    }
}
