//! Finds the rewritten form of commits that are no longer in HEAD's history.
//!
//! Rules, of which the first with a result decides: filter-repo's commit map, the patch-id of a whole range, the
//! patch-id of the commit, tree with author and date, an amend in the reflog, a message that names the session. Excludes ancestors of
//! the lost commit.

pub mod other_history;
pub mod patches;
pub mod recorded;

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Result;
use crate::git::Oid;
use crate::git::history::messages;
use crate::git::history::reach::is_ancestor;
use crate::git::repository::Repository;
use crate::git::rewrites::other_history::{OtherHistory, Range};
use crate::git::rewrites::patches::{CommitSelection, Patch, Summary};
use crate::git::rewrites::recorded::{Edges, Rewrites, ends};
use crate::model::SessionId;

/// A commit with records to look for.
#[derive(Debug, Clone, Default)]
pub struct LostCommit {
    /// Other commits that the records are attached to.
    pub also: BTreeSet<Oid>,
    /// The trees in its records; the only data on a missing commit.
    pub trees: BTreeSet<Oid>,
    /// The sessions of its records.
    pub sessions: BTreeSet<SessionId>,
}

/// The rule by which a commit matches another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// It is in filter-repo's commit map.
    CommitMap,
    /// Its patch equals that of a range: a squash.
    RangePatchId,
    /// Its patch is equal.
    PatchId,
    /// Tree, author and author date are equal.
    TreeAuthorDate,
    /// The tree is equal; only for missing commits, which have no other data, and not in a shallow clone.
    Tree,
    /// The reflog has an amend.
    Amend,
    /// The message names the session of the records.
    Trailer,
}

/// The fate of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitFate {
    /// It is in HEAD's history, or not a commit.
    Here,
    /// Candidates for its rewritten form by this rule, newest first, at least one.
    Replaced(Rule, Vec<Oid>),
    /// It has no rewritten form, and another branch, tag or remote-tracking branch contains it.
    Elsewhere,
    /// It is missing, and may be beyond the boundary of a shallow clone.
    Beyond,
    /// Nothing contains it, and it has no rewritten form.
    Lost,
}

/// The result of a search.
#[derive(Debug, Default)]
pub struct RewriteFindings {
    /// The fate of each commit.
    pub fates: BTreeMap<Oid, CommitFate>,
    /// Problems during the search.
    pub warnings: Vec<String>,
}

/// Searches for all at once, in few git processes: in HEAD's history, or `among` these commits of it. Unless `sought` is empty,
/// HEAD must have a commit.
pub fn find(
    repo: &Repository,
    sought: &BTreeMap<Oid, LostCommit>,
    among: Option<&BTreeSet<Oid>>,
) -> Result<RewriteFindings> {
    if sought.is_empty() {
        return Ok(RewriteFindings::default());
    }
    let mut search = Search::begin(repo, sought, among)?;
    for id in sought.keys() {
        if let Some(fate) = search.recorded_fate(*id) {
            search.found.fates.insert(*id, fate);
        }
    }
    if let Err(error) = search.by_patch() {
        // some partial clones lack even trees
        search.found.warnings.push(format!("cannot compare the commits: {error}"));
    }
    search.by_tree()?;
    search.by_trailer()?;
    for id in search.open() {
        let fate = search.unmatched_fate(id);
        search.found.fates.insert(id, fate);
    }
    Ok(search.found)
}

struct Search<'a> {
    repo: &'a Repository,
    sought: &'a BTreeMap<Oid, LostCommit>,
    /// The commits to look among; `None` for all of HEAD's history.
    among: Option<&'a BTreeSet<Oid>>,
    rewrites: Rewrites,
    others: OtherHistory,
    found: RewriteFindings,
}

impl<'a> Search<'a> {
    fn begin(
        repo: &'a Repository,
        sought: &'a BTreeMap<Oid, LostCommit>,
        among: Option<&'a BTreeSet<Oid>>,
    ) -> Result<Self> {
        let all = sought.iter().flat_map(|(id, sought)| sought.also.iter().chain([id])).copied();
        let rewrites = Rewrites::read(repo, all.clone());
        let existing = rewrites.trail(all).into_iter().filter(|id| repo.is_commit(*id)).collect();
        let mut others = OtherHistory::read(repo, &existing)?;
        let found = RewriteFindings { warnings: std::mem::take(&mut others.warnings), ..Default::default() };
        Ok(Search { repo, sought, among, rewrites, others, found })
    }

    /// The commit, those its records are attached to, and their recorded rewrites.
    fn subjects(&self, id: Oid) -> BTreeSet<Oid> {
        let also = self.sought.get(&id).into_iter().flat_map(|sought| sought.also.iter().copied());
        self.rewrites.trail(also.chain([id]))
    }

