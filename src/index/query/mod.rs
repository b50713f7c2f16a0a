//! Queries for records: SQL finds them, their content is read from notes.

pub mod anchors;
pub mod corrections;
mod doubts;
pub mod found;
mod frequent;
pub mod handoffs;
pub mod rare_words;
pub mod search;
pub mod sessions;
pub mod totals;
pub mod versions;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rusqlite::{Connection, Params, params};

use crate::index::connection::{Index, select};
use crate::index::error::IndexError;
use crate::index::query::corrections::correct;
use crate::index::query::found::{FoundRecord, by_note, found, read_found};
use crate::index::schema;
use crate::index::texts::Texts;
use empirica_notes::error::Result;
use empirica_notes::git::Oid;
use empirica_notes::model::{Body, Id, Namespace, Record, SessionId};
use empirica_notes::store::{RecordEntry, Scan};

/// The records of a session and those that concern it; what its own refer to, and what refers to them; of a goal that it took, what refers
/// to that if the session still has it, else the last to take it. With what refers to steps of its goals: a record that completes one may not name
/// their owner. What else refers to a record of another session does not count: thousands may. CROSS JOIN fixes the order, whatever the
/// planner estimates: the session's own records come first and are few.
const OF_SESSION: &str = "r IN (WITH own(r) AS (SELECT r FROM record WHERE s = ?1), \
    last(id, r) AS (SELECT t.id, (SELECT l.r FROM taken l WHERE l.id = t.id ORDER BY l.by DESC LIMIT 1) \
    FROM own CROSS JOIN taken t ON t.r = own.r), \
    about(id) AS (SELECT o.id FROM own CROSS JOIN record o ON o.r = own.r UNION \
    SELECT last.id FROM last CROSS JOIN own ON own.r = last.r), \
    naming(r) AS (SELECT x.r FROM about CROSS JOIN names x ON x.id = about.id), \
    step(id) AS (SELECT o.id FROM naming CROSS JOIN record o ON o.r = naming.r WHERE o.kind = 'subtask') \
    SELECT r FROM own UNION SELECT r FROM concerns WHERE s = ?1 UNION SELECT r FROM naming UNION SELECT r FROM last UNION \
    SELECT o.r FROM own CROSS JOIN names x ON x.r = own.r CROSS JOIN record o ON o.id = x.id UNION \
    SELECT x.r FROM step CROSS JOIN names x ON x.id = step.id)";

/// Reads records, with the objects they are attached to.
fn read(db: &Connection, texts: &Texts<'_>, found: Vec<FoundRecord>) -> Result<Scan, IndexError> {
    let mut out = Scan::default();
    let mut places = places(db, found.iter().map(|one| one.r))?;
    for (note, wanted) in by_note(found) {
        for (one, line, mut record) in read_found(db, texts, note, &wanted)? {
            correct(db, texts, &mut record)?;
            if one.is_conflicting {
                out.conflicting_ids.insert(record.envelope.id.clone());
            }
            if one.retracted {
                out.retracted.insert(record.envelope.id.clone());
            }
            let on = places.remove(&one.r).unwrap_or_default();
            out.put(line, RecordEntry { record, on });
        }
    }
    Ok(out)
}

/// The record in a row as it is shown.
pub fn corrected(db: &Connection, texts: &Texts<'_>, r: i64) -> Result<Option<Record>, IndexError> {
    let scan = read(db, texts, found(db, "r = ?", [r])?)?;
    Ok(scan.records().next().cloned())
}

/// Most replacements of a claim that are followed in each direction to find those that it disagrees with.
const RIVALS: usize = 64;

/// The objects that the records in these rows are attached to, by row.
pub fn places(db: &Connection, rows: impl IntoIterator<Item = i64>) -> Result<HashMap<i64, BTreeSet<Oid>>, IndexError> {
    const OF_ROWS: &str = "SELECT o.r, t.target FROM json_each(?1) j CROSS JOIN record o ON o.r = j.value CROSS JOIN note t ON t.n = o.note \
        UNION ALL SELECT a.r, t.target FROM json_each(?1) j CROSS JOIN attached a ON a.r = j.value CROSS JOIN note t ON t.n = a.n";
    let rows = serde_json::json!(rows.into_iter().collect::<Vec<_>>()).to_string();
    let found = select(db, OF_ROWS, [rows], |row| Ok((row.get(0)?, Oid::try_from(row.get_ref(1)?.as_blob()?))))?;
    let mut out: HashMap<i64, BTreeSet<Oid>> = HashMap::new();
    for (r, target) in found {
        out.entry(r).or_default().extend(target);
    }
    Ok(out)
}

