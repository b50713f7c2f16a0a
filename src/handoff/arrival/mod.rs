//! What became of handoffs since they were written: asked of git, of the work tree and of all records.

pub mod fold;
pub mod view;

use std::collections::{BTreeMap, BTreeSet};

use crate::context::CommandContext;
use crate::context::handoffs::ListedHandoff;
use crate::handoff::arrival::fold::{Arrival, CommitState, FileState, arrival};
use empirica_notes::error::Result;
use empirica_notes::git::history::reach;
use empirica_notes::git::objects::content::{PathContent, Tree, WorkTree, inside};
use empirica_notes::git::repository::status;
use empirica_notes::git::{Oid, parse_oid};
use empirica_notes::model::assessment::Changes;
use empirica_notes::model::handoff::Uncommitted;

/// What became of each of these handoffs, in their order, and what could not be found out. Their `commit` is the one
/// they are at home on. One `git status` for all, one `git rev-list` for each whose commit is not HEAD; nothing for none.
pub fn of(context: &CommandContext<'_>, handoffs: &[&ListedHandoff]) -> Result<(Vec<Arrival>, Vec<String>)> {
    if handoffs.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    // git looks at the work tree and counts commits meanwhile
    let asked = status::ask(context.repo);
    let counting: Vec<_> = handoffs.iter().map(|listed| Commit::ask(context, home(listed))).collect();
    let asked_for =
        handoffs.iter().flat_map(|listed| listed.handoff.unknowns.iter().filter_map(|item| item.id.as_ref()));
    let answers = context.index()?.naming(asked_for, &["resolve"])?;
    let (changes, warnings) = match asked.read() {
        Ok(status) => (Some(status.changes), Vec::new()),
        Err(error) => (None, vec![format!("what changed since the handoff is not known: {error}")]),
    };
    let mut present = PresentFiles::new(context, changes);
    let arrivals = handoffs.iter().zip(counting).map(|(listed, commit)| {
        let mut expected = ExpectedFiles::new(context, listed, &commit);
        arrival(&listed.handoff, answers.records(), commit.read(context), |file| present.judge(file, &mut expected))
    });
    Ok((arrivals.collect(), warnings))
}

fn home(listed: &ListedHandoff) -> Option<Oid> {
    listed.head.commit.as_deref().and_then(parse_oid)
}

/// The commit a handoff is at home on, while git counts.
struct Commit {
    id: Option<Oid>,
    is_here: bool,
    is_head: bool,
    counting: Option<reach::Counting>,
}

impl Commit {
    fn ask(context: &CommandContext<'_>, id: Option<Oid>) -> Self {
        let is_here = id.is_some_and(|id| context.repo.is_commit(id));
        let head = context.store.head().commit;
        let counting = match (id, head) {
            (Some(id), Some(head)) if is_here && id != head => Some(reach::beyond(context.repo, id, head)),
            _ => None,
        };
        Commit { id, is_here, is_head: id.is_some() && id == head, counting }
    }

    fn read(self, context: &CommandContext<'_>) -> CommitState {
        let Some(id) = self.id else { return CommitState::default() };
        let reached = self.is_head || context.store.reaches(id);
        // beyond where history was cut off, nothing is known
        let is_cut_off = !reached && context.repo.is_shallow() && context.store.head().commit.is_some();
        let counted = if self.is_head { Some(0) } else { self.counting.and_then(reach::Counting::read) };
        CommitState {
            commits_since: counted.filter(|_| !is_cut_off),
            reachable: (!is_cut_off).then_some(reached),
            here: Some(self.is_here),
        }
    }
}

/// What a handoff's files held when it was written.
struct ExpectedFiles<'c> {
    /// The tree of the commit it is at home on; `None` when that is not here.
    home: Option<Tree<'c>>,
    /// The tree of the commit it was written on, when that is another.
    written: Option<Tree<'c>>,
    uncommitted: BTreeMap<String, Uncommitted>,
}

impl<'c> ExpectedFiles<'c> {
    fn new(context: &'c CommandContext<'_>, listed: &ListedHandoff, commit: &Commit) -> Self {
        let home = commit.id.filter(|_| commit.is_here).and_then(|id| context.repo.tree_of(id).ok());
        let written = listed.head.tree.as_deref().and_then(parse_oid);
        let uncommitted = listed.handoff.uncommitted.iter().map(|file| (file.path.clone(), file.clone()));
        ExpectedFiles {
            written: (home != written).then(|| Tree::new(context.repo, written)),
            home: home.map(|tree| Tree::new(context.repo, Some(tree))),
            uncommitted: uncommitted.collect(),
        }
    }

