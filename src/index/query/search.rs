//! Full-text queries: which records contain words, best first.

use rusqlite::{Connection, params_from_iter};

use crate::index::connection::Index;
use crate::index::fault::IndexError;
use crate::index::query::handoffs::HandoffRow;
use crate::index::schema;
use crate::text::query::{KINDS, Term};
use crate::text::words;
use empirica_notes::error::Result;
use empirica_notes::model::{Id, SessionId};

/// Words to find.
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
pub struct SearchQuery<'a> {
    /// Words that must occur. A term without a word never matches.
    pub words: WordSet,
    /// Words that must not occur.
    pub without: &'a [Term],
    /// Kinds, by `kind` key.
    pub kinds: &'a [&'a str],
    /// The agents of the records.
    pub ais: &'a [String],
    /// The sessions of the records.
    pub sessions: &'a [SessionId],
    /// Made in this Unix second or later, by record ID.
    pub since: Option<i64>,
    /// Made in this Unix second or earlier, by record ID.
    pub until: Option<i64>,
    /// Only these handoffs.
    pub among: Option<&'a [HandoffRow]>,
    /// Most records to return.
    pub most: usize,
}

/// Result of a search.
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

/// Number of records with a term, counted up to `cap + 1`.
fn count(db: &Connection, term: &Term, cap: usize) -> Result<usize, IndexError> {
    let Some(phrase) = phrase(term) else { return Ok(0) };
    let mut find = db.prepare_cached("SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)")?;
    Ok(find.query_row((phrase, cap as i64 + 1), |row| row.get::<_, i64>(0))? as usize)
}

/// The records in force that have the words, best first.
fn ranked(db: &Connection, request: &SearchQuery<'_>) -> Result<SearchMatch, IndexError> {
    let Some(words) = request.words.query() else { return Ok(SearchMatch::default()) };
    let (filter, mut values) = request.filter();
    values.insert(0, words);
    // each row carries the total, so read at least one
    let most = i64::try_from(request.most.max(1)).unwrap_or(i64::MAX);
    let mut find = db.prepare_cached(&format!(
        "SELECT o.id, -words.rank AS score, count(*) OVER () FROM words CROSS JOIN record o ON o.r = words.rowid \
         WHERE words MATCH ? AND o.aside = 0{filter} ORDER BY score DESC, o.id DESC LIMIT {most}"
    ))?;
    let mut rows = find.query(params_from_iter(&values))?;
    let mut found = SearchMatch::default();
    while let Some(row) = rows.next()? {
        found.total = row.get::<_, i64>(2)? as usize;
        found.hits.extend(Id::parse(&schema::text(&row.get::<_, [u8; 16]>(0)?)).zip(Some(Some(row.get(1)?))));
    }
    found.hits.truncate(request.most);
    Ok(found)
}

impl Index<'_> {
    /// The `most` rarest of the terms that occur, each in at most `cap` records. If every term that occurs is more
    /// frequent, all of these must match together.
    pub fn rarest(&self, terms: Vec<Term>, most: usize, cap: usize) -> Result<WordSet> {
        let read = || -> Result<WordSet, IndexError> {
            let mut counted: Vec<(usize, Term)> = Vec::new();
            for term in terms {
                counted.push((count(&self.opened.db, &term, cap)?, term));
            }
            counted.retain(|(count, _)| *count > 0);
            counted.sort();
            let rare: Vec<Term> = counted.iter().filter(|(n, _)| *n <= cap).map(|(_, t)| t.clone()).collect();
            if rare.is_empty() {
                return Ok(WordSet::All(counted.into_iter().map(|(_, term)| term).take(most).collect()));
            }
            Ok(WordSet::Any(rare.into_iter().take(most).collect()))
        };
        self.fine(read())
    }

    /// The records in force that have the words.
    pub fn search(&self, query: &SearchQuery<'_>) -> Result<SearchMatch> {
        let (WordSet::All(terms) | WordSet::Any(terms)) = &query.words;
        self.fine(if terms.is_empty() { self.newest(query) } else { ranked(&self.opened.db, query) })
    }

    fn newest(&self, query: &SearchQuery<'_>) -> Result<SearchMatch, IndexError> {
        let db = &self.opened.db;
        let (filter, mut values) = query.filter();
        let (mut total, mut hits) = (0, Vec::new());
        let most = i64::try_from(query.most).unwrap_or(i64::MAX);
        let is_tallied = query.without.is_empty()
            && query.sessions.is_empty()
            && query.since.is_none()
            && query.until.is_none()
            && query.among.is_none();
        let kinds: Vec<&str> = if query.kinds.is_empty() { KINDS.to_vec() } else { query.kinds.to_vec() };
        for kind in KINDS.iter().filter(|kind| kinds.contains(kind)) {
            values.insert(0, (*kind).to_owned());
            let rest = format!("FROM record o WHERE o.kind = ? AND o.aside = 0{filter}");
            let mut find = db.prepare_cached(&format!("SELECT o.id {rest} ORDER BY o.id DESC LIMIT {most}"))?;
            let mut rows = find.query(params_from_iter(&values))?;
            while let Some(row) = rows.next()? {
                hits.extend(Id::parse(&schema::text(&row.get::<_, [u8; 16]>(0)?)));
            }
            let count = match is_tallied {
                true => format!("SELECT ifnull(sum(n), 0) FROM tally o WHERE o.kind = ? AND o.aside = 0{filter}"),
                false => format!("SELECT count(*) {rest}"),
            };
            let mut find = db.prepare_cached(&count)?;
            total += find.query_row(params_from_iter(&values), |row| row.get::<_, i64>(0))? as usize;
            values.remove(0);
        }
        hits.sort_by(|a, b| b.cmp(a));
        hits.truncate(query.most);
        Ok(SearchMatch { hits: hits.into_iter().map(|id| (id, None)).collect(), total })
    }
}

/// The rows of handoffs, sorted.
fn rows(handoffs: &[HandoffRow]) -> Vec<i64> {
    let mut rows: Vec<i64> = handoffs.iter().map(|row| row.r).collect();
    rows.sort_unstable();
    rows
}

impl SearchQuery<'_> {
    /// First bytes of IDs made at a second or later: IDs begin with milliseconds in 48 bits.
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

    /// The conditions on `record o`, and their values. Lists are passed as JSON, so any length fits.
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
            ("o.r NOT IN (SELECT rowid FROM words WHERE words MATCH ?)", WordSet::Any(self.without.to_vec()).query()),
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
