//! Questions to the index about words: which records have them, best first.

use rusqlite::{CachedStatement, Connection, params_from_iter};

use super::handoffs::Row;
use super::rank::{self, Best};
use super::{Fault, Index, schema, words};
use crate::epistemics::terms::Term;
use crate::error::Result;
use crate::model::{Id, SessionId};

/// Which words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Words {
    /// All of them; none asks for no words.
    All(Vec<Term>),
    /// One of them at least.
    Any(Vec<Term>),
}

impl Default for Words {
    fn default() -> Self {
        Words::All(Vec::new())
    }
}

/// What is asked; what is empty is not asked about.
#[derive(Debug, Clone, Default)]
pub struct Asked<'a> {
    /// What must be there. Nothing has a term without a word.
    pub words: Words,
    /// What must not be there.
    pub without: &'a [Term],
    /// The kinds, in the words of the `kind` key.
    pub kinds: &'a [&'a str],
    /// The agents of the records.
    pub ais: &'a [String],
    /// The sessions of the records.
    pub sessions: &'a [SessionId],
    /// Made in this second or later, since 1970, by their ids.
    pub since: Option<i64>,
    /// Made in this second or earlier, since 1970, by their ids.
    pub until: Option<i64>,
    /// One of these handoffs.
    pub among: Option<&'a [Row]>,
    /// At most so many.
    pub most: usize,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// The records, best first, of equals the newest first; the newest first when no words are asked for. With each its BM25
    /// score, greater than 0, the greater the better; `None` when no words are asked for.
    pub hits: Vec<(Id, Option<f64>)>,
    /// How many there are, beyond the limit as well.
    pub total: usize,
}

/// From how many records on the newest are looked for among all that there are; where assertions are checked from a few, so
/// that tests see it.
const MANY: usize = if cfg!(debug_assertions) { 4 } else { 1000 };

/// What a record must be besides having the words.
struct Fit<'a> {
    asked: &'a Asked<'a>,
    /// Those that are set aside, and those that have what must not be there, in order; and how many of them were passed.
    out: Vec<i64>,
    passed: usize,
    sessions: Vec<i64>,
    /// The handoffs that are wanted, in order.
    among: Option<Vec<i64>>,
    /// What an id is at least, and what it is less than.
    since: Option<Vec<u8>>,
    until: Option<Vec<u8>>,
    find: CachedStatement<'a>,
}

impl<'a> Fit<'a> {
    fn new(db: &'a Connection, asked: &'a Asked<'a>) -> Result<Self, Fault> {
        let mut sessions = Vec::new();
        let mut find = db.prepare_cached("SELECT s FROM session WHERE id = ?")?;
        for id in asked.sessions {
            sessions.extend(find.query_map([schema::session(id)], |row| row.get::<_, i64>(0))?.next().transpose()?);
        }
        let mut out = rank::having(db, asked.without)?;
        let mut aside = db.prepare_cached("SELECT r FROM record WHERE aside = 1")?;
        for r in aside.query_map([], |row| row.get(0))? {
            out.push(r?);
        }
        out.sort_unstable();
        let find = db.prepare_cached("SELECT kind, ai, s, id FROM record WHERE r = ?")?;
        let (among, since, until) = (asked.among.map(rows), asked.begins(), asked.ends());
        Ok(Fit { asked, out, passed: 0, sessions, among, since, until, find })
    }

    /// Whether a record fits. They are asked about in order.
    fn fits(&mut self, r: i64) -> Result<bool, Fault> {
        while self.out.get(self.passed).is_some_and(|out| *out < r) {
            self.passed += 1;
        }
        if self.out.get(self.passed) == Some(&r) {
            return Ok(false);
        }
        let Asked { kinds, ais, sessions, .. } = self.asked;
        if self.among.as_ref().is_some_and(|among| among.binary_search(&r).is_err()) {
            return Ok(false);
        }
        if kinds.is_empty() && ais.is_empty() && sessions.is_empty() && self.since.is_none() && self.until.is_none() {
            return Ok(true);
        }
        let mut rows = self.find.query([r])?;
        let Some(row) = rows.next()? else { return Ok(false) };
        let text = |at: usize| -> rusqlite::Result<&str> { Ok(row.get_ref(at)?.as_str()?) };
        let id = row.get_ref(3)?.as_blob().unwrap_or_default();
        Ok((kinds.is_empty() || kinds.contains(&text(0)?))
            && (ais.is_empty() || ais.iter().any(|ai| text(1).is_ok_and(|of| of == ai)))
            && (sessions.is_empty() || row.get::<_, Option<i64>>(2)?.is_some_and(|s| self.sessions.contains(&s)))
            && self.since.as_deref().is_none_or(|since| id >= since)
            && self.until.as_deref().is_none_or(|until| id < until))
    }
}

