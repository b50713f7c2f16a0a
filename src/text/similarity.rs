//! Similarity of texts by shared words.

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

/// Stems of the significant words. Scripts without spaces give pairs of characters.
pub fn words(text: &str) -> BTreeSet<String> {
    let lower = text.to_lowercase();
    let mut out = BTreeSet::new();
    for word in lower.split(|c: char| !c.is_alphanumeric()) {
        if word.chars().any(is_dense) {
            out.extend(pairs(word));
        } else if word.chars().count() > 2 && !COMMON.contains(&word) {
            out.insert(stem(word).to_owned());
        }
    }
    out
}

/// Pairs of adjacent characters: words of scripts without spaces.
pub fn pairs(word: &str) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    letters.windows(2).map(|pair| pair.iter().collect()).collect()
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

/// Similarity of two texts in (0, 1]: shared words over the geometric mean of both counts. `None` if they share fewer
/// than two words, unless these are at least half of that mean.
pub fn likeness(a: &BTreeSet<String>, b: &BTreeSet<String>) -> Option<f64> {
    let shared = a.intersection(b).count();
    if shared == 0 {
        return None;
    }
    let likeness = shared as f64 / ((a.len() * b.len()) as f64).sqrt();
    (shared >= 2 || likeness >= CLOSE).then_some(likeness)
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
        if let Some(likeness) = likeness(wanted, &words(&text(&candidate))) {
            found.push((likeness, at, candidate));
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    found.into_iter().take(most).map(|(.., candidate)| candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like(a: &str, b: &str) -> bool {
        likeness(&words(a), &words(b)).is_some()
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