/// The records [`OF_SESSION`] finds for the session in a row.
pub fn of_session(db: &Connection, s: i64) -> Result<Vec<FoundRecord>, IndexError> {
    found(db, OF_SESSION, [s])
}

#[derive(Debug, Clone, Copy, Default)]
pub struct RecordQuery<'a> {
    /// All if `None`.
    pub session: Option<&'a SessionId>,
    /// At most this many of each kind, the newest by ID; all if `None`.
    pub newest: Option<usize>,
}

impl Index<'_> {
    /// At most `most` rows after the first `skip`, by `rows` of a condition on ids, a limit and an offset. Those ahead of the [clock](empirica_notes::model::Horizon) come
    /// last, so that they hide no other.
    fn ahead_last<T>(
        &self,
        skip: usize,
        most: usize,
        mut rows: impl FnMut(&str, i64, usize) -> Result<Vec<T>>,
    ) -> Result<Vec<T>> {
        let limit = |most: usize| i64::try_from(most).unwrap_or(i64::MAX);
        let ahead = format!("x'{}'", self.store.horizon().digits());
        let mut out = rows(&format!("< {ahead}"), limit(most), skip)?;
        if out.len() < most {
            let skip = match out.is_empty() && skip > 0 {
                true => skip.saturating_sub(rows(&format!("< {ahead}"), limit(skip), 0)?.len()),
                false => 0,
            };
            let more = rows(&format!(">= {ahead}"), limit(most - out.len()), skip)?;
            out.extend(more);
        }
        Ok(out)
    }

    fn found(&self, condition: &str, values: impl Params) -> Result<Vec<FoundRecord>> {
        self.checked(found(&self.opened.db, condition, values))
    }

    /// The newest `most` records that meet a condition, newest first, those ahead of the clock last.
    fn newest_found(&self, condition: &str, values: impl Params + Copy, most: usize) -> Result<Vec<FoundRecord>> {
        self.ahead_last(0, most, |when, most, _| {
            self.found(&format!("{condition} AND id {when} ORDER BY id DESC LIMIT {most}"), values)
        })
    }

    fn read(&self, found: Vec<FoundRecord>) -> Result<Scan> {
        let texts = Texts::sharing(self.store.repo(), &self.opened.texts);
        self.checked(read(&self.opened.db, &texts, found))
    }

    /// The records of these kinds, by `kind` key.
    pub fn kinds(&self, kinds: &[&str], only: RecordQuery<'_>) -> Result<Scan> {
        let session = only.session.map(schema::session);
        let mut all = Vec::new();
        for kind in kinds {
            let wanted = match session {
                None => "kind = ?1 AND ?2 IS NULL",
                Some(_) => "+kind = ?1 AND s = (SELECT s FROM session WHERE id = ?2)",
            };
            let newest = only.newest.unwrap_or(usize::MAX);
            all.extend(self.newest_found(wanted, params![kind, session], newest)?);
        }
        self.read(all)
    }

    /// The records that the state of a session is derived from: its own, what they refer to, and what refers to them.
    pub fn session(&self, id: &SessionId) -> Result<Scan> {
        match self.select("SELECT s FROM session WHERE id = ?", [schema::session(id)], |row| row.get(0))?.pop() {
            Some(s) => self.read(self.checked(of_session(&self.opened.db, s))?),
            None => Ok(Scan::default()),
        }
    }

    /// Of each of these sessions its last record and its newest `most` assessments.
    pub fn assessed<'s>(&self, sessions: impl IntoIterator<Item = &'s SessionId>, most: usize) -> Result<Scan> {
        let mut all = BTreeMap::new();
        for session in sessions {
            let id = schema::session(session);
            let assessment = "+kind = 'assessment' AND s = (SELECT s FROM session WHERE id = ?)";
            let mut found = self.newest_found(assessment, [id], most)?;
            found.extend(self.found("id = (SELECT newest FROM session WHERE id = ?)", [id])?);
            all.extend(found.into_iter().map(|one| (one.r, one)));
        }
        self.read(all.into_values().collect())
    }

    /// The records of these IDs; unknown IDs are skipped.
    pub fn ids<'i>(&self, ids: impl IntoIterator<Item = &'i Id>) -> Result<Scan> {
        let mut all = Vec::new();
        for id in ids.into_iter().collect::<BTreeSet<_>>() {
            all.extend(self.found("id = ?", [schema::id(id)])?);
        }
        self.read(all)
    }

    /// The records of these kinds that refer to one of these IDs: resolve, end, attach or supersede it.
    pub fn naming<'i>(&self, ids: impl IntoIterator<Item = &'i Id>, kinds: &[&str]) -> Result<Scan> {
        let mut all = BTreeMap::new();
        for id in ids {
            for kind in kinds {
                let naming = "r IN (SELECT r FROM names WHERE id = ?) AND +kind = ?";
                let found = self.found(naming, params![schema::id(id), kind])?;
                all.extend(found.into_iter().map(|one| (one.r, one)));
            }
        }
        self.read(all.into_values().collect())
    }

    /// Every record whose ID begins or ends with `given`, or whose short form begins with it, perhaps others too.
    /// `given`: lower-case hex digits and hyphens.
    pub fn ids_like(&self, prefix: &str) -> Result<Scan> {
        let digits: String = prefix.chars().filter(|c| *c != '-').collect();
        let mut all = self.found("id BETWEEN ? AND ?", schema::around(&digits))?;
        if let Some(range) = schema::range(&digits, 8) {
            all.extend(self.found("short BETWEEN ? AND ?", range)?);
        }
        let end: String = digits.chars().rev().take(schema::TAIL).collect();
        if let Some(range) = schema::range(&end, schema::TAIL) {
            all.extend(self.found("tail BETWEEN ? AND ?", range)?);
        }
        let distinct: BTreeMap<i64, FoundRecord> = all.into_iter().map(|one| (one.r, one)).collect();
        self.read(distinct.into_values().collect())
    }

    /// The newest `most` records in force of these kinds whose short form begins with these digits, hex; none without digits.
    pub fn short_like(&self, kinds: &[&str], digits: &str, most: usize) -> Result<Scan> {
        let Some((from, to)) = schema::range(digits, 8) else { return Ok(Scan::default()) };
        let kinds = serde_json::json!(kinds).to_string();
        // with one digit a sixteenth of all matches: found soon in the order of ids
        let short = if digits.len() < 2 { "+short" } else { "short" };
        let beginning =
            format!("{short} BETWEEN ? AND ? AND superseded = 0 AND +kind IN (SELECT value FROM json_each(?))");
        self.read(self.newest_found(&beginning, params![from, to, kinds], most)?)
    }

    /// The newest `most` findings marked for longer-term memory, by the word of `finding --as`.
    pub fn memory(&self, word: &str, most: usize) -> Result<Scan> {
        self.read(self.newest_found("r IN (SELECT r FROM memory WHERE word = ?)", [word], most)?)
    }

    /// The claims that a claim replaces.
    pub fn replaced_by(&self, id: &Id) -> Result<Vec<Id>> {
        let find = "SELECT DISTINCT id FROM replaced WHERE by = ? ORDER BY id";
        self.select(find, [schema::id(id)], |row| schema::id_in(row, 0))
    }

    /// The claims that may have [`rivals`](Self::rivals): those that replace, perhaps in several steps, a claim that several replace.
    pub fn replacing(&self) -> Result<BTreeSet<Id>> {
        let find = "WITH RECURSIVE newer(id) AS (SELECT p.by FROM disputed d CROSS JOIN replaced p ON p.id = d.id \
                    UNION SELECT p.by FROM newer CROSS JOIN replaced p ON p.id = newer.id) SELECT id FROM newer";
        let all = self.select(find, [], |row| schema::id_in(row, 0))?;
        Ok(all.into_iter().collect())
    }

    /// The other claims in force that replace what a claim in force replaces, or what that replaced; of more than [`RIVALS`], some.
    pub fn rivals(&self, id: &Id) -> Result<Vec<Id>> {
        // a limit of the whole would be applied after all are found
        let first =
            |of: &str| format!("(SELECT l.by FROM replaced l WHERE l.id = {of}.id ORDER BY l.by LIMIT {RIVALS})");
        let find = format!(
            "WITH RECURSIVE older(id) AS (SELECT p.id FROM record o CROSS JOIN replaced p ON p.by = o.id WHERE o.id = ?1 AND {0} \
                    UNION SELECT p.id FROM older CROSS JOIN replaced p ON p.by = older.id LIMIT {RIVALS}), \
                    newer(id) AS (SELECT p.by FROM older CROSS JOIN replaced p ON p.id = older.id AND p.by IN {1} \
                    UNION SELECT p.by FROM newer CROSS JOIN replaced p ON p.id = newer.id AND p.by IN {2} LIMIT {RIVALS}) \
                    SELECT o.id FROM newer CROSS JOIN record o ON o.id = newer.id WHERE {0} AND o.id <> ?1 ORDER BY o.id",
            schema::IN_FORCE,
            first("older"),
            first("newer"),
        );
        self.select(&find, [schema::id(id)], |row| schema::id_in(row, 0))
    }

    /// The claims that a handoff quotes and that were retracted, not replaced, oldest first.
    pub fn retracted_from(&self, handoff: &Id) -> Result<Vec<Id>> {
        let find = format!(
            "SELECT q.id FROM record h CROSS JOIN quotes q ON q.r = h.r CROSS JOIN record o ON o.id = q.id \
             WHERE h.id = ? AND NOT {} AND NOT EXISTS (SELECT 1 FROM replaced WHERE id = q.id) ORDER BY q.id",
            schema::IN_FORCE
        );
        self.select(&find, [schema::id(handoff)], |row| schema::id_in(row, 0))
    }

    /// The handoffs and digests that quote one of these claims.
    pub fn quoting<'i>(&self, claims: impl IntoIterator<Item = &'i Id>) -> Result<Scan> {
        let mut all = BTreeMap::new();
        for id in claims {
            let found = self.found("r IN (SELECT r FROM quotes WHERE id = ?)", [schema::id(id)])?;
            all.extend(found.into_iter().map(|one| (one.r, one)));
        }
        self.read(all.into_values().collect())
    }

    /// The handoffs with a signature that are among these records, or quote one of these claims.
    pub fn signed<'i>(&self, ids: impl IntoIterator<Item = &'i Id>) -> Result<Scan> {
        let signed = "EXISTS (SELECT 1 FROM names n CROSS JOIN record s ON s.r = n.r WHERE n.id = record.id AND s.kind = 'signature')";
        let mut all = BTreeMap::new();
        for id in ids {
            let among =
                format!("(id = ?1 OR r IN (SELECT r FROM quotes WHERE id = ?1)) AND +kind = 'handoff' AND {signed}");
            let found = self.found(&among, [schema::id(id)])?;
            all.extend(found.into_iter().map(|one| (one.r, one)));
        }
        self.read(all.into_values().collect())
    }

    /// The newest `most` decisions, dead ends, handoffs and digests in force on these commits.
    pub fn decided_on(&self, commits: &[Oid], most: usize) -> Result<Scan> {
        let on = "SELECT n FROM note WHERE target IN (SELECT unhex(value) FROM json_each(?1))";
        let decided = format!(
            "r IN (SELECT r FROM record WHERE note IN ({on}) UNION SELECT r FROM attached WHERE n IN ({on})) \
             AND +kind IN ('decision', 'dead_end', 'handoff', 'digest') AND superseded = 0"
        );
        let hex: Vec<String> = commits.iter().map(Oid::to_string).collect();
        self.read(self.newest_found(&decided, [serde_json::json!(hex).to_string().as_str()], most)?)
    }

    /// At most `most` claims in force whose texts name each of these files: dead ends, decisions, then the newest.
    pub fn mentioning<'p>(&self, paths: impl IntoIterator<Item = &'p str>, most: usize) -> Result<Scan> {
        let mut all = BTreeMap::new();
        for path in paths {
            let naming = format!(
                "r IN (SELECT r FROM mention WHERE path = ?) AND +kind >= 'a' \
                 ORDER BY id >= x'{}', kind = 'dead_end' DESC, kind = 'decision' DESC, id DESC LIMIT ?",
                self.store.horizon().digits()
            );
            all.extend(self.found(&naming, params![path, most as i64])?.into_iter().map(|one| (one.r, one)));
        }
        self.read(all.into_values().collect())
    }

    /// The notes that have a record.
    pub fn notes_of(&self, id: &Id) -> Result<BTreeSet<(Namespace, Oid)>> {
        let find = "SELECT namespace, target FROM note WHERE n IN (SELECT note FROM record WHERE id = ?1 \
                    UNION ALL SELECT a.n FROM record o JOIN attached a ON a.r = o.r WHERE o.id = ?1)";
        let found = self.select(find, [schema::id(id)], |row| {
            let namespace = Namespace::ALL.get(usize::from(row.get::<_, u8>(0)?)).copied();
            Ok(namespace.zip(Oid::try_from(row.get_ref(1)?.as_blob()?).ok()))
        })?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Whether another record refers to it.
    pub fn is_named(&self, id: &Id) -> Result<bool> {
        Ok(self.number("SELECT EXISTS (SELECT 1 FROM names WHERE id = ?)", [schema::id(id)])? > 0)
    }

    /// Whether a record of this ID is stored.
    pub fn has(&self, id: &Id) -> Result<bool> {
        Ok(self.number("SELECT EXISTS (SELECT 1 FROM record WHERE id = ?)", [schema::id(id)])? > 0)
    }

    /// Goals by their IDs or those of their steps, with all records that refer to them and the ends of their
    /// sessions.
    pub fn goals<'i>(&self, ids: impl IntoIterator<Item = &'i Id>) -> Result<Scan> {
        let mut out = self.ids(ids)?;
        let above: Vec<Id> = out
            .records()
            .filter(|record| record.body.kind() == "subtask")
            .flat_map(Record::referenced_ids)
            .cloned()
            .collect();
        out.merge(self.ids(&above)?);
        // records that refer to a goal, then to its steps
        for _ in 0..2 {
            let ids: Vec<Id> = out.records().map(|record| record.envelope.id.clone()).collect();
            out.merge(self.naming(&ids, &["subtask", "goal_done", "goal_drop", "goal_take"])?);
        }
        // a suggested goal closes with its session
        let suggested = |record: &Record| matches!(&record.body, Body::Goal(goal) if goal.vector.is_some());
        let sessions: BTreeSet<SessionId> = out
            .records()
            .filter(|record| suggested(record))
            .filter_map(|record| record.envelope.session.clone())
            .collect();
        for session in &sessions {
            out.merge(self.kinds(&["session_end"], RecordQuery { session: Some(session), newest: None })?);
        }
        Ok(out)
    }

    /// The newest `most` checkpoints of an agent's sessions in these places (one or two).
    pub fn checkpoints_at(&self, ai: &str, places: &[String], most: usize) -> Result<Scan> {
        let taken = "+kind = 'checkpoint' AND s IN (SELECT s FROM session WHERE ai = ? AND place IN (?, ?))";
        self.read(self.newest_found(taken, params![ai, places.first(), places.last()], most)?)
    }

    /// The records attached to an object.
    pub fn on(&self, target: Oid) -> Result<Scan> {
        let on = "r IN (SELECT r FROM record WHERE note IN (SELECT n FROM note WHERE target = ?1) \
                  UNION SELECT r FROM attached WHERE n IN (SELECT n FROM note WHERE target = ?1))";
        self.read(self.found(on, [target.as_bytes()])?)
    }

    /// All annotated objects.
    pub fn targets(&self) -> Result<BTreeSet<Oid>> {
        let found =
            self.select("SELECT DISTINCT target FROM note", [], |row| Ok(Oid::try_from(row.get_ref(0)?.as_blob()?)))?;
        Ok(found.into_iter().flatten().collect())
    }

    /// The sessions that have records on one of these objects.
    pub fn sessions_on(&self, targets: &BTreeSet<Oid>) -> Result<BTreeSet<SessionId>> {
        let on = "SELECT n FROM note WHERE target IN (SELECT unhex(value) FROM json_each(?1))";
        let find = format!(
            "SELECT id FROM session WHERE s IN (SELECT s FROM record WHERE note IN ({on}) \
             UNION SELECT o.s FROM attached a CROSS JOIN record o ON o.r = a.r WHERE a.n IN ({on}))"
        );
        let hex: Vec<String> = targets.iter().map(Oid::to_string).collect();
        let found = self.select(&find, [serde_json::json!(hex).to_string()], |row| {
            Ok(SessionId::parse(&schema::text(row.get_ref(0)?.as_blob()?)))
        })?;
        Ok(found.into_iter().flatten().collect())
    }
}