/// The records in force that have the words, best first.
fn ranked(db: &Connection, asked: &Asked<'_>) -> Result<Found, Fault> {
    let mut fit = Fit::new(db, asked)?;
    let mut total = 0;
    let mut best = Best::new(asked.most.max(1));
    rank::scored(db, &asked.words, &mut |r, score| {
        if fit.fits(r)? {
            total += 1;
            if asked.most > 0 {
                best.take(r, score);
            }
        }
        Ok(())
    })?;
    let (better, last) = best.parts();
    let mut hits = Vec::new();
    let mut find = db.prepare_cached("SELECT id FROM record WHERE r = ?")?;
    for (score, r) in better {
        hits.push((score, find.query_row([r], |row| row.get::<_, [u8; 16]>(0))?));
    }
    if let Some((score, _)) = last.first().copied() {
        let rows = last.into_iter().map(|(_, r)| r).collect();
        hits.extend(newest_of(db, rows, asked.most - hits.len())?.into_iter().map(|id| (score, id)));
    }
    hits.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| b.1.cmp(&a.1)));
    let hits = hits.into_iter().filter_map(|(score, id)| Some((Id::parse(&schema::text(&id))?, Some(score)))).collect();
    Ok(Found { hits, total })
}

/// The ids of the newest of some records, newest first.
fn newest_of(db: &Connection, mut rows: Vec<i64>, most: usize) -> Result<Vec<[u8; 16]>, Fault> {
    rows.sort_unstable();
    let mut out = Vec::new();
    // where many are as good, the newest of all are soon among them
    if rows.len() > MANY {
        let mut walk = db.prepare_cached("SELECT r, id FROM record ORDER BY id DESC LIMIT ?")?;
        let mut all = walk.query([rows.len() as i64])?;
        while let Some(row) = all.next()? {
            if rows.binary_search(&row.get(0)?).is_ok() {
                out.push(row.get(1)?);
                if out.len() == most {
                    return Ok(out);
                }
            }
        }
        out.clear();
    }
    let mut find = db.prepare_cached("SELECT id FROM record WHERE r = ?")?;
    for r in rows {
        out.push(find.query_row([r], |row| row.get(0))?);
    }
    out.sort_unstable_by(|a, b| b.cmp(a));
    out.truncate(most);
    Ok(out)
}

