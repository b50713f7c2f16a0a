//! Fetches what a partial clone lacks before notes are united: the trees of the tips that moved, then their notes, in
//! one fetch each.

use std::collections::BTreeSet;

use crate::error::Result;
use crate::git::Oid;
use crate::git::notes::difference::differences;
use crate::git::objects::partial_clone;
use crate::git::remotes::is_partial;
use crate::store::write::tips::Tips;
use crate::store::{Store, files, our_refs, tracked};

/// The delay before missing blobs are requested again, in seconds.
pub const ASK_AGAIN: i64 = 60;

impl Store<'_> {
    /// Fetches the missing objects of the notes to be united. What cannot be fetched is reported where it is needed,
    /// and retried later. No-op in a hurry and in a complete clone.
    pub(crate) fn complete(&self) {
        if self.until.is_some() || !is_partial(self.repo) {
            return;
        }
        self.repo.complete_trees();
        let missing = self.missing_blobs().unwrap_or_default();
        let failure_file = self.paths.failed_fetch();
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

    /// The missing blobs of notes that differ between the local refs, the last written tips and the fetched tips.
    fn missing_blobs(&self) -> Result<Vec<Oid>> {
        let tips = Tips::load(&self.paths);
        let moved: Vec<(String, Oid)> =
            self.tracking().into_iter().filter(|(name, id)| tips.refs.get(name) != Some(id)).collect();
        let mut out = BTreeSet::new();
        for (name, _) in our_refs() {
            let ours = self.repo.find_ref(&name)?;
            let known = tips.refs.get(&name).copied().filter(|known| Some(*known) != ours);
            let fetched = moved.iter().filter(|(tracking, _)| tracked(tracking).as_ref() == Some(&name));
            let tree = |tip: Option<Oid>| tip.map_or_else(|| Ok(self.repo.empty_tree()), |tip| self.repo.tree_of(tip));
            for other in known.into_iter().chain(fetched.map(|(_, id)| *id)).filter(|id| self.repo.has_object(*id)) {
                let found = differences(self.repo, tree(ours)?, tree(Some(other))?)?;
                let epochs = found.others.values().flatten().flatten().map(|other| other.id);
                let notes = found.notes.values().flatten().flatten().copied();
                out.extend(notes.chain(epochs).filter(|id| !self.repo.has_object(*id)));
            }
        }
        Ok(out.into_iter().collect())
    }
}
