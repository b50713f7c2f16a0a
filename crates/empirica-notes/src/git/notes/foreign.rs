//! Reads the notes refs of another tool in process, and the dates of HEAD's history.

use crate::error::Result;
use crate::git::Oid;
use crate::git::notes::{Entries, entries};
use crate::git::repository::Repository;

/// A notes ref of another tool.
#[derive(Debug, Default)]
pub struct ForeignRef {
    /// The date of its tip, in seconds since 1970; 0 if unknown.
    pub seconds: i64,
    /// The annotated objects and the content of their notes; `None` for missing content.
    pub notes: Vec<(Oid, Option<Vec<u8>>)>,
    /// Whether its tree is readable.
    pub readable: bool,
}

/// Reads the notes of a ref. An unreadable tree is reported in the result, not as an error.
pub fn read(repo: &Repository, tip: Oid) -> Result<ForeignRef> {
    let Ok(tree) = repo.tree_of(tip) else { return Ok(ForeignRef::default()) };
    let seconds = repo.commit_seconds(tip).unwrap_or(0);
    let found = if tree == repo.empty_tree() { Ok(Entries::default()) } else { entries(repo, tree) };
    let Ok(found) = found else { return Ok(ForeignRef { seconds, ..ForeignRef::default() }) };
    let mut notes = Vec::new();
    for (target, blob) in found.notes {
        notes.push((target, repo.read_blob(blob)?));
    }
    notes.sort_by_key(|(target, _)| *target);
    Ok(ForeignRef { seconds, notes, readable: true })
}

/// The existing commits of HEAD's history, with the committer's date in seconds since 1970, oldest first.
pub fn dated_history(repo: &Repository) -> Vec<(i64, Oid)> {
    let Some(head) = repo.head().ok().and_then(|head| head.commit) else { return Vec::new() };
    let mut seen = std::collections::HashSet::from([head]);
    let (mut pending, mut out) = (vec![head], Vec::new());
    while let Some(id) = pending.pop() {
        // missing commits end the walk in a shallow clone
        let Ok(commit) = repo.gix().find_commit(id) else { continue };
        let Ok(time) = commit.time() else { continue };
        out.push((time.seconds, id));
        pending.extend(commit.parent_ids().map(|id| id.detach()).filter(|id| seen.insert(*id)));
    }
    out.sort_unstable();
    out
}
