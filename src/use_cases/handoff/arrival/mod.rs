//! The changes since handoffs were written: from git, the work tree and all records.

pub mod fold;
pub mod view;

use std::collections::{BTreeMap, BTreeSet};

use crate::context::CommandContext;
use crate::context::claims::anchors::{Anchors, ClaimChange};
use crate::context::handoffs::ListedHandoff;
use crate::use_cases::handoff::arrival::fold::{Arrival, CommitState, FileState, RetractedClaim, arrival};
use empirica_notes::error::Result;
use empirica_notes::git::history::reach;
use empirica_notes::git::objects::content::{PathContent, Tree, inside};
use empirica_notes::git::repository::status;
use empirica_notes::git::repository::status::PendingStatus;
use empirica_notes::git::{Oid, parse_oid};
use empirica_notes::model::assessment::Changes;
use empirica_notes::model::handoff::UncommittedFile;
use empirica_notes::model::journal::anchor::AnchorState;
use empirica_notes::model::{Body, Handoff, Id};

/// The changes since each of these handoffs, in their order, and warnings.
pub fn changes_since(context: &CommandContext<'_>, handoffs: &[&ListedHandoff]) -> Result<(Vec<Arrival>, Vec<String>)> {
    match handoffs {
        [] => Ok((Vec::new(), Vec::new())),
        _ => PendingChanges::start(context, handoffs).read(context),
    }
}

/// The changes since handoffs, while git reads the work tree and compares commits.
pub struct PendingChanges<'h> {
    handoffs: Vec<(&'h ListedHandoff, Commit)>,
    status: PendingStatus,
}

impl<'h> PendingChanges<'h> {
    /// Starts `git status`, and `git rev-list` for each handoff whose commit is not HEAD.
    pub fn start(context: &CommandContext<'_>, handoffs: &[&'h ListedHandoff]) -> Self {
        let status = status::start(context.repo);
        let handoffs = handoffs.iter().map(|listed| (*listed, Commit::ask(context, listed))).collect();
        PendingChanges { handoffs, status }
    }

    /// The changes since each handoff, in their order, and warnings.
    pub fn read(self, context: &CommandContext<'_>) -> Result<(Vec<Arrival>, Vec<String>)> {
        self.read_with(context, Anchors::new(context))
    }

    /// The same by the records that `empirica.inject` admits.
    pub fn read_unasked(self, context: &CommandContext<'_>) -> Result<(Vec<Arrival>, Vec<String>)> {
        self.read_with(context, Anchors::unasked(context))
    }

    fn read_with(self, context: &CommandContext<'_>, mut anchors: Anchors<'_>) -> Result<(Vec<Arrival>, Vec<String>)> {
        let unknowns = self.handoffs.iter().flat_map(|(listed, _)| &listed.handoff.unknowns);
        let mut answers = context.index()?.naming(unknowns.filter_map(|item| item.id.as_ref()), &["resolve"])?;
        anchors.admit(&mut answers)?;
        let (changes, warnings) = match self.status.read() {
            Ok(status) => (Some(status.changes), Vec::new()),
            Err(error) => (None, vec![format!("cannot list changes since the handoff: {error}")]),
        };
        let handoffs = self.handoffs.iter().map(|(listed, _)| listed);
        let claims = handoffs.map(|listed| {
            let changed = changed_claims(&mut anchors, &listed.handoff)?;
            Ok((changed, retracted_claims(context, &mut anchors, &listed.envelope.id)?))
        });
        let claims = claims.collect::<Result<Vec<_>>>()?;
        let mut files = ComparedFiles::new(context, anchors, changes);
        files.follow(self.handoffs.iter().map(|(listed, _)| *listed))?;
        let arrivals = self.handoffs.into_iter().zip(claims).map(|((listed, commit), claims)| {
            let mut expected = ExpectedFiles::new(context, listed, &commit);
            arrival(&listed.handoff, answers.records(), commit.read(context), claims, |file| {
                files.judge(file, &mut expected)
            })
        });
        Ok((arrivals.collect(), warnings))
    }
}

/// The claims that a handoff had and that were retracted, not replaced, oldest first.
fn retracted_claims(
    context: &CommandContext<'_>,
    anchors: &mut Anchors<'_>,
    handoff: &Id,
) -> Result<Vec<RetractedClaim>> {
    let index = context.index()?;
    let ids = index.retracted_from(handoff)?;
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut retracts = index.naming(&ids, &["retract"])?;
    anchors.admit(&mut retracts)?;
    let retracted = ids.iter().filter_map(|id| {
        let (by, retract) = retracts.records().rev().find_map(|record| match &record.body {
            Body::Retract(retract) if retract.of.contains(id) => Some((&record.envelope, retract)),
            _ => None,
        })?;
        Some(RetractedClaim { id: id.clone(), ai_id: by.ai.clone(), why: retract.why.clone() })
    });
    Ok(retracted.collect())
}

