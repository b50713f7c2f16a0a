//! Objects that another process removed just after they were written ([`written`]).

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::error::Result;
use crate::git::remotes::is_partial;
use crate::git::{NotesTree, Oid, notes};
use crate::model::Namespace;
use crate::store::log::written;
use crate::store::redact::tombstones::NoteFormat;
use crate::store::write::tips::Tips;
use crate::store::{MARKDOWN_REF, Recovery, data_ref};

impl Recovery<'_> {
    /// If objects are missing that lead to notes of written logs, lets the next flush write these logs again, and rewrites the
    /// refs without the objects; else removes the logs that were kept long enough. The caller holds the lock.
    pub(crate) fn restore_pruned(&self, warnings: &mut Vec<String>) -> Result<()> {
        let logs = written::all(&self.store.paths);
        let due = written::due(&logs);
        if self.is_pruned(&due) {
            // first, so that a reader finds the records in the logs or in the notes
            written::take_again(&logs);
            self.rescue_locked(warnings)?;
        } else {
            written::seen(&due);
            // what stays is removed by the next flush
            let _ = written::remove(&written::expired(logs));
        }
        Ok(())
    }

    /// Whether objects are missing that lead from the last written tips to the notes of these logs. Damaged objects, tips
    /// of others and notes that others removed do not count, nor does a partial clone, where objects may be missing.
    fn is_pruned(&self, logs: &[PathBuf]) -> bool {
        let mut notes: BTreeMap<String, BTreeSet<Oid>> = BTreeMap::new();
        for (namespace, on) in written::notes(logs) {
            if namespace == Namespace::Handoffs {
                notes.entry(MARKDOWN_REF.to_owned()).or_default().insert(on);
            }
            notes.entry(data_ref(namespace)).or_default().insert(on);
        }
        if notes.is_empty() || is_partial(self.store.repo) {
            return false;
        }
        let tips = Tips::load(&self.store.paths);
        notes.iter().any(|(name, on)| {
            let tip = self.store.repo.find_ref(name).ok().flatten();
            tip.filter(|tip| tips.refs.get(name) == Some(tip)).is_some_and(|tip| self.lacks_objects(name, tip, on))
        })
    }

    /// Whether an object is missing that leads from a tip to one of these notes.
    fn lacks_objects(&self, name: &str, tip: Oid, on: &BTreeSet<Oid>) -> bool {
        let repo = self.store.repo;
        if !repo.has_object(tip) {
            return true;
        }
        let Ok(root) = repo.tree_of(tip) else { return false };
        let Ok(mut tree) = NotesTree::open(repo, Some(tip), NoteFormat::of(name).unite()) else {
            return !repo.has_object(root);
        };
        on.iter().any(|on| match tree.blob(*on) {
            Ok(blob) => blob.is_some_and(|blob| !repo.has_object(blob)),
            Err(_) => {
                let mut is_missing = false;
                let listed = notes::entries_skipping_unreadable(repo, root, &mut |id, _| {
                    is_missing |= !repo.has_object(id);
                    Ok(())
                });
                listed.is_ok() && is_missing
            }
        })
    }
}
