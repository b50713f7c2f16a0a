//! The passage of a text that shows a search match.

use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;

use crate::text::query::Term;
use crate::text::stem::{Stems, begin_alike};
use crate::text::words::{each, words};

/// Most matching words of a text that [`places`] highlights.
const MAX_MATCHES: usize = 10_000;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Passage {
    /// One line: each run of white space is one space, and `…` marks omissions at either end.
    pub text: String,
    /// Ranges of matches, in characters of `text`, in order, without overlaps.
    pub highlights: Vec<(usize, usize)>,
}

/// Number of characters shown before the first match, if something is omitted.
const LEAD: usize = 40;

/// At most `most` characters of a text, besides the ellipses: the part with most distinct matches, the first of
/// equals; without matches, the beginning. `found` has ranges as in [`Passage::highlights`], of `text`.
pub fn passage(text: &str, found: &[(usize, usize)], most: usize) -> Passage {
    let mut line: Vec<char> = Vec::new();
    // the places on the line of the bounds of the matches, which are in order
    let mut bounds = found.iter().flat_map(|(begin, end)| [*begin, *end]).peekable();
    let mut placed: Vec<usize> = Vec::new();
    for (index, c) in text.chars().enumerate() {
        while bounds.next_if(|bound| *bound <= index).is_some() {
            placed.push(line.len());
        }
        if !c.is_whitespace() {
            line.push(c);
        } else if line.last().is_some_and(|last| *last != ' ') {
            line.push(' ');
        }
    }
    placed.extend(bounds.map(|_| line.len()));
    if line.last() == Some(&' ') {
        line.pop();
    }
    let (bounds, _) = placed.as_chunks::<2>();
    let found: Vec<(usize, usize)> =
        bounds.iter().map(|[begin, end]| (*begin.min(&line.len()), *end.min(&line.len()))).collect();
    if line.len() <= most {
        return Passage { text: line.into_iter().collect(), highlights: found };
    }
    let (begin, end) = window(&line, &found, most);
    let mut shown: String = line[begin..end].iter().collect();
    let shift = usize::from(begin > 0);
    if begin > 0 {
        shown.insert(0, '…');
    }
    if end < line.len() {
        shown.push('…');
    }
    let inside = found.iter().filter(|(from, to)| *from >= begin && *to <= end && from < to);
    Passage { text: shown, highlights: inside.map(|(from, to)| (from - begin + shift, to - begin + shift)).collect() }
}

/// Range of the passage on a longer line.
fn window(line: &[char], found: &[(usize, usize)], most: usize) -> (usize, usize) {
    let lead = LEAD.min(most / 4);
    let mut best: (usize, usize) = (0, 0);
    for (begin, _) in found {
        let start = begin.saturating_sub(lead).min(line.len() - most);
        // both ends are sorted
        let within = &found[found.partition_point(|(from, _)| *from < start)..];
        let within = &within[..within.partition_point(|(_, to)| *to <= start + most)];
        let things: BTreeSet<String> =
            within.iter().map(|(from, to)| line[*from..*to].iter().collect::<String>().to_lowercase()).collect();
        if things.len() > best.0 {
            best = (things.len(), start);
        }
    }
    let (mut start, mut end) = (best.1, best.1 + most);
    let inside = || found.iter().filter(|(from, to)| *from >= start && *to <= end);
    let (first, last) = (inside().map(|(from, _)| *from).min(), inside().map(|(_, to)| *to).max());
    // whole words, if their bounds are near
    if start > 0 && line[start - 1] != ' ' {
        let reach = first.unwrap_or(start + lead).min(start + lead);
        start = (start..reach).find(|at| line[*at] == ' ').map_or(start, |at| at + 1);
    }
    if end < line.len() && line[end] != ' ' {
        let least = last.unwrap_or(start).max(end.saturating_sub(lead));
        end = (least..end).rev().find(|at| line[*at] == ' ').unwrap_or(end);
    }
    (start, end)
}

/// Ranges of the terms in a text, in any form of their words, in characters, in order; overlapping and adjacent ones are merged.
/// Of many matching words, the first `MAX_MATCHES` count.
pub fn places(text: &str, terms: &[Term], stems: &Stems) -> Vec<(usize, usize)> {
    let stemmed = |term: &Term| {
        let mut words = words(&term.text);
        let keeps = term.is_prefix.then(|| words.pop()).flatten();
        words.iter_mut().for_each(|word| *word = stems.of(word).to_string());
        words.extend(keeps);
        (words, term.is_prefix)
    };
    let wanted: Vec<(Vec<String>, bool)> = terms.iter().map(stemmed).collect();
    let all: HashSet<&str> = wanted.iter().flat_map(|(words, _)| words).map(String::as_str).collect();
    let beginnings = wanted.iter().filter(|(_, is_prefix)| *is_prefix).filter_map(|(words, _)| words.last());
    let beginnings: BTreeSet<&str> = beginnings.map(String::as_str).collect();
    // words that may match
    let mut met: Vec<Met> = Vec::new();
    let mut count = 0;
    each(text, |word, begin, end| {
        count += 1;
        if met.len() == MAX_MATCHES || !all.iter().any(|one| begin_alike(one, word)) {
            return;
        }
        let stem = stems.of(word);
        if all.contains(&*stem) || is_begun(&beginnings, word) {
            met.push(Met { word: word.to_owned(), stem, number: count, begin, end });
        }
    });
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (wanted, is_prefix) in wanted.iter().filter(|(wanted, _)| !wanted.is_empty()) {
        let fits = |at: usize| {
            let first = &met[at];
            wanted.iter().enumerate().all(|(next, wanted_word)| {
                met.get(at + next).is_some_and(|one| {
                    let is_last = next + 1 == wanted.len();
                    let is_it = match is_last && *is_prefix {
                        true => one.word.starts_with(wanted_word.as_str()),
                        false => *one.stem == **wanted_word,
                    };
                    is_it && one.number == first.number + next
                })
            })
        };
        let places = (0..met.len()).filter(|at| fits(*at));
        found.extend(places.map(|at| (met[at].begin, met[at + wanted.len() - 1].end)));
    }
    found.sort_unstable();
    let mut out: Vec<(usize, usize)> = Vec::new();
    for (begin, end) in found {
        match out.last_mut() {
            Some(last) if begin <= last.1 => last.1 = last.1.max(end),
            _ => out.push((begin, end)),
        }
    }
    out
}

