//! Recorded rewrites: filter-repo's commit map, and amends in HEAD's reflogs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader};

use gix::bstr::ByteSlice;

use crate::git::repository::Repository;
use crate::git::{Oid, parse_oid};

/// Commits and their rewritten forms.
pub type Edges = BTreeMap<Oid, BTreeSet<Oid>>;

/// Recorded rewrites, by source.
#[derive(Debug, Default)]
pub struct Rewrites {
    /// filter-repo's commit map, for the given commits.
    pub mapped: Edges,
    /// The reflog entries of `commit --amend`.
    pub amended: Edges,
}

impl Rewrites {
    /// Reads the rewrites of `start` and, transitively, of their rewritten forms.
    pub fn read(repo: &Repository, start: impl IntoIterator<Item = Oid>) -> Self {
        let amended = amends(repo);
        let mut mapped = Edges::new();
        let mut visited: BTreeSet<Oid> = BTreeSet::new();
        let mut next: BTreeSet<Oid> = start.into_iter().collect();
        while !next.is_empty() {
            let found = from_map(repo, &next);
            visited.append(&mut next);
            let steps = visited.iter().flat_map(|id| found.get(id).into_iter().chain(amended.get(id)).flatten());
            next = steps.filter(|id| !visited.contains(*id)).copied().collect();
            mapped.extend(found);
        }
        Rewrites { mapped, amended }
    }

    /// `start` and all its rewritten forms, transitively.
    pub fn trail(&self, start: impl IntoIterator<Item = Oid>) -> BTreeSet<Oid> {
        reach(start, |id| self.mapped.get(id).into_iter().chain(self.amended.get(id)).flatten().copied().collect())
    }
}

/// The final rewritten forms of `id`; empty if it has none.
pub fn ends(edges: &Edges, id: Oid) -> BTreeSet<Oid> {
    let mut all = reach([id], |id| edges.get(id).into_iter().flatten().copied().collect());
    all.remove(&id);
    let (last, passed): (BTreeSet<Oid>, _) = all.into_iter().partition(|id| !edges.contains_key(id));
    // a cycle of amends has no end
    if last.is_empty() { passed } else { last }
}

fn reach(start: impl IntoIterator<Item = Oid>, next: impl Fn(&Oid) -> Vec<Oid>) -> BTreeSet<Oid> {
    let mut pending: Vec<Oid> = start.into_iter().collect();
    let mut seen = BTreeSet::new();
    while let Some(id) = pending.pop() {
        if seen.insert(id) {
            pending.extend(next(&id));
        }
    }
    seen
}

/// The entries of `filter-repo/commit-map` for `wanted`; empty without a map. Streamed, as it lists every commit. Skips
/// dropped (all zeros) and unchanged commits.
fn from_map(repo: &Repository, wanted: &BTreeSet<Oid>) -> Edges {
    let mut out = Edges::new();
    let Ok(file) = File::open(repo.common_dir().join("filter-repo/commit-map")) else { return out };
    for line in BufReader::new(file).lines().map_while(Result::ok) {
        let mut words = line.split_whitespace().map(parse_oid);
        let (Some(Some(old)), Some(Some(new))) = (words.next(), words.next()) else { continue };
        if old != new && !new.is_null() && wanted.contains(&old) {
            out.entry(old).or_default().insert(new);
        }
    }
    out
}

/// The amends in all worktrees' reflogs, as far as readable.
fn amends(repo: &Repository) -> Edges {
    let mut out = Edges::new();
    repo.each_reflog_line(&mut |line| {
        if line.is_head && line.message.starts_with_str("commit (amend)") && line.old != line.new {
            out.entry(line.old).or_default().insert(line.new);
        }
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oid(n: u8) -> Oid {
        Oid::from_bytes_or_panic(&[n; 20])
    }

    fn edges(pairs: &[(u8, u8)]) -> Edges {
        let mut out = Edges::new();
        for (old, new) in pairs {
            out.entry(oid(*old)).or_default().insert(oid(*new));
        }
        out
    }

    #[test]
    fn a_chain_ends_at_a_commit_without_replacement() {
        let chain = edges(&[(1, 2), (2, 3), (2, 4), (9, 8)]);
        assert_eq!(ends(&chain, oid(1)), BTreeSet::from([oid(3), oid(4)]));
        assert_eq!(ends(&chain, oid(5)), BTreeSet::new());
        let circle = edges(&[(1, 2), (2, 1)]);
        assert_eq!(ends(&circle, oid(1)), BTreeSet::from([oid(2)]));
    }

    #[test]
    fn a_trail_follows_both_kinds() {
        let rewrites = Rewrites { mapped: edges(&[(2, 3)]), amended: edges(&[(1, 2)]) };
        assert_eq!(rewrites.trail([oid(1)]), BTreeSet::from([oid(1), oid(2), oid(3)]));
    }
}
