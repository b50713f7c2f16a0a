//! The plain history of HEAD, walked in process in the order of `git log`: no process to start, for the listing that is
//! asked for most.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use gix::bstr::ByteSlice;

use super::Oid;
use super::history::{Commit, Selection};
use super::repository::{Repository, unreadable};
use crate::error::Result;

/// Commits by committer date, newest first; of the same second, in the order they were come to, as git does.
pub struct Walk<'r> {
    repo: &'r Repository,
    pending: BinaryHeap<Pending>,
    seen: HashSet<Oid>,
    abbreviate: bool,
    shallow: bool,
}

/// A commit that was come to: when it was made, how many had been come to, itself, its content. No two have the same number.
type Pending = (i64, Reverse<usize>, Oid, Vec<u8>);

/// Settings under which git shows commits otherwise than this walk does.
const OTHERWISE: [&str; 6] =
    ["log.date", "log.follow", "mailmap.file", "mailmap.blob", "log.excludeDecoration", "core.graftFile"];

impl<'r> Walk<'r> {
    /// A walk from HEAD (with abbreviated ids, if they are wanted), when that is all that is selected and git would show the same; `None` leaves it to git.
    pub fn plain(repo: &'r Repository, selection: &Selection, abbreviate: bool) -> Option<Self> {
        let head = repo.head().ok()?.commit?;
        let all_default = *selection == Selection::default();
        let mailmap = repo.work_tree().map(|root| root.join(".mailmap")).is_none_or(|file| file.exists());
        let grafts = repo.common_dir().join("info/grafts").exists();
        if !all_default || mailmap || grafts || OTHERWISE.iter().any(|key| repo.config(key).is_some()) {
            return None;
        }
        let shallow = repo.is_shallow();
        let mut walk = Walk { repo, pending: BinaryHeap::new(), seen: HashSet::new(), abbreviate, shallow };
        walk.add(head).ok()?;
        Some(walk)
    }

    fn add(&mut self, id: Oid) -> Result<()> {
        if self.seen.insert(id) {
            let mut commit = self.repo.gix().find_commit(id).map_err(|error| unreadable(id, error))?;
            let time = commit.time().map_err(|error| unreadable(id, error))?;
            // read once: it is shown out of the same bytes
            let content = std::mem::take(&mut commit.data);
            self.pending.push((time.seconds, Reverse(self.seen.len()), id, content));
        }
        Ok(())
    }

    fn read(&mut self, id: Oid, content: &[u8]) -> Result<Commit> {
        let gix = self.repo.gix();
        let broken = |error| unreadable(id, error);
        let commit = gix::objs::CommitRef::from_bytes(content, gix.object_hash()).map_err(broken)?;
        let parents: Vec<Oid> = commit.parents().collect();
        let author = commit.author().map_err(broken)?;
        let time = author.time().map_err(broken)?;
        let short = |id: Oid| {
            let short = gix::prelude::ObjectIdExt::attach(id, gix).shorten_or_id();
            short.to_string()
        };
        let read = Commit {
            id,
            // to find the shortest unique form is as much work as all the rest
            short: if self.abbreviate { short(id) } else { String::new() },
            parents: match parents.as_slice() {
                [] | [_] => Vec::new(),
                many => many.iter().map(|id| short(*id)).collect(),
            },
            author: author.name.to_str_lossy().into_owned(),
            email: author.email.to_str_lossy().into_owned(),
            date: time.format_or_unix(gix::date::time::format::ISO8601_STRICT),
            shown_date: time.format_or_unix(gix::date::time::format::DEFAULT),
            subject: commit.message().summary().to_str_lossy().into_owned(),
            message: commit.message.to_str_lossy().into_owned(),
        };
        for parent in parents {
            // the parents of a shallow boundary are not here
            if !self.shallow || self.repo.has_object(parent) {
                self.add(parent)?;
            }
        }
        Ok(read)
    }
}

impl Iterator for Walk<'_> {
    type Item = Result<Commit>;

    fn next(&mut self) -> Option<Self::Item> {
        let (_, _, id, content) = self.pending.pop()?;
        let read = self.read(id, &content);
        if read.is_err() {
            self.pending.clear();
        }
        Some(read)
    }
}
