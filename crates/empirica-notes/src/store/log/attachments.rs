//! Handoffs this worktree wrote for work that was not committed, or not begun, yet. Derived: without it they stay where they were
//! written, readable.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::git::{Oid, parse_oid};
use crate::model::{Envelope, Id, SessionId};
use crate::store::Store;
use crate::store::files::read_lines;

/// How many are remembered: an undone commit is made again, so they are not forgotten when they are attached.
const KEPT: usize = 32;

/// A handoff for uncommitted work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Pending {
    pub id: Id,
    /// HEAD when it was written, or what a rewrite made of that commit, hex.
    pub on: String,
    /// What was not committed, relative to the root of the work tree; a folder ends in a slash. Nothing when the session had
    /// changed nothing: then its next commit holds the work.
    pub paths: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
}

impl Pending {
    /// Whether one of its paths is among those a commit touched.
    pub fn is_touched(&self, touched: &BTreeSet<String>) -> bool {
        self.paths.iter().any(|path| match path.ends_with('/') {
            true => touched.iter().any(|touched| touched.starts_with(path.as_str())),
            false => touched.contains(path),
        })
    }
}

impl Store<'_> {
    /// Remembers a handoff that was written now, while `paths` were not committed. Nothing on an unborn HEAD, whose records are
    /// attached anyway.
    pub fn remember_pending(&self, head: &Envelope, paths: Vec<String>) {
        if let Some(on) = self.head.commit {
            let (id, session) = (head.id.clone(), head.session.clone());
            self.add_pending(&[Pending { id, on: on.to_string(), paths, session }]);
        }
    }

    /// Forgets handoffs: they wait for no commit any more.
    pub fn forget_pending(&self, ids: &BTreeSet<Id>) {
        let kept = self.pending().into_iter().filter(|pending| !ids.contains(&pending.id));
        let kept: String = kept.filter_map(|pending| Some(serde_json::to_string(&pending).ok()? + "\n")).collect();
        // without it they are attached once more when that commit is made again
        let _ = self.paths.replace(&self.paths.pending(), &kept);
    }

    fn add_pending(&self, new: &[Pending]) {
        let text: String = new.iter().filter_map(|p| Some(serde_json::to_string(p).ok()? + "\n")).collect();
        let path = self.paths.pending();
        let known = read_lines(&path);
        let write = || -> std::io::Result<()> {
            if known.len() + new.len() > 2 * KEPT {
                let kept: String = known[known.len() - KEPT..].iter().map(|line| format!("{line}\n")).collect();
                return self.paths.replace(&path, &(kept + &text));
            }
            self.paths.append(&path, &text)
        };
        // without it the handoff stays where it was written
        let _ = write();
    }

    /// The handoffs this worktree wrote for uncommitted work, oldest first.
    pub fn pending(&self) -> Vec<Pending> {
        read_lines(&self.paths.pending()).iter().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Says that commits took the place of others: what was written on these belongs to the work on those.
    pub fn move_pending(&self, moves: &[(Oid, Oid)]) {
        let to = |pending: Pending| {
            let (_, to) = moves.iter().find(|(from, _)| parse_oid(&pending.on) == Some(*from))?;
            Some(Pending { on: to.to_string(), ..pending })
        };
        let known = self.pending();
        let moved: Vec<Pending> = known.iter().cloned().filter_map(to).filter(|new| !known.contains(new)).collect();
        if !moved.is_empty() {
            self.add_pending(&moved);
        }
    }

    /// Copies the handoffs of `pending` from the commit they were written on to the one that holds their work.
    pub fn attach_pending(&self, pending: &[Pending], from: Oid, to: Oid) -> Result<crate::store::WriteOutcome> {
        let only = pending.iter().map(|pending| pending.id.clone()).collect();
        self.follow(&[crate::store::Follow { from, to, only: Some(only) }])
    }
}
