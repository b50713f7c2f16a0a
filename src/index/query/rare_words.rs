//! The records that have the rarest words of a text.

use crate::index::connection::Index;
use crate::index::{SearchMatch, SearchQuery, WordSet};
use crate::text::query::Term;
use crate::text::similarity;
use empirica_notes::error::Result;

/// Most words of a text to search for.
const WORDS: usize = 12;
/// Most records with each of these words.
const RARE: usize = 2000;

/// The records of these kinds with the rarest words of a text, and these words; none if no record has any of its words.
pub(crate) fn by_rare_words(
    index: &Index<'_>,
    text: &str,
    kinds: &[&'static str],
    most: usize,
) -> Result<(WordSet, SearchMatch)> {
    let words = index.rarest(significant(text), WORDS, RARE)?;
    if words == WordSet::default() {
        return Ok(Default::default());
    }
    let found =
        index.search(&SearchQuery { words: words.clone(), kinds: kinds.to_vec(), most, ..SearchQuery::default() })?;
    Ok((words, found))
}

/// The significant words of a text.
fn significant(text: &str) -> Vec<Term> {
    let term = |text| Term { text, is_prefix: false, is_required: false };
    similarity::significant(text).into_iter().map(term).collect()
}
