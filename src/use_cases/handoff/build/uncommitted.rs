//! The uncommitted files of a handoff with their blobs, so that a later reader can tell whether they changed.

use std::collections::BTreeSet;

use crate::context::CommandContext;
use empirica_notes::git::objects::content::{PathContent, Tree, WorkTree, inside};
use empirica_notes::model::Handoff;
use empirica_notes::model::assessment::Changes;
use empirica_notes::model::handoff::UncommittedFile;

/// Most blobs recorded.
const MAX_BLOBS: usize = 200;

#[derive(Debug)]
pub enum WorkTreeState {
    /// The session worked in another worktree or clone.
    Elsewhere,
    /// Git failed: every file may be uncommitted.
    Unknown,
    All(Changes),
}

/// Uncommitted artifacts and files of the evidence, in order of path. Includes files of `doubtful` (named or touched by the agent)
/// and of the evidence that HEAD lacks: git ignores them, or lists only the new folder they are in. Hashes in process at most 200
/// files of 4 MiB each.
pub fn uncommitted_files(
    context: &CommandContext<'_>,
    handoff: &Handoff,
    doubtful: &[String],
    work_tree: &WorkTreeState,
) -> Vec<UncommittedFile> {
    let (Some(files), false) = (WorkTree::of(context.repo), matches!(work_tree, WorkTreeState::Elsewhere)) else {
        return Vec::new();
    };
    let root = context.repo.work_tree();
    let path = |text: &String| inside(root.as_deref(), text);
    let dirty: Option<BTreeSet<String>> = match work_tree {
        WorkTreeState::All(changes) => {
            let lists = [&changes.files_added, &changes.files_modified, &changes.files_deleted];
            Some(lists.into_iter().flatten().filter_map(path).collect())
        }
        _ => None,
    };
    let mut committed = Tree::new(context.repo, context.store.head().tree);
    let evidence = || handoff.evidence.iter().flat_map(|proof| &proof.files);
    let doubtful: BTreeSet<String> = doubtful.iter().chain(evidence()).filter_map(path).collect();
    let named: BTreeSet<String> = handoff.artifacts.iter().chain(evidence()).filter_map(path).collect();
    let mut out: Vec<UncommittedFile> = Vec::new();
    let mut recorded = 0;
    for path in named {
        let is_dirty = dirty.as_ref().is_none_or(|dirty| dirty.contains(&path));
        let mut is_new = || doubtful.contains(&path) && committed.find(&path) == PathContent::Nothing;
        if !is_dirty && !is_new() {
            continue;
        }
        let held = match recorded < MAX_BLOBS {
            true => files.content(&path),
            false if files.has(&path) => PathContent::Unknown,
            false => PathContent::Nothing,
        };
        let blob = match held {
            PathContent::File(id) => Some(id.to_string()),
            // neither committed nor present
            PathContent::Nothing if !is_dirty || committed.find(&path) == PathContent::Nothing => continue,
            _ => None,
        };
        recorded += usize::from(blob.is_some());
        out.push(UncommittedFile { path, blob, deleted: held == PathContent::Nothing });
    }
    out
}
