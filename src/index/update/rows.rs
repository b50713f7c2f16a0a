//! Records into rows.

use std::collections::{BTreeSet, HashMap};

use rusqlite::{OptionalExtension, params};

use crate::fold::urgency::urgency;
use crate::index::connection::select;
use crate::index::error::IndexError;
use crate::index::note::ParsedLine;
use crate::index::query::versions::{Versions, versions};
use crate::index::schema;
use crate::index::searchable;
use crate::index::update::{HELD_BACK, RowInserter};
use crate::text::query::KINDS;
use empirica_notes::git::objects::content::inside;
use empirica_notes::git::parse_oid;
use empirica_notes::model::handoff::substance::Substance;
use empirica_notes::model::journal::Finding;
use empirica_notes::model::{Body, Envelope, Handoff, Id, Record, SessionId};

/// Most retracts whose versions are read ahead.
const AHEAD: usize = 1 << 16;

impl RowInserter<'_> {
    /// Marks every session for rebuilding whose state a record may change, as in [`of_session`]: its own and those that it concerns, those of
    /// what it refers to, and those that have, or had just before, a goal that it or a step that it refers to is about.
    ///
    /// [`of_session`]: crate::index::query::of_session
    pub(crate) fn touch(&mut self, r: i64) -> Result<(), IndexError> {
        if self.is_new {
            return Ok(());
        }
        let find = "WITH about(id) AS (SELECT id FROM record WHERE r = ?1 UNION SELECT id FROM names WHERE r = ?1), \
                    whole(id) AS (SELECT id FROM about UNION SELECT x.id FROM about CROSS JOIN record o ON o.id = about.id \
                    CROSS JOIN names x ON x.r = o.r WHERE o.kind LIKE '%subtask'), \
                    last(r) AS (SELECT t.r FROM whole CROSS JOIN taken t ON t.id = whole.id AND t.by IN \
                    (SELECT l.by FROM taken l WHERE l.id = whole.id ORDER BY l.by DESC LIMIT 2)) \
                    SELECT s FROM concerns WHERE r = ?1 UNION SELECT o.s FROM whole CROSS JOIN record o ON o.id = whole.id \
                    UNION SELECT o.s FROM last CROSS JOIN record o ON o.r = last.r";
        let sessions = select(self.db, find, [r], |row| row.get::<_, Option<i64>>(0))?;
        self.touched.extend(sessions.into_iter().flatten());
        Ok(())
    }

    pub(crate) fn delete(&mut self, r: i64) -> Result<(), IndexError> {
        self.touch(r)?;
        let kind: Option<(String, Option<i64>)> = self
            .db
            .prepare_cached("SELECT kind, s FROM record WHERE r = ?")?
            .query_row([r], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        if let Some((kind, s)) = kind {
            if kind == "retract" {
                let named = "SELECT x.id FROM names x CROSS JOIN record o ON o.r = x.r LEFT JOIN record n ON n.id = x.id \
                             WHERE x.r = ? AND (x.id < o.id OR n.kind IS NULL OR n.kind NOT LIKE '%retract')";
                self.unsettled.extend(select(self.db, named, [r], |row| schema::id_in(row, 0))?);
            }
            self.sessionless |= kind == "supersede" || (kind == "handoff" && s.is_none());
            if KINDS.contains(&kind.trim_start_matches(schema::GONE)) {
                self.words_removed(r)?;
            }
        }
        for table in [
            "attached",
            "concerns",
            "names",
            "record",
            "handoff_reports",
            "path",
            "anchor",
            "mention",
            "memory",
            "replaced",
            "taken",
            "quotes",
        ] {
            self.db.prepare_cached(&format!("DELETE FROM {table} WHERE r = ?"))?.execute([r])?;
        }
        Ok(())
    }

    /// Reindexes the records whose retraction was added or removed. Of retracts, the newest come first, as one counts unless a newer
    /// one retracts it; then the others, note by note. Calls `tell` for each.
    pub(crate) fn settle_retracted(
        &mut self,
        tell: &mut dyn FnMut() -> Result<(), IndexError>,
    ) -> Result<(), IndexError> {
        let mut others: BTreeSet<(i64, Id)> = BTreeSet::new();
        let mut read: HashMap<Id, Versions> = HashMap::new();
        while let Some(id) = self.unsettled.pop_last() {
            tell()?;
            let find = "SELECT note, kind LIKE '%retract' FROM record WHERE id = ?";
            match select(self.db, find, [schema::id(&id)], |row| Ok((row.get(0)?, row.get(1)?)))?.pop() {
                Some((_, true)) => {
                    if !read.contains_key(&id) {
                        let next = self.retracts_from(&id)?;
                        let found = versions(self.db, &self.texts, &next)?;
                        read = next.into_iter().zip(found).collect();
                    }
                    let versions = read.remove(&id).ok_or(IndexError::Lost)?;
                    self.reinsert(&id, &versions)?;
                }
                Some((note, false)) => drop(others.insert((note, id.clone()))),
                None => {}
            }
            self.restated.insert(id);
        }
        let others: Vec<Id> = others.into_iter().map(|(_, id)| id).collect();
        self.reindex(&others, tell)
    }

    /// This retract and the next to be settled, newest first: those unsettled, and those that they name, perhaps in several steps.
    fn retracts_from(&self, id: &Id) -> Result<Vec<Id>, IndexError> {
        let find = "WITH RECURSIVE next(id) AS (SELECT unhex(value) FROM json_each(?1) UNION \
                    SELECT n.id FROM next CROSS JOIN record o ON o.id = next.id CROSS JOIN names x ON x.r = o.r CROSS JOIN record n ON n.id = x.id \
                    WHERE n.id < o.id AND o.kind LIKE '%retract' AND n.kind LIKE '%retract' LIMIT ?2) \
                    SELECT o.id FROM next CROSS JOIN record o ON o.id = next.id WHERE o.kind LIKE '%retract' ORDER BY o.id DESC";
        let unsettled = std::iter::once(id).chain(self.unsettled.iter().rev().take(AHEAD / 2));
        let hex: Vec<String> = unsettled.map(|id| id.as_str().replace('-', "")).collect();
        select(self.db, find, params![serde_json::json!(hex).to_string(), AHEAD as i64], |row| schema::id_in(row, 0))
    }

    /// As [`retracted`](empirica_notes::model::record::retracted).
    fn is_retracted(&self, id: &[u8; 16], s: Option<i64>, record: &Record) -> Result<bool, IndexError> {
        // in a bulk insert, retractions are handled at the end
        if self.bulk.is_some() {
            return Ok(false);
        }
        if !record.can_be_retracted(record.envelope.session.as_ref()) {
            return Ok(false);
        }
        let any = record.is_retracted_by_any();
        // in this order: a plan that begins with all retracts reads them for each record
        let find = "SELECT 1 FROM names x CROSS JOIN record o ON o.r = x.r WHERE x.id = ?1 AND o.kind = 'retract' AND (o.id > x.id OR ?2) AND (?3 OR o.s IS ?4)";
        Ok(self.db.prepare_cached(find)?.exists(params![id, !matches!(record.body, Body::Retract(_)), any, s])?)
    }

    fn is_retract(&self, id: &Id) -> Result<bool, IndexError> {
        let find = "SELECT 1 FROM record WHERE id = ? AND kind LIKE '%retract'";
        Ok(self.db.prepare_cached(find)?.exists([schema::id(id)])?)
    }

    fn session(&mut self, id: &SessionId) -> Result<i64, IndexError> {
        if let Some(s) = self.sessions.get(id) {
            return Ok(*s);
        }
        let key = schema::session(id);
        // a new index has the sessions inserted here only
        let stored: Option<i64> = match self.is_new {
            true => None,
            false => select(self.db, "SELECT s FROM session WHERE id = ?", [key], |row| row.get(0))?.pop(),
        };
        let s = match stored {
            Some(s) => s,
            None => {
                self.db.prepare_cached("INSERT INTO session(id) VALUES(?)")?.execute([key])?;
                self.db.last_insert_rowid()
            }
        };
        self.sessions.insert(id.clone(), s);
        Ok(s)
    }

    pub(crate) fn insert(&mut self, n: i64, line: &ParsedLine) -> Result<(), IndexError> {
        let ParsedLine { version, record, words } = line;
        self.last.0 += 1;
        let (r, envelope) = (self.last.0, &record.envelope);
        let id = schema::id(&envelope.id);
        let s = envelope.session.as_ref().map(|session| self.session(session)).transpose()?;
        let is_retracted = self.is_retracted(&id, s, record)?;
        let kind = record.body.kind();
        let state = if is_retracted { schema::GONE } else { "" };
        let add =
            "INSERT INTO record(r, id, short, tail, kind, ai, s, note, version) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)";
        self.db.prepare_cached(add)?.execute(params![
            r,
            id,
            schema::short(&id),
            schema::tail(&id),
            format!("{state}{kind}"),
            envelope.ai,
            s,
            n,
            version
        ])?;
        if let Some(bulk) = &mut self.bulk {
            bulk.insert_some(self.db, HELD_BACK)?;
            let ais = bulk.tally.entry(kind).or_default();
            match ais.get_mut(&envelope.ai) {
                Some(n) => *n += 1,
                None => drop(ais.insert(envelope.ai.clone(), 1)),
            }
        }
        self.touched.extend(s);
        for session in record.concerns().filter(|session| Some(*session) != envelope.session.as_ref()) {
            let s = self.session(session)?;
            match &mut self.bulk {
                Some(bulk) => bulk.concerns.push((s, r)),
                None => {
                    let add = "INSERT OR IGNORE INTO concerns(s, r) VALUES(?, ?)";
                    self.db.prepare_cached(add)?.execute([s, r])?;
                }
            }
            self.touched.insert(s);
        }
        for named in record.referenced_ids() {
            match &mut self.bulk {
                Some(bulk) => bulk.names.push((schema::id(named), r)),
                None => {
                    let add = "INSERT OR IGNORE INTO names(id, r) VALUES(?, ?)";
                    self.db.prepare_cached(add)?.execute(params![schema::id(named), r])?;
                }
            }
        }
        self.touch(r)?;
        if let Some(text) = words {
            self.words_added(r, text.clone())?;
        }
        self.anchors(r, envelope, &record.body)?;
        if is_retracted {
            return Ok(());
        }
        for quoted in record.body.quoted_claims() {
            let add = "INSERT OR IGNORE INTO quotes(id, r) VALUES(?, ?)";
            self.db.prepare_cached(add)?.execute(params![schema::id(&quoted), r])?;
            if !self.is_new && words.is_some() {
                self.quoting.insert(r);
            }
        }
        if let Some(claim) = record.body.claim() {
            let replaces = "SELECT 1 FROM replaced WHERE by = ?";
            if !self.is_new && self.db.prepare_cached(replaces)?.exists([id])? {
                self.restated.insert(envelope.id.clone());
            }
            for path in searchable::paths(&claim) {
                let add = "INSERT OR IGNORE INTO mention(path, r) VALUES(?, ?)";
                self.db.prepare_cached(add)?.execute(params![path, r])?;
            }
        }
        match &record.body {
            Body::Handoff(handoff) => {
                self.sessionless |= s.is_none();
                self.handoff(r, envelope, handoff)?;
            }
            Body::Finding(Finding { memory: Some(word), .. }) => {
                self.db.prepare_cached("INSERT INTO memory(word, r) VALUES(?, ?)")?.execute(params![word, r])?;
            }
            Body::Supersede(_) => self.sessionless = true,
            Body::GoalTake(take) => {
                for of in &take.of {
                    let add = "INSERT OR IGNORE INTO taken(id, by, r) VALUES(?, ?, ?)";
                    self.db.prepare_cached(add)?.execute(params![schema::id(of), id, r])?;
                }
            }
            Body::Retract(retract) => {
                for (of, by) in retract.of.iter().zip(retract.by.iter().cycle()) {
                    let add = "INSERT OR IGNORE INTO replaced(id, by, r) VALUES(?, ?, ?)";
                    self.db.prepare_cached(add)?.execute(params![schema::id(of), schema::id(by), r])?;
                }
                match &mut self.bulk {
                    Some(bulk) => bulk.retracted.extend(retract.of.iter().cloned()),
                    None => {
                        for of in &retract.of {
                            if *of < envelope.id || !self.is_retract(of)? {
                                self.unsettled.insert(of.clone());
                            }
                        }
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The anchors of a claim or of its confirmation.
    fn anchors(&mut self, r: i64, envelope: &Envelope, body: &Body) -> Result<(), IndexError> {
        let (of, urgency) = match body {
            // that of the claim is not known here
            Body::Confirm(confirm) => (&confirm.of, None),
            _ => (&envelope.id, Some(urgency(body))),
        };
        for (n, anchor) in body.anchors().iter().enumerate() {
            let (first, last) = anchor.lines.unzip();
            let blob = parse_oid(&anchor.blob);
            let add = "INSERT INTO anchor(path, id, r, n, first, last, blob, hash, urgency) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)";
            self.db.prepare_cached(add)?.execute(params![
                anchor.path,
                schema::id(of),
                r,
                n as i64,
                first,
                last,
                blob.as_ref().map(|blob| blob.as_bytes()),
                anchor.hash,
                urgency
            ])?;
        }
        Ok(())
    }

    fn handoff(&mut self, r: i64, envelope: &Envelope, handoff: &Handoff) -> Result<(), IndexError> {
        let add = "INSERT INTO handoff_reports(r, id, session_id, ai_id, timestamp, task_id, task_summary, calibration_status, type, works) \
                   VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        self.db.prepare_cached(add)?.execute(params![
            r,
            schema::id(&envelope.id),
            envelope.session.as_ref().map(schema::session),
            envelope.ai,
            chrono::DateTime::parse_from_rfc3339(&envelope.at).ok().map(|time| time.timestamp()),
            handoff.task_id,
            handoff.task,
            handoff.calibration_status.name(),
            handoff.kind,
            Substance::of(handoff) == Substance::Work,
        ])?;
        let uncommitted = handoff.uncommitted.iter().map(|file| &file.path);
        for path in handoff.artifacts.iter().chain(uncommitted) {
            // leave absolute paths as they are: the worktree may move
            let path = inside(None, path).unwrap_or_else(|| path.clone());
            self.db.prepare_cached("INSERT OR IGNORE INTO path(path, r) VALUES(?, ?)")?.execute(params![path, r])?;
        }
        Ok(())
    }
}