/// The claims in a handoff whose code is not as it was, or that disagree with others.
pub fn changed_claims(anchors: &mut Anchors<'_>, handoff: &Handoff) -> Result<Vec<ClaimChange>> {
    anchors.changed(&Body::Handoff(Box::new(handoff.clone())).quoted_claims())
}

/// The commit of a handoff, while git counts.
struct Commit {
    id: Option<Oid>,
    exists: bool,
    is_head: bool,
    comparing: Option<reach::Comparing>,
}

impl Commit {
    fn ask(context: &CommandContext<'_>, listed: &ListedHandoff) -> Self {
        let id = listed.envelope.commit.as_deref().and_then(parse_oid);
        let exists = id.is_some_and(|id| context.repo.is_commit(id));
        let head = context.store.head().commit;
        let comparing = match (id, head) {
            (Some(id), Some(head)) if exists && id != head => Some(reach::compare(context.repo, id, head)),
            _ => None,
        };
        Commit { id, exists, is_head: id.is_some() && id == head, comparing }
    }

    fn read(self, context: &CommandContext<'_>) -> CommitState {
        if self.id.is_none() {
            return CommitState::default();
        }
        let apart = if self.is_head { Some((0, 0)) } else { self.comparing.and_then(reach::Comparing::read) };
        let reached = apart.is_some_and(|(lost, _)| lost == 0);
        // beyond the end of a shallow history, nothing is known
        let is_cut_off = !reached && context.repo.is_shallow() && context.store.head().commit.is_some();
        CommitState {
            commits_since: apart.map(|(_, made)| made).filter(|_| !is_cut_off),
            reachable: (!is_cut_off).then_some(reached),
            exists: Some(self.exists),
        }
    }
}

/// The contents of a handoff's files when it was written.
struct ExpectedFiles<'c> {
    /// The tree of its commit; `None` if that is not in this clone.
    attached: Option<Tree<'c>>,
    /// The tree of the commit it was written on, if another.
    written: Option<Tree<'c>>,
    uncommitted: BTreeMap<String, UncommittedFile>,
}

impl<'c> ExpectedFiles<'c> {
    fn new(context: &'c CommandContext<'_>, listed: &ListedHandoff, commit: &Commit) -> Self {
        let attached = commit.id.filter(|_| commit.exists).and_then(|id| context.repo.tree_of(id).ok());
        let written = listed.envelope.tree.as_deref().and_then(parse_oid);
        let uncommitted = listed.handoff.uncommitted.iter().map(|file| (file.path.clone(), file.clone()));
        ExpectedFiles {
            written: (attached != written).then(|| Tree::new(context.repo, written)),
            attached: attached.map(|tree| Tree::new(context.repo, Some(tree))),
            uncommitted: uncommitted.collect(),
        }
    }

    /// The contents of a path that count as unchanged, and whether it existed.
    fn at(&mut self, path: &str) -> (Vec<PathContent>, bool) {
        let attached = self.attached.as_mut().map_or(PathContent::Unknown, |tree| tree.find(path));
        let written = self.written.as_mut().map(|tree| tree.find(path));
        let Some(recorded) = self.uncommitted.get(path) else {
            return match (attached, written) {
                (PathContent::Unknown, _) => (Vec::new(), false),
                // the handoff's commit removed it
                (PathContent::Nothing, Some(PathContent::File(_) | PathContent::Folder(_))) => {
                    (vec![PathContent::Nothing], false)
                }
                // neither committed nor recorded
                (PathContent::Nothing, _) => (Vec::new(), false),
                (held, _) => (vec![held], true),
            };
        };
        let mut out = Vec::new();
        if recorded.deleted {
            out.push(PathContent::Nothing);
        }
        out.extend(recorded.blob.as_deref().and_then(parse_oid).map(PathContent::File));
        // its content in the handoff's commit counts, too, if that commit changed it
        match (attached, written) {
            (PathContent::Unknown, _) | (_, None) | (PathContent::Nothing, Some(PathContent::Unknown)) => {}
            (attached, Some(written)) if attached != written => out.push(attached),
            _ => {}
        }
        (out, !recorded.deleted)
    }

    /// Whether the bytes of the file were recorded.
    fn is_recorded(&self, path: &str) -> bool {
        self.uncommitted.get(path).is_some_and(|file| file.blob.is_some())
    }
}

