//! Full-text queries: which records contain words, best first.

use rusqlite::params_from_iter;
use serde_json::json;

use crate::index::connection::Index;
use crate::index::schema;
use crate::text::query::{KINDS, Term};
use crate::text::words;
use empirica_notes::error::Result;
use empirica_notes::model::{Id, SessionId};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WordSet {
    /// All of them; empty means no restriction.
    All(Vec<Term>),
    /// At least one of them.
    Any(Vec<Term>),
}

impl Default for WordSet {
    fn default() -> Self {
        WordSet::All(Vec::new())
    }
}

/// Filter for records; an empty field does not restrict.
#[derive(Debug, Clone, Default)]
pub struct SearchQuery {
    /// Words that must occur. A term without a word never matches.
    pub words: WordSet,
    /// Words that must not occur.
    pub without: Vec<Term>,
    /// Kinds, by `kind` key.
    pub kinds: Vec<&'static str>,
    /// The agents of the records.
    pub ais: Vec<String>,
    /// The sessions of the records.
    pub sessions: Vec<SessionId>,
    /// Made in this Unix second or later, by record ID.
    pub since: Option<i64>,
    /// Made in this Unix second or earlier, by record ID.
    pub until: Option<i64>,
    /// Whether also records that are not in force.
    pub all: bool,
    /// Only the records in these rows.
    pub among: Option<Vec<i64>>,
    /// Most records to return.
    pub most: usize,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct SearchMatch {
    /// Records with their BM25 scores, best first, newest first among equals; scores are above 0, the greater the
    /// better. Without words: newest first, scores `None`.
    pub hits: Vec<(Id, Option<f64>)>,
    /// Number of matches, beyond the limit too.
    pub total: usize,
}

impl WordSet {
    /// The words as an FTS5 query; `None` if no record can match. Tokens are letters, digits and marks in quotes, so
    /// no syntax can be injected.
    fn query(&self) -> Option<String> {
        let (terms, operator) = match self {
            WordSet::All(terms) => (terms, " AND "),
            WordSet::Any(terms) => (terms, " OR "),
        };
        let phrases: Vec<String> = terms.iter().filter_map(phrase).collect();
        let is_possible = matches!(self, WordSet::Any(_)) || phrases.len() == terms.len();
        (is_possible && !phrases.is_empty()).then(|| phrases.join(operator))
    }
}

/// A term as an FTS5 phrase; `None` if it has no word.
fn phrase(term: &Term) -> Option<String> {
    let words = words::words(&term.text).join(" ");
    (!words.is_empty()).then(|| format!("\"{words}\"{}", if term.is_prefix { " *" } else { "" }))
}

impl Index<'_> {
    /// The `most` rarest of the terms that occur, each in at most `cap` records. If every term that occurs is more
    /// frequent, all of these must match together.
    pub fn rarest(&self, terms: Vec<Term>, most: usize, cap: usize) -> Result<WordSet> {
        let sql = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)";
        let mut counted: Vec<(usize, Term)> = Vec::new();
        for term in terms {
            if let Some(phrase) = phrase(&term) {
                counted.push((self.number(sql, (phrase, cap as i64 + 1))?, term));
            }
        }
        counted.retain(|(count, _)| *count > 0);
        counted.sort();
        let rare = counted.partition_point(|(count, _)| *count <= cap);
        let terms = counted.into_iter().map(|(_, term)| term);
        Ok(match rare {
            0 => WordSet::All(terms.take(most).collect()),
            _ => WordSet::Any(terms.take(rare.min(most)).collect()),
        })
    }

    /// The records in force that have the words.
    pub fn search(&self, query: &SearchQuery) -> Result<SearchMatch> {
        let (WordSet::All(terms) | WordSet::Any(terms)) = &query.words;
        if terms.is_empty() { self.newest(query) } else { self.ranked(query) }
    }

    /// The records with the words, best first.
    fn ranked(&self, query: &SearchQuery) -> Result<SearchMatch> {
        let Some(words) = query.words.query() else { return Ok(SearchMatch::default()) };
        let (filter, values) = query.filter();
        // each row carries the total, so read at least one
        let most = i64::try_from(query.most.max(1)).unwrap_or(i64::MAX);
        let sql = format!(
            "SELECT o.id, -words.rank AS score, count(*) OVER () FROM words CROSS JOIN record o ON o.r = words.rowid \
             WHERE words MATCH ? AND o.superseded = 0{filter} ORDER BY score DESC, o.id DESC LIMIT {most}"
        );
        let mut total: i64 = 0;
        let mut hits = self.select(&sql, params_from_iter([words].into_iter().chain(values)), |row| {
            total = row.get(2)?;
            Ok((schema::id_in(row, 0)?, Some(row.get(1)?)))
        })?;
        hits.truncate(query.most);
        Ok(SearchMatch { hits, total: total as usize })
    }

    /// All records that match the filter, newest first.
    fn newest(&self, query: &SearchQuery) -> Result<SearchMatch> {
        let (filter, values) = query.filter();
        let (mut total, mut hits) = (0, Vec::new());
        let most = i64::try_from(query.most).unwrap_or(i64::MAX);
        let is_tallied = query.without.is_empty()
            && query.sessions.is_empty()
            && query.since.is_none()
            && query.until.is_none()
            && query.among.is_none();
        let counted = if is_tallied { "ifnull(sum(n), 0) FROM tally" } else { "count(*) FROM record" };
        let kinds = KINDS.into_iter().filter(|kind| query.kinds.is_empty() || query.kinds.contains(kind));
        for kind in kinds.flat_map(|kind| rows_of(kind, query.all)) {
            let values = || params_from_iter([kind.as_str()].into_iter().chain(values.iter().map(String::as_str)));
            let condition = format!("o.kind = ? AND o.superseded = 0{filter}");
            let sql = format!("SELECT o.id FROM record o WHERE {condition} ORDER BY o.id DESC LIMIT {most}");
            hits.extend(self.select(&sql, values(), |row| schema::id_in(row, 0))?);
            total += self.number(&format!("SELECT {counted} o WHERE {condition}"), values())?;
        }
        hits.sort_by(|a, b| b.cmp(a));
        hits.truncate(query.most);
        Ok(SearchMatch { hits: hits.into_iter().map(|id| (id, None)).collect(), total })
    }
}

