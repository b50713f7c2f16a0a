//! Reachability from HEAD, by one walk that goes back as far as needed for many queries.

use std::collections::{BinaryHeap, HashSet};

use crate::error::Result;
use crate::git::process::{BackgroundGit, StreamingGit, git, output};
use crate::git::repository::Repository;
use crate::git::{Oid, parse_oid};

/// The clock skew allowed between a commit and its descendants, in seconds.
const SKEW: i64 = 5 * 24 * 3600;

/// The commits to look at before git is asked.
const NEAR: usize = 200;

/// The commits found reachable from HEAD, the frontier of the walk, and commits found unreachable.
#[derive(Debug, Default)]
pub struct Reach {
    reached: HashSet<Oid>,
    pending: BinaryHeap<(i64, Oid)>,
    begun: bool,
    unreachable: HashSet<Oid>,
}

impl Reach {
    /// Whether a commit is HEAD or reachable from it; `false` if it is missing.
    ///
    /// Walks newest first, to a few days before the commit's date; if it was not met by then, asks git.
    pub fn contains(&mut self, repo: &Repository, commit: Oid) -> bool {
        if self.reached.contains(&commit) {
            return true;
        }
        let Some(time) = time(repo, commit).filter(|_| !self.unreachable.contains(&commit)) else { return false };
        if !std::mem::replace(&mut self.begun, true) {
            let head = repo.head().ok().and_then(|head| head.commit);
            self.add(repo, head);
        }
        self.walk(repo, commit, time - SKEW, usize::MAX);
        let reached = self.reached.contains(&commit)
            || (!self.pending.is_empty() && is_ancestor_by_git(repo, commit, &repo.head_revision()));
        if !reached {
            self.unreachable.insert(commit);
        }
        reached
    }

    /// Goes back at most `steps` commits: to `commit`, or to commits older than `until`.
    fn walk(&mut self, repo: &Repository, commit: Oid, until: i64, steps: usize) {
        for _ in 0..steps {
            if self.reached.contains(&commit) || self.pending.peek().is_none_or(|(newest, _)| *newest < until) {
                return;
            }
            let next = self.pending.pop().and_then(|(_, id)| repo.gix().find_commit(id).ok());
            for parent in next.iter().flat_map(|commit| commit.parent_ids()) {
                self.add(repo, Some(parent.detach()));
            }
        }
    }

    fn add(&mut self, repo: &Repository, commit: Option<Oid>) {
        let Some(commit) = commit else { return };
        // missing commits end the walk in a shallow clone
        if let Some(time) = time(repo, commit)
            && self.reached.insert(commit)
        {
            self.pending.push((time, commit));
        }
    }
}

fn time(repo: &Repository, commit: Oid) -> Option<i64> {
    Some(repo.gix().find_commit(commit).ok()?.time().ok()?.seconds)
}

/// Whether `ancestor` is reachable from a commit; asks git if it is not near.
pub fn is_ancestor(repo: &Repository, ancestor: Oid, of: Oid) -> bool {
    let mut near = Reach::default();
    near.add(repo, Some(of));
    if let Some(time) = time(repo, ancestor) {
        near.walk(repo, ancestor, time - SKEW, NEAR);
    }
    near.reached.contains(&ancestor)
        || (!near.pending.is_empty() && is_ancestor_by_git(repo, ancestor, &of.to_string()))
}

/// As [`is_ancestor`], if its commit date is not later.
pub fn is_older_ancestor(repo: &Repository, ancestor: Oid, of: Oid) -> bool {
    time(repo, ancestor) <= time(repo, of) && is_ancestor(repo, ancestor, of)
}

fn is_ancestor_by_git(repo: &Repository, ancestor: Oid, of: &str) -> bool {
    let mut command = git(repo.cwd());
    command.args(["merge-base", "--is-ancestor", &ancestor.to_string(), of]);
    output(&mut command).is_ok()
}

/// Those of these commits that exist and are not HEAD or reachable from it.
pub fn outside(repo: &Repository, commits: impl IntoIterator<Item = Oid>) -> Result<HashSet<Oid>> {
    let mut sought: HashSet<Oid> = commits.into_iter().filter(|id| repo.is_commit(*id)).collect();
    if sought.is_empty() {
        return Ok(sought);
    }
    let mut command = git(repo.cwd());
    command.args(["rev-list", "--stdin"]);
    let mut input: String = sought.iter().map(|id| format!("{id}\n")).collect();
    input.push_str(&format!("^{}\n", repo.head_revision()));
    let mut running = StreamingGit::feed(&mut command, input.into_bytes())?;
    let mut found = HashSet::new();
    for line in running.lines() {
        found.extend(parse_oid(&line?).filter(|id| sought.remove(id)));
    }
    running.finish()?;
    Ok(found)
}

/// Walks all commits reachable from a tip; fails with git's message if one is damaged or missing.
pub fn check_reachable(repo: &Repository, tip: Oid) -> Result<()> {
    let mut command = git(repo.cwd());
    command.args(["rev-list", "--quiet", &tip.to_string(), "--"]);
    output(&mut command).map(|_| ())
}

/// A running comparison of histories.
pub struct Comparing(BackgroundGit);

/// Starts comparing the histories of `from` and `tip`; both must exist.
pub fn compare(repo: &Repository, from: Oid, tip: Oid) -> Comparing {
    let mut command = git(repo.cwd());
    command.args(["rev-list", "--count", "--left-right", &format!("{from}...{tip}"), "--"]);
    Comparing(BackgroundGit::start(&mut command))
}

impl Comparing {
    /// The numbers of commits that only `from` reaches (0 if `tip` reaches it), and only `tip`; `None` if git failed.
    pub fn read(self) -> Option<(usize, usize)> {
        let counted = String::from_utf8(self.0.output().ok()?).ok()?;
        let (from, tip) = counted.trim().split_once('\t')?;
        Some((from.parse().ok()?, tip.parse().ok()?))
    }
}
