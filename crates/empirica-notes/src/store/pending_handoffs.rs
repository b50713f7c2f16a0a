//! Handoffs of this worktree for uncommitted or future work. Derived state: if lost, they stay on the commit they were
//! written on.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::git::{Oid, parse_oid};
use crate::model::{Envelope, Id, SessionId};
use crate::store::PendingHandoffs;
use crate::store::files::read_lines;

/// The limit of handoffs. They are kept after attaching, for commits that are undone and made again.
const MOST: usize = 64;

/// A handoff for uncommitted work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct PendingHandoff {
    pub id: Id,
    /// HEAD when it was written, or the rewritten form of that commit, hex.
    pub on: String,
    /// Uncommitted paths, relative to the root of the work tree; folders end in a slash. If empty, the session's next
    /// commit holds the work.
    pub paths: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
}

impl PendingHandoff {
    /// Whether a commit that touched these paths touched one of its own.
    pub fn is_touched(&self, touched: &BTreeSet<String>) -> bool {
        self.paths.iter().any(|path| match path.ends_with('/') {
            true => touched.iter().any(|touched| touched.starts_with(path.as_str())),
            false => touched.contains(path),
        })
    }
}

impl PendingHandoffs<'_> {
    /// Records that a handoff was written while `paths` were uncommitted. No-op on an unborn HEAD, whose records are
    /// attached anyway.
    pub fn add(&self, envelope: &Envelope, paths: Vec<String>) {
        if let Some(on) = self.store.head.commit {
            let (id, session) = (envelope.id.clone(), envelope.session.clone());
            self.append(&[PendingHandoff { id, on: on.to_string(), paths, session }]);
        }
    }

    /// Drops handoffs that no longer wait for a commit.
    pub fn remove(&self, ids: &BTreeSet<Id>) {
        let kept = self.list().into_iter().filter(|pending| !ids.contains(&pending.id));
        let kept: String = kept.filter_map(|pending| Some(serde_json::to_string(&pending).ok()? + "\n")).collect();
        // on failure they are attached again if that commit is made again
        let _ = self.store.paths.replace(&self.store.paths.pending_handoffs(), &kept);
    }

    fn append(&self, new: &[PendingHandoff]) {
        let text: String = new.iter().filter_map(|p| Some(serde_json::to_string(p).ok()? + "\n")).collect();
        // on failure the handoff stays on the commit it was written on
        let _ = self.store.paths.append_bounded(&self.store.paths.pending_handoffs(), &text, MOST);
    }

    /// The handoffs of this worktree for uncommitted work, oldest first.
    pub fn list(&self) -> Vec<PendingHandoff> {
        read_lines(&self.store.paths.pending_handoffs())
            .iter()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    /// Follows rewritten commits: handoffs written on an old commit now also belong to the work on the new one.
    pub fn follow(&self, moves: &[(Oid, Oid)]) {
        let moved_to = |pending: PendingHandoff| {
            let (_, moved_to) = moves.iter().find(|(from, _)| parse_oid(&pending.on) == Some(*from))?;
            Some(PendingHandoff { on: moved_to.to_string(), ..pending })
        };
        let known = self.list();
        let moved: Vec<PendingHandoff> =
            known.iter().cloned().filter_map(moved_to).filter(|new| !known.contains(new)).collect();
        if !moved.is_empty() {
            self.append(&moved);
        }
    }

    /// Attaches these handoffs to the commit with their work, `to`; they were written on `from`.
    pub fn attach(&self, pending: &[PendingHandoff], from: Oid, to: Oid) -> Result<crate::store::WriteOutcome> {
        let only = pending.iter().map(|pending| pending.id.clone()).collect();
        self.store.writer().follow(&[crate::store::Follow { from, to, only: Some(only) }])
    }
}
