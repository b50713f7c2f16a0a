//! Full-text queries: which records contain words, best first.

use rusqlite::params_from_iter;
use serde_json::json;

use crate::index::connection::Index;
use crate::index::schema;
use crate::text::query::{KINDS, Term};
use crate::text::similarity::is_dense;
use crate::text::stem::is_stop;
use crate::text::words;
use empirica_notes::error::Result;
use empirica_notes::model::{Id, SessionId};

/// Most matches that FTS5 ranks: it scores each of them.
pub const RANKED: usize = 10_000;
/// How many records of equal rank are compared by age.
const EQUALS: usize = 200;
/// How many rows tell how frequent a word is.
const SAMPLE: usize = 10_000;

/// The words of a query; without any, they do not restrict.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WordSet {
    /// Each of these must occur.
    pub required: Vec<Term>,
    /// Of these and the required ones, at least one must occur. Stop words count only if all are.
    pub any: Vec<Term>,
}

/// Filter for records; an empty field does not restrict.
#[derive(Debug, Clone, Default)]
pub struct SearchQuery {
    /// The words to find.
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
    /// Only these records.
    pub ids: Vec<Id>,
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
    /// Number of matches, beyond the limit too. More than [`RANKED`], and more than the limit, count as one more than that.
    pub total: usize,
}

impl WordSet {
    /// Those of these terms in quotes are required.
    pub fn of(terms: Vec<Term>) -> Self {
        let (required, any) = terms.into_iter().partition(|term| term.is_required);
        WordSet { required, any }
    }

    pub fn is_empty(&self) -> bool {
        self.required.is_empty() && self.any.is_empty()
    }

    /// The terms as they are looked for: the required ones, and [`sought`](Self::sought).
    pub fn terms(&self) -> Vec<Term> {
        self.required.iter().cloned().chain(self.sought()).collect()
    }

    /// Those of which one must occur: a name of several words as each of them, without stop words unless all are.
    pub fn sought(&self) -> Vec<Term> {
        let split = |term: &Term| -> Vec<Term> {
            let words = words::words(&term.text);
            // in scripts without spaces, each character is a word
            if words.len() < 2 || term.text.chars().any(is_dense) {
                return vec![term.clone()];
            }
            let last = words.len() - 1;
            let word = |(at, text)| Term { text, is_prefix: term.is_prefix && at == last, is_required: false };
            words.into_iter().enumerate().map(word).collect()
        };
        let mut any: Vec<Term> = self.any.iter().flat_map(split).collect();
        let says_something = |term: &Term| term.is_prefix || !is_stop(&words::words(&term.text).concat());
        if !self.required.is_empty() || any.iter().any(says_something) {
            any.retain(says_something);
        }
        any
    }

    /// The words as an FTS5 query; `None` if no record can match. Tokens are letters, digits and marks in quotes, so
    /// no syntax can be injected.
    fn query(&self) -> Option<String> {
        let terms = self.terms();
        let all = any_of(&terms)?;
        let required: Vec<String> = self.required.iter().map(phrase).collect::<Option<_>>()?;
        Some(required.iter().map(|phrase| format!("{phrase} AND ")).collect::<String>() + &format!("({all})"))
    }
}

/// At least one of the terms as an FTS5 query; `None` if none has a word.
fn any_of(terms: &[Term]) -> Option<String> {
    let phrases: Vec<String> = terms.iter().filter_map(phrase).collect();
    (!phrases.is_empty()).then(|| phrases.join(" OR "))
}

