//! What has to come over the network before notes are united: in a partial clone the trees of what moved, then its notes, each in
//! one go.

use std::collections::BTreeSet;

use crate::error::Result;
use crate::git::Oid;
use crate::git::notes::difference::differences;
use crate::git::objects::partial_clone;
use crate::git::remotes::is_partial;
use crate::store::write::tips::Tips;
use crate::store::{Store, files, our_refs, tracked};

/// After how many seconds a remote is asked again for blobs that it did not give.
pub const ASK_AGAIN: i64 = 60;

impl Store<'_> {
    /// Fetches what a partial clone left out of the notes that are to be united. What does not come is missed where it is
    /// wanted, with a reason, and asked for again later. Nothing in a hurry, and in a clone that has all.
    pub(crate) fn complete(&self) {
        if self.until.is_some() || !is_partial(self.repo) {
            return;
        }
        self.repo.complete_trees();
        let lacking = self.lacking().unwrap_or_default();
        let asked = self.paths.asked();
        let before = files::read_lines(&asked).first().and_then(|line| line.parse::<i64>().ok());
        let is_time = before.is_none_or(|asked| !(0..ASK_AGAIN).contains(&(self.now().timestamp() - asked)));
        if lacking.is_empty() || !is_time {
            return;
        }
        // without the file they are asked for again at once
        let came =
            partial_clone::fetch(self.repo, &lacking).is_ok() && lacking.iter().all(|id| self.repo.has_object(*id));
        let noted = if came {
            std::fs::remove_file(&asked)
        } else {
            self.paths.replace(&asked, &self.now().timestamp().to_string())
        };
        drop(noted);
    }

    /// The blobs that are not here of notes in which our refs differ from what is remembered of them and what was fetched.
    fn lacking(&self) -> Result<Vec<Oid>> {
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
