//! Words normalised for search: without case and accents; in scripts without spaces, each character is a word.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use unicode_normalization::char::{decompose_canonical, is_combining_mark};

use crate::text::query::Term;
use crate::text::similarity::is_dense;

/// Most characters compared of a word.
pub const LONGEST: usize = 256;

/// Calls `take` with each normalised word in order, and its character range. A word is a run of letters, digits and
/// their marks; punctuation separates words. Scripts without spaces have a word per character, so that any part of a
/// sentence matches.
pub fn each(text: &str, mut take: impl FnMut(&str, usize, usize)) {
    if text.is_ascii() {
        return each_plain(text, take);
    }
    let (mut word, mut letters) = (String::new(), 0);
    let (mut begin, mut end) = (0, 0);
    for (at, c) in text.chars().enumerate() {
        let is_letter = c.is_alphanumeric();
        let is_alone = is_letter && is_dense(c);
        if is_letter && !is_alone || !word.is_empty() && is_combining_mark(c) {
            if word.is_empty() {
                (begin, letters) = (at, 0);
            }
            (end, letters) = (at + 1, letters + 1);
            if letters <= LONGEST {
                fold(c, &mut word);
            }
            continue;
        }
        if !word.is_empty() {
            take(&word, begin, end);
            word.clear();
        }
        if is_alone {
            take(c.encode_utf8(&mut [0; 4]), at, at + 1);
        }
    }
    if !word.is_empty() {
        take(&word, begin, end);
    }
}

/// Same for ASCII, where characters are bytes.
fn each_plain(text: &str, mut take: impl FnMut(&str, usize, usize)) {
    let lower = text.to_ascii_lowercase();
    let mut begin = 0;
    for word in lower.split(|c: char| !c.is_ascii_alphanumeric()) {
        let end = begin + word.len();
        if !word.is_empty() {
            take(&word[..word.len().min(LONGEST)], begin, end);
        }
        begin = end + 1;
    }
}

/// Normalises a character; accents are dropped.
fn fold(c: char, into: &mut String) {
    if c.is_ascii() {
        return into.push(c.to_ascii_lowercase());
    }
    for lower in c.to_lowercase() {
        decompose_canonical(lower, |part| {
            let part = match (into.chars().next_back(), part) {
                // distinct letters, not accented ones
                (Some('и'), '\u{306}') => 'й',
                (Some('у'), '\u{306}') => 'ў',
                (Some('і'), '\u{308}') => 'ї',
                // accents and variation selectors
                (_, '\u{300}'..='\u{36f}' | '\u{20d0}'..='\u{20ff}' | '\u{fe00}'..='\u{fe0f}') => return,
                // variants of the same letters
                (_, 'ς') => return into.push('σ'),
                (_, 'µ') => return into.push('μ'),
                (_, 'ſ') => return into.push('s'),
                (_, 'ϐ') => return into.push('β'),
                (_, 'ϑ') => return into.push('θ'),
                (_, 'ϕ') => return into.push('φ'),
                (_, 'ϖ') => return into.push('π'),
                (_, 'ϰ') => return into.push('κ'),
                (_, 'ϱ') => return into.push('ρ'),
                (_, 'ϵ') => return into.push('ε'),
                (_, part) => return into.push(part),
            };
            into.pop();
            into.push(part);
        });
    }
}

/// Normalised words of a text, in order, with duplicates.
pub fn words(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    each(text, |word, _, _| out.push(word.to_owned()));
    out
}

/// Most matching words examined by [`places`]; later ones still match, but are not shown.
const MOST: usize = 10_000;

