//! Notes into rows: what came is put in, what went is taken out, line by line.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use rusqlite::{Connection, OptionalExtension, params};

use super::Fault;
use super::schema;
use super::wanted::{Beside, Wanted};
use super::words;
use crate::git::content::inside;
use crate::git::{Oid, Repository, difference, notes};
use crate::model::hash::fnv;
use crate::model::{Body, Id, Record, SessionId};
use crate::wire;
use crate::wire::lines;

/// How many bytes of notes are remembered while the index is filled: what was read for its lines is read again for the
/// sessions it belongs to.
const REMEMBERED: usize = 32 << 20;

/// Texts of notes by row, and how many bytes they have.
type Remembered = (usize, HashMap<i64, Rc<Vec<u8>>>);

/// A row of a note, and its blob; `None` for what is beside our refs.
type NoteRow = (i64, Option<Vec<u8>>);

/// The texts of notes by row.
pub struct Texts<'r> {
    repo: &'r Repository,
    known: RefCell<Remembered>,
}

impl<'r> Texts<'r> {
    /// None is read yet.
    pub fn new(repo: &'r Repository) -> Self {
        Texts { repo, known: RefCell::default() }
    }

    /// The text of a note; empty when its blob is not here.
    pub fn get(&self, db: &Connection, n: i64) -> Result<Rc<Vec<u8>>, Fault> {
        if let Some(text) = self.known.borrow().1.get(&n) {
            return Ok(text.clone());
        }
        let find = "SELECT blob, text FROM note WHERE n = ?";
        let found = db
            .prepare_cached(find)?
            .query_row([n], |row| Ok((row.get::<_, Option<Vec<u8>>>(0)?, row.get::<_, Option<Vec<u8>>>(1)?)));
        let text = match found.optional()? {
            Some((_, Some(text))) => text,
            Some((Some(blob), None)) => self.read(&blob)?,
            _ => Vec::new(),
        };
        Ok(self.remember(n, text))
    }

    /// The same; a fault when its blob is not here: what it held is not known.
    fn whole(&self, db: &Connection, n: i64) -> Result<Rc<Vec<u8>>, Fault> {
        let text = self.get(db, n)?;
        if text.is_empty() {
            let find = "SELECT blob FROM note WHERE n = ?";
            let blob: Option<Vec<u8>> = db.prepare_cached(find)?.query_row([n], |row| row.get(0))?;
            let id = blob.and_then(|blob| Oid::try_from(blob.as_slice()).ok());
            if id.is_some_and(|id| !self.repo.has_object(id)) {
                return Err(Fault::Lost);
            }
        }
        Ok(text)
    }

    fn read(&self, blob: &[u8]) -> Result<Vec<u8>, Fault> {
        let Ok(id) = Oid::try_from(blob) else { return Ok(Vec::new()) };
        Ok(self.repo.read_blob(id)?.unwrap_or_default())
    }

    fn remember(&self, n: i64, text: Vec<u8>) -> Rc<Vec<u8>> {
        let mut known = self.known.borrow_mut();
        if known.0 > REMEMBERED {
            *known = Default::default();
        }
        known.0 += text.len();
        let text = Rc::new(text);
        known.1.insert(n, text.clone());
        text
    }

    fn forget(&self, n: i64) {
        self.known.borrow_mut().1.remove(&n);
    }
}

/// Puts notes into an index.
pub struct Filler<'f> {
    db: &'f Connection,
    texts: &'f Texts<'f>,
    /// The sessions whose rows no longer follow from their records, by row.
    pub touched: BTreeSet<i64>,
    /// Whether a handoff of no session, or what puts one aside, came or went.
    pub sessionless: bool,
    /// Whether all is new: then every session is touched anyway.
    is_new: bool,
    /// Blobs of notes that are not here.
    pub lacking: Vec<Oid>,
    sessions: HashMap<SessionId, i64>,
    /// The last ids of records and notes.
    last: (i64, i64),
}

/// What a note row holds.
enum Content {
    Blob(Oid),
    Text(Vec<u8>),
}

impl<'f> Filler<'f> {
    /// Over a database that has the tables.
    pub fn new(db: &'f Connection, texts: &'f Texts<'f>, is_new: bool) -> Result<Self, Fault> {
        let last = |table: &str, column: &str| {
            db.query_row(&format!("SELECT coalesce(max({column}), 0) FROM {table}"), [], |row| row.get::<_, i64>(0))
        };
        let last = (last("record", "r")?, last("note", "n")?);
        Ok(Filler {
            db,
            texts,
            touched: BTreeSet::new(),
            sessionless: false,
            is_new,
            lacking: Vec::new(),
            sessions: HashMap::new(),
            last,
        })
    }

