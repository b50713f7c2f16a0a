//! What can be reached from HEAD, found out by walking back as far as is needed, once for many questions.

use std::collections::{BinaryHeap, HashSet};

use crate::error::Result;
use crate::git::Oid;
use crate::git::process::{Pending, git, output};
use crate::git::repository::Repository;

/// How much older than a commit its descendants' clocks may make it look, in seconds.
const SKEW: i64 = 5 * 24 * 3600;

/// The commits known to be reachable from HEAD, and where the walk goes on.
#[derive(Debug, Default)]
pub struct Reach {
    seen: HashSet<Oid>,
    pending: BinaryHeap<(i64, Oid)>,
    begun: bool,
    denied: HashSet<Oid>,
}

impl Reach {
    /// Whether a commit can be reached from HEAD (HEAD itself can). One that is not here cannot.
    ///
    /// Walks newest first, a few days past the commit's own date; what was not met by then is asked of git, which knows for
    /// sure.
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
        // a shallow clone ends where its commits are no longer here
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

/// Whether `ancestor` can be reached from a revision, by git's own word.
pub fn is_ancestor(repo: &Repository, ancestor: Oid, of: &str) -> bool {
    let mut command = git(repo.cwd());
    command.args(["merge-base", "--is-ancestor", &ancestor.to_string(), of]);
    output(&mut command).is_ok()
}

/// Walks the commits that a tip leads to; an error in git's words when one is damaged, or not here.
pub fn walked(repo: &Repository, tip: Oid) -> Result<()> {
    let mut command = git(repo.cwd());
    command.args(["rev-list", "--quiet", &tip.to_string(), "--"]);
    output(&mut command).map(|_| ())
}

/// A number of commits, asked for and not yet read.
pub struct Counting(Pending);

/// Asks git how many commits can be reached from `tip` and not from `from`, both of which are here.
pub fn beyond(repo: &Repository, from: Oid, tip: Oid) -> Counting {
    let mut command = git(repo.cwd());
    command.args(["rev-list", "--count", &tip.to_string(), &format!("^{from}"), "--"]);
    Counting(Pending::start(&mut command))
}

impl Counting {
    /// The number; `None` when git could not tell.
    pub fn read(self) -> Option<usize> {
        String::from_utf8(self.0.output().ok()?).ok()?.trim().parse().ok()
    }
}
