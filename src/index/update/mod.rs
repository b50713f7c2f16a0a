//! Notes into rows: inserts new lines and deletes removed ones.

mod ahead;
pub mod derive;
pub mod rows;
pub mod wanted;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use rusqlite::{Connection, params};

use crate::index::connection::select;
use crate::index::error::IndexError;
use crate::index::note::{ParsedLine, ParsedNotes};
use crate::index::query::corrected;
use crate::index::query::versions::{Versions, versions};
use crate::index::schema;
use crate::index::searchable;
use crate::index::texts::Texts;
use crate::index::update::ahead::NotePart;
use crate::index::update::wanted::ExtraNote;
use empirica_notes::format::lines;
use empirica_notes::git::notes::difference;
use empirica_notes::git::{Oid, Repository, notes};
use empirica_notes::model::{Id, SessionId};

/// Row and blob of a note.
type StoredNote = (i64, Option<Vec<u8>>);

/// Inserts notes into an index.
pub struct RowInserter<'f> {
    pub(crate) db: &'f Connection,
    repo: &'f Repository,
    texts: Texts<'f>,
    /// Rows of sessions to rebuild.
    pub touched: BTreeSet<i64>,
    /// Whether a handoff without a session, or a record that supersedes one, was added or removed.
    pub sessionless: bool,
    /// Whether the database is new; every session is then rebuilt.
    pub(crate) is_new: bool,
    /// Rows inserted later, while a new database has no indexes.
    pub(crate) bulk: Option<BulkInsert>,
    pub missing: Vec<Oid>,
    /// Claims whose retraction was added or removed, and rows of new handoffs that quote claims.
    pub(crate) restated: BTreeSet<Id>,
    /// Those of them that are not yet reindexed.
    pub(crate) unsettled: BTreeSet<Id>,
    /// Records to reindex, as notes no longer have the lines that they had, or have other versions.
    stale: BTreeSet<Id>,
    pub(crate) quoting: BTreeSet<i64>,
    /// Words to be inserted, by row, and their bytes.
    words: BTreeMap<i64, String>,
    words_size: usize,
    pub parsed: ParsedNotes,
    pub(crate) sessions: HashMap<SessionId, i64>,
    /// Last row numbers of records and notes.
    pub(crate) last: (i64, i64),
}

/// Rows held back while a new database is filled: sorted, they insert faster.
#[derive(Default)]
pub(crate) struct BulkInsert {
    pub(crate) names: Vec<([u8; 16], i64)>,
    pub(crate) concerns: Vec<(i64, i64)>,
    pub(crate) retracted: BTreeSet<Id>,
    /// Number of records by kind and agent.
    pub(crate) tally: BTreeMap<&'static str, HashMap<String, i64>>,
}

impl BulkInsert {
    /// Inserts the rows of each table of which more than `most` are held back.
    pub(crate) fn insert_some(&mut self, db: &Connection, most: usize) -> Result<(), IndexError> {
        if self.names.len() > most {
            self.names.sort_unstable();
            for (id, r) in self.names.drain(..) {
                db.prepare_cached("INSERT OR IGNORE INTO names(id, r) VALUES(?, ?)")?.execute(params![id, r])?;
            }
        }
        if self.concerns.len() > most {
            self.concerns.sort_unstable();
            for (s, r) in self.concerns.drain(..) {
                db.prepare_cached("INSERT OR IGNORE INTO concerns(s, r) VALUES(?, ?)")?.execute([s, r])?;
            }
        }
        Ok(())
    }
}

/// Bytes of words after which they are inserted: together, since SQLite has FTS5 write the postings that it holds before each
/// statement that fires a trigger, and merging such small parts takes longer than all else.
const WORDS: usize = 1 << 20;

/// Rows of a table that are held back and then inserted, sorted: those of one time are near each other, so that this is as fast as all
/// at once, and takes a few MB.
const HELD_BACK: usize = 1 << 18;