    /// Brings the notes of a shelf from one tree to another. `tell` is told of every note.
    pub fn shelf(&mut self, shelf: usize, old: Oid, new: Oid, tell: &mut dyn FnMut()) -> Result<(), Fault> {
        let repo = self.texts.repo;
        if old == repo.empty_tree() {
            for (target, blob) in notes::entries(repo, new)?.notes {
                self.add(shelf, target, Content::Blob(blob), false)?;
                tell();
            }
            return Ok(());
        }
        let found = match new == repo.empty_tree() {
            true => notes::entries(repo, old)?
                .notes
                .into_iter()
                .map(|(target, blob)| (target, [vec![blob], vec![]]))
                .collect(),
            false => difference::differences(repo, old, new)?.notes,
        };
        for (target, [_, mut new]) in found {
            new.dedup();
            let known = self.known(shelf, target, false)?;
            let mut gone: Vec<i64> = Vec::new();
            for (n, blob) in known {
                match new.iter().position(|id| blob.as_deref() == Some(id.as_bytes())) {
                    Some(at) => drop(new.swap_remove(at)),
                    None => gone.push(n),
                }
            }
            for blob in new {
                match gone.pop() {
                    Some(n) => self.replace(n, Content::Blob(blob))?,
                    None => self.add(shelf, target, Content::Blob(blob), false)?,
                }
            }
            for n in gone {
                self.remove(n)?;
            }
            tell();
        }
        Ok(())
    }

    /// Brings the notes beside ours to those given.
    pub fn beside(&mut self, all: Vec<Beside>) -> Result<(), Fault> {
        let mut gone: BTreeMap<(usize, Vec<u8>), i64> = BTreeMap::new();
        let find = "SELECT n, shelf, target FROM note WHERE beside = 1";
        let mut find = self.db.prepare(find)?;
        let mut rows = find.query([])?;
        while let Some(row) = rows.next()? {
            gone.insert((row.get::<_, i64>(1)? as usize, row.get(2)?), row.get(0)?);
        }
        drop(rows);
        for Beside { shelf, target, text } in all {
            match gone.remove(&(shelf, target.as_bytes().to_vec())) {
                Some(n) => self.replace(n, Content::Text(text))?,
                None => self.add(shelf, target, Content::Text(text), true)?,
            }
        }
        gone.into_values().try_for_each(|n| self.remove(n))
    }

    fn known(&self, shelf: usize, target: Oid, beside: bool) -> Result<Vec<NoteRow>, Fault> {
        let find = "SELECT n, blob FROM note WHERE target = ? AND shelf = ? AND beside = ?";
        let mut find = self.db.prepare_cached(find)?;
        let rows =
            find.query_map(params![target.as_bytes(), shelf as i64, beside], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn add(&mut self, shelf: usize, target: Oid, content: Content, beside: bool) -> Result<(), Fault> {
        self.last.1 += 1;
        let n = self.last.1;
        let (blob, text) = match &content {
            Content::Blob(id) => (Some(id.as_bytes()), None),
            Content::Text(text) => (None, Some(text)),
        };
        let add = "INSERT INTO note(n, shelf, target, blob, text, beside) VALUES(?, ?, ?, ?, ?, ?)";
        self.db.prepare_cached(add)?.execute(params![n, shelf as i64, target.as_bytes(), blob, text, beside])?;
        let text = self.remembered(n, content)?;
        for line in lines::split(&text) {
            self.line_came(n, line)?;
        }
        Ok(())
    }

    fn remembered(&mut self, n: i64, content: Content) -> Result<Rc<Vec<u8>>, Fault> {
        let text = match content {
            Content::Blob(id) => self.texts.repo.read_blob(id)?.unwrap_or_else(|| {
                self.lacking.push(id);
                Vec::new()
            }),
            Content::Text(text) => text,
        };
        Ok(self.texts.remember(n, text))
    }

    fn replace(&mut self, n: i64, content: Content) -> Result<(), Fault> {
        let old = self.texts.whole(self.db, n)?;
        self.texts.forget(n);
        let (blob, text) = match &content {
            Content::Blob(id) => (Some(id.as_bytes()), None),
            Content::Text(text) => (None, Some(text)),
        };
        let set = "UPDATE note SET blob = ?, text = ? WHERE n = ?";
        self.db.prepare_cached(set)?.execute(params![blob, text, n])?;
        let new = self.remembered(n, content)?;
        let before: BTreeSet<&[u8]> = lines::split(&old).collect();
        let after: BTreeSet<&[u8]> = lines::split(&new).collect();
        for line in before.difference(&after) {
            self.line_went(line)?;
        }
        for line in after.difference(&before) {
            self.line_came(n, line)?;
        }
        Ok(())
    }

    fn remove(&mut self, n: i64) -> Result<(), Fault> {
        let old = self.texts.whole(self.db, n)?;
        self.texts.remember(n, Vec::new());
        self.db.prepare_cached("UPDATE note SET blob = NULL, text = NULL WHERE n = ?")?.execute([n])?;
        for line in lines::split(&old) {
            self.line_went(line)?;
        }
        self.texts.forget(n);
        self.db.prepare_cached("DELETE FROM note WHERE n = ?")?.execute([n])?;
        Ok(())
    }

    fn line_came(&mut self, n: i64, line: &[u8]) -> Result<(), Fault> {
        let Some(id) = lines::id(line).and_then(Id::parse) else { return Ok(()) };
        let find = "SELECT r, version FROM record WHERE id = ?";
        let known = self.db.prepare_cached(find)?;
        let known = { known }.query_row([schema::id(&id)], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)));
        match known.optional()? {
            None => match wire::record::decode(line) {
                Some(record) => self.insert(n, &record, line),
                None => Ok(()),
            },
            Some((r, version)) => {
                let add = "INSERT OR IGNORE INTO stands(r, n) SELECT r, ?2 FROM record WHERE r = ?1 AND note <> ?2";
                let added = self.db.prepare_cached(add)?.execute([r, n])?;
                if version != hash(line) {
                    return self.look_again(r, &id);
                }
                if added > 0 {
                    self.touch(r)?;
                }
                Ok(())
            }
        }
    }

