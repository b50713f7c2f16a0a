//! The words of a text as a search compares them: without case and accents, each character of a dense script by itself.

use std::collections::BTreeMap;

use unicode_normalization::char::{decompose_canonical, is_combining_mark};

use super::matching::is_dense;
use super::terms::Term;

/// The most characters of a word that are compared: of a longer one the beginning.
pub const LONGEST: usize = 256;

/// Tells `take` each word of a text in order, as it is compared, with its first character and the one after its last. A
/// word is a run of letters, digits and the marks on them; signs part words, and are none. Texts in scripts without
/// spaces have a word for each character, so that a part of a sentence is found.
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

/// The same for a text of ASCII, whose characters are bytes.
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

/// A character as it is compared; nothing for an accent.
fn fold(c: char, into: &mut String) {
    if c.is_ascii() {
        return into.push(c.to_ascii_lowercase());
    }
    for lower in c.to_lowercase() {
        decompose_canonical(lower, |part| match part {
            '\u{300}'..='\u{36f}' => {}
            // at the end of a word it looks otherwise
            'ς' => into.push('σ'),
            part => into.push(part),
        });
    }
}

/// The words of a text, in order.
pub fn words(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    each(text, |word, _, _| out.push(word.to_owned()));
    out
}

/// Where any of the terms are in a text: begin and end in characters, the end not included, in order; what overlaps or
/// touches is one. Empty for no terms.
pub fn places(text: &str, terms: &[Term]) -> Vec<(usize, usize)> {
    let mut all: Vec<(String, usize, usize)> = Vec::new();
    each(text, |word, begin, end| all.push((word.to_owned(), begin, end)));
    let mut by_word: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, (word, ..)) in all.iter().enumerate() {
        by_word.entry(word).or_default().push(at);
    }
    let mut found: Vec<(usize, usize)> = Vec::new();
    for term in terms {
        let wanted = words(&term.text);
        let Some((first, rest)) = wanted.split_first() else { continue };
        let is_begun = rest.is_empty() && term.is_prefix;
        let fits = by_word.range(first.as_str()..).take_while(|(word, _)| match is_begun {
            true => word.starts_with(first.as_str()),
            false => *word == first,
        });
        for at in fits.flat_map(|(_, places)| places) {
            let follows = all[*at..].iter().map(|(word, ..)| word);
            if is_phrase(follows, &wanted, term.is_prefix) {
                found.push((all[*at].1, all[at + wanted.len() - 1].2));
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

/// Whether what follows begins with these words; of the last one, its beginning may do.
fn is_phrase<'w>(mut follows: impl Iterator<Item = &'w String>, wanted: &[String], is_prefix: bool) -> bool {
    wanted.iter().enumerate().all(|(at, wanted_word)| {
        follows.next().is_some_and(|word| match is_prefix && at + 1 == wanted.len() {
            true => word.starts_with(wanted_word.as_str()),
            false => word == wanted_word,
        })
    })
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
        let term = |said: &&str| Term { text: said.trim_end_matches('*').to_owned(), is_prefix: said.ends_with('*') };
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
        assert_eq!(found("one two one", &["one t", "one x*", "*", "", "-"]), [""; 0]);
    }
}
