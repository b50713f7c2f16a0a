//! Fetches objects missing from a partial clone before notes are united: the trees of the tips that moved, then their
//! notes, in one fetch each.

use std::collections::BTreeSet;

use crate::error::Result;
use crate::git::Oid;
use crate::git::notes::difference::differences;
use crate::git::objects::partial_clone;
use crate::git::remotes::is_partial;
use crate::store::write::tips::Tips;
use crate::store::{Recovery, files};

/// The delay before missing blobs are fetched again, in seconds.
pub const RETRY_AFTER: i64 = 60;

impl Recovery<'_> {
    /// Fetches the missing objects of the notes to be united. Objects that cannot be fetched are reported where
    /// they are needed, and retried later. No-op in a hurry and in a complete clone.
    pub(crate) fn fetch_missing_objects(&self) {
        let repo = self.store.repo;
        if self.store.deadline.is_some() || !is_partial(repo) {
            return;
        }
        repo.complete_trees();
        let missing = self.missing_blobs().unwrap_or_default();
        let failure_file = self.store.paths.file("asked");
        let before = files::read_lines(&failure_file).first().and_then(|line| line.parse::<i64>().ok());
        let is_time = before.is_none_or(|last| !(0..RETRY_AFTER).contains(&(self.store.now().timestamp() - last)));
        if missing.is_empty() || !is_time {
            return;
        }
        // if the file cannot be written, the next command retries at once
        let is_fetched = partial_clone::fetch(repo, &missing).is_ok() && missing.iter().all(|id| repo.has_object(*id));
        let recorded = if is_fetched {
            std::fs::remove_file(&failure_file)
        } else {
            self.store.paths.replace(&failure_file, &self.store.now().timestamp().to_string())
        };
        drop(recorded);
    }

    /// The missing blobs of the next unions.
    fn missing_blobs(&self) -> Result<Vec<Oid>> {
        let mut out = BTreeSet::new();
        for [ours, theirs] in self.pairs_to_unite(&Tips::load(&self.store.paths))? {
            out.extend(self.missing_between(ours, theirs)?);
        }
        Ok(out.into_iter().collect())
    }

    /// The missing blobs of notes and other files that differ between two tips.
    pub(crate) fn missing_between(&self, ours: Option<Oid>, theirs: Option<Oid>) -> Result<Vec<Oid>> {
        let found = differences(self.store.repo, self.store.tree(ours)?, self.store.tree(theirs)?)?;
        let others = found.others.into_values().flatten().flatten().map(|other| other.id);
        let notes = found.notes.into_values().flatten().flatten();
        Ok(notes.chain(others).filter(|blob| !self.store.repo.has_object(*blob)).collect())
    }
}
