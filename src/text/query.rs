//! The query language of `search`: words, phrases, prefixes, exclusions and fields.

use crate::text::words::words;
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::model::record::CLAIMS;

/// Searchable kinds, by `kind` key: claims and handoffs.
pub const KINDS: [&str; CLAIMS.len() + 1] = {
    let mut out = ["handoff"; CLAIMS.len() + 1];
    let mut at = 0;
    while at < CLAIMS.len() {
        out[at] = CLAIMS[at];
        at += 1;
    }
    out
};

/// Most characters of a query.
pub const MAX_QUERY_CHARS: usize = 4000;

/// A word or a phrase.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Term {
    /// As given, without quotes; punctuation splits it into consecutive words.
    pub text: String,
    /// Whether its last word is a prefix.
    pub is_prefix: bool,
    /// Whether it must occur: a phrase in quotes.
    pub is_required: bool,
}

/// The terms with a word: punctuation is not indexed.
pub fn findable(terms: Vec<Term>) -> Vec<Term> {
    terms.into_iter().filter(|term| !words(&term.text).is_empty()).collect()
}

/// A parsed query; any list may be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// Terms that should occur; those in quotes must.
    pub wanted: Vec<Term>,
    /// Terms that must not occur.
    pub unwanted: Vec<Term>,
    /// Kinds by `kind` key; empty for all.
    pub kinds: Vec<&'static str>,
    /// Agents; empty for all.
    pub ais: Vec<String>,
    /// Sessions as named; empty for all.
    pub sessions: Vec<String>,
}

/// The `kind` key of a kind in any spelling: `deadend`, `dead-end`, `Dead_Ends`.
pub fn kind(word: &str) -> Option<&'static str> {
    let plain: String = word.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
    let one = plain.strip_suffix('s').unwrap_or(&plain);
    KINDS.into_iter().find(|kind| name(kind) == one)
}

/// The name of a kind in queries: `deadend`.
pub fn name(kind: &str) -> String {
    kind.replace('_', "")
}

/// Parses a query. Unknown fields, and fields without a value, are text; an unclosed quote is punctuation. Unknown
/// kinds and queries above [`MAX_QUERY_CHARS`] characters are usage errors.
pub fn parse(text: &str) -> Result<Query> {
    if text.chars().count() > MAX_QUERY_CHARS {
        return Err(Error::usage(format!("cannot search: the query has more than {MAX_QUERY_CHARS} characters"))
            .reason("search finds records by the few words that matter")
            .suggest("Give the few words that matter; search --like takes long texts.")
            .command(empirica("help").arg("search")));
    }
    let mut out = Query::default();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (term, is_unwanted) = match rest.strip_prefix('-') {
            Some(term) if !term.starts_with(char::is_whitespace) && !term.is_empty() => (term, true),
            _ => (rest, false),
        };
        if !is_unwanted && let Some((name, value, left)) = field(term) {
            out.add(name, value)?;
            rest = left.trim_start();
            continue;
        }
        let (text, left) = quoted(term).unwrap_or_else(|| word(term));
        let bare = left.trim_start_matches('*');
        let (text, is_prefix) = match text.trim_end_matches('*') {
            cut if cut.len() < text.len() && !term.starts_with('"') => (cut, true),
            _ => (text, bare.len() < left.len()),
        };
        let list = if is_unwanted { &mut out.unwanted } else { &mut out.wanted };
        let is_required = term.starts_with('"') && quoted(term).is_some();
        let term = Term { text: text.to_owned(), is_prefix, is_required };
        if !term.text.is_empty() && !list.iter().any(|other| other.text == term.text) {
            list.push(term);
        }
        rest = bare.trim_start();
    }
    Ok(out)
}

impl Query {
    fn add(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "ai" => self.ais.push(value.to_owned()),
            "session" => self.sessions.push(value.to_owned()),
            _ => {
                for word in value.split(',').filter(|word| !word.is_empty()) {
                    self.kinds.push(kind(word).ok_or_else(|| no_kind(word))?);
                }
            }
        }
        Ok(())
    }
}