    fn line_went(&mut self, line: &[u8]) -> Result<(), Fault> {
        let Some(id) = lines::id(line).and_then(Id::parse) else { return Ok(()) };
        let known = self.db.prepare_cached("SELECT r FROM record WHERE id = ?")?;
        let known = { known }.query_row([schema::id(&id)], |row| row.get::<_, i64>(0));
        match known.optional()? {
            Some(r) => self.look_again(r, &id),
            None => Ok(()),
        }
    }

    /// Looks at all notes a record stands on: which still hold it, in which versions.
    fn look_again(&mut self, r: i64, id: &Id) -> Result<(), Fault> {
        let find = "SELECT note FROM record WHERE r = ?1 UNION SELECT n FROM stands WHERE r = ?1";
        let mut find = self.db.prepare_cached(find)?;
        let places: Vec<i64> = find.query_map([r], |row| row.get(0))?.collect::<Result<_, _>>()?;
        drop(find);
        let mut versions: BTreeMap<Vec<u8>, i64> = BTreeMap::new();
        let mut left = Vec::new();
        for n in places {
            let text = self.texts.get(self.db, n)?;
            let own = lines::split(&text).filter(|line| lines::id(line) == Some(id.as_str()));
            let own: Vec<&[u8]> = own.filter(|line| wire::record::decode(line).is_some()).collect();
            if !own.is_empty() {
                left.push(n);
                versions.extend(own.into_iter().map(|line| (line.to_vec(), n)));
            }
        }
        self.delete(r)?;
        let doubled = versions.len() > 1;
        let Some((line, n)) = versions.pop_last() else { return Ok(()) };
        let Some(record) = wire::record::decode(&line) else { return Ok(()) };
        self.insert(n, &record, &line)?;
        let r = self.last.0;
        for n in left.into_iter().filter(|other| *other != n) {
            self.db.prepare_cached("INSERT OR IGNORE INTO stands(r, n) VALUES(?, ?)")?.execute([r, n])?;
        }
        if doubled {
            self.db.prepare_cached("UPDATE record SET doubled = 1 WHERE r = ?")?.execute([r])?;
        }
        Ok(())
    }

    /// Has the rows made anew of all sessions that a record changes the view of: those that [`ask::of_session`] would give it
    /// to. So also who names it, or names what it names: of two that took a goal, one has it.
    ///
    /// [`ask::of_session`]: super::ask::of_session
    fn touch(&mut self, r: i64) -> Result<(), Fault> {
        if self.is_new {
            return Ok(());
        }
        let find = "WITH about(r) AS (SELECT ?1 UNION SELECT o.r FROM names x JOIN record o ON o.id = x.id WHERE x.r = ?1 \
                    UNION SELECT x.r FROM record o JOIN names x ON x.id = o.id WHERE o.r = ?1 \
                    UNION SELECT y.r FROM names x JOIN names y ON y.id = x.id WHERE x.r = ?1) \
                    SELECT s FROM record WHERE r IN about AND s IS NOT NULL UNION SELECT s FROM concerns WHERE r IN about";
        let mut find = self.db.prepare_cached(find)?;
        let mut rows = find.query([r])?;
        while let Some(row) = rows.next()? {
            self.touched.insert(row.get(0)?);
        }
        Ok(())
    }

