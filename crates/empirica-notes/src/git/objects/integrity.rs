//! Finds notes commits that are intact with all they reach, and dangling objects.

use std::collections::{HashMap, HashSet};

use gix::objs::tree::EntryKind;

use crate::error::Result;
use crate::git::notes::difference::Other;
use crate::git::process::{git, run};
use crate::git::remotes::is_partial;
use crate::git::repository::Repository;
use crate::git::{Oid, parse_oid};

/// The integrity of commits and the objects they reach; each object is read once.
pub struct Integrity<'r> {
    repo: &'r Repository,
    /// Whether missing objects are due to a partial clone.
    is_partial: bool,
    /// Intact trees and blobs.
    whole: HashSet<Oid>,
    /// Whether each commit is intact with all it reaches.
    histories: HashMap<Oid, bool>,
    /// The shallow boundary.
    ends: HashSet<Oid>,
}

impl<'r> Integrity<'r> {
    /// Reads the shallow boundary only.
    pub fn new(repo: &'r Repository) -> Self {
        let ends = repo.gix().shallow_commits().ok().flatten();
        let ends = ends.into_iter().flat_map(|ends| ends.iter().copied().collect::<Vec<_>>()).collect();
        let is_partial = is_partial(repo);
        Integrity { repo, is_partial, whole: HashSet::new(), histories: HashMap::new(), ends }
    }

    /// The parents of a commit, empty at the shallow boundary; `None` if it is not a readable commit.
    pub fn parents(&self, commit: Oid) -> Option<Vec<Oid>> {
        let read = self.repo.gix().find_commit(commit).ok()?;
        read.tree_id().ok()?;
        if self.ends.contains(&commit) {
            return Some(Vec::new());
        }
        Some(read.parent_ids().map(|id| id.detach()).collect())
    }

    /// Whether a commit, its tree and all it reaches are readable. Objects missing from a partial clone count as
    /// readable.
    pub fn has_whole_history(&mut self, commit: Oid) -> bool {
        let mut pending = vec![commit];
        while let Some(id) = pending.last().copied() {
            if self.histories.contains_key(&id) {
                pending.pop();
                continue;
            }
            let Some(parents) = self.parents(id) else {
                self.histories.insert(id, false);
                continue;
            };
            let unknown: Vec<Oid> = parents.iter().copied().filter(|id| !self.histories.contains_key(id)).collect();
            if !unknown.is_empty() {
                pending.extend(unknown);
                continue;
            }
            let is_whole = parents.iter().all(|parent| self.histories[parent])
                && self.repo.tree_of(id).is_ok_and(|id| self.has_whole(Other { id, kind: EntryKind::Tree }));
            self.histories.insert(id, is_whole);
        }
        self.histories[&commit]
    }

    /// Whether an object is here and has the content of its id, whatever its kind.
    pub fn is_intact(&self, id: Oid) -> bool {
        let Ok(object) = self.repo.gix().find_object(id) else { return false };
        gix::objs::compute_hash(id.kind(), object.kind, &object.data).is_ok_and(|hash| hash == id)
    }

    /// Whether a tree entry and all it reaches are readable.
    pub fn has_whole(&mut self, entry: Other) -> bool {
        let (mut seen, mut pending) = (HashSet::new(), vec![entry]);
        while let Some(Other { id, kind }) = pending.pop() {
            if self.whole.contains(&id) || !seen.insert(id) || id == self.repo.empty_tree() {
                continue;
            }
            if self.is_partial && !self.repo.has_object(id) {
                continue;
            }
            match (kind, self.repo.gix().find_object(id)) {
                // a submodule's commit
                (EntryKind::Commit, _) => {}
                (EntryKind::Tree, Ok(object)) => {
                    let Ok(tree) = object.try_into_tree() else { return false };
                    for entry in tree.iter() {
                        let Ok(entry) = entry else { return false };
                        pending.push(Other { id: entry.oid().to_owned(), kind: entry.mode().kind() });
                    }
                }
                (_, Ok(object)) if object.kind == gix::objs::Kind::Blob => {}
                _ => return false,
            }
        }
        self.whole.extend(seen);
        true
    }
}

/// Dangling objects.
#[derive(Debug, Default)]
#[allow(missing_docs)]
pub struct Dangling {
    /// Trees, including those of commits.
    pub trees: Vec<Oid>,
    pub blobs: Vec<Oid>,
}

/// Finds dangling objects by `git fsck`, which reads the whole object store; empty if it fails.
pub fn dangling(repo: &Repository) -> Result<Dangling> {
    let mut command = git(repo.cwd());
    command.args(["fsck", "--no-reflogs", "--connectivity-only", "--no-progress", "--dangling"]);
    // its exit code is ignored: something is damaged
    let found = run(&mut command, Vec::new())?;
    let text = String::from_utf8_lossy(&found.stdout);
    let object = |line: &str| {
        let (kind, id) = line.strip_prefix("dangling ")?.split_once(' ')?;
        Some((kind.to_owned(), parse_oid(id)?))
    };
    let mut out = Dangling::default();
    for (kind, id) in text.lines().filter_map(object) {
        match kind.as_str() {
            "tree" => out.trees.push(id),
            "commit" => out.trees.extend(repo.tree_of(id)),
            "blob" => out.blobs.push(id),
            _ => {}
        }
    }
    Ok(out)
}