fn no_kind(word: &str) -> Error {
    let error = Error::usage(format!("cannot search for the kind '{word}': it is not a kind of record"))
        .provided(word)
        .reason("kind: takes the name of a kind")
        .suggest("Use one of these, or put the word into quotes to search for it.");
    KINDS.iter().fold(error, |error, kind| error.alternative(format!("kind:{}", name(kind))))
}

/// Splits at the first white space after the beginning.
fn word(text: &str) -> (&str, &str) {
    text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()))
}

/// A closed quotation, and the rest.
fn quoted(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix('"')?.split_once('"')
}

/// A known field, its value, and the rest.
fn field(text: &str) -> Option<(&'static str, &str, &str)> {
    let (name, value) = text.split_once(':')?;
    let name = ["kind", "ai", "session"].into_iter().find(|field| name.eq_ignore_ascii_case(field))?;
    let (value, left) = quoted(value).unwrap_or_else(|| word(value));
    (!value.trim_matches(',').is_empty()).then_some((name, value, left))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<String>, Vec<String>) {
        let query = parse(text).expect("a query");
        let shown = |terms: Vec<Term>| {
            terms.into_iter().map(|term| term.text + if term.is_prefix { "*" } else { "" }).collect::<Vec<_>>()
        };
        (shown(query.wanted), shown(query.unwanted))
    }

    fn wanted(text: &str) -> Vec<String> {
        read(text).0
    }

    #[test]
    fn words_phrases_prefixes_and_exclusions_are_distinct() {
        assert_eq!(wanted("flaky  login\ttest"), ["flaky", "login", "test"]);
        assert_eq!(wanted("\"flaky login\" test"), ["flaky login", "test"]);
        assert_eq!(wanted("tok* \"flaky lo\"* **"), ["tok*", "flaky lo*"]);
        assert_eq!(wanted("\"a*\" \"b"), ["a*", "\"b"]);
        assert_eq!(wanted("a a \"a\""), ["a"], "once is enough");
        assert_eq!(
            read("login -flaky -\"a b\" - x"),
            (vec!["login".into(), "-".into(), "x".into()], vec!["flaky".into(), "a b".into()])
        );
        assert_eq!(wanted("  "), [""; 0]);
        assert_eq!(wanted("AND OR NEAR( a+b ^c {d}"), ["AND", "OR", "NEAR(", "a+b", "^c", "{d}"]);
        assert_eq!(wanted("a \"\" b"), ["a", "b"]);
    }

    #[test]
    fn signs_are_no_words() {
        let query = parse("a - \"令\" ! \"… ?\"* \u{301}").expect("a query");
        let texts: Vec<String> = findable(query.wanted).into_iter().map(|term| term.text).collect();
        assert_eq!(texts, ["a", "令"]);
    }

    #[test]
    fn known_fields_filter_and_others_are_text() {
        let query =
            parse("kind:deadend,Findings KIND:dead-end ai:codex ai:\"claude code\" session:latest x").expect("a query");
        assert_eq!(query.kinds, ["dead_end", "finding", "dead_end"]);
        assert_eq!(query.ais, ["codex", "claude code"]);
        assert_eq!((query.sessions, query.wanted.len()), (vec!["latest".to_owned()], 1));
        assert_eq!(
            wanted("foo:bar http://x/y kind: ai: \"kind:finding\""),
            ["foo:bar", "http://x/y", "kind:", "ai:", "kind:finding"]
        );
        let error = parse("kind:findng").expect_err("no kind");
        assert_eq!(error.alternatives().len(), KINDS.len());
        assert!(parse(&"a ".repeat(MAX_QUERY_CHARS / 2)).is_ok());
        assert!(parse(&"a ".repeat(MAX_QUERY_CHARS)).is_err());
    }
}