/// If this many notes differ, a rebuild may be faster.
const MANY: usize = 500;

enum Content {
    Blob(Oid),
    Text(Vec<u8>),
}

impl<'f> RowInserter<'f> {
    /// Expects a database with tables; with `is_new`, empty and without indexes.
    pub fn new(db: &'f Connection, repo: &'f Repository, is_new: bool) -> Result<Self, IndexError> {
        let last = |table: &str, column: &str| {
            db.query_row(&format!("SELECT coalesce(max({column}), 0) FROM {table}"), [], |row| row.get::<_, i64>(0))
        };
        let last = (last("record", "r")?, last("note", "n")?);
        Ok(RowInserter {
            db,
            repo,
            texts: Texts::new(repo),
            touched: BTreeSet::new(),
            sessionless: false,
            is_new,
            bulk: is_new.then(BulkInsert::default),
            missing: Vec::new(),
            restated: BTreeSet::new(),
            unsettled: BTreeSet::new(),
            stale: BTreeSet::new(),
            quoting: BTreeSet::new(),
            words: BTreeMap::new(),
            words_size: 0,
            parsed: ParsedNotes::default(),
            sessions: HashMap::new(),
            last,
        })
    }

    /// Inserts the notes of these trees, one per namespace, in the order of the commits' times, so that greater rows are of newer
    /// records. Calls `tell` for each note. Expects a new database.
    pub fn all(&mut self, trees: &[Oid], tell: &mut dyn FnMut() -> Result<(), IndexError>) -> Result<(), IndexError> {
        let repo = self.repo;
        let mut all = Vec::new();
        for (namespace, tree) in trees.iter().enumerate() {
            all.extend(notes::entries(repo, *tree)?.notes.into_iter().map(|(target, blob)| (namespace, target, blob)));
        }
        let dates = repo.commit_dates();
        let mut times: HashMap<Oid, i64> = HashMap::new();
        // what is no commit, or is gone, comes first
        all.sort_by_cached_key(|(namespace, target, _)| {
            let time = times.entry(*target).or_insert_with(|| dates(*target));
            (*time, *target, *namespace)
        });
        let blobs: Vec<Oid> = all.iter().map(|(.., blob)| *blob).collect();
        let before = self.last.1;
        ahead::read(repo, &blobs, true, &|_| true, &mut |NotePart { at, lines, bytes, is_whole, is_there }| {
            let (namespace, target, blob) = all[at];
            if at as i64 == self.last.1 - before {
                self.note(namespace, target, &Content::Blob(blob), false)?;
                tell()?;
            }
            // a damaged note hides no others; doctor reports it
            if !is_there {
                self.missing.push(blob);
            }
            let n = self.last.1;
            lines.iter().try_for_each(|line| self.line_added(n, line))?;
            if is_whole && self.parsed.has_room(bytes) {
                self.parsed.keep(n, lines, bytes);
            }
            Ok(())
        })
    }

    /// Updates the notes of a namespace from one tree to another. Calls `tell` for each note. For a new database, see
    /// [`Self::all`].
    pub fn namespace(
        &mut self,
        namespace: usize,
        old: Oid,
        new: Oid,
        tell: &mut dyn FnMut() -> Result<(), IndexError>,
    ) -> Result<(), IndexError> {
        let repo = self.repo;
        let found = match (old == repo.empty_tree(), new == repo.empty_tree()) {
            (true, _) => {
                notes::entries(repo, new)?.notes.into_iter().map(|(on, blob)| (on, [vec![], vec![blob]])).collect()
            }
            (_, true) => {
                notes::entries(repo, old)?.notes.into_iter().map(|(on, blob)| (on, [vec![blob], vec![]])).collect()
            }
            _ => difference::differences(repo, old, new)?.notes,
        };
        self.is_worth(found.len())?;
        for (target, [_, mut new]) in found {
            new.dedup();
            let stored = self.stored(namespace, target)?;
            let mut gone: Vec<i64> = Vec::new();
            for (n, blob) in stored {
                match new.iter().position(|id| blob.as_deref() == Some(id.as_bytes())) {
                    Some(at) => drop(new.swap_remove(at)),
                    None => gone.push(n),
                }
            }
            for blob in new {
                match gone.pop() {
                    Some(n) => self.replace(n, Content::Blob(blob))?,
                    None => self.add(namespace, target, Content::Blob(blob), false)?,
                }
            }
            gone.into_iter().try_for_each(|n| self.remove(n))?;
            tell()?;
        }
        Ok(())
    }

