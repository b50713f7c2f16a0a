//! Questions to the index about words: which records have them, best first, and where in a text they are.

use rusqlite::{Connection, params_from_iter};

use super::{Fault, Index, empty, schema, words};
use crate::epistemics::terms::Term;
use crate::error::Result;
use crate::model::{Id, SessionId};

/// How texts are parted into words, as in the table of the index.
const TOKENS: &str = "tokenize='unicode61 remove_diacritics 2'";

/// Which words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Words {
    /// All of them; none asks for no words.
    All(Vec<Term>),
    /// One of them at least.
    Any(Vec<Term>),
}

/// What is asked; what is empty is not asked about.
#[derive(Debug, Clone)]
pub struct Asked<'a> {
    /// What must be there. Terms without a word are for [`findable`] to leave out: nothing has them.
    pub words: Words,
    /// What must not be there.
    pub without: &'a [Term],
    /// The kinds, in the words of the `kind` key.
    pub kinds: &'a [&'a str],
    /// The agents of the records.
    pub ais: &'a [String],
    /// The sessions of the records.
    pub sessions: &'a [SessionId],
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

/// A term in the language of FTS5: quoted, so that nothing in it has a meaning there.
fn quoted(term: &Term) -> String {
    // what comes after a NUL would not be read
    let text: String = term.text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let star = if term.is_prefix { " *" } else { "" };
    format!("\"{}\"{star}", words::spaced(&text).replace('"', "\"\""))
}

fn joined(terms: &[Term], with: &str) -> String {
    terms.iter().map(quoted).collect::<Vec<_>>().join(with)
}

impl Words {
    /// In the language of FTS5; `None` for no words.
    fn expression(&self) -> Option<String> {
        match self {
            Words::All(terms) | Words::Any(terms) if terms.is_empty() => None,
            Words::All(terms) => Some(joined(terms, " AND ")),
            Words::Any(terms) => Some(joined(terms, " OR ")),
        }
    }
}

/// A table of texts in memory that are parted as those of the index are.
fn sheet<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<Connection, Fault> {
    let db = empty()?;
    db.execute_batch(&format!("BEGIN; CREATE VIRTUAL TABLE sheet USING fts5(text, {TOKENS})"))?;
    for (row, text) in texts.into_iter().enumerate() {
        db.prepare_cached("INSERT INTO sheet(rowid, text) VALUES(?, ?)")?.execute((row as i64, text))?;
    }
    db.execute_batch("COMMIT")?;
    Ok(db)
}

/// Where the words are in the texts of a sheet that have some of them, by row: begin and end in characters. `known` tells
/// of every row which character of the text as it is stands where.
fn places(db: &Connection, known: &[Vec<Option<usize>>], expression: &str) -> Result<Vec<Places>, Fault> {
    let mut out = vec![Vec::new(); known.len()];
    let mut find =
        db.prepare_cached("SELECT rowid, highlight(sheet, 0, char(1), char(2)) FROM sheet WHERE sheet MATCH ?")?;
    let mut rows = find.query([expression])?;
    while let Some(found) = rows.next()? {
        let row = usize::try_from(found.get::<_, i64>(0)?).unwrap_or(usize::MAX);
        if let (Some(out), Some(known)) = (out.get_mut(row), known.get(row)) {
            *out = marked(&found.get::<_, String>(1)?, known);
        }
    }
    Ok(out)
}

/// Begin and end in characters, the end not included.
type Places = Vec<(usize, usize)>;

fn marked(marked: &str, known: &[Option<usize>]) -> Places {
    let mut out: Places = Vec::new();
    let (mut at, mut begin, mut end) = (0, None, 0);
    let mut is_open = false;
    for c in marked.chars() {
        match c {
            '\u{1}' => (is_open, begin) = (true, None),
            '\u{2}' => {
                is_open = false;
                match (begin.take(), out.last_mut()) {
                    // what touches is one
                    (Some(begin), Some(last)) if last.1 == begin => last.1 = end,
                    (Some(begin), _) => out.push((begin, end)),
                    (None, _) => {}
                }
            }
            _ => {
                if let (true, Some(Some(original))) = (is_open, known.get(at)) {
                    begin = begin.or(Some(*original));
                    end = original + 1;
                }
                at += 1;
            }
        }
    }
    out
}

/// The terms that have a word: see [`Index::findable`].
fn findable(terms: Vec<Term>) -> Result<Vec<Term>, Fault> {
    let plain = |term: &Term| quoted(&Term { text: term.text.clone(), is_prefix: false });
    let quoted: Vec<String> = terms.iter().map(plain).collect();
    let db = sheet(quoted.iter().map(String::as_str))?;
    let mut find = db.prepare("SELECT count(*) FROM sheet WHERE rowid = ? AND sheet MATCH ?")?;
    let mut out = Vec::new();
    for (row, term) in terms.into_iter().enumerate() {
        if find.query_row((row as i64, &quoted[row]), |row| row.get::<_, i64>(0))? > 0 {
            out.push(term);
        }
    }
    Ok(out)
}

