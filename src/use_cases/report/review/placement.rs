//! Which records belong to a range of commits, also if the commits that they were made for were squashed, rebased or picked since.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::context::CommandContext;
use empirica_notes::error::Result;
use empirica_notes::git::history::commit::Commit;
use empirica_notes::git::history::range::CommitRange;
use empirica_notes::git::history::{reach, select, trailer};
use empirica_notes::git::rewrites::{CommitFate, LostCommit, find};
use empirica_notes::git::{Oid, parse_oid};
use empirica_notes::model::{Body, Id, SessionId};
use empirica_notes::store::{Placements, RecordEntry, Scan};

/// The commits of a range, and those that they replace.
pub struct RangeCommits {
    /// The commits of the range, newest first.
    pub commits: Vec<Commit>,
    own: BTreeSet<Oid>,
    /// Commits outside the history of the tip, each with its rewritten form in the range.
    rewritten: BTreeMap<Oid, Oid>,
    /// Annotated commits that are not in the history of the tip, or missing.
    outside: HashSet<Oid>,
    /// The commits whose message names a session, newest first.
    named: BTreeMap<SessionId, Vec<Oid>>,
    /// Comparisons that failed.
    pub warnings: Vec<String>,
}

impl RangeCommits {
    /// Reads the range in a repository seen at its tip.
    pub fn read(context: &CommandContext<'_>, range: &CommitRange) -> Result<Self> {
        let mut out = RangeCommits {
            commits: Vec::new(),
            own: BTreeSet::new(),
            rewritten: BTreeMap::new(),
            outside: HashSet::new(),
            named: BTreeMap::new(),
            warnings: Vec::new(),
        };
        for listed in select(context.repo, &range.selection(), false)? {
            let commit = listed?.read()?;
            out.own.insert(commit.id);
            for session in trailer::sessions(&commit.message) {
                out.named.entry(session).or_default().push(commit.id);
            }
            out.commits.push(commit);
        }
        if out.own.is_empty() {
            return Ok(out);
        }
        let empty = context.repo.empty_tree();
        let targets: BTreeSet<Oid> = context.index()?.targets()?.into_iter().filter(|id| *id != empty).collect();
        out.outside = reach::outside(context.repo, targets.iter().copied())?;
        out.outside.extend(targets.into_iter().filter(|id| !context.repo.has_object(*id)));
        out.find_rewritten(context)?;
        Ok(out)
    }

    fn find_rewritten(&mut self, context: &CommandContext<'_>) -> Result<()> {
        let index = context.index()?;
        let mut sought = BTreeMap::new();
        for id in &self.outside {
            let mut lost = LostCommit::default();
            if !context.repo.has_object(*id) {
                let hex = id.to_string();
                let made_there = index.on(*id)?;
                let made_there = made_there.records().filter(|record| record.envelope.commit.as_ref() == Some(&hex));
                lost.trees.extend(made_there.filter_map(|record| parse_oid(record.envelope.tree.as_deref()?)));
            }
            sought.insert(*id, lost);
        }
        let found = find(context.repo, &sought, Some(&self.own))?;
        self.warnings.extend(found.warnings);
        for (id, fate) in found.fates {
            if let CommitFate::Replaced(_, to) = fate
                && let Some(to) = to.into_iter().find(|to| self.own.contains(to))
            {
                self.rewritten.insert(id, to);
            }
        }
        Ok(())
    }

    /// The commits whose notes have records of the range.
    pub fn annotated(&self) -> BTreeSet<Oid> {
        self.own.iter().chain(self.rewritten.keys()).copied().collect()
    }

    /// The sessions that a message of the range names.
    pub fn named_sessions(&self) -> impl Iterator<Item = &SessionId> {
        self.named.keys()
    }

    /// The commit of the range that this one is, or was rewritten to.
    fn in_range(&self, commit: Oid) -> Option<Oid> {
        if self.own.contains(&commit) { Some(commit) } else { self.rewritten.get(&commit).copied() }
    }
}

/// The place of a record in a range.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    /// The commit of the range.
    pub commit: Oid,
    /// The commit that it was recorded for; another one if that was rewritten.
    pub original: Oid,
    /// The last record of the report that has it, else itself.
    pub upto: Id,
}

/// Places the records of one session.
pub struct SessionPlaces<'a> {
    context: &'a CommandContext<'a>,
    range: &'a RangeCommits,
    session: &'a SessionId,
    placements: Placements,
    /// The last record that each handoff or digest of the session reports, and the commit of that.
    reports: BTreeMap<Id, Oid>,
}

impl<'a> SessionPlaces<'a> {
    /// From the records of a session, with those that refer to them.
    pub fn new(context: &'a CommandContext<'a>, range: &'a RangeCommits, session: &'a SessionId, scan: &Scan) -> Self {
        let mut places =
            SessionPlaces { context, range, session, placements: Placements::new(scan), reports: BTreeMap::new() };
        for entry in scan.entries().filter(|entry| entry.record.envelope.session.as_ref() == Some(session)) {
            let upto = match &entry.record.body {
                Body::Handoff(_) => entry.record.envelope.id.clone(),
                Body::Digest(digest) => digest.upto.clone(),
                _ => continue,
            };
            let commit = places.home(entry);
            places.reports.insert(upto, commit);
        }
        places
    }

    fn home(&self, entry: &RecordEntry) -> Oid {
        self.placements.of(&self.context.store, entry)
    }

    /// The commit of the range that a record of the session belongs to: that of the handoff or digest which reports it, else its own.
    /// Records that git's data does not place belong to the last commit whose message names the session.
    pub fn of(&self, entry: &RecordEntry) -> Option<Placed> {
        let home = self.home(entry);
        let report = self.reports.range(&entry.record.envelope.id..).next();
        let reported = report.map(|(_, commit)| *commit);
        let place = if matches!(entry.record.body, Body::Digest(_)) { home } else { reported.unwrap_or(home) };
        let upto = report.map_or(&entry.record.envelope.id, |(upto, _)| upto).clone();
        let commit = self.commit_of(place, reported)?;
        Some(Placed { commit, original: place, upto })
    }

    fn commit_of(&self, place: Oid, reported: Option<Oid>) -> Option<Oid> {
        self.range.in_range(place).or_else(|| {
            let named = self.range.named.get(self.session)?;
            let is_before =
                |commit: &&Oid| reported.is_none() && self.context.repo.first_parent(**commit) == Some(place);
            let next = named.iter().find(is_before);
            let lost = || named.first().filter(|_| self.range.outside.contains(&place));
            next.or_else(lost).copied()
        })
    }
}