/// The `kind` of rows of a kind: in force, and of all also the others.
fn rows_of(kind: &str, all: bool) -> Vec<String> {
    let gone = all.then(|| format!("{}{kind}", schema::GONE));
    std::iter::once(kind.to_owned()).chain(gone).collect()
}

/// First bytes of IDs made at a second or later, in hex: IDs begin with milliseconds in 48 bits.
fn beginning(second: i64) -> String {
    let millis = u64::try_from(second.saturating_mul(1000)).unwrap_or(0).min((1 << 48) - 1);
    format!("{millis:012x}")
}

impl SearchQuery {
    /// The conditions on `record o`, and their values. Lists are passed as JSON, so any length fits.
    fn filter(&self) -> (String, Vec<String>) {
        let (mut sql, mut values) = (String::new(), Vec::new());
        let mut list = |condition: &str, all: Vec<String>| {
            if !all.is_empty() {
                sql.push_str(&format!(" AND {condition}"));
                values.push(json!(all).to_string());
            }
        };
        let kinds: Vec<String> = self.kinds.iter().flat_map(|kind| rows_of(kind, self.all)).collect();
        let has_kinds = !kinds.is_empty();
        list("o.kind IN (SELECT value FROM json_each(?))", kinds);
        list("o.ai IN (SELECT value FROM json_each(?))", self.ais.clone());
        let hex = |id: &SessionId| id.as_str().replace('-', "");
        list(
            "o.s IN (SELECT s FROM session JOIN json_each(?) ON session.id = unhex(value))",
            self.sessions.iter().map(hex).collect(),
        );
        if !has_kinds && !self.all {
            sql.push_str(&format!(" AND {}", schema::IN_FORCE));
        }
        for (condition, value) in [
            ("o.id >= unhex(?)", self.since.map(beginning)),
            ("o.id < unhex(?)", self.until.map(|until| beginning(until.saturating_add(1)))),
            ("o.r NOT IN (SELECT rowid FROM words WHERE words MATCH ?)", WordSet::Any(self.without.clone()).query()),
            ("o.r IN (SELECT value FROM json_each(?))", self.among.as_ref().map(|rows| json!(rows).to_string())),
        ] {
            if let Some(value) = value {
                sql.push_str(&format!(" AND {condition}"));
                values.push(value);
            }
        }
        (sql, values)
    }
}
