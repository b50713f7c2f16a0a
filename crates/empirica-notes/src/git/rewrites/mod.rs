//! Which commit took the place of one that is no longer in HEAD's history.
//!
//! Rules are tried in order, and the first that yields anything decides: a commit map of filter-repo's, the patch-id of
//! a whole range, the patch-id of the commit, tree with author and date, an amend that the reflog remembers. A commit
//! that is an ancestor of the lost one did not take its place.

pub mod beside;
pub mod patches;
pub mod recorded;

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Result;
use crate::git::Oid;
use crate::git::history::reach::is_ancestor;
use crate::git::repository::Repository;
use crate::git::rewrites::beside::{OtherHistory, Range};
use crate::git::rewrites::patches::{Listed, Patch, Which};
use crate::git::rewrites::recorded::{Rewrites, ends};

/// A commit with records, to be looked for.
#[derive(Debug, Clone, Default)]
pub struct LostCommit {
    /// Other commits on which the records stand: places they followed to earlier.
    pub also: BTreeSet<Oid>,
    /// The trees that records name; all that is known of a commit that is not here.
    pub trees: BTreeSet<Oid>,
}

/// What made a commit the equivalent of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// filter-repo's commit map names it.
    CommitMap,
    /// Its patch is that of a whole branch or of its beginning: a squash.
    RangePatchId,
    /// Its patch is the same.
    PatchId,
    /// Tree, author and author's date are the same.
    TreeAuthorDate,
    /// The tree is the same; no more is known of a commit that is not here.
    Tree,
    /// It was amended, says the reflog.
    Amend,
}

/// What became of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitFate {
    /// HEAD's history contains it, or it is no commit.
    Here,
    /// These can have taken its place, by this rule; newest first, at least one.
    Replaced(Rule, Vec<Oid>),
    /// Nothing took its place here, and another branch, tag or remote-tracking branch contains it.
    Elsewhere,
    /// It is not here, and the clone is shallow: the history that was cut off may contain it.
    Beyond,
    /// Nothing contains it and nothing took its place.
    Lost,
}

/// What was found out.
#[derive(Debug, Default)]
pub struct RewriteFindings {
    /// What became of each commit.
    pub fates: BTreeMap<Oid, CommitFate>,
    /// What could not be looked at.
    pub warnings: Vec<String>,
}

/// Looks for all of them at once, in few git processes. HEAD must have a commit when there is any.
pub fn find(repo: &Repository, sought: &BTreeMap<Oid, LostCommit>) -> Result<RewriteFindings> {
    if sought.is_empty() {
        return Ok(RewriteFindings::default());
    }
    let mut search = Search::begin(repo, sought)?;
    for id in sought.keys() {
        if let Some(fate) = search.written_down(*id) {
            search.found.fates.insert(*id, fate);
        }
    }
    if let Err(error) = search.by_patch() {
        // some partial clones lack even trees
        search.found.warnings.push(format!("the commits could not be compared ({error})"));
    }
    search.by_tree()?;
    for id in search.open() {
        let fate = search.rest(id);
        search.found.fates.insert(id, fate);
    }
    Ok(search.found)
}

struct Search<'a> {
    repo: &'a Repository,
    sought: &'a BTreeMap<Oid, LostCommit>,
    rewrites: Rewrites,
    beside: OtherHistory,
    found: RewriteFindings,
}

impl<'a> Search<'a> {
    fn begin(repo: &'a Repository, sought: &'a BTreeMap<Oid, LostCommit>) -> Result<Self> {
        let all = sought.iter().flat_map(|(id, sought)| sought.also.iter().chain([id])).copied();
        let rewrites = Rewrites::read(repo, all.clone());
        let known = rewrites.trail(all).into_iter().filter(|id| repo.is_commit(*id)).collect();
        let mut beside = OtherHistory::read(repo, &known)?;
        let found = RewriteFindings { warnings: std::mem::take(&mut beside.warnings), ..Default::default() };
        Ok(Search { repo, sought, rewrites, beside, found })
    }

    /// The commit, those its records followed to, and those that took their place by what was written down.
    fn subjects(&self, id: Oid) -> BTreeSet<Oid> {
        let also = self.sought.get(&id).into_iter().flat_map(|sought| sought.also.iter().copied());
        self.rewrites.trail(also.chain([id]))
    }

    /// Those of the subjects that are here and outside HEAD's history.
    fn outside(&self, id: Oid) -> Vec<Oid> {
        self.subjects(id).into_iter().filter(|id| self.beside.is_outside(*id)).collect()
    }

