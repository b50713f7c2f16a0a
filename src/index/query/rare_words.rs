//! The records that have the rarest words of a text.

use crate::index::connection::Index;
use crate::index::{SearchMatch, SearchQuery, WordSet};
use crate::text::query::Term;
use crate::text::similarity;
use empirica_notes::error::Result;

/// The records of these kinds that have the rarest words of a text, and these words; none when no record has a word of it.
pub(crate) fn by_rare_words(
    index: &Index<'_>,
    text: &str,
    kinds: &[&str],
    most: usize,
) -> Result<(WordSet, SearchMatch)> {
    let words = index.rarest(stems(text), WORDS, RARE)?;
    if words == WordSet::default() {
        return Ok(Default::default());
    }
    let found = index.search(&SearchQuery { words: words.clone(), kinds, most, ..Default::default() })?;
    Ok((words, found))
}

/// What a text is about: the stems of its words, as beginnings.
pub(crate) fn stems(text: &str) -> Vec<Term> {
    similarity::words(text).into_iter().map(|text| Term { text, is_prefix: true }).collect()
}

/// By how many words a text is looked for, at most, and in how many records each of them may be.
const WORDS: usize = 12;

const RARE: usize = 2000;