/// The present files against those of handoffs.
struct ComparedFiles<'c> {
    anchors: Anchors<'c>,
    /// `None` in a bare repository.
    root: Option<std::path::PathBuf>,
    /// Uncommitted paths, including untracked files and folders; `None` if git failed.
    dirty: Option<BTreeSet<String>>,
    /// Those of them in HEAD.
    tracked: BTreeSet<String>,
}

impl<'c> ComparedFiles<'c> {
    fn new(context: &'c CommandContext<'_>, anchors: Anchors<'c>, changes: Option<Changes>) -> Self {
        let root = context.repo.work_tree();
        let path = |text: &String| inside(root.as_deref(), text);
        let tracked = |c: &Changes| c.files_modified.iter().chain(&c.files_deleted).filter_map(path).collect();
        let tracked: BTreeSet<String> = changes.as_ref().map(tracked).unwrap_or_default();
        let added = |c: &Changes| c.files_added.iter().filter_map(path).chain(tracked.iter().cloned()).collect();
        ComparedFiles { anchors, dirty: changes.as_ref().map(added), tracked, root }
    }

    /// Looks for the files that handoffs name and that are no longer there.
    fn follow<'h>(&mut self, handoffs: impl Iterator<Item = &'h ListedHandoff>) -> Result<()> {
        let of = |listed: &'h ListedHandoff| {
            let files = listed.handoff.evidence.iter().flat_map(|proof| &proof.files);
            let on = listed.envelope.commit.as_deref().and_then(parse_oid);
            files.chain(&listed.handoff.artifacts).map(move |file| (file, on))
        };
        let root = self.root.clone();
        let paths = handoffs.flat_map(of).filter_map(|(file, on)| Some((inside(root.as_deref(), file)?, on)));
        let paths: Vec<(String, Option<Oid>)> = paths.collect();
        self.anchors.follow(paths.iter().map(|(path, on)| (path.as_str(), *on)))
    }

    fn judge(&mut self, file: &str, expected: &mut ExpectedFiles<'_>) -> FileState {
        let (Some(path), Some(_)) = (inside(self.root.as_deref(), file), &self.dirty) else {
            return AnchorState::Unknown.into();
        };
        let (unchanged, existed) = expected.at(&path);
        if unchanged.is_empty() && !existed {
            return AnchorState::Unknown.into();
        }
        let held = self.held(&path);
        let is_recorded = expected.is_recorded(&path);
        // expected to be gone, it is
        if held != PathContent::Nothing || unchanged.contains(&held) {
            return self.compared(&path, held, &unchanged, is_recorded).into();
        }
        match self.anchors.now_at(&path) {
            Some(Some(now)) => {
                let now = now.to_owned();
                let held = self.held(&now);
                match self.compared(&now, held, &unchanged, is_recorded) {
                    AnchorState::Holds => FileState { state: AnchorState::Moved, now: Some(now) },
                    state => FileState { state, now: Some(now) },
                }
            }
            _ => AnchorState::Gone.into(),
        }
    }

    /// Whether a file is one of those that count as unchanged.
    fn compared(&mut self, path: &str, held: PathContent, unchanged: &[PathContent], is_recorded: bool) -> AnchorState {
        match held {
            PathContent::Folder(Some(_)) if self.is_altered_below(path) => AnchorState::Changed,
            held if held != PathContent::Unknown && unchanged.contains(&held) => AnchorState::Holds,
            PathContent::Nothing => AnchorState::Gone,
            PathContent::Unknown => AnchorState::Unknown,
            // a folder outside git has no comparable content
            PathContent::Folder(None) if unchanged.iter().any(|held| matches!(held, PathContent::Folder(_))) => {
                AnchorState::Unknown
            }
            _ if unchanged.is_empty() => AnchorState::Unknown,
            // the recorded bytes, which git's filters turn into another blob
            PathContent::File(_) if is_recorded && unchanged.contains(&self.anchors.present.at(path).content) => {
                AnchorState::Holds
            }
            _ => AnchorState::Changed,
        }
    }

    /// The content of a path: that in HEAD if it is clean, otherwise that in the work tree.
    fn held(&mut self, path: &str) -> PathContent {
        let in_head = self.anchors.present.in_head(path);
        let is_dirty = self.dirty.as_ref().is_none_or(|dirty| dirty.contains(path));
        match in_head {
            in_head if self.root.is_none() => in_head,
            PathContent::Nothing => self.anchors.present.at(path).content,
            _ if is_dirty => self.anchors.present.at(path).content,
            _ => in_head,
        }
    }

    /// Whether a folder has changes against HEAD.
    fn is_altered_below(&self, path: &str) -> bool {
        let below = format!("{path}/");
        self.tracked.range(below.clone()..).next().is_some_and(|file| file.starts_with(&below))
    }
}
