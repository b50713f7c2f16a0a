//! Lists of texts: without doubles, and of agents with most sessions.

use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Adds the texts that are not in the list yet, each once.
pub fn add_new<'t>(list: &mut Vec<String>, texts: impl IntoIterator<Item = &'t String>) {
    let mut seen: BTreeSet<String> = list.iter().cloned().collect();
    list.extend(texts.into_iter().filter(|text| seen.insert((*text).clone())).cloned());
}

/// Most rows of agents, and of sessions, in an answer: others may store any number of them.
pub const ROWS: usize = 500;

/// Of agents with their numbers of sessions, those with most, of as many the first by name, at most [`ROWS`].
pub fn busiest<'a>(agents: impl IntoIterator<Item = (&'a str, usize)>) -> BTreeSet<&'a str> {
    let mut all: Vec<(&str, usize)> = agents.into_iter().collect();
    all.sort_by_key(|(ai, sessions)| (Reverse(*sessions), *ai));
    all.into_iter().take(ROWS).map(|(ai, _)| ai).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_are_listed_of_as_many_the_first_by_name() {
        let names: Vec<String> = (0..ROWS + 2).map(|at| format!("a{at:04}")).collect();
        let listed = busiest(names.iter().rev().enumerate().map(|(at, ai)| (ai.as_str(), usize::from(at == 0))));
        assert_eq!(listed.len(), ROWS);
        let left_out = names.iter().filter(|ai| !listed.contains(ai.as_str()));
        assert_eq!(left_out.collect::<Vec<_>>(), [&names[ROWS - 1], &names[ROWS]]);
        assert!(busiest([]).is_empty());
    }
}
