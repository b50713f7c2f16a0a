//! Healing: a ref that was set back, pruned or deleted behind our back gets the remembered content united in again.
//!
//! Contents are compared, never ancestry: a fast-forward can remove notes, too.

use std::time::Duration;

use super::flush::{Change, Notes};
use super::lock::Lock;
use super::tips::Tips;
use super::{MARKDOWN_REF, PREFIX, Store, data_ref, touched};
use crate::error::{Error, Result};
use crate::git::{Oid, notes};
use crate::model::{Id, Shelf};
use crate::wire::{blocks, lines};

/// How long a reading command waits for a writer before it reads without healing.
const READER_PATIENCE: Duration = Duration::from_millis(500);

impl Store<'_> {
    /// Our refs: the shelves and the Markdown.
    fn our_refs() -> Vec<(String, notes::Unite)> {
        let mut out: Vec<(String, notes::Unite)> =
            Shelf::ALL.into_iter().map(|shelf| (data_ref(shelf), lines::union as notes::Unite)).collect();
        out.push((MARKDOWN_REF.to_owned(), blocks::union));
        out
    }

    /// Heals if anything changed behind our back, and attaches what waited for a first commit. Called once by every
    /// command that reads; a store that cannot be written is read as it is.
    pub fn settle(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if !self.in_step(&Tips::load(&self.paths)) {
            // a reader need not wait long: it reads the remembered tips as well
            let patience = self.lock_timeout.min(READER_PATIENCE);
            let healed = Lock::acquire(&self.paths.lock(), patience)
                .and_then(|_lock| self.heal_locked().map(|tips| tips.save(&self.paths)));
            if let Err(error) = healed {
                warnings.push(format!("the notes changed by other hands and could not be checked: {error}"));
            }
        }
        if let Err(error) = self.attach_unborn() {
            warnings.push(format!("records made before the first commit are not attached to it yet: {error}"));
        }
        warnings
    }

    /// Whether all refs are as remembered. A ref that cannot be read is not: it is to be spoken of, too.
    pub(super) fn in_step(&self, tips: &Tips) -> bool {
        let same = |name: &str| self.repo.find_ref(name).is_ok_and(|now| now == tips.refs.get(name).copied());
        Self::our_refs().iter().all(|(name, _)| same(name)) && !self.tracking_moved(tips)
    }

    fn tracking(&self) -> Vec<(String, Oid)> {
        self.repo.list_refs(&format!("{PREFIX}remotes/")).unwrap_or_default()
    }

    fn tracking_moved(&self, tips: &Tips) -> bool {
        let prefix = format!("{PREFIX}remotes/");
        let now = self.tracking();
        let known = tips.refs.iter().filter(|(name, _)| name.starts_with(&prefix)).count();
        now.len() != known || now.iter().any(|(name, id)| tips.refs.get(name) != Some(id))
    }

    /// Compares each ref with what is remembered and unites the remembered content in where it is missing. The lock is
    /// held by the caller. Returns what is to be remembered now.
    pub(super) fn heal_locked(&self) -> Result<Tips> {
        let mut tips = Tips::load(&self.paths);
        let mut foreign = false;
        for (name, unite) in Self::our_refs() {
            let now = self.repo.find_ref(&name)?;
            let known = tips.refs.get(&name).copied();
            if now == known {
                continue;
            }
            foreign = true;
            tips.newest_ms = tips.newest_ms.max(self.newest_new(known, now));
            self.unite_into(&[Change { name, new: Notes::new(), unite }], &mut tips)?;
        }
        if self.tracking_moved(&tips) {
            foreign = true;
            for (name, now) in self.tracking() {
                tips.newest_ms = tips.newest_ms.max(self.newest_new(tips.refs.get(&name).copied(), Some(now)));
            }
            tips.refs.retain(|name, _| !name.starts_with(&format!("{PREFIX}remotes/")));
            tips.refs.extend(self.tracking());
        }
        if foreign {
            touched::forget_all(&self.paths).map_err(|error| {
                Error::storage("the lists of the sessions' notes cannot be removed").caused_by(error)
            })?;
        }
        Ok(tips)
    }

    /// The time of the newest id in the notes that `now` has and `known` had not, in milliseconds; 0 without one. Ids
    /// over a day ahead of our clock do not count.
    fn newest_new(&self, known: Option<Oid>, now: Option<Oid>) -> u64 {
        let pairs = |tip: Option<Oid>| -> Option<std::collections::BTreeSet<(Oid, Oid)>> {
            let found = notes::entries(self.repo, self.repo.tree_of(tip?).ok()?).ok()?;
            Some(found.notes.into_iter().collect())
        };
        let known = pairs(known).unwrap_or_default();
        let latest = self.latest_ms();
        let blobs = pairs(now).unwrap_or_default().into_iter().filter(|pair| !known.contains(pair));
        let notes = blobs.filter_map(|(_, blob)| self.repo.read_blob(blob).ok().flatten());
        let newest = |note: Vec<u8>| {
            lines::split(&note)
                .filter_map(|line| Some(Id::parse(lines::id(line)?)?.ms()))
                .filter(|ms| *ms <= latest)
                .max()
        };
        notes.filter_map(newest).max().unwrap_or(0)
    }

    /// What the remembered tip of a ref holds and `now` does not. A tip that is gone for good cannot be united.
    pub(super) fn lost(&self, name: &str, now: Option<Oid>, unite: notes::Unite, tips: &Tips) -> Result<Notes> {
        let known = tips.refs.get(name).copied().filter(|known| Some(*known) != now && self.repo.has_object(*known));
        known.map_or_else(|| Ok(Notes::new()), |known| self.missing(known, now, unite))
    }

    /// The notes of `known` whose content is not all in `now`.
    fn missing(&self, known: Oid, now: Option<Oid>, unite: notes::Unite) -> Result<Notes> {
        let mut out = Notes::new();
        // a remembered tip of which something is gone cannot be united
        let remembered = self.repo.tree_of(known).and_then(|tree| Ok((tree, notes::entries(self.repo, tree)?.notes)));
        let Ok((old_tree, old_notes)) = remembered else { return Ok(out) };
        let mut current = notes::NotesTree::open(self.repo, now, unite)?;
        if current.tree() == old_tree {
            return Ok(out);
        }
        let present: std::collections::BTreeSet<(Oid, Oid)> = match now {
            Some(id) => notes::entries(self.repo, self.repo.tree_of(id)?)?.notes.into_iter().collect(),
            None => Default::default(),
        };
        for (on, blob) in old_notes {
            if present.contains(&(on, blob)) {
                continue;
            }
            let Some(content) = self.repo.read_blob(blob)? else { continue };
            let have = current.get(on)?.unwrap_or_default();
            if unite(&have, &content) != unite(&have, &[]) {
                out.insert(on, content);
            }
        }
        Ok(out)
    }
}
