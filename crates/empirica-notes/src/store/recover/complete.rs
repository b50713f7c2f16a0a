//! Fetches objects missing from a partial clone before notes are united: the trees of the tips that moved, then their
//! notes, in one fetch each.

use std::collections::BTreeSet;

use crate::error::Result;
use crate::git::Oid;
use crate::git::notes::difference::differences;
use crate::git::objects::partial_clone;
use crate::git::remotes::is_partial;
use crate::store::write::tips::Tips;
use crate::store::{Store, files};

/// The delay before missing blobs are requested again, in seconds.
pub const ASK_AGAIN: i64 = 60;

impl Store<'_> {
    /// Fetches the missing objects of the notes to be united. Objects that cannot be fetched are reported where
    /// they are needed, and retried later. No-op in a hurry and in a complete clone.
    pub(crate) fn complete(&self) {
        if self.until.is_some() || !is_partial(self.repo) {
            return;
        }
        self.repo.complete_trees();
        let missing = self.missing_blobs().unwrap_or_default();
        let failure_file = self.paths.file("asked");
        let before = files::read_lines(&failure_file).first().and_then(|line| line.parse::<i64>().ok());
        let is_time = before.is_none_or(|last| !(0..ASK_AGAIN).contains(&(self.now().timestamp() - last)));
        if missing.is_empty() || !is_time {
            return;
        }
        // if the file cannot be written, the next command retries at once
        let is_fetched =
            partial_clone::fetch(self.repo, &missing).is_ok() && missing.iter().all(|id| self.repo.has_object(*id));
        let recorded = if is_fetched {
            std::fs::remove_file(&failure_file)
        } else {
            self.paths.replace(&failure_file, &self.now().timestamp().to_string())
        };
        drop(recorded);
    }

    /// The missing blobs of the next unions.
    fn missing_blobs(&self) -> Result<Vec<Oid>> {
        let mut out = BTreeSet::new();
        for [ours, theirs] in self.pairs_to_unite(&Tips::load(&self.paths))? {
            out.extend(self.missing_between(ours, theirs)?);
        }
        Ok(out.into_iter().collect())
    }

    /// The missing blobs of notes and other files that differ between two tips.
    pub(crate) fn missing_between(&self, ours: Option<Oid>, theirs: Option<Oid>) -> Result<Vec<Oid>> {
        let found = differences(self.repo, self.tree(ours)?, self.tree(theirs)?)?;
        let others = found.others.into_values().flatten().flatten().map(|other| other.id);
        let notes = found.notes.into_values().flatten().flatten();
        Ok(notes.chain(others).filter(|blob| !self.repo.has_object(*blob)).collect())
    }
}
