//! How well a text answers a query: BM25 over stems, with more for what the measurements in docs/performance.md support.

use std::collections::BTreeSet;

use crate::text::query::Term;
use crate::text::stem::{Stems, begin_alike, each_identifier, is_stop};
use crate::text::words::{each, words};

/// The constants of BM25: how soon more of a word adds nothing, and how much a longer text counts less.
const K1: f64 = 1.0;
const B: f64 = 0.4;
/// The power of a word's rarity.
const RARITY: f64 = 1.5;
/// What adds to the rarity of a word in the first part of a text, of two neighbors of the query that are neighbors in it, and of a
/// whole identifier.
const FIRST: f64 = 0.7;
const PAIR: f64 = 0.4;
const IDENTIFIER: f64 = 1.0;

/// A word of the query.
#[derive(Debug, Clone, PartialEq)]
struct Wanted {
    /// Its stem, or the beginning of a word.
    text: String,
    is_prefix: bool,
    rarity: f64,
}

impl Wanted {
    /// Whether a word of a text, with its stem, is this one.
    fn is(&self, word: &str, stem: &str) -> bool {
        if self.is_prefix { word.starts_with(&self.text) } else { stem == self.text }
    }
}

/// A query to rank texts by.
pub struct Ranking {
    stems: Stems,
    wanted: Vec<Wanted>,
    /// Neighbors in `wanted`.
    pairs: BTreeSet<(usize, usize)>,
    identifiers: BTreeSet<String>,
}

/// A text as it is ranked.
pub struct RankedText {
    /// The number of words.
    pub count: usize,
    /// How many of them are in the first of several parts.
    first: usize,
    /// The places of each word of the query among the words, in order.
    places: Vec<Vec<usize>>,
    identifiers: BTreeSet<String>,
}

/// The words of a query that a text has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundWords {
    /// How many.
    pub count: usize,
    /// Whether none is missing.
    pub all: bool,
}

impl Ranking {
    /// Ranks by these terms. `found` tells how many of `all` texts have a term.
    pub fn new(terms: &[Term], all: usize, mut found: impl FnMut(&Term) -> usize) -> Self {
        let stems = Stems::default();
        let (mut wanted, mut pairs, mut identifiers): (Vec<Wanted>, _, _) = Default::default();
        let mut before: Option<usize> = None;
        for term in terms {
            each_identifier(&term.text, |whole| {
                BTreeSet::insert(&mut identifiers, whole);
            });
            let words = words(&term.text);
            for (at, word) in words.iter().enumerate() {
                let is_prefix = term.is_prefix && at + 1 == words.len();
                let text = if is_prefix { word.clone() } else { stems.of(word).to_string() };
                if is_stop(word) && !is_prefix && terms.len() > 1 {
                    before = None;
                    continue;
                }
                let place = wanted.iter().position(|one| one.text == text && one.is_prefix == is_prefix);
                let place = place.unwrap_or_else(|| {
                    let having = found(&Term { text: word.clone(), is_prefix, is_required: false }).min(all) as f64;
                    let rarity = (1.0 + (all as f64 - having + 0.5) / (having + 0.5)).ln().powf(RARITY);
                    wanted.push(Wanted { text, is_prefix, rarity });
                    wanted.len() - 1
                });
                if let Some(before) = before.replace(place) {
                    BTreeSet::insert(&mut pairs, (before, place));
                }
            }
        }
        Ranking { stems, wanted, pairs, identifiers }
    }

    /// Reads a text of these parts.
    pub fn read(&self, parts: &[&str]) -> RankedText {
        let places = vec![Vec::new(); self.wanted.len()];
        let mut out = RankedText { count: 0, first: 0, places, identifiers: BTreeSet::new() };
        for (at, part) in parts.iter().enumerate() {
            each(part, |word, _, _| {
                if self.wanted.iter().any(|wanted| begin_alike(&wanted.text, word)) {
                    let stem = self.stems.of(word);
                    for (wanted, places) in self.wanted.iter().zip(&mut out.places) {
                        if wanted.is(word, &stem) {
                            places.push(out.count);
                        }
                    }
                }
                out.count += 1;
            });
            if at == 0 && parts.len() > 1 {
                out.first = out.count;
            }
            if !self.identifiers.is_empty() {
                each_identifier(part, |whole| {
                    out.identifiers.insert(whole);
                });
            }
        }
        out
    }

    /// The score of a text, above 0 if it has a word of the query, beside texts of so many words on average.
    pub fn score(&self, text: &RankedText, average: f64) -> f64 {
        let norm = K1 * (1.0 - B + B * text.count as f64 / average.max(1.0));
        let mut out = 0.0;
        for (wanted, found) in self.wanted.iter().zip(&text.places) {
            let count = found.len() as f64;
            out += wanted.rarity * count * (K1 + 1.0) / (count + norm);
            if found.first().is_some_and(|at| *at < text.first) {
                out += FIRST * wanted.rarity;
            }
        }
        for (first, second) in &self.pairs {
            if text.places[*first].iter().any(|at| text.places[*second].binary_search(&(at + 1)).is_ok()) {
                out += PAIR * (self.wanted[*first].rarity + self.wanted[*second].rarity) / 2.0;
            }
        }
        // as rare as the rarest word of the query
        let rarest = self.wanted.iter().map(|wanted| wanted.rarity).fold(0.0, f64::max);
        out + IDENTIFIER * rarest * self.identifiers.intersection(&text.identifiers).count() as f64
    }

    /// How many words of the query a text has, and whether these are all.
    pub fn found(&self, text: &RankedText) -> FoundWords {
        let count = text.places.iter().filter(|places| !places.is_empty()).count();
        FoundWords { count, all: count == self.wanted.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::query::parse;

    fn scores(query: &str, texts: &[&[&str]]) -> Vec<f64> {
        let ranking = Ranking::new(&parse(query).expect("a query").wanted, 1000, |_| 10);
        texts.iter().map(|parts| ranking.score(&ranking.read(parts), 10.0)).collect()
    }

    #[track_caller]
    fn falls(query: &str, texts: &[&[&str]]) {
        let all = scores(query, texts);
        assert!(all.windows(2).all(|two| two[0] > two[1]), "{query}: {all:?}");
    }

    #[test]
    fn more_and_rarer_words_neighbors_identifiers_and_first_parts_count_more() {
        falls("flaky login test", &[&["flaky login test"], &["the login is flaky"], &["a login"], &["nothing"]]);
        falls("login token", &[&["the login token"], &["the token of a login"]]);
        falls("parse_url", &[&["parse_url fails"], &["url: cannot parse it"], &["the url"]]);
        falls("cache", &[&["the cache", "is slow"], &["it is slow", "the cache"]]);
        falls("caching*", &[&["caching"], &["cache"]]);
        assert_eq!(scores("caches", &[&["cached"]]), scores("cache", &[&["cached"]]));
        assert_eq!(scores("login", &[&["nothing"]]), [0.0]);
    }

    #[test]
    fn stop_words_count_only_alone() {
        let ranking = |query: &str| Ranking::new(&parse(query).expect("a query").wanted, 10, |_| 1);
        let of = |query: &str, text: &str| {
            let ranking = ranking(query);
            (ranking.score(&ranking.read(&[text]), 3.0) > 0.0, ranking.found(&ranking.read(&[text])).all)
        };
        assert_eq!(of("why the cache", "why the"), (false, false));
        assert_eq!(of("why the cache", "a cache"), (true, true));
        assert_eq!(of("why", "why the"), (true, true));
    }
}
