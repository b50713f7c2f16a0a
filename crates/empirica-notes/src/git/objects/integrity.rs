//! Which commits of notes can be read whole, with all that they lead to; and objects that nothing leads to.

use std::collections::{HashMap, HashSet};

use gix::objs::tree::EntryKind;

use crate::error::Result;
use crate::git::notes::difference::Other;
use crate::git::process::{ended, git};
use crate::git::remotes::is_partial;
use crate::git::repository::Repository;
use crate::git::{Oid, parse_oid};

/// What is known of commits and what they lead to; each object is read once.
pub struct Integrity<'r> {
    repo: &'r Repository,
    /// Whether what is not here was left out on purpose.
    is_partial: bool,
    /// Trees and blobs that can be read, with all that is below them.
    whole: HashSet<Oid>,
    /// Whether commits can be read with all that they lead to.
    histories: HashMap<Oid, bool>,
    /// Where a shallow history ends.
    ends: HashSet<Oid>,
}

impl<'r> Integrity<'r> {
    /// Nothing is known yet.
    pub fn new(repo: &'r Repository) -> Self {
        let ends = repo.gix().shallow_commits().ok().flatten();
        let ends = ends.into_iter().flat_map(|ends| ends.iter().copied().collect::<Vec<_>>()).collect();
        let is_partial = is_partial(repo);
        Integrity { repo, is_partial, whole: HashSet::new(), histories: HashMap::new(), ends }
    }

    /// The parents of a commit, none where a shallow history ends; `None` when it cannot be read, or is no commit.
    pub fn parents(&self, commit: Oid) -> Option<Vec<Oid>> {
        let read = self.repo.gix().find_commit(commit).ok()?;
        read.tree_id().ok()?;
        if self.ends.contains(&commit) {
            return Some(Vec::new());
        }
        Some(read.parent_ids().map(|id| id.detach()).collect())
    }

    /// Whether a commit, its tree, all that is in it, and all of that of the commits before it can be read. What a partial clone
    /// left out counts as read.
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
                && self.repo.tree_of(id).is_ok_and(|tree| self.has_whole_tree(tree));
            self.histories.insert(id, is_whole);
        }
        self.histories[&commit]
    }

    /// Whether a tree and all that is below it can be read.
    pub fn has_whole_tree(&mut self, tree: Oid) -> bool {
        self.is_whole(tree, EntryKind::Tree)
    }

    /// Whether what a tree names can be read, with all that is below it.
    pub fn has_whole(&mut self, other: Other) -> bool {
        self.is_whole(other.id, other.kind)
    }

    fn is_whole(&mut self, id: Oid, kind: EntryKind) -> bool {
        let (mut seen, mut pending) = (HashSet::new(), vec![(id, kind)]);
        while let Some((id, kind)) = pending.pop() {
            if self.whole.contains(&id) || !seen.insert(id) || id == self.repo.empty_tree() {
                continue;
            }
            if self.is_partial && !self.repo.has_object(id) {
                continue;
            }
            match (kind, self.repo.gix().find_object(id)) {
                // a commit of another repository
                (EntryKind::Commit, _) => {}
                (EntryKind::Tree, Ok(object)) => {
                    let Ok(tree) = object.try_into_tree() else { return false };
                    for entry in tree.iter() {
                        let Ok(entry) = entry else { return false };
                        pending.push((entry.oid().to_owned(), entry.mode().kind()));
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

/// What no object and no ref leads to.
#[derive(Debug, Default)]
pub struct Dangling {
    /// Trees, those of commits among them.
    pub trees: Vec<Oid>,
    /// Blobs.
    pub blobs: Vec<Oid>,
}

/// The objects that no object and no ref leads to. Asks git, which looks at all there are; none when it cannot tell.
pub fn dangling(repo: &Repository) -> Result<Dangling> {
    let mut command = git(repo.cwd());
    command.args(["fsck", "--no-reflogs", "--connectivity-only", "--no-progress", "--dangling"]);
    // it ends with an error: something is damaged
    let found = ended(&mut command, Vec::new())?;
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