    fn is_here(&self, id: Oid) -> bool {
        self.repo.is_commit(id) && !self.beside.is_outside(id)
    }

    /// Whether something would keep the commit: HEAD, a branch, a tag.
    fn is_kept(&self, id: Oid) -> bool {
        self.is_here(id) || self.beside.is_named(id)
    }

    /// What needs no comparison. filter-repo rewrites all branches, so what it names need not be in HEAD's history.
    fn written_down(&self, id: Oid) -> Option<CommitFate> {
        if self.is_here(id) || (self.repo.has_object(id) && !self.repo.is_commit(id)) {
            return Some(CommitFate::Here);
        }
        self.kept_end(id, |search, of| ends(&search.rewrites.mapped, of))
            .map(|to| CommitFate::Replaced(Rule::CommitMap, to))
    }

    fn kept_end(&self, id: Oid, ends: impl Fn(&Self, Oid) -> BTreeSet<Oid>) -> Option<Vec<Oid>> {
        let all: BTreeSet<Oid> = self.subjects(id).into_iter().flat_map(|of| ends(self, of)).collect();
        let kept: Vec<Oid> = all.into_iter().filter(|to| *to != id && self.is_kept(*to)).collect();
        (!kept.is_empty()).then_some(kept)
    }

    fn open(&self) -> Vec<Oid> {
        self.sought.keys().filter(|id| !self.found.fates.contains_key(*id)).copied().collect()
    }

    /// The rules that need patches, then tree with author and date.
    fn by_patch(&mut self) -> Result<()> {
        let mut subjects: BTreeMap<Oid, Vec<Oid>> = BTreeMap::new();
        for id in self.open() {
            subjects.insert(id, self.outside(id));
        }
        let all: BTreeSet<Oid> = subjects.values().flatten().copied().collect();
        if all.is_empty() {
            return Ok(());
        }
        let compared = self.compare(&all)?;
        for (id, subjects) in subjects {
            let rules: [(Rule, Match); 3] = [
                (Rule::RangePatchId, Compared::squashed),
                (Rule::PatchId, Compared::picked),
                (Rule::TreeAuthorDate, Compared::equal),
            ];
            for (rule, matches) in rules {
                let candidates = self.later(subjects.iter().flat_map(|of| matches(&compared, *of)));
                if !candidates.is_empty() {
                    self.found.fates.insert(id, CommitFate::Replaced(rule, candidates));
                    break;
                }
            }
        }
        Ok(())
    }

    /// Looks at commits, at the ranges they are in, and at HEAD's history since.
    fn compare(&mut self, commits: &BTreeSet<Oid>) -> Result<Compared> {
        let mut own: BTreeMap<Oid, Listed> = BTreeMap::new();
        patches::list(self.repo, &Which::These(commits), true, &mut |listed| drop(own.insert(listed.id, listed)))?;
        let ranges: BTreeMap<Oid, BTreeSet<Range>> =
            commits.iter().map(|of| (*of, self.beside.ranges(self.repo, *of))).collect();
        let tips: BTreeMap<Oid, Oid> = ranges.values().flatten().map(|range| (range.tip, range.base)).collect();
        let touched = patches::paths(self.repo, &tips)?;

        // only a commit that touches the same paths can have the same patch
        let wanted: BTreeSet<u64> =
            own.values().filter_map(|one| one.paths).chain(touched.values().copied().flatten()).collect();
        let authors: BTreeSet<(Oid, &[u8])> = own.values().map(|one| (one.tree, one.author.as_slice())).collect();
        let (mut alike, mut same) = (Vec::new(), Vec::new());
        patches::list(self.repo, &Which::SinceAllOf(commits), true, &mut |listed| {
            if let Some(paths) = listed.paths.filter(|paths| wanted.contains(paths)) {
                alike.push((listed.id, paths));
            }
            if authors.contains(&(listed.tree, &listed.author)) {
                same.push(listed);
            }
        })?;
        let there: BTreeSet<u64> = alike.iter().map(|(_, paths)| *paths).collect();
        let worth = |paths: patches::Paths| paths.is_some_and(|paths| there.contains(&paths));
        let whole = tips.into_iter().filter(|(tip, _)| touched.get(tip).is_some_and(|paths| worth(*paths)));
        let whole = self.ids(whole.map(|(tip, base)| (tip, Some(base))).collect());
        let one = own.values().filter(|one| worth(one.paths)).map(|one| one.id);
        let alike: Vec<Oid> = alike.into_iter().map(|(id, _)| id).collect();
        let single = self.ids(one.chain(alike.iter().copied()).map(|id| (id, None)).collect());
        Ok(Compared { own, ranges, alike, same, whole, single })
    }