    /// The commits that may be rewritten forms of these.
    fn candidates<'c>(&self, of: &'c BTreeSet<Oid>) -> CommitSelection<'c>
    where
        'a: 'c,
    {
        self.among.map_or(CommitSelection::SinceAllOf(of), CommitSelection::These)
    }

    /// The subjects that exist and are outside HEAD's history.
    fn outside(&self, id: Oid) -> Vec<Oid> {
        self.subjects(id).into_iter().filter(|id| self.others.is_outside(*id)).collect()
    }

    fn is_in_history(&self, id: Oid) -> bool {
        self.repo.is_commit(id) && !self.others.is_outside(id)
    }

    /// Whether HEAD, a branch or a tag contains the commit.
    fn is_kept(&self, id: Oid) -> bool {
        self.is_in_history(id) || self.others.is_named(id)
    }

    /// The fate if it needs no comparison. filter-repo rewrites all branches, so mapped commits need not be in HEAD's
    /// history.
    fn recorded_fate(&self, id: Oid) -> Option<CommitFate> {
        if self.is_in_history(id) || (self.repo.has_object(id) && !self.repo.is_commit(id)) {
            return Some(CommitFate::Here);
        }
        self.kept_forms(id, &self.rewrites.mapped).map(|to| CommitFate::Replaced(Rule::CommitMap, to))
    }

    /// The final rewritten forms that HEAD, a branch or a tag contains; `None` without one.
    fn kept_forms(&self, id: Oid, edges: &Edges) -> Option<Vec<Oid>> {
        let all: BTreeSet<Oid> = self.subjects(id).into_iter().flat_map(|of| ends(edges, of)).collect();
        let kept: Vec<Oid> = all.into_iter().filter(|to| *to != id && self.is_kept(*to)).collect();
        (!kept.is_empty()).then_some(kept)
    }

    fn open(&self) -> Vec<Oid> {
        self.sought.keys().filter(|id| !self.found.fates.contains_key(*id)).copied().collect()
    }

    /// Applies the rules on patches, then tree with author and date.
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
                (Rule::TreeAuthorDate, Compared::same_tree),
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

    /// Reads commits, the ranges they are in, and HEAD's history since.
    fn compare(&mut self, commits: &BTreeSet<Oid>) -> Result<Compared> {
        let mut own: BTreeMap<Oid, Summary> = BTreeMap::new();
        patches::list(self.repo, &CommitSelection::These(commits), true, &mut |listed| {
            drop(own.insert(listed.id, listed))
        })?;
        let ranges: BTreeMap<Oid, BTreeSet<Range>> =
            commits.iter().map(|of| (*of, self.others.ranges(self.repo, *of))).collect();
        let tips: BTreeMap<Oid, Oid> = ranges.values().flatten().map(|range| (range.tip, range.base)).collect();
        let touched = patches::paths(self.repo, &tips)?;

        // only a commit that touches the same paths can have the same patch
        let candidates: BTreeSet<u64> =
            own.values().filter_map(|one| one.paths).chain(touched.values().copied().flatten()).collect();
        let authors: BTreeSet<(Oid, &[u8])> = own.values().map(|one| (one.tree, one.author.as_slice())).collect();
        let (mut same_paths, mut same) = (Vec::new(), Vec::new());
        patches::list(self.repo, &self.candidates(commits), true, &mut |listed| {
            if let Some(paths) = listed.paths.filter(|paths| candidates.contains(paths)) {
                same_paths.push((listed.id, paths));
            }
            if authors.contains(&(listed.tree, &listed.author)) {
                same.push(listed);
            }
        })?;
        let candidate_paths: BTreeSet<u64> = same_paths.iter().map(|(_, paths)| *paths).collect();
        let is_comparable = |paths: patches::Paths| paths.is_some_and(|paths| candidate_paths.contains(&paths));
        let whole = tips.into_iter().filter(|(tip, _)| touched.get(tip).is_some_and(|paths| is_comparable(*paths)));
        let whole = self.ids(whole.map(|(tip, base)| (tip, Some(base))).collect());
        let one = own.values().filter(|one| is_comparable(one.paths)).map(|one| one.id);
        let same_paths: Vec<Oid> = same_paths.into_iter().map(|(id, _)| id).collect();
        let single = self.ids(one.chain(same_paths.iter().copied()).map(|id| (id, None)).collect());
        Ok(Compared { own, ranges, same_paths, same, whole, single })
    }

    /// The patch-ids; empty if git cannot compute all of them.
    fn ids(&mut self, patches: Vec<Patch>) -> BTreeMap<Oid, String> {
        patches::ids(self.repo, patches).unwrap_or_else(|error| {
            // a partial clone lacks blobs, which are not fetched for this
            self.found.warnings.push(format!("cannot compare the patches: {error}"));
            BTreeMap::new()
        })
    }

    /// The candidates that are not ancestors of the commit they match, without duplicates.
    fn later(&self, matches: impl Iterator<Item = (Oid, Oid)>) -> Vec<Oid> {
        let mut out = Vec::new();
        for (of, candidate) in matches {
            if !out.contains(&candidate) && !is_ancestor(self.repo, candidate, of) {
                out.push(candidate);
            }
        }
        out
    }

    /// Matches missing commits by the trees in their records, unless they may be beyond the boundary of a shallow clone.
    fn by_tree(&mut self) -> Result<()> {
        if self.repo.is_shallow() {
            return Ok(());
        }
        let gone = |id: &Oid| !self.repo.has_object(*id) && self.outside(*id).is_empty();
        let open: Vec<Oid> = self.open().into_iter().filter(gone).collect();
        let trees: BTreeSet<Oid> =
            open.iter().filter_map(|id| self.sought.get(id)).flat_map(|s| &s.trees).copied().collect();
        if trees.is_empty() {
            return Ok(());
        }
        let mut candidates = Vec::new();
        patches::list(self.repo, &self.candidates(&BTreeSet::new()), false, &mut |listed| {
            if trees.contains(&listed.tree) {
                candidates.push((listed.id, listed.tree));
            }
        })?;
        for id in open {
            let trees = self.sought.get(&id).map(|sought| &sought.trees);
            let same = candidates.iter().filter(|(_, tree)| trees.is_some_and(|trees| trees.contains(tree)));
            let same: Vec<Oid> = same.map(|(id, _)| *id).collect();
            if !same.is_empty() {
                self.found.fates.insert(id, CommitFate::Replaced(Rule::Tree, same));
            }
        }
        Ok(())
    }

    /// Matches commits that nothing else matches by the messages that name the sessions of their records.
    fn by_trailer(&mut self) -> Result<()> {
        let mut open: Vec<(Oid, &BTreeSet<SessionId>)> = Vec::new();
        for id in self.open() {
            let sessions = self.sought.get(&id).map(|sought| &sought.sessions).filter(|sessions| !sessions.is_empty());
            open.extend(
                sessions.filter(|_| self.unmatched_fate(id) == CommitFate::Lost).map(|sessions| (id, sessions)),
            );
        }
        if open.is_empty() {
            return Ok(());
        }
        let named = messages::commits_naming_sessions(self.repo)?;
        for (id, sessions) in open {
            let is_of = |(_, of): &&(Oid, Vec<SessionId>)| of.iter().any(|session| sessions.contains(session));
            let candidates = self.later(named.iter().filter(is_of).map(|(commit, _)| (id, *commit)));
            if !candidates.is_empty() {
                self.found.fates.insert(id, CommitFate::Replaced(Rule::Trailer, candidates));
            }
        }
        Ok(())
    }

    fn unmatched_fate(&self, id: Oid) -> CommitFate {
        if let Some(to) = self.kept_forms(id, &self.rewrites.amended) {
            return CommitFate::Replaced(Rule::Amend, to);
        }
        match self.repo.has_object(id) {
            true if self.others.is_named(id) => CommitFate::Elsewhere,
            false if self.repo.is_shallow() => CommitFate::Beyond,
            _ => CommitFate::Lost,
        }
    }
}