    /// [`IndexError::Lost`] if so many notes differ that a rebuild is faster.
    fn is_worth(&self, differ: usize) -> Result<(), IndexError> {
        if differ < MANY {
            return Ok(());
        }
        let held: i64 = self.db.query_row("SELECT count(*) FROM note", [], |row| row.get(0))?;
        if differ as i64 > held / 8 { Err(IndexError::Lost) } else { Ok(()) }
    }

    /// Replaces the notes outside our refs.
    pub fn extra(&mut self, all: Vec<ExtraNote>) -> Result<(), IndexError> {
        let sql = "SELECT namespace, target, n FROM note WHERE extra = 1";
        let stored = select(self.db, sql, [], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)))?;
        let mut gone: BTreeMap<(i64, Vec<u8>), i64> = stored.into_iter().collect();
        for ExtraNote { namespace, target, text } in all {
            match gone.remove(&(namespace as i64, target.as_bytes().to_vec())) {
                Some(n) => self.replace(n, Content::Text(text))?,
                None => self.add(namespace, target, Content::Text(text), true)?,
            }
        }
        gone.into_values().try_for_each(|n| self.remove(n))
    }

    /// Rows and blobs of the notes of an object in our ref.
    fn stored(&self, namespace: usize, target: Oid) -> Result<Vec<StoredNote>, IndexError> {
        let find = "SELECT n, blob FROM note WHERE target = ? AND namespace = ? AND extra = 0";
        let values = params![target.as_bytes(), namespace as i64];
        select(self.db, find, values, |row| Ok((row.get(0)?, row.get(1)?)))
    }

    fn add(&mut self, namespace: usize, target: Oid, content: Content, extra: bool) -> Result<(), IndexError> {
        let n = self.note(namespace, target, &content, extra)?;
        let text = self.text(n, content);
        self.lines_added(n, lines::split(&text))
    }

    fn lines_added<'l>(&mut self, n: i64, mut lines: impl Iterator<Item = &'l [u8]>) -> Result<(), IndexError> {
        lines.try_for_each(|line| ParsedLine::read(line).map_or(Ok(()), |line| self.line_added(n, &line)))
    }

    /// Inserts the row of a note and returns its number.
    fn note(&mut self, namespace: usize, target: Oid, content: &Content, extra: bool) -> Result<i64, IndexError> {
        self.last.1 += 1;
        let n = self.last.1;
        let (blob, text) = match content {
            Content::Blob(id) => (Some(id.as_bytes()), None),
            Content::Text(text) => (None, Some(text)),
        };
        let add = "INSERT INTO note(n, namespace, target, blob, text, extra) VALUES(?, ?, ?, ?, ?, ?)";
        self.db.prepare_cached(add)?.execute(params![n, namespace as i64, target.as_bytes(), blob, text, extra])?;
        Ok(n)
    }

    fn text(&mut self, n: i64, content: Content) -> Arc<Vec<u8>> {
        let text = match content {
            Content::Blob(id) => self.repo.read_blob(id).ok().flatten().ok_or(id),
            Content::Text(text) => Ok(text),
        };
        match text {
            Ok(text) => self.texts.remember(n, text),
            Err(id) => {
                self.missing.push(id);
                Arc::default()
            }
        }
    }

    fn replace(&mut self, n: i64, content: Content) -> Result<(), IndexError> {
        let old = self.texts.whole(self.db, n)?;
        self.texts.forget(n);
        let (blob, text) = match &content {
            Content::Blob(id) => (Some(id.as_bytes()), None),
            Content::Text(text) => (None, Some(text)),
        };
        let set = "UPDATE note SET blob = ?, text = ? WHERE n = ?";
        self.db.prepare_cached(set)?.execute(params![blob, text, n])?;
        let new = self.text(n, content);
        let before: BTreeSet<&[u8]> = lines::split(&old).collect();
        let after: BTreeSet<&[u8]> = lines::split(&new).collect();
        self.lines_removed(before.difference(&after).copied());
        self.lines_added(n, after.difference(&before).copied())
    }

    fn remove(&mut self, n: i64) -> Result<(), IndexError> {
        let old = self.texts.whole(self.db, n)?;
        self.texts.forget(n);
        self.lines_removed(lines::split(&old));
        self.db.prepare_cached("DELETE FROM note WHERE n = ?")?.execute([n])?;
        Ok(())
    }

    fn line_added(&mut self, n: i64, line: &ParsedLine) -> Result<(), IndexError> {
        let id = &line.record.envelope.id;
        let Some((r, version)) = self.record(id)? else { return self.insert(n, line) };
        let add = "INSERT OR IGNORE INTO attached(r, n) SELECT r, ?2 FROM record WHERE r = ?1 AND note <> ?2";
        let added = self.db.prepare_cached(add)?.execute([r, n])?;
        if version != line.version {
            self.stale.insert(id.clone());
        } else if added > 0 {
            self.touch(r)?;
        }
        Ok(())
    }

    /// Row and version of a record.
    pub(crate) fn record(&self, id: &Id) -> Result<Option<(i64, i64)>, IndexError> {
        let id = schema::id(id);
        let find = "SELECT r, version FROM record WHERE id = ?";
        Ok(select(self.db, find, [id], |row| Ok((row.get(0)?, row.get(1)?)))?.pop())
    }

    /// Inserts the rows held back, creates the indexes of the complete tables, and reindexes what changed or was retracted. Calls `tell`
    /// for each record of these.
    pub fn settle(&mut self, tell: &mut dyn FnMut() -> Result<(), IndexError>) -> Result<(), IndexError> {
        self.insert_held_back()?;
        let stale: Vec<Id> = std::mem::take(&mut self.stale).into_iter().collect();
        self.reindex(&stale, tell)?;
        self.settle_retracted(tell)
    }

    fn insert_held_back(&mut self) -> Result<(), IndexError> {
        let Some(mut bulk) = self.bulk.take() else { return Ok(()) };
        bulk.insert_some(self.db, 0)?;
        let BulkInsert { retracted, tally, .. } = bulk;
        for (kind, ais) in tally {
            for (ai, n) in ais {
                self.db.prepare_cached("INSERT INTO tally VALUES(?, ?, 0, 0, ?)")?.execute(params![kind, ai, n])?;
            }
        }
        self.db.execute_batch(schema::INDEXES)?;
        self.unsettled.extend(retracted);
        Ok(())
    }

    /// Makes the words of handoffs those that they show: without claims that are no longer in force, and with what replaced
    /// them. Inserts the words that were held back. Expects complete tables.
    pub fn correct_words(&mut self) -> Result<(), IndexError> {
        let mut rows = BTreeSet::new();
        if !self.restated.is_empty() {
            // what quotes a claim shows those that replace it, perhaps in several steps
            let quoting = "WITH RECURSIVE older(id) AS (SELECT unhex(value) FROM json_each(?1) \
                           UNION SELECT p.id FROM older CROSS JOIN replaced p ON p.by = older.id) \
                           SELECT q.r FROM older CROSS JOIN quotes q ON q.id = older.id CROSS JOIN record o ON o.r = q.r WHERE o.kind = 'handoff'";
            let hex: Vec<String> = self.restated.iter().map(|id| id.as_str().replace('-', "")).collect();
            rows.extend(select(self.db, quoting, [serde_json::json!(hex).to_string()], |row| row.get::<_, i64>(0))?);
        }
        for r in &self.quoting {
            let gone =
                "SELECT q.r FROM quotes q CROSS JOIN record o ON o.id = q.id WHERE q.r = ? AND o.kind < 'a' LIMIT 1";
            rows.extend(select(self.db, gone, [r], |row| row.get::<_, i64>(0))?);
        }
        for r in rows {
            let words = corrected(self.db, &self.texts, r)?.and_then(|record| searchable::compared(&record.body));
            self.words_removed(r)?;
            if let Some(words) = words {
                self.words_added(r, words)?;
            }
        }
        self.insert_words()
    }

    /// The words of a record; inserted later.
    pub(crate) fn words_added(&mut self, r: i64, words: String) -> Result<(), IndexError> {
        self.words_size += words.len();
        self.words.insert(r, words);
        if self.words_size < WORDS { Ok(()) } else { self.insert_words() }
    }

    pub(crate) fn words_removed(&mut self, r: i64) -> Result<(), IndexError> {
        if self.words.remove(&r).is_none() {
            self.db.prepare_cached("DELETE FROM words WHERE rowid = ?")?.execute([r])?;
        }
        Ok(())
    }

    fn insert_words(&mut self) -> Result<(), IndexError> {
        self.words_size = 0;
        for (r, words) in std::mem::take(&mut self.words) {
            self.db.prepare_cached("INSERT INTO words(rowid, text) VALUES(?, ?)")?.execute(params![r, words])?;
        }
        Ok(())
    }

    /// Lines removed from a note; their records are reindexed later.
    fn lines_removed<'l>(&mut self, all: impl Iterator<Item = &'l [u8]>) {
        self.stale.extend(all.filter_map(|line| lines::id(line).and_then(Id::parse)));
    }

    /// Rereads records from all their notes: which still have them, and in which versions.
    pub(crate) fn reindex(
        &mut self,
        ids: &[Id],
        tell: &mut dyn FnMut() -> Result<(), IndexError>,
    ) -> Result<(), IndexError> {
        let mut left = ids;
        while !left.is_empty() {
            let found = versions(self.db, &self.texts, left)?;
            let (now, later) = left.split_at(found.len());
            for (id, versions) in now.iter().zip(found) {
                tell()?;
                self.reinsert(id, &versions)?;
            }
            left = later;
        }
        Ok(())
    }

    /// Replaces the rows of a record, if there are any, by those of these versions.
    pub(crate) fn reinsert(&mut self, id: &Id, versions: &Versions) -> Result<(), IndexError> {
        let Some((r, _)) = self.record(id)? else { return Ok(()) };
        self.delete(r)?;
        let parsed = versions.iter().filter_map(|(line, notes)| Some((ParsedLine::read(line)?, notes)));
        let mut parsed: Vec<(ParsedLine, &Vec<i64>)> = parsed.collect();
        let Some((mut line, of_line)) = parsed.pop() else { return Ok(()) };
        let Some(n) = of_line.last() else { return Ok(()) };
        // found by the words of each version, so that none hides another
        if let Some(words) = &mut line.words {
            let others = parsed.iter().filter_map(|(other, _)| other.words.as_ref());
            others.for_each(|more| words.push_str(&format!(" {more}")));
        }
        // a retract inserts rows of what it names, too
        let r = self.last.0 + 1;
        self.insert(*n, &line)?;
        for other in parsed.iter().flat_map(|(_, notes)| *notes).chain(of_line).filter(|other| *other != n) {
            self.db.prepare_cached("INSERT OR IGNORE INTO attached(r, n) VALUES(?, ?)")?.execute([r, *other])?;
        }
        if !parsed.is_empty() {
            self.db.prepare_cached("UPDATE record SET doubled = 1 WHERE r = ?")?.execute([r])?;
        }
        Ok(())
    }
}
