//! Records made before the first commit: notes on the empty tree, attached to that commit once it exists.

use std::fs;

use crate::error::Result;
use crate::fault;
use crate::format::lines;
use crate::model::{Id, Namespace};
use crate::store::Log;
use crate::store::files::paths::Paths;
use crate::store::files::read_lines;
use crate::store::log::PendingRecord;
use crate::store::write::follow::Follow;

/// Records that a record of this worktree is on the empty tree, and the length of HEAD's reflog: the first commit is
/// searched for after that.
pub(crate) fn remember(paths: &Paths, record: &PendingRecord, reflog: usize) {
    let Some(id) = lines::id(&record.line) else { return };
    let line = format!("{reflog} {} {id}\n", record.namespace.name());
    // on failure the record stays on the empty tree, readable
    let _ = paths.append(&paths.unborn(), &line);
}

impl Log<'_> {
    /// Whether this worktree has records made on an unborn HEAD and not yet attached.
    pub fn has_unborn(&self) -> bool {
        self.store.paths.unborn().exists()
    }

    /// Attaches the records that this worktree made on an unborn HEAD to the first commit.
    pub(crate) fn attach_unborn(&self) -> Result<()> {
        if self.store.head.commit.is_none() || !self.store.paths.unborn().exists() {
            return Ok(());
        }
        let remembered: Vec<(usize, Namespace, Id)> = read_lines(&self.store.paths.unborn())
            .iter()
            .filter_map(|line| {
                let mut words = line.split(' ');
                Some((words.next()?.parse().ok()?, Namespace::parse(words.next()?)?, Id::parse(words.next()?)?))
            })
            .collect();
        let reflog = remembered.iter().map(|(reflog, ..)| *reflog).min().unwrap_or(0);
        let oldest = remembered.iter().map(|(_, _, id)| id.ms() / 1000).min().unwrap_or(0);
        let Some(first) = self.store.repo.first_commit_after(reflog, oldest as i64) else { return Ok(()) };
        let only = remembered.into_iter().map(|(.., id)| id).collect();
        self.store.writer().follow(&[Follow { from: self.store.repo.empty_tree(), to: first, only: Some(only) }])?;
        // if it stays, attaching again changes nothing
        let _ = fault::point("unborn: to be done with").and_then(|()| fs::remove_file(self.store.paths.unborn()));
        Ok(())
    }
}
