//! History outside HEAD's: branches, tags and reflog entries that contain given commits which HEAD does not.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use crate::error::Result;
use crate::git::process::{StreamingGit, git, text};
use crate::git::repository::Repository;
use crate::git::{Oid, parse_oid};

/// The part of the history outside HEAD's that contains the given commits.
#[derive(Debug, Default)]
pub struct OtherHistory {
    commits: HashMap<Oid, Node>,
    /// The tips, and whether a branch, a tag, a remote-tracking branch or a worktree's HEAD points to them.
    tips: BTreeMap<Oid, bool>,
    bases: BTreeMap<Oid, Option<Oid>>,
    /// Problems while reading.
    pub warnings: Vec<String>,
}

/// A commit that contains some of the given ones.
#[derive(Debug)]
struct Node {
    holds: Rc<BTreeSet<Oid>>,
    /// A commit with the same merge base with HEAD.
    like: Oid,
    single_parent: Option<Oid>,
}

/// The range from HEAD's history to a tip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub struct Range {
    pub tip: Oid,
    /// Its merge base with HEAD.
    pub base: Oid,
}

impl OtherHistory {
    /// Reads the history that contains `commits`, which must exist, without HEAD's.
    pub fn read(repo: &Repository, commits: &BTreeSet<Oid>) -> Result<Self> {
        let mut history =
            OtherHistory { tips: repo.tips().into_iter().map(|id| (id, true)).collect(), ..Default::default() };
        if commits.is_empty() {
            return Ok(history);
        }
        let named: BTreeSet<Oid> = history.tips.keys().copied().collect();
        repo.each_reflog_line(&mut |line| {
            for id in [line.old, line.new] {
                if !id.is_null() && repo.has_object(id) {
                    history.tips.entry(id).or_insert(false);
                }
            }
        });
        let all = history.tips.keys().chain(commits).copied().collect();
        if let Err(error) = history.walk(repo, commits, &all) {
            // reflog entries may have missing ancestors
            history.warnings.push(format!("cannot walk the commits of the reflogs: {error}"));
            history.tips.retain(|_, named| *named);
            let fewer = named.iter().chain(commits).copied().collect();
            history.walk(repo, commits, &fewer)?;
        }
        Ok(history)
    }

    /// Walks parents before children; keeps only descendants of `commits`.
    fn walk(&mut self, repo: &Repository, commits: &BTreeSet<Oid>, from: &BTreeSet<Oid>) -> Result<()> {
        self.commits.clear();
        let mut command = git(repo.cwd());
        command.args(["rev-list", "--topo-order", "--reverse", "--parents", "--stdin"]);
        let input: String =
            from.iter().map(|id| format!("{id}\n")).chain([format!("^{}\n", repo.head_revision())]).collect();
        let mut running = StreamingGit::feed(&mut command, input.into_bytes())?;
        for line in running.lines() {
            let line = line?;
            let mut ids = line.split_whitespace().filter_map(parse_oid);
            let Some(id) = ids.next() else { continue };
            let parents: Vec<Oid> = ids.collect();
            let inherited: Vec<&Node> = parents.iter().filter_map(|parent| self.commits.get(parent)).collect();
            let own = commits.contains(&id);
            let holds = match inherited.as_slice() {
                [] if !own => continue,
                [only] if !own => only.holds.clone(),
                many => {
                    Rc::new(many.iter().flat_map(|node| node.holds.iter().copied()).chain(own.then_some(id)).collect())
                }
            };
            let like = match (inherited.as_slice(), parents.as_slice()) {
                ([only], [_]) => only.like,
                _ => id,
            };
            let single_parent = if let [only] = parents.as_slice() { Some(*only) } else { None };
            self.commits.insert(id, Node { holds, like, single_parent });
        }
        running.finish()
    }

    /// Whether one of the given commits is outside HEAD's history.
    pub fn is_outside(&self, commit: Oid) -> bool {
        self.commits.contains_key(&commit)
    }

    fn tips_with(&self, commit: Oid) -> impl Iterator<Item = (Oid, bool)> {
        let holds = move |tip: &Oid| self.commits.get(tip).is_some_and(|node| node.holds.contains(&commit));
        self.tips.iter().filter(move |(tip, _)| holds(tip)).map(|(tip, named)| (*tip, *named))
    }

    /// Whether a branch, a tag, a remote-tracking branch or a worktree's HEAD contains the commit.
    pub fn is_named(&self, commit: Oid) -> bool {
        self.tips_with(commit).any(|(_, named)| named)
    }

    /// The ranges from HEAD's history to each tip that contains the commit, and to the commit itself, without those of
    /// a single commit and those without a base.
    pub fn ranges(&mut self, repo: &Repository, commit: Oid) -> BTreeSet<Range> {
        let tips: Vec<Oid> = self.tips_with(commit).map(|(tip, _)| tip).chain([commit]).collect();
        let mut out = BTreeSet::new();
        for tip in tips {
            let Some(node) = self.commits.get(&tip) else { continue };
            let base = *self.bases.entry(node.like).or_insert_with(|| merge_base(repo, node.like));
            if let Some(base) = base.filter(|base| Some(*base) != node.single_parent) {
                out.insert(Range { tip, base });
            }
        }
        out
    }
}

/// The merge base with HEAD; `None` if there is none.
fn merge_base(repo: &Repository, commit: Oid) -> Option<Oid> {
    let bases = text(git(repo.cwd()).args(["merge-base", &commit.to_string(), &repo.head_revision()])).ok()?;
    parse_oid(bases.lines().next()?)
}
