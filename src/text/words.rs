//! Words normalized for search: without case and accents; in scripts without spaces, each character is a word.

use unicode_normalization::char::{decompose_canonical, is_combining_mark};

use crate::text::similarity::is_dense;

/// Most characters compared of a word.
pub const MAX_WORD_LETTERS: usize = 256;

/// Calls `take` with each normalized word in order, and its character range. A word is a run of letters, digits and
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
            if letters <= MAX_WORD_LETTERS {
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

/// [`each`] for ASCII, where characters are bytes.
fn each_plain(text: &str, mut take: impl FnMut(&str, usize, usize)) {
    let lower = text.to_ascii_lowercase();
    let mut begin = 0;
    for word in lower.split(|c: char| !c.is_ascii_alphanumeric()) {
        let end = begin + word.len();
        if !word.is_empty() {
            take(&word[..word.len().min(MAX_WORD_LETTERS)], begin, end);
        }
        begin = end + 1;
    }
}

/// Normalizes a character; accents are dropped.
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

/// Normalized words of a text, in order, with duplicates.
pub fn words(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    each(text, |word, _, _| out.push(word.to_owned()));
    out
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
            assert_eq!(
                words(&word.repeat(MAX_WORD_LETTERS * 2)),
                [word.replace('é', "e").to_lowercase().repeat(MAX_WORD_LETTERS)]
            );
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
}
