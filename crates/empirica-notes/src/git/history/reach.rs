//! Reachability from HEAD, by one walk that goes back as far as needed for many queries.

use std::collections::{BinaryHeap, HashSet};

use crate::error::Result;
use crate::git::Oid;
use crate::git::process::{Pending, git, output};
use crate::git::repository::Repository;

/// The clock skew allowed between a commit and its descendants, in seconds.
const SKEW: i64 = 5 * 24 * 3600;

/// The commits known to be reachable from HEAD, and the frontier of the walk.
#[derive(Debug, Default)]
pub struct Reach {
    seen: HashSet<Oid>,
    pending: BinaryHeap<(i64, Oid)>,
    begun: bool,
    denied: HashSet<Oid>,
}

impl Reach {
    /// Whether a commit is HEAD or reachable from it; `false` if it is missing.
    ///
    /// Walks newest first, to a few days before the commit's date; if it was not met by then, asks git.
    pub fn contains(&mut self, repo: &Repository, commit: Oid) -> bool {
        if self.seen.contains(&commit) {
            return true;
        }
        let Some(time) = time(repo, commit).filter(|_| !self.denied.contains(&commit)) else { return false };
        if !std::mem::replace(&mut self.begun, true) {
            let head = repo.head().ok().and_then(|head| head.commit);
            self.add(repo, head);
        }
        while !self.seen.contains(&commit) {
            match self.pending.peek() {
                Some((newest, _)) if *newest >= time - SKEW => {}
                _ => break,
            }
            let Some((_, next)) = self.pending.pop() else { break };
            let parents =
                repo.gix().find_commit(next).map(|c| c.parent_ids().map(|id| id.detach()).collect::<Vec<_>>());
            for parent in parents.unwrap_or_default() {
                self.add(repo, Some(parent));
            }
        }
        let reached = self.seen.contains(&commit) || (!self.pending.is_empty() && is_ancestor(repo, commit, "HEAD"));
        if !reached {
            self.denied.insert(commit);
        }
        reached
    }

    fn add(&mut self, repo: &Repository, commit: Option<Oid>) {
        let Some(commit) = commit else { return };
        // missing commits end the walk in a shallow clone
        if let Some(time) = time(repo, commit)
            && self.seen.insert(commit)
        {
            self.pending.push((time, commit));
        }
    }
}

fn time(repo: &Repository, commit: Oid) -> Option<i64> {
    Some(repo.gix().find_commit(commit).ok()?.time().ok()?.seconds)
}

/// Whether `ancestor` is reachable from a revision, by git.
pub fn is_ancestor(repo: &Repository, ancestor: Oid, of: &str) -> bool {
    let mut command = git(repo.cwd());
    command.args(["merge-base", "--is-ancestor", &ancestor.to_string(), of]);
    output(&mut command).is_ok()
}

/// Walks all commits reachable from a tip; fails with git's message if one is damaged or missing.
pub fn walked(repo: &Repository, tip: Oid) -> Result<()> {
    let mut command = git(repo.cwd());
    command.args(["rev-list", "--quiet", &tip.to_string(), "--"]);
    output(&mut command).map(|_| ())
}

/// A running count of commits.
pub struct Counting(Pending);

/// Starts counting the commits reachable from `tip` and not from `from`; both must exist.
pub fn beyond(repo: &Repository, from: Oid, tip: Oid) -> Counting {
    let mut command = git(repo.cwd());
    command.args(["rev-list", "--count", &tip.to_string(), &format!("^{from}"), "--"]);
    Counting(Pending::start(&mut command))
}

impl Counting {
    /// The number; `None` if git failed.
    pub fn read(self) -> Option<usize> {
        String::from_utf8(self.0.output().ok()?).ok()?.trim().parse().ok()
    }
}