    fn delete(&mut self, r: i64) -> Result<(), Fault> {
        self.touch(r)?;
        let kind: Option<(String, Option<i64>)> = self
            .db
            .prepare_cached("SELECT kind, s FROM record WHERE r = ?")?
            .query_row([r], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        if let Some((kind, s)) = kind {
            self.sessionless |= kind == "supersede" || (kind == "handoff" && s.is_none());
            if words::KINDS.contains(&kind.as_str()) {
                self.db.prepare_cached("DELETE FROM words WHERE rowid = ?")?.execute([r])?;
            }
        }
        for table in ["stands", "concerns", "names", "record", "handoff_reports", "path"] {
            self.db.prepare_cached(&format!("DELETE FROM {table} WHERE r = ?"))?.execute([r])?;
        }
        Ok(())
    }

    fn session(&mut self, id: &SessionId) -> Result<i64, Fault> {
        if let Some(s) = self.sessions.get(id) {
            return Ok(*s);
        }
        let kept = schema::session(id);
        let known = self.db.prepare_cached("SELECT s FROM session WHERE id = ?")?;
        let known: Option<i64> = { known }.query_row([kept], |row| row.get(0)).optional()?;
        let s = match known {
            Some(s) => s,
            None => {
                self.db.prepare_cached("INSERT INTO session(id) VALUES(?)")?.execute([kept])?;
                self.db.last_insert_rowid()
            }
        };
        self.sessions.insert(id.clone(), s);
        Ok(s)
    }

    fn insert(&mut self, n: i64, record: &Record, line: &[u8]) -> Result<(), Fault> {
        self.last.0 += 1;
        let (r, head) = (self.last.0, &record.head);
        let (id, kind) = (schema::id(&head.id), record.body.kind());
        let s = head.session.as_ref().map(|session| self.session(session)).transpose()?;
        let add =
            "INSERT INTO record(r, id, short, tail, kind, ai, s, note, version) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)";
        self.db.prepare_cached(add)?.execute(params![
            r,
            id,
            schema::short(&id),
            schema::tail(&id),
            kind,
            head.ai,
            s,
            n,
            hash(line)
        ])?;
        self.touched.extend(s);
        for session in record.concerns().filter(|session| Some(*session) != head.session.as_ref()) {
            let s = self.session(session)?;
            self.db.prepare_cached("INSERT OR IGNORE INTO concerns(s, r) VALUES(?, ?)")?.execute([s, r])?;
            self.touched.insert(s);
        }
        for named in record.names() {
            let add = "INSERT OR IGNORE INTO names(id, r) VALUES(?, ?)";
            self.db.prepare_cached(add)?.execute(params![schema::id(named), r])?;
        }
        self.touch(r)?;
        if let Some(text) = words::of(&record.body) {
            self.db.prepare_cached("INSERT INTO words(rowid, text) VALUES(?, ?)")?.execute(params![r, text])?;
        }
        match &record.body {
            Body::Handoff(handoff) => {
                self.sessionless |= s.is_none();
                self.handoff(r, record, handoff)
            }
            Body::Supersede(_) => {
                self.sessionless = true;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn handoff(&mut self, r: i64, record: &Record, handoff: &crate::model::Handoff) -> Result<(), Fault> {
        let head = &record.head;
        let add = "INSERT INTO handoff_reports(r, id, session_id, ai_id, timestamp, task_summary, calibration_status, type) \
                   VALUES(?, ?, ?, ?, ?, ?, ?, ?)";
        self.db.prepare_cached(add)?.execute(params![
            r,
            schema::id(&head.id),
            head.session.as_ref().map(schema::session),
            head.ai,
            chrono::DateTime::parse_from_rfc3339(&head.at).ok().map(|time| time.timestamp()),
            handoff.task,
            handoff.calibration_status.name(),
            handoff.kind,
        ])?;
        let uncommitted = handoff.uncommitted.iter().map(|file| &file.path);
        for path in handoff.artifacts.iter().chain(uncommitted) {
            // an absolute one is looked for as it is: where the work tree is may change
            let path = inside(None, path).unwrap_or_else(|| path.clone());
            self.db.prepare_cached("INSERT OR IGNORE INTO path(path, r) VALUES(?, ?)")?.execute(params![path, r])?;
        }
        Ok(())
    }
}

fn hash(line: &[u8]) -> i64 {
    fnv(line) as i64
}

/// Brings a database from what it holds to what it must hold: the trees it holds, in the order of the shelves.
pub fn bring(filler: &mut Filler<'_>, held: [Oid; 3], wanted: &Wanted, tell: &mut dyn FnMut()) -> Result<(), Fault> {
    for (shelf, (old, new)) in held.into_iter().zip(wanted.trees).enumerate() {
        if old != new {
            filler.shelf(shelf, old, new, tell)?;
        }
    }
    Ok(())
}
