//! Similarity of texts by shared words.

use std::cmp::Ordering;
use std::collections::BTreeSet;

/// Words without significance for the topic.
const COMMON: &[&str] = &[
    "the", "and", "for", "with", "that", "this", "from", "into", "are", "was", "were", "has", "have", "had", "not",
    "but", "its", "does", "did", "how", "why", "what", "when", "where", "which", "who", "will", "would", "should",
    "could", "can", "all", "any", "new", "use", "using", "our", "out", "more", "than", "then", "there", "their",
    "they", "you", "your", "also", "only", "been", "being", "about", "after", "before", "because", "make", "made",
    "get", "got", "add", "added", "fix", "fixed",
];
/// Inflectional endings.
const ENDINGS: &[&str] = &["ing", "ies", "ed", "es", "s"];
/// Fewest letters of a stem.
const STEM: usize = 4;
/// Share of the maximum from which few words suffice.
const CLOSE: f64 = 0.5;

/// The words of a lower-case text, without punctuation.
fn split(lower: &str) -> impl Iterator<Item = &str> {
    lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// The words of a text in lower case, separated by a blank.
pub fn normalize(text: &str) -> String {
    split(&text.to_lowercase()).collect::<Vec<_>>().join(" ")
}

/// A unit of comparison.
enum Token<'t> {
    Word(&'t str),
    /// Two adjacent characters of a word in a script without spaces.
    Pair(String),
}

fn tokens(lower: &str) -> impl Iterator<Item = Token<'_>> {
    split(lower).flat_map(|word| {
        let letters: Vec<char> = if word.chars().any(is_dense) { word.chars().collect() } else { Vec::new() };
        let pairs: Vec<Token<'_>> = letters.windows(2).map(|pair| Token::Pair(pair.iter().collect())).collect();
        if pairs.is_empty() { vec![Token::Word(word)] } else { pairs }
    })
}

/// All words of a [normal](normalize) text. Scripts without spaces give pairs of characters.
pub fn all_words(normal: &str) -> BTreeSet<String> {
    let text = |token| match token {
        Token::Word(word) => word.to_owned(),
        Token::Pair(pair) => pair,
    };
    tokens(normal).map(text).collect()
}

/// Stems of the significant words. Scripts without spaces give pairs of characters.
pub fn words(text: &str) -> BTreeSet<String> {
    significant(text).iter().map(|word| stem(word).to_owned()).collect()
}

/// The significant words. Scripts without spaces give pairs of characters.
pub fn significant(text: &str) -> BTreeSet<String> {
    let is_significant = |word: &str| word.chars().count() > 2 && !COMMON.contains(&word);
    let word = |token| match token {
        Token::Word(word) => is_significant(word).then(|| word.to_owned()),
        Token::Pair(pair) => Some(pair),
    };
    tokens(&text.to_lowercase()).filter_map(word).collect()
}

/// Whether a script has no spaces between words, or agglutinates: Chinese, Japanese, Korean, Thai, Lao, Burmese,
/// Khmer.
pub fn is_dense(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{20000}'..='\u{2ffff}')
}

fn stem(word: &str) -> &str {
    let bare = ENDINGS.iter().find_map(|ending| word.strip_suffix(ending).filter(|rest| rest.chars().count() >= STEM));
    bare.unwrap_or(word)
}

/// Cosine similarity of two sets of words, in (0, 1]: shared words over the geometric mean of both counts. `None` if they
/// share fewer than two words, unless these are at least half of that mean.
pub fn cosine_similarity(a: &BTreeSet<String>, b: &BTreeSet<String>) -> Option<f64> {
    let shared = a.intersection(b).count();
    if shared == 0 {
        return None;
    }
    let cosine = shared as f64 / ((a.len() * b.len()) as f64).sqrt();
    (shared >= 2 || cosine >= CLOSE).then_some(cosine)
}

/// Jaccard index of two sorted lists: shared elements over all distinct ones.
pub fn jaccard_index<T: Ord>(a: &[T], b: &[T]) -> f64 {
    let shared = count_shared(a, b);
    shared as f64 / (a.len() + b.len() - shared) as f64
}

/// Number of common elements of two sorted lists.
pub fn count_shared<T: Ord>(a: &[T], b: &[T]) -> usize {
    let (mut at, mut there, mut out) = (0, 0, 0);
    while at < a.len() && there < b.len() {
        match a[at].cmp(&b[there]) {
            Ordering::Less => at += 1,
            Ordering::Greater => there += 1,
            Ordering::Equal => (at, there, out) = (at + 1, there + 1, out + 1),
        }
    }
    out
}

/// The at most `most` texts most similar to `wanted`, best first, later ones first among equals.
pub fn best<T>(
    wanted: &BTreeSet<String>,
    among: impl IntoIterator<Item = T>,
    text: impl Fn(&T) -> String,
    most: usize,
) -> Vec<T> {
    let mut found: Vec<(f64, usize, T)> = Vec::new();
    for (at, candidate) in among.into_iter().enumerate() {
        if let Some(similarity) = cosine_similarity(wanted, &words(&text(&candidate))) {
            found.push((similarity, at, candidate));
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    found.into_iter().take(most).map(|(.., candidate)| candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like(a: &str, b: &str) -> bool {
        cosine_similarity(&words(a), &words(b)).is_some()
    }

    #[test]
    fn words_in_other_forms_match() {
        assert!(like("Fix the flaky login test", "mocking the clock in the login tests — still flaky"));
        assert!(like("Caching of tokens", "cached token"));
        assert!(like("认证令牌过期", "令牌过期太早"));
        assert!(like("login", "Login"));
    }

    #[test]
    fn common_words_and_one_word_of_many_do_not_match() {
        assert!(!like("fix the flaky login test", "how to fix this and that"));
        assert!(!like("login page colors and fonts", "test the payment of the login fee twice daily"));
        assert!(!like("", "login"));
        assert!(!like("a b", "a b"));
    }

    #[test]
    fn the_best_come_first_and_later_ones_of_equals() {
        let among = ["login test", "nothing here", "flaky login test", "login test"];
        let found = best(&words("flaky login test"), among.iter().enumerate(), |(_, text)| text.to_string(), 3);
        assert_eq!(found.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [2, 3, 0]);
    }
}