/// The records in force that have the words of this expression, best first.
fn ranked(db: &Connection, asked: &Asked<'_>, mut expression: String) -> Result<Found, Fault> {
    if !asked.without.is_empty() {
        expression = format!("({expression}) NOT ({})", joined(asked.without, " OR "));
    }
    let (filter, mut values) = asked.filter();
    let sql = if filter.is_empty() {
        // few are set aside: no row is looked up for the others
        "SELECT rowid, bm25(words) FROM words WHERE words MATCH ? \
         AND rowid NOT IN (SELECT r FROM record WHERE aside = 1)"
            .to_owned()
    } else {
        format!(
            "SELECT words.rowid, bm25(words) FROM words CROSS JOIN record o ON o.r = words.rowid \
             WHERE words MATCH ? AND o.aside = 0{filter}"
        )
    };
    values.insert(0, expression);
    let mut find = db.prepare_cached(&sql)?;
    let found = find.query_map(params_from_iter(&values), |row| Ok((row.get::<_, f64>(1)?, row.get::<_, i64>(0)?)))?;
    let mut found: Vec<(f64, i64)> = found.collect::<rusqlite::Result<_>>()?;
    let total = found.len();
    if asked.most == 0 || found.is_empty() {
        return Ok(Found { hits: Vec::new(), total });
    }
    // only those that may be among the best are put in order
    let last = asked.most.min(total) - 1;
    let worst = found.select_nth_unstable_by(last, |a, b| a.0.total_cmp(&b.0)).1.0;
    found.retain(|(score, _)| *score <= worst);
    let mut id = db.prepare_cached("SELECT id FROM record WHERE r = ?")?;
    let mut best: Vec<(f64, String)> = Vec::new();
    for (score, r) in found {
        best.push((score, schema::text(&id.query_row([r], |row| row.get::<_, Vec<u8>>(0))?)));
    }
    best.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(&a.1)));
    let hits = best.into_iter().take(asked.most);
    // FTS5 has the best lowest
    let hits = hits.filter_map(|(score, id)| Some((Id::parse(&id)?, Some(-score)))).collect();
    Ok(Found { hits, total })
}

impl Index<'_> {
    /// The terms that have a word: signs are not searched.
    pub fn findable(&self, terms: Vec<Term>) -> Result<Vec<Term>> {
        self.fine(findable(terms))
    }

    /// Where the words are in each of these texts: begin and end in characters, the end not included, in order.
    pub fn highlights(&self, texts: &[String], words: &Words) -> Result<Vec<Places>> {
        let (Words::All(terms) | Words::Any(terms)) = words;
        let read = || -> Result<Vec<Places>, Fault> {
            let Some(expression) = Words::Any(terms.clone()).expression() else { return Ok(vec![vec![]; texts.len()]) };
            let (spaced, known): (Vec<String>, Vec<_>) = texts.iter().map(|text| words::placed(text)).unzip();
            places(&sheet(spaced.iter().map(String::as_str))?, &known, &expression)
        };
        self.fine(read())
    }

    /// Of these terms the rarest that are there at all: `most` of them, in `cap` records each at most. When all that are
    /// there are in more, those are given, and none tells records apart alone.
    pub fn rarest(&self, terms: Vec<Term>, most: usize, cap: usize) -> Result<Words> {
        let read = || -> Result<Words, Fault> {
            let find = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)";
            let mut find = self.opened.db.prepare_cached(find)?;
            let mut counted: Vec<(i64, Term)> = Vec::new();
            for term in terms {
                let count = find.query_row((quoted(&term), cap as i64 + 1), |row| row.get(0))?;
                counted.push((count, term));
            }
            counted.retain(|(count, _)| *count > 0);
            counted.sort();
            let rare: Vec<Term> = counted.iter().filter(|(n, _)| *n <= cap as i64).map(|(_, t)| t.clone()).collect();
            if rare.is_empty() {
                return Ok(Words::All(counted.into_iter().map(|(_, term)| term).take(most).collect()));
            }
            Ok(Words::Any(rare.into_iter().take(most).collect()))
        };
        self.fine(read())
    }

    /// The records in force that have the words.
    pub fn search(&self, asked: &Asked<'_>) -> Result<Found> {
        self.fine(match asked.words.expression() {
            Some(expression) => ranked(&self.opened.db, asked, expression),
            None => self.newest(asked),
        })
    }

    fn newest(&self, asked: &Asked<'_>) -> Result<Found, Fault> {
        let db = &self.opened.db;
        let (filter, mut values) = asked.filter();
        let mut without = String::new();
        if !asked.without.is_empty() {
            without = " AND o.r NOT IN (SELECT rowid FROM words WHERE words MATCH ?)".to_owned();
            values.push(joined(asked.without, " OR "));
        }
        let (mut total, mut hits) = (0, Vec::new());
        let kinds: Vec<&str> = if asked.kinds.is_empty() { words::KINDS.to_vec() } else { asked.kinds.to_vec() };
        for kind in words::KINDS.iter().filter(|kind| kinds.contains(kind)) {
            values.insert(0, (*kind).to_owned());
            let rest = format!("FROM record o WHERE o.kind = ? AND o.aside = 0{filter}{without}");
            let is_told = asked.sessions.is_empty() && asked.without.is_empty();
            let count = match is_told {
                true => format!("SELECT ifnull(sum(n), 0) FROM tally o WHERE o.kind = ? AND o.aside = 0{filter}"),
                false => format!("SELECT count(*) {rest}"),
            };
            let values_of = || params_from_iter(&values);
            total += db.prepare_cached(&count)?.query_row(values_of(), |row| row.get::<_, i64>(0))? as usize;
            let most = i64::try_from(asked.most).unwrap_or(i64::MAX);
            let mut find = db.prepare_cached(&format!("SELECT o.id {rest} ORDER BY o.id DESC LIMIT {most}"))?;
            let found = find.query_map(values_of(), |row| row.get::<_, Vec<u8>>(0))?;
            for id in found {
                hits.extend(Id::parse(&schema::text(&id?)));
            }
            values.remove(0);
        }
        hits.sort_by(|a, b| b.cmp(a));
        hits.truncate(asked.most);
        Ok(Found { hits: hits.into_iter().map(|id| (id, None)).collect(), total })
    }
}