/// Pairs of a commit or tip and a matching commit of HEAD's history.
type Matches = Vec<(Oid, Oid)>;
type Match = fn(&Compared, Oid) -> Matches;

/// Commits outside HEAD's history, and candidates in HEAD's history, newest first.
struct Compared {
    own: BTreeMap<Oid, Summary>,
    ranges: BTreeMap<Oid, BTreeSet<Range>>,
    /// The candidates with the same paths as a commit or range.
    same_paths: Vec<Oid>,
    /// The candidates with the same tree, author and date as a commit.
    same: Vec<Summary>,
    /// The patch-ids of ranges, by tip.
    whole: BTreeMap<Oid, String>,
    /// The patch-ids of commits.
    single: BTreeMap<Oid, String>,
}

impl Compared {
    fn with(&self, of: Oid, patch: Option<&String>) -> impl Iterator<Item = (Oid, Oid)> {
        let same_paths = self.same_paths.iter().filter(move |id| patch.is_some() && self.single.get(*id) == patch);
        same_paths.map(move |id| (of, *id))
    }

    fn squashed(&self, of: Oid) -> Matches {
        let ranges = self.ranges.get(&of).into_iter().flatten();
        ranges.flat_map(|range| self.with(range.tip, self.whole.get(&range.tip))).collect()
    }

    fn picked(&self, of: Oid) -> Matches {
        self.with(of, self.single.get(&of)).collect()
    }

    fn same_tree(&self, of: Oid) -> Matches {
        let Some(own) = self.own.get(&of) else { return Matches::new() };
        let same = self.same.iter().filter(|one| (one.tree, &one.author) == (own.tree, &own.author));
        same.map(|one| (of, one.id)).collect()
    }
}