/// Character ranges of the terms in a text, in order, overlapping or adjacent ones merged. Empty without terms.
/// Examines the first `MOST` words that occur in terms.
pub fn places(text: &str, terms: &[Term]) -> Vec<(usize, usize)> {
    let wanted: Vec<(Vec<String>, bool)> = terms.iter().map(|term| (words(&term.text), term.is_prefix)).collect();
    let all: HashSet<&str> = wanted.iter().flat_map(|(words, _)| words).map(String::as_str).collect();
    let beginnings = wanted.iter().filter(|(_, is_prefix)| *is_prefix).filter_map(|(words, _)| words.last());
    let beginnings: BTreeSet<&str> = beginnings.map(String::as_str).collect();
    // candidate words, with their index among all words and range
    let mut met: Vec<(String, usize, usize, usize)> = Vec::new();
    let mut count = 0;
    each(text, |word, begin, end| {
        count += 1;
        if met.len() < MOST && (all.contains(word) || is_begun(&beginnings, word)) {
            met.push((word.to_owned(), count, begin, end));
        }
    });
    let mut by_word: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, (word, ..)) in met.iter().enumerate() {
        by_word.entry(word).or_default().push(at);
    }
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (wanted, is_prefix) in &wanted {
        let Some((first, rest)) = wanted.split_first() else { continue };
        let begins = by_word.range(first.as_str()..).take_while(|(word, _)| match rest.is_empty() && *is_prefix {
            true => word.starts_with(first.as_str()),
            false => *word == first,
        });
        for at in begins.flat_map(|(_, places)| places) {
            let (number, begin) = (met[*at].1, met[*at].2);
            let fits = |(next, wanted_word): (usize, &String)| {
                met.get(at + next).is_some_and(|(word, other, ..)| {
                    let is_last = next + 1 == wanted.len();
                    let is_it = word == wanted_word || is_last && *is_prefix && word.starts_with(wanted_word.as_str());
                    is_it && *other == number + next
                })
            };
            if wanted.iter().enumerate().all(fits) {
                found.push((begin, met[at + rest.len()].3));
            }
        }
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

/// Whether a word has one of these prefixes.
fn is_begun(beginnings: &BTreeSet<&str>, word: &str) -> bool {
    !beginnings.is_empty()
        && word.char_indices().map(|(at, c)| &word[..at + c.len_utf8()]).any(|begin| beginnings.contains(begin))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_have_no_case_and_no_accents_and_dense_scripts_one_for_each_character() {
        assert_eq!(words("The FLAKY-login_test, v2.0!"), ["the", "flaky", "login", "test", "v2", "0"]);
        assert_eq!(
            words("Zähler cafe\u{301} ÅNGSTRÖM Straße ΟΔΟΣ İzmir"),
            ["zahler", "cafe", "angstrom", "straße", "οδοσ", "izmir"]
        );
        assert_eq!(words("认证x令牌、ガ・テスト"), ["认", "证", "x", "令", "牌", "ガ", "テ", "ス", "ト"]);
        assert_eq!(words("हिन्दी العَرَبية"), ["हिन्दी", "العَرَبية"], "marks belong to their letters");
        assert_eq!(
            words("мой МОИ ё 40µs 40μs 1\u{fe0f}\u{20e3} \u{438}\u{306}"),
            ["мой", "мои", "е", "40μs", "40μs", "1", "й"]
        );
        assert_eq!(words("ทดสอบ ຂ"), ["ท", "ด", "ส", "อ", "บ", "ຂ"]);
        assert_eq!(words(" — \u{301} \u{345} … \0"), [""; 0]);
        assert_eq!(words("a\u{1}b\0c"), ["a", "b", "c"]);
        for word in ["X", "é"] {
            assert_eq!(words(&word.repeat(LONGEST * 2)), [word.replace('é', "e").to_lowercase().repeat(LONGEST)]);
        }
    }

    proptest! {
        #[test]
        fn plain_texts_are_read_as_others_are(text in r#"[ -~\n\x00]{0,60}"#) {
            let mut plain = Vec::new();
            each(&text, |word, begin, end| plain.push((word.to_owned(), begin, end)));
            let mut other = Vec::new();
            each(&(text + " é"), |word, begin, end| other.push((word.to_owned(), begin, end)));
            other.pop();
            prop_assert_eq!(plain, other);
        }
    }

    fn found(text: &str, terms: &[&str]) -> Vec<String> {
        let term =
            |given: &&str| Term { text: given.trim_end_matches('*').to_owned(), is_prefix: given.ends_with('*') };
        let chars: Vec<char> = text.chars().collect();
        let places = places(text, &terms.iter().map(term).collect::<Vec<_>>());
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
        assert_eq!(found(&"a b ".repeat(MOST), &["a b"]).len(), MOST / 2);
        assert_eq!(found("one two one", &["one t", "one x*", "*", "", "-"]), [""; 0]);
    }
}