/// A word of a text that may match, with its stem, its number, and its characters.
struct Met {
    word: String,
    stem: Rc<str>,
    number: usize,
    begin: usize,
    end: usize,
}

/// Whether a word begins with one of these.
fn is_begun(beginnings: &BTreeSet<&str>, word: &str) -> bool {
    !beginnings.is_empty()
        && word.char_indices().map(|(at, c)| &word[..at + c.len_utf8()]).any(|begin| beginnings.contains(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(passage: &Passage) -> String {
        let mut out = String::new();
        for (at, c) in passage.text.chars().enumerate() {
            if passage.highlights.iter().any(|(begin, _)| *begin == at) {
                out.push('[');
            }
            out.push(c);
            if passage.highlights.iter().any(|(_, end)| *end == at + 1) {
                out.push(']');
            }
        }
        out
    }

    fn find(text: &str, word: &str) -> (usize, usize) {
        let at = text[..text.find(word).expect("the word")].chars().count();
        (at, at + word.chars().count())
    }

    #[test]
    fn a_short_text_is_whole_and_on_one_line() {
        let text = " the  cache\n\tis cold ";
        let found = [find(text, "cache"), find(text, "cold")];
        assert_eq!(marked(&passage(text, &found, 80)), "the [cache] is [cold]");
        assert_eq!(passage("", &[], 80), Passage::default());
        assert_eq!(marked(&passage("令牌过期", &[(0, 2)], 80)), "[令牌]过期");
    }

    #[test]
    fn of_a_long_text_the_part_with_most_is_shown_in_whole_words() {
        let filler = "lorem ipsum dolor ".repeat(20);
        let text = format!("cache {filler} the cache is cold here {filler}");
        let second = text.rfind("cache").expect("it");
        let found = [find(&text, "cache"), (second, second + 5), find(&text, "cold")];
        let shown = passage(&text, &found, 100);
        let marked = marked(&shown);
        assert!(marked.contains("the [cache] is [cold] here"), "{marked}");
        assert!(marked.starts_with('…') && marked.ends_with('…'), "{marked}");
        assert!(shown.text.chars().count() <= 102, "{marked}");
        let words = "lorem ipsum dolor the cache is cold here";
        assert!(shown.text.trim_matches('…').split(' ').all(|word| words.contains(word)), "{marked}");
    }

    #[test]
    fn without_anything_found_it_is_the_beginning() {
        let shown = passage(&"word ".repeat(100), &[], 50);
        assert!(shown.text.starts_with("word word") && shown.text.ends_with("word…"), "{shown:?}");
        assert_eq!(passage(&"x".repeat(60), &[], 50).text, "x".repeat(50) + "…");
    }

    fn found(text: &str, terms: &[&str]) -> Vec<String> {
        let term = |word: &&str| Term {
            text: word.trim_end_matches('*').to_owned(),
            is_prefix: word.ends_with('*'),
            is_required: false,
        };
        let chars: Vec<char> = text.chars().collect();
        let places = places(text, &terms.iter().map(term).collect::<Vec<_>>(), &Stems::default());
        places.into_iter().map(|(begin, end)| chars[begin..end].iter().collect()).collect()
    }

    #[test]
    fn words_are_found_in_the_text_as_it_is() {
        assert_eq!(
            found("Der Zähler, le cafe\u{301}: x\u{1}y", &["zahler", "CAFE", "y"]),
            ["Zähler", "cafe\u{301}", "y"]
        );
        assert_eq!(found("认证令牌过期太早", &["令牌过期", "早"]), ["令牌过期", "早"]);
        assert_eq!(found("a flaky login test", &["flaky login"]), ["flaky login"]);
        assert_eq!(found("a flaky login test", &["flaky lo*", "login", "tes*", "test"]), ["flaky login", "test"]);
        assert_eq!(found("see a.b-c b b", &["b c", "b b b"]), ["b-c"]);
        assert_eq!(found(&"a b ".repeat(MAX_MATCHES), &["a b"]).len(), MAX_MATCHES / 2);
        assert_eq!(found("one two one", &["one t", "one x*", "*", "", "-"]), [""; 0]);
    }
}