    /// What may be at a path without its having changed; and whether there was something at all.
    fn at(&mut self, path: &str) -> (Vec<PathContent>, bool) {
        let home = self.home.as_mut().map_or(PathContent::Unknown, |tree| tree.find(path));
        let written = self.written.as_mut().map(|tree| tree.find(path));
        let Some(recorded) = self.uncommitted.get(path) else {
            return match (home, written) {
                (PathContent::Unknown, _) => (Vec::new(), false),
                // the commit that the handoff was attached to removed it
                (PathContent::Nothing, Some(PathContent::File(_) | PathContent::Folder(_))) => {
                    (vec![PathContent::Nothing], false)
                }
                // never committed and not recorded: nothing is known of it
                (PathContent::Nothing, _) => (Vec::new(), false),
                (held, _) => (vec![held], true),
            };
        };
        let mut out = Vec::new();
        if recorded.deleted {
            out.push(PathContent::Nothing);
        }
        out.extend(recorded.blob.as_deref().and_then(parse_oid).map(PathContent::File));
        // what was committed of it since counts, too; what the commit left alone is still as recorded
        match (home, written) {
            (PathContent::Unknown, _) | (_, None) | (PathContent::Nothing, Some(PathContent::Unknown)) => {}
            (home, Some(written)) if home != written => out.push(home),
            _ => {}
        }
        (out, !recorded.deleted)
    }

    /// Whether the bytes of the file were recorded.
    fn is_recorded(&self, path: &str) -> bool {
        self.uncommitted.get(path).is_some_and(|file| file.blob.is_some())
    }
}

/// What is there now.
struct PresentFiles<'c> {
    head: Tree<'c>,
    /// `None` in a bare repository.
    files: Option<WorkTree>,
    root: Option<std::path::PathBuf>,
    /// What is not committed, untracked files and folders among it; `None` when git could not be asked.
    dirty: Option<BTreeSet<String>>,
    /// Of that, what HEAD has.
    tracked: BTreeSet<String>,
}

impl<'c> PresentFiles<'c> {
    fn new(context: &'c CommandContext<'_>, changes: Option<Changes>) -> Self {
        let root = context.repo.work_tree();
        let path = |text: &String| inside(root.as_deref(), text);
        let tracked = |c: &Changes| c.files_modified.iter().chain(&c.files_deleted).filter_map(path).collect();
        let tracked: BTreeSet<String> = changes.as_ref().map(tracked).unwrap_or_default();
        let added = |c: &Changes| c.files_added.iter().filter_map(path).chain(tracked.iter().cloned()).collect();
        PresentFiles {
            head: Tree::new(context.repo, context.store.head().tree),
            files: WorkTree::of(context.repo),
            dirty: changes.as_ref().map(added),
            tracked,
            root,
        }
    }

    fn judge(&mut self, file: &str, expected: &mut ExpectedFiles<'_>) -> FileState {
        let (Some(path), Some(_)) = (inside(self.root.as_deref(), file), &self.dirty) else {
            return FileState::Unjudged;
        };
        let (may_be, was_there) = expected.at(&path);
        if may_be.is_empty() && !was_there {
            return FileState::Unjudged;
        }
        match self.held(&path) {
            PathContent::Folder(Some(_)) if self.is_altered_below(&path) => FileState::Changed,
            held if held != PathContent::Unknown && may_be.contains(&held) => FileState::Same,
            PathContent::Nothing => FileState::Missing,
            PathContent::Unknown => FileState::Unjudged,
            // a folder that git does not have has no content to compare
            PathContent::Folder(None) if may_be.iter().any(|held| matches!(held, PathContent::Folder(_))) => {
                FileState::Unjudged
            }
            _ if may_be.is_empty() => FileState::Unjudged,
            // the bytes were recorded, and git's filters made another blob of them
            PathContent::File(_)
                if expected.is_recorded(&path) && self.bytes(&path).is_some_and(|b| may_be.contains(&b)) =>
            {
                FileState::Same
            }
            _ => FileState::Changed,
        }
    }

    fn bytes(&self, path: &str) -> Option<PathContent> {
        self.files.as_ref().map(|files| files.look(path))
    }

    /// What a path holds: what HEAD has where git calls it clean, else what is in the work tree.
    fn held(&mut self, path: &str) -> PathContent {
        let in_head = self.head.find(path);
        let Some(files) = &self.files else { return in_head };
        let is_dirty = self.dirty.as_ref().is_none_or(|dirty| dirty.contains(path));
        match in_head {
            PathContent::Nothing => files.look(path),
            _ if is_dirty => files.look(path),
            _ => in_head,
        }
    }

    /// Whether a folder of HEAD's has files that are not as HEAD has them.
    fn is_altered_below(&self, path: &str) -> bool {
        let below = format!("{path}/");
        self.tracked.range(below.clone()..).next().is_some_and(|file| file.starts_with(&below))
    }
}
