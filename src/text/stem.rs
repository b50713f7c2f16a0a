//! Stems of English words, words without significance in a question, and whole identifiers.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use rust_stemmers::{Algorithm, Stemmer};

/// Fewest letters of a word that is stemmed.
const STEMMED: usize = 3;
/// Fewest letters of an identifier.
const IDENTIFIER: usize = 4;

/// Most words whose stems are kept.
const KEPT: usize = 50_000;

/// Words that a question has in any case.
const STOP: &[&str] = &[
    "a", "about", "after", "again", "all", "also", "an", "and", "any", "are", "as", "at", "be", "because", "been",
    "before", "being", "between", "both", "but", "by", "can", "could", "did", "do", "does", "each", "few", "for",
    "from", "further", "had", "has", "have", "he", "her", "here", "him", "his", "how", "i", "if", "in", "into", "is",
    "it", "its", "itself", "just", "may", "me", "might", "more", "most", "my", "no", "nor", "not", "now", "of", "on",
    "only", "or", "other", "our", "out", "over", "own", "same", "she", "should", "so", "some", "such", "than", "that",
    "the", "their", "them", "then", "there", "these", "they", "this", "those", "through", "to", "too", "under",
    "until", "up", "us", "very", "was", "we", "were", "what", "when", "where", "which", "while", "who", "whom", "why",
    "will", "with", "would", "you", "your",
];

/// Whether a normalized word says nothing of the subject.
pub fn is_stop(word: &str) -> bool {
    STOP.binary_search(&word).is_ok()
}

/// Stems words in English; others are their own stems. Keeps the stems of the first words, as texts have the same words again and
/// again.
pub struct Stems {
    stemmer: Stemmer,
    known: RefCell<HashMap<String, Rc<str>>>,
}

impl Default for Stems {
    fn default() -> Self {
        Stems { stemmer: Stemmer::create(Algorithm::English), known: RefCell::default() }
    }
}

impl Stems {
    /// The stem of a normalized word.
    pub fn of(&self, word: &str) -> Rc<str> {
        if let Some(stem) = self.known.borrow().get(word) {
            return Rc::clone(stem);
        }
        let stem: Rc<str> = match word.len() >= STEMMED && word.bytes().all(|byte| byte.is_ascii_lowercase()) {
            true => self.stemmer.stem(word).into(),
            false => word.into(),
        };
        let mut known = self.known.borrow_mut();
        if known.len() < KEPT {
            known.insert(word.to_owned(), Rc::clone(&stem));
        }
        stem
    }
}

/// Whether one may be the stem of the other: a stem has the first letter of its word. Saves stemming most words of a text.
pub fn begin_alike(a: &str, b: &str) -> bool {
    a.as_bytes().first() == b.as_bytes().first()
}

/// Calls `take` with each name of several parts, in lower case without what joins them: `parse_url`, `parseUrl`, `src/cache.rs`.
pub fn each_identifier(text: &str, mut take: impl FnMut(String)) {
    let joins = |c: char| "_.:/-".contains(c);
    for chunk in text.split(|c: char| !c.is_ascii_alphanumeric() && !joins(c)) {
        let chunk = chunk.trim_matches(joins);
        let has_hump =
            chunk.as_bytes().windows(2).any(|two| two[0].is_ascii_lowercase() && two[1].is_ascii_uppercase());
        if chunk.contains(joins) || has_hump {
            let whole: String =
                chunk.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
            if whole.len() >= IDENTIFIER {
                take(whole);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_stem_begins_as_its_word(word in "[a-z]{1,12}", ending in "(s|ies|ed|ing|ly|ying|)") {
            let word = word + &ending;
            let stem = Stems::default().of(&word);
            prop_assert!(begin_alike(&stem, &word), "{} {}", stem, word);
        }
    }

    #[test]
    fn exceptions_of_the_stemmer_begin_as_their_words() {
        let words = "skis skies dying lying tying idly gently ugly early only singly news inning outing herring generate communism arsenal youth";
        for word in words.split(' ') {
            assert!(begin_alike(&Stems::default().of(word), word), "{word}");
        }
    }

    #[test]
    fn forms_of_a_word_have_one_stem() {
        let stems = Stems::default();
        for [a, b] in [["caching", "cached"], ["policies", "policy"], ["running", "runs"], ["adoption", "adopt"]] {
            assert_eq!(stems.of(a), stems.of(b));
        }
        for same in ["id", "v2", "über", "x86", "认"] {
            assert_eq!(&*stems.of(same), same);
        }
    }

    #[test]
    fn stop_words_are_sorted_to_be_found() {
        assert!(STOP.is_sorted());
        assert!(is_stop("the") && is_stop("a") && is_stop("your") && !is_stop("cache"));
    }

    #[test]
    fn whole_identifiers_are_found() {
        let mut found = Vec::new();
        each_identifier("See parse_url(), parseUrl in src/cache.rs: a well-known i.e. word. v1 -x-", |one| {
            found.push(one)
        });
        assert_eq!(found, ["parseurl", "parseurl", "srccachers", "wellknown"]);
    }
}