/// A term as an FTS5 phrase; `None` if it has no word.
pub(super) fn phrase(term: &Term) -> Option<String> {
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
            0 => WordSet { required: terms.take(most).collect(), any: Vec::new() },
            _ => WordSet { required: Vec::new(), any: terms.take(rare.min(most)).collect() },
        })
    }

    /// How many records have a term; of many records estimated by those indexed last.
    pub fn having(&self, term: &Term) -> Result<usize> {
        let Some(phrase) = phrase(term) else { return Ok(0) };
        let last = self.number("SELECT ifnull(max(r), 0) FROM record", [])?;
        let first = last.saturating_sub(SAMPLE);
        let found = "SELECT count(*) FROM words WHERE words MATCH ? AND rowid > ?";
        let found = self.number(found, (phrase, first as i64))?;
        Ok(found * last.max(1) / last.saturating_sub(first).max(1))
    }

    /// How many records are searched.
    pub fn searched(&self) -> Result<usize> {
        KINDS.into_iter().map(|kind| self.count(kind)).sum()
    }

    /// The records in force that have the words.
    pub fn search(&self, query: &SearchQuery) -> Result<SearchMatch> {
        if query.words.is_empty() { self.newest(query) } else { self.ranked(query) }
    }

    /// The records with the words, best first.
    fn ranked(&self, query: &SearchQuery) -> Result<SearchMatch> {
        let Some(words) = query.words.query() else { return Ok(SearchMatch::default()) };
        let words = match any_of(&query.without) {
            Some(without) => format!("({words}) NOT ({without})"),
            None => words,
        };
        let filtered = SearchQuery { without: Vec::new(), ..query.clone() };
        let (is_wanted, bound) = match filtered.is_filtered() {
            true => {
                let (filter, values) = filtered.filter();
                (
                    format!("EXISTS (SELECT 1 FROM record o WHERE o.r = words.rowid AND o.superseded = 0{filter})"),
                    values,
                )
            }
            // the rows that are not in force are few and together, those of all matches are not
            false => {
                let gone =
                    format!("FROM record o INDEXED BY record_gone WHERE o.r = words.rowid AND {}", schema::IS_GONE);
                (format!("NOT EXISTS (SELECT 1 {gone})"), Vec::new())
            }
        };
        let values = || params_from_iter([words.as_str()].into_iter().chain(bound.iter().map(String::as_str)));
        let most = query.most;
        let limit = most.max(RANKED);
        let counted =
            format!("SELECT 1 FROM words WHERE words MATCH ? AND {is_wanted} ORDER BY rowid DESC LIMIT {}", limit + 1);
        let total = self.number(&format!("SELECT count(*) FROM ({counted})"), values())?;
        if most == 0 {
            return Ok(SearchMatch { hits: Vec::new(), total });
        }
        if total > limit {
            return Ok(SearchMatch { hits: self.frequent(query, &words, &is_wanted, &bound)?, total });
        }
        // of more equals than these, any
        let equals = most.saturating_add(EQUALS);
        let sql = format!(
            "SELECT o.id, -s.rank FROM (SELECT rowid AS r, bm25(words) AS rank FROM words WHERE words MATCH ? AND {is_wanted} \
             ORDER BY 2 LIMIT {equals}) s CROSS JOIN record o ON o.r = s.r ORDER BY s.rank, o.id DESC LIMIT {most}"
        );
        let hits = self.select(&sql, values(), |row| Ok((schema::id_in(row, 0)?, Some(row.get(1)?))))?;
        Ok(SearchMatch { hits, total })
    }

    /// All records that match the filter, newest first, those ahead of the clock last.
    fn newest(&self, query: &SearchQuery) -> Result<SearchMatch> {
        let (filter, values) = query.filter();
        let (mut total, mut hits) = (0, Vec::new());
        let is_tallied = query.without.is_empty()
            && query.sessions.is_empty()
            && query.since.is_none()
            && query.until.is_none()
            && query.ids.is_empty()
            && query.among.is_none();
        let counted = if is_tallied { "ifnull(sum(n), 0) FROM tally" } else { "count(*) FROM record" };
        let kinds = KINDS.into_iter().filter(|kind| query.kinds.is_empty() || query.kinds.contains(kind));
        for kind in kinds.flat_map(|kind| rows_of(kind, query.all)) {
            let values = || params_from_iter([kind.as_str()].into_iter().chain(values.iter().map(String::as_str)));
            let condition = format!("o.kind = ? AND o.superseded = 0{filter}");
            hits.extend(self.ahead_last(0, query.most, |when, most, _| {
                let sql = format!(
                    "SELECT o.id FROM record o WHERE {condition} AND o.id {when} ORDER BY o.id DESC LIMIT {most}"
                );
                self.select(&sql, values(), |row| schema::id_in(row, 0))
            })?);
            total += self.number(&format!("SELECT {counted} o WHERE {condition}"), values())?;
        }
        let horizon = self.store.horizon();
        hits.sort_by_cached_key(|id| horizon.newest_first(id));
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
    /// Whether it restricts the records besides the words.
    pub fn is_filtered(&self) -> bool {
        let lists = [
            self.kinds.is_empty(),
            self.ais.is_empty(),
            self.sessions.is_empty(),
            self.without.is_empty(),
            self.ids.is_empty(),
        ];
        let is_open = self.since.is_none() && self.until.is_none() && self.among.is_none();
        self.all || !is_open || lists.contains(&false)
    }

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
        let hex = |id: &str| id.replace('-', "");
        list(
            "o.s IN (SELECT s FROM session JOIN json_each(?) ON session.id = unhex(value))",
            self.sessions.iter().map(|id| hex(id.as_str())).collect(),
        );
        list("o.id IN (SELECT unhex(value) FROM json_each(?))", self.ids.iter().map(|id| hex(id.as_str())).collect());
        if !has_kinds && !self.all {
            sql.push_str(&format!(" AND {}", schema::IN_FORCE));
        }
        for (condition, value) in [
            ("o.id >= unhex(?)", self.since.map(beginning)),
            ("o.id < unhex(?)", self.until.map(|until| beginning(until.saturating_add(1)))),
            ("o.r NOT IN (SELECT rowid FROM words WHERE words MATCH ?)", any_of(&self.without)),
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
