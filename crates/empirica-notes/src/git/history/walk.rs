//! The plain history of HEAD in the order of `git log`, walked in process, which saves a process for the most frequent
//! listing.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use gix::objs::commit::ref_iter::Token;

use crate::error::Result;
use crate::git::Oid;
use crate::git::history::commit::{CommitInfo, Listed};
use crate::git::objects::unreadable;
use crate::git::repository::Repository;

/// Commits by committer date, newest first; of equal dates in the order they were found, as in git.
pub struct Walk<'r> {
    repo: &'r Repository,
    pending: BinaryHeap<Pending>,
    seen: HashSet<Oid>,
    abbreviate: bool,
    shallow: bool,
}

/// A pending commit: its date, its unique number in the order found, id, content and parents.
type Pending = (i64, Reverse<usize>, Oid, Vec<u8>, Vec<Oid>);

/// Settings under which `git log` differs from this walk.
const DIFFERING: [&str; 6] =
    ["log.date", "log.follow", "mailmap.file", "mailmap.blob", "log.excludeDecoration", "core.graftFile"];

impl<'r> Walk<'r> {
    /// A walk from HEAD; `None` if the selection or settings need `git log`.
    pub fn plain(repo: &'r Repository, selection: &[String], abbreviate: bool) -> Option<Self> {
        let head = repo.head().ok()?.commit?;
        let mailmap = repo.work_tree().map(|root| root.join(".mailmap")).is_none_or(|file| file.exists());
        let grafts = repo.common_dir().join("info/grafts").exists();
        if !selection.is_empty() || mailmap || grafts || DIFFERING.iter().any(|key| repo.config(key).is_some()) {
            return None;
        }
        let shallow = repo.is_shallow();
        let mut walk = Walk { repo, pending: BinaryHeap::new(), seen: HashSet::new(), abbreviate, shallow };
        walk.add(head).ok()?;
        Some(walk)
    }

    fn add(&mut self, id: Oid) -> Result<()> {
        if self.seen.insert(id) {
            let broken = |error| unreadable(id, error);
            // read once: also used for display
            let content = self.repo.gix().find_commit(id).map_err(broken)?.data.clone();
            let (mut time, mut parents) = (0, Vec::new());
            for token in gix::objs::CommitRefIter::from_bytes(&content, id.kind()) {
                match token.map_err(broken)? {
                    Token::Parent { id } => parents.push(id),
                    Token::Committer { signature } => {
                        time = signature.time().map_err(broken)?.seconds;
                        break;
                    }
                    _ => {}
                }
            }
            self.pending.push((time, Reverse(self.seen.len()), id, content, parents));
        }
        Ok(())
    }

    /// Lists a commit with the data that needs the repository, and adds its parents.
    fn list(&mut self, id: Oid, content: Vec<u8>, parents: &[Oid]) -> Result<Listed> {
        let short = |id: Oid| gix::prelude::ObjectIdExt::attach(id, self.repo.gix()).shorten_or_id().to_string();
        let listed = Listed {
            id,
            info: CommitInfo::Raw {
                content,
                // abbreviating costs as much as all the rest
                short: if self.abbreviate { short(id) } else { String::new() },
                parents: match parents {
                    [] | [_] => Vec::new(),
                    many => many.iter().map(|id| short(*id)).collect(),
                },
            },
        };
        for &parent in parents {
            // the parents of a shallow boundary are missing
            if !self.shallow || self.repo.has_object(parent) {
                self.add(parent)?;
            }
        }
        Ok(listed)
    }
}

impl Iterator for Walk<'_> {
    type Item = Result<Listed>;

    fn next(&mut self) -> Option<Self::Item> {
        let (_, _, id, content, parents) = self.pending.pop()?;
        let read = self.list(id, content, &parents);
        if read.is_err() {
            self.pending.clear();
        }
        Some(read)
    }
}
