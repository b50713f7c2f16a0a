//! Lists of texts without doubles.

use std::collections::BTreeSet;

/// Adds the texts that are not in the list yet, each once.
pub fn add_new<'t>(list: &mut Vec<String>, texts: impl IntoIterator<Item = &'t String>) {
    let mut seen: BTreeSet<String> = list.iter().cloned().collect();
    list.extend(texts.into_iter().filter(|text| seen.insert((*text).clone())).cloned());
}