impl Index<'_> {
    /// Of these terms the rarest that are there at all: `most` of them, in `cap` records each at most. When all that are
    /// there are in more, those are given, and none tells records apart alone.
    pub fn rarest(&self, terms: Vec<Term>, most: usize, cap: usize) -> Result<Words> {
        let read = || -> Result<Words, Fault> {
            let mut counted: Vec<(usize, Term)> = Vec::new();
            for term in terms {
                counted.push((rank::count(&self.opened.db, &term, cap)?, term));
            }
            counted.retain(|(count, _)| *count > 0);
            counted.sort();
            let rare: Vec<Term> = counted.iter().filter(|(n, _)| *n <= cap).map(|(_, t)| t.clone()).collect();
            if rare.is_empty() {
                return Ok(Words::All(counted.into_iter().map(|(_, term)| term).take(most).collect()));
            }
            Ok(Words::Any(rare.into_iter().take(most).collect()))
        };
        self.fine(read())
    }

    /// The records in force that have the words.
    pub fn search(&self, asked: &Asked<'_>) -> Result<Found> {
        let (Words::All(terms) | Words::Any(terms)) = &asked.words;
        self.fine(if terms.is_empty() { self.newest(asked) } else { ranked(&self.opened.db, asked) })
    }

    fn newest(&self, asked: &Asked<'_>) -> Result<Found, Fault> {
        let db = &self.opened.db;
        let (filter, mut values) = asked.filter();
        let unwanted = rank::having(db, asked.without)?;
        let (mut total, mut hits) = (0, Vec::new());
        let kinds: Vec<&str> = if asked.kinds.is_empty() { words::KINDS.to_vec() } else { asked.kinds.to_vec() };
        for kind in words::KINDS.iter().filter(|kind| kinds.contains(kind)) {
            values.insert(0, (*kind).to_owned());
            let rest = format!("FROM record o WHERE o.kind = ? AND o.aside = 0{filter}");
            let most = if asked.without.is_empty() { i64::try_from(asked.most).unwrap_or(i64::MAX) } else { -1 };
            let mut find = db.prepare_cached(&format!("SELECT o.r, o.id {rest} ORDER BY o.id DESC LIMIT {most}"))?;
            let mut rows = find.query(params_from_iter(&values))?;
            let (mut count, mut kept) = (0, 0);
            while let Some(row) = rows.next()? {
                if unwanted.binary_search(&row.get(0)?).is_err() {
                    count += 1;
                    if kept < asked.most {
                        kept += 1;
                        hits.extend(Id::parse(&schema::text(&row.get::<_, [u8; 16]>(1)?)));
                    }
                }
            }
            if asked.without.is_empty() {
                let is_told = asked.sessions.is_empty()
                    && asked.since.is_none()
                    && asked.until.is_none()
                    && asked.among.is_none();
                let count_all = match is_told {
                    true => format!("SELECT ifnull(sum(n), 0) FROM tally o WHERE o.kind = ? AND o.aside = 0{filter}"),
                    false => format!("SELECT count(*) {rest}"),
                };
                let mut find = db.prepare_cached(&count_all)?;
                count = find.query_row(params_from_iter(&values), |row| row.get::<_, i64>(0))? as usize;
            }
            total += count;
            values.remove(0);
        }
        hits.sort_by(|a, b| b.cmp(a));
        hits.truncate(asked.most);
        Ok(Found { hits: hits.into_iter().map(|id| (id, None)).collect(), total })
    }
}

/// The rows of handoffs, in order.
fn rows(handoffs: &[Row]) -> Vec<i64> {
    let mut rows: Vec<i64> = handoffs.iter().map(|row| row.r).collect();
    rows.sort_unstable();
    rows
}

impl Asked<'_> {
    /// How the ids begin that were made at a second or later: they begin with their milliseconds in 48 bits.
    fn beginning(second: i64) -> Vec<u8> {
        let millis = u64::try_from(second.saturating_mul(1000)).unwrap_or(0).min((1 << 48) - 1);
        millis.to_be_bytes()[2..].to_vec()
    }

    fn begins(&self) -> Option<Vec<u8>> {
        self.since.map(Self::beginning)
    }

    fn ends(&self) -> Option<Vec<u8>> {
        self.until.map(|until| Self::beginning(until.saturating_add(1)))
    }

    /// The conditions on `record o`, and their values: a list each, as JSON, so that none is too long.
    fn filter(&self) -> (String, Vec<String>) {
        let (mut sql, mut values) = (String::new(), Vec::new());
        let mut list = |condition: &str, all: Vec<String>| {
            if !all.is_empty() {
                sql.push_str(&format!(" AND {condition}"));
                values.push(serde_json::Value::from(all).to_string());
            }
        };
        list("o.kind IN (SELECT value FROM json_each(?))", self.kinds.iter().map(|kind| (*kind).to_owned()).collect());
        list("o.ai IN (SELECT value FROM json_each(?))", self.ais.to_vec());
        let hex = |id: &SessionId| id.as_str().replace('-', "");
        list(
            "o.s IN (SELECT s FROM session JOIN json_each(?) ON session.id = unhex(value))",
            self.sessions.iter().map(hex).collect(),
        );
        let bytes = |id: Vec<u8>| id.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        for (condition, value) in [
            ("o.id >= unhex(?)", self.begins().map(bytes)),
            ("o.id < unhex(?)", self.ends().map(bytes)),
            ("o.r IN (SELECT value FROM json_each(?))", self.among.map(|all| serde_json::json!(rows(all)).to_string())),
        ] {
            if let Some(value) = value {
                sql.push_str(&format!(" AND {condition}"));
                values.push(value);
            }
        }
        (sql, values)
    }
}