    /// The patch-ids; none when git cannot compare all of them.
    fn ids(&mut self, patches: Vec<Patch>) -> BTreeMap<Oid, String> {
        patches::ids(self.repo, patches).unwrap_or_else(|error| {
            // a partial clone lacks blobs, and nothing is fetched for this
            self.found.warnings.push(format!("the patches could not be compared ({error})"));
            BTreeMap::new()
        })
    }

    /// The matches that are no ancestors of what they match, each once.
    fn later(&self, matches: impl Iterator<Item = (Oid, Oid)>) -> Vec<Oid> {
        let mut out = Vec::new();
        for (of, candidate) in matches {
            if !out.contains(&candidate) && !is_ancestor(self.repo, candidate, &of.to_string()) {
                out.push(candidate);
            }
        }
        out
    }

    /// Commits that are not here, by the tree their records name.
    fn by_tree(&mut self) -> Result<()> {
        let gone = |id: &Oid| !self.repo.has_object(*id) && self.outside(*id).is_empty();
        let open: Vec<Oid> = self.open().into_iter().filter(gone).collect();
        let trees: BTreeSet<Oid> =
            open.iter().filter_map(|id| self.sought.get(id)).flat_map(|s| &s.trees).copied().collect();
        if trees.is_empty() {
            return Ok(());
        }
        let mut there = Vec::new();
        patches::list(self.repo, &Which::SinceAllOf(&BTreeSet::new()), false, &mut |listed| {
            if trees.contains(&listed.tree) {
                there.push((listed.id, listed.tree));
            }
        })?;
        for id in open {
            let trees = self.sought.get(&id).map(|sought| &sought.trees);
            let same = there.iter().filter(|(_, tree)| trees.is_some_and(|trees| trees.contains(tree)));
            let same: Vec<Oid> = same.map(|(id, _)| *id).collect();
            if !same.is_empty() {
                self.found.fates.insert(id, CommitFate::Replaced(Rule::Tree, same));
            }
        }
        Ok(())
    }

    fn rest(&self, id: Oid) -> CommitFate {
        if let Some(to) = self.kept_end(id, |search, of| ends(&search.rewrites.amended, of)) {
            return CommitFate::Replaced(Rule::Amend, to);
        }
        match self.repo.has_object(id) {
            true if self.beside.is_named(id) => CommitFate::Elsewhere,
            false if self.repo.is_shallow() => CommitFate::Beyond,
            _ => CommitFate::Lost,
        }
    }
}

/// Commits or tips, and commits of HEAD's history that are like them.
type Matches = Vec<(Oid, Oid)>;
/// How they are like them.
type Match = fn(&Compared, Oid) -> Matches;

/// Commits outside HEAD's history, and what of HEAD's history can be compared with them, newest first.
struct Compared {
    own: BTreeMap<Oid, Listed>,
    ranges: BTreeMap<Oid, BTreeSet<Range>>,
    /// Those that touch the same paths as a commit or range.
    alike: Vec<Oid>,
    /// Those that have the same tree, author and date as a commit.
    same: Vec<Listed>,
    /// Patch-ids of ranges by their tips.
    whole: BTreeMap<Oid, String>,
    /// Patch-ids of commits.
    single: BTreeMap<Oid, String>,
}

impl Compared {
    fn with(&self, of: Oid, patch: Option<&String>) -> impl Iterator<Item = (Oid, Oid)> {
        let alike = self.alike.iter().filter(move |id| patch.is_some() && self.single.get(*id) == patch);
        alike.map(move |id| (of, *id))
    }

    fn squashed(&self, of: Oid) -> Matches {
        let ranges = self.ranges.get(&of).into_iter().flatten();
        ranges.flat_map(|range| self.with(range.tip, self.whole.get(&range.tip))).collect()
    }

    fn picked(&self, of: Oid) -> Matches {
        self.with(of, self.single.get(&of)).collect()
    }

    fn equal(&self, of: Oid) -> Matches {
        let Some(own) = self.own.get(&of) else { return Matches::new() };
        let same = self.same.iter().filter(|one| (one.tree, &one.author) == (own.tree, &own.author));
        same.map(|one| (of, one.id)).collect()
    }
}