impl Asked<'_> {
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
        (sql, values)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::epistemics::terms::{LONGEST, parse};

    #[test]
    fn a_sheet_parts_texts_as_the_index_does() {
        assert!(schema::TABLES.contains(TOKENS));
    }

    fn found(text: &str, terms: &[&str]) -> Vec<String> {
        let terms = terms.iter().map(|term| Term { text: (*term).to_owned(), is_prefix: false }).collect();
        let (spaced, known) = words::placed(text);
        let db = sheet([spaced.as_str()]).expect("a table");
        let expression = Words::Any(terms).expression().expect("words");
        let chars: Vec<char> = text.chars().collect();
        let places = places(&db, &[known], &expression).expect("an answer");
        places.into_iter().flatten().map(|(begin, end)| chars[begin..end].iter().collect()).collect()
    }

    #[test]
    fn words_are_found_in_the_text_as_it_is() {
        assert_eq!(found("Der Zähler, le café: x\u{1}y", &["zahler", "CAFE", "y"]), ["Zähler", "café", "y"]);
        assert_eq!(found("认证令牌过期太早", &["令牌过期", "早"]), ["令牌过期", "早"]);
        assert_eq!(found("a flaky login test", &["flaky login"]), ["flaky login"]);
        assert_eq!(found("see a.b-c", &["b c"]), ["b-c"]);
        assert_eq!(found("nothing", &["some"]), [""; 0]);
    }

    proptest! {
        #[test]
        fn no_query_is_an_error_of_the_database(text in r#"[ -~"'*():^{}+\-\x00-\x1fé令🚀]{0,60}"#, any in any::<String>()) {
            let db = sheet(["some text"]).expect("a table");
            for text in [text, any] {
                let Ok(query) = parse(&text) else { continue };
                let all = [query.wanted, query.unwanted].concat();
                for words in [Words::All(all.clone()), Words::Any(all.clone())] {
                    let Some(expression) = words.expression() else { continue };
                    for expression in [expression.clone(), format!("({expression}) NOT ({expression})")] {
                        let asked = db.query_row("SELECT count(*) FROM sheet WHERE sheet MATCH ?", [&expression], |row| row.get::<_, i64>(0));
                        prop_assert!(asked.is_ok(), "{:?}: {:?}: {:?}", text, expression, asked);
                    }
                }
            }
        }
    }

    #[test]
    fn the_longest_queries_are_answered() {
        let db = sheet(["a b c"]).expect("a table");
        for unit in ["\"", "a ", "令", "a* ", "\"a\" "] {
            let text: String = unit.chars().cycle().take(LONGEST).collect();
            let terms = parse(&text).expect("a query").wanted;
            // as many different ones, too
            let many: Vec<Term> = (0..LONGEST / 4).map(|n| Term { text: format!("w{n}"), is_prefix: true }).collect();
            for words in [Words::All(terms.clone()), Words::Any([terms, many].concat())] {
                let Some(expression) = words.expression() else { continue };
                db.query_row("SELECT count(*) FROM sheet WHERE sheet MATCH ?", [&expression], |row| {
                    row.get::<_, i64>(0)
                })
                .expect("an answer");
            }
        }
    }
}
