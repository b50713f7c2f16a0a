//! Healing: unites the last written content back into refs that were set back, pruned or deleted by others.
//!
//! Contents are compared, never ancestry: a fast-forward can remove notes, too.

use std::time::Duration;

use crate::error::{Result, empirica};
use crate::git::notes::difference::differences;
use crate::git::{NotesTree, Oid, notes};
use crate::model::{Id, Namespace};
use crate::store::log::lock::Lock;
use crate::store::redact::forget::Removal;
use crate::store::redact::progress::Forgetting;
use crate::store::redact::tombstones::Epoch;
use crate::store::write::flush::{Beside, Change, Flushed, Notes};
use crate::store::write::tips::Tips;
use crate::store::write::touched;
use crate::store::{MARKDOWN_REF, PREFIX, Store, data_ref, log, our_refs, tracked};

/// The time a reading command waits for a writer before it reads without healing.
const READER_PATIENCE: Duration = Duration::from_millis(500);

impl Store<'_> {
    /// Heals refs changed by others, unites tracking refs, retries pending follows, and attaches records made before
    /// the first commit. Called once by every reading command; failures become warnings.
    pub fn reconcile(&self) -> Vec<String> {
        let unseen = log::unseen(&self.paths).into_iter();
        let mut warnings: Vec<String> = unseen
            .map(|(folder, error)| format!("cannot read pending records in {}: {error}", folder.display()))
            .collect();
        for (name, tip) in self.unreadable_tips() {
            let left = if self.before_damage(&name, tip).is_some() {
                "its state before that is shown"
            } else {
                "the other sources are shown"
            };
            warnings.push(format!(
                "{name} points to {tip}, which cannot be read: {left}; {} shows how to recover it",
                empirica("doctor")
            ));
        }
        if self.is_forgetting() || !self.in_step(&Tips::load(&self.paths)) {
            self.complete();
            // a reader need not wait long: it also reads the last written tips
            let patience = self.patience(self.lock_timeout.min(READER_PATIENCE));
            let healed = Lock::acquire(&self.paths, &self.paths.lock(), patience)
                .and_then(|_lock| self.heal_locked(&mut warnings).map(|tips| tips.save(&self.paths)))
                // tracking refs are united: they need not keep redacted texts reachable
                .and_then(|()| self.forget_tracking("").map(|_| ()));
            if let Err(error) = healed {
                warnings.push(format!("cannot check notes changed by others: {error}"));
            }
        }
        if let Err(error) = self.follow_remembered() {
            warnings.push(format!("cannot copy notes to rewritten commits yet: {error}"));
        }
        if let Err(error) = self.attach_unborn() {
            warnings.push(format!("cannot attach records to the first commit yet: {error}"));
        }
        warnings
    }

    /// Whether all refs are at the saved tips. An unreadable ref is not.
    pub(crate) fn in_step(&self, tips: &Tips) -> bool {
        let same = |name: &str| self.repo.find_ref(name).is_ok_and(|now| now == tips.refs.get(name).copied());
        our_refs().iter().all(|(name, _)| same(name)) && !self.tracking_moved(tips)
    }

    pub(crate) fn tracking(&self) -> Vec<(String, Oid)> {
        self.repo.list_refs(&format!("{PREFIX}remotes/")).unwrap_or_default()
    }

    fn tracking_moved(&self, tips: &Tips) -> bool {
        let prefix = format!("{PREFIX}remotes/");
        let now = self.tracking();
        let known = tips.refs.iter().filter(|(name, _)| name.starts_with(&prefix)).count();
        now.len() != known || now.iter().any(|(name, id)| tips.refs.get(name) != Some(id))
    }

    /// Compares each ref with its saved tip and unites missing content in; then unites each tracking ref that moved.
    /// The caller holds the lock. Returns the tips to save.
    pub(crate) fn heal_locked(&self, warnings: &mut Vec<String>) -> Result<Tips> {
        let mut tips = Tips::load(&self.paths);
        let before = tips.refs.clone();
        let is_forgetting = self.learn_redactions(&mut tips)?;
        let (mut is_changed, mut is_complete) = (is_forgetting, true);
        for (name, form) in our_refs() {
            let now = self.repo.find_ref(&name)?;
            let known = tips.refs.get(&name).copied();
            if now == known && !is_forgetting {
                continue;
            }
            is_changed = true;
            tips.newest_ms = tips.newest_ms.max(self.newest_new(known, now));
            self.unite_into(&[Change { name, new: Notes::new(), unite: form.unite() }], &mut tips)?;
        }
        if self.tracking_moved(&tips) {
            let before_tracking = warnings.len();
            is_changed |= self.unite_tracking(&mut tips, warnings);
            is_complete = warnings.len() == before_tracking;
        }
        if is_changed {
            touched::forget_all(&self.paths).map_err(|error| touched::unusable(&self.paths, error))?;
            self.settle_redactions(is_forgetting, &self.epochs(before), &mut tips, warnings)?;
        }
        if is_forgetting && is_complete {
            tips.save(&self.paths);
            self.forgot()?;
        }
        Ok(tips)
    }

    /// The united epochs of those of these tips that exist here.
    fn epochs(&self, tips: impl IntoIterator<Item = (String, Oid)>) -> Epoch {
        let existing = tips.into_iter().filter(|(_, tip)| self.repo.has_object(*tip));
        let of = existing.map(|(_, tip)| Epoch::of(self.repo, Some(tip)).unwrap_or_default());
        of.fold(Epoch::default(), |all, epoch| all.united(&epoch))
    }

    /// The united epochs of the local refs.
    pub(crate) fn own_epochs(&self) -> Result<Epoch> {
        let mut tips = Vec::new();
        for (name, _) in our_refs() {
            tips.extend(self.repo.find_ref(&name)?.map(|tip| (name, tip)));
        }
        Ok(self.epochs(tips))
    }

    /// Finds texts that one side of a pending union has redacted and another still has, and persists them as texts to
    /// forget. Continues an interrupted redaction. Returns whether there is anything to forget.
    fn learn_redactions(&self, tips: &mut Tips) -> Result<bool> {
        let mut pairs = Vec::new();
        let fetched: Vec<(String, Oid)> =
            self.tracking().into_iter().filter(|(tracking, id)| tips.refs.get(tracking) != Some(id)).collect();
        for (name, _) in our_refs() {
            let now = self.repo.find_ref(&name)?;
            let known = tips.refs.get(&name).copied().filter(|known| Some(*known) != now);
            let of_ref = fetched.iter().filter(|(tracking, _)| tracked(tracking).as_ref() == Some(&name));
            let others = known.into_iter().chain(of_ref.map(|(_, id)| *id)).filter(|id| self.repo.has_object(*id));
            let now = now.filter(|now| self.repo.has_object(*now));
            pairs.extend(others.map(|other| [now, Some(other)]));
        }
        // what cannot be read now cannot be united either
        let lines = self.lines_to_forget(&pairs).unwrap_or_default();
        if lines.is_empty() && !self.is_forgetting() {
            return Ok(false);
        }
        let mut forgetting = self.forgetting();
        let known = self.own_epochs()?;
        let is_known = |id: &Id| known.redacted.contains_key(id.as_str());
        if forgetting.redacting.as_ref().is_some_and(|redacting| !redacting.ids.iter().any(is_known)) {
            // it had not begun: the command that wanted it has failed
            forgetting = Forgetting::default();
        }
        let is_more = !lines.is_subset(&forgetting.lines);
        forgetting.lines.extend(lines);
        if forgetting.lines.is_empty() {
            self.forgot()?;
            return Ok(false);
        }
        if is_more {
            self.remember_forgetting(&forgetting)?;
        }
        self.forget(&forgetting)?;
        if let Some(redacting) = &forgetting.redacting {
            let by = redacting.by();
            self.move_all(&Removal::of(&redacting.ids, &by, known), tips)?;
        }
        Ok(true)
    }

    /// After fetched redactions: applies them to pending records, the Markdown and references to old tips.
    pub(crate) fn settle_redactions(
        &self,
        is_forgetting: bool,
        before: &Epoch,
        tips: &mut Tips,
        warnings: &mut Vec<String>,
    ) -> Result<()> {
        let of = |name: &str| Epoch::of(self.repo, self.repo.find_ref(name)?);
        if is_forgetting {
            let mut flushed = Flushed::default();
            self.write_logs(Beside::default(), tips, &mut flushed)?;
            warnings.extend(flushed.warnings);
            if let Some(left) = flushed.left.into_iter().next() {
                return Err(left.untaken());
            }
        }
        let (handoffs, markdown) = (of(&data_ref(Namespace::Handoffs))?, of(MARKDOWN_REF)?);
        if is_forgetting || !markdown.unaware_of(&handoffs).redacted.is_empty() {
            self.update_markdown(tips)?;
        }
        if is_forgetting || !before.unaware_of(&self.own_epochs()?).redacted.is_empty() {
            self.forget_traces(warnings);
        }
        Ok(())
    }

    /// Unites the tracking refs that moved. A tip that cannot be united (missing objects, a locked local ref) is not
    /// saved, so that the next command retries. Returns whether the local notes changed, or may have fewer records than
    /// are read.
    fn unite_tracking(&self, tips: &mut Tips, warnings: &mut Vec<String>) -> bool {
        let mut is_changed = false;
        let now = self.tracking();
        let gone =
            |name: &String| name.starts_with(&format!("{PREFIX}remotes/")) && !now.iter().any(|(n, _)| n == name);
        tips.refs.retain(|name, _| !gone(name));
        for (tracking, theirs) in now {
            if tips.refs.get(&tracking) == Some(&theirs) {
                continue;
            }
            if let Some(name) = tracked(&tracking) {
                let before = tips.refs.get(&name).copied();
                let united = if self.repo.has_object(theirs) {
                    self.unite_tip(&name, theirs, false, tips)
                } else {
                    Err(self.repo.lost_tip(&tracking, theirs))
                };
                is_changed |= united.is_err() || tips.refs.get(&name).copied() != before;
                if let Err(error) = united {
                    warnings.push(format!("cannot unite {tracking} with your notes: {error}"));
                    tips.refs.remove(&tracking);
                    continue;
                }
            }
            tips.refs.insert(tracking, theirs);
        }
        is_changed
    }

    /// Unites a fetched tip into the local ref, both without texts to forget. The caller holds the lock.
    pub(crate) fn unite_tip(&self, name: &str, theirs: Oid, publish: bool, tips: &mut Tips) -> Result<()> {
        let mut newest_ms = 0;
        let theirs = self.without_texts(name, theirs)?;
        self.move_refs(&[name], tips, "notes: Notes merged by 'git empirica'", |_, tip, tips| {
            let at = self.past_redactions(name, tip, tips)?;
            let (united, newest) = self.merged(name, at, theirs, publish)?;
            newest_ms = newest;
            Ok(Some(united).filter(|united| Some(*united) != tip))
        })?;
        tips.newest_ms = tips.newest_ms.max(newest_ms);
        Ok(())
    }

    /// The tip without texts to forget, united with the saved tip if that has redactions which `tip` lacks: a ref set
    /// back by others must not bring back the text.
    pub(crate) fn past_redactions(&self, name: &str, tip: Option<Oid>, tips: &Tips) -> Result<Option<Oid>> {
        let known = tips.refs.get(name).copied().filter(|known| Some(*known) != tip && self.repo.has_object(*known));
        let tip = tip.map(|tip| self.without_texts(name, tip)).transpose()?;
        let Some(known) = known else { return Ok(tip) };
        let Ok(remembered) = Epoch::of(self.repo, Some(known)) else { return Ok(tip) };
        if remembered.is_empty() || Epoch::of(self.repo, tip)?.unaware_of(&remembered).redacted.is_empty() {
            return Ok(tip);
        }
        self.merged(name, tip, known, false).map(|(united, _)| Some(united))
    }

    /// The time of the newest id in notes added or changed from `known` to `now`, in milliseconds; 0 without one.
    fn newest_new(&self, known: Option<Oid>, now: Option<Oid>) -> u64 {
        let newer = self.newer(known, now).unwrap_or_default();
        let notes = newer.into_iter().filter_map(|(_, blob)| self.repo.read_blob(blob).ok().flatten());
        notes.map(|note| self.newest_in(&note)).max().unwrap_or(0)
    }

    /// The notes added or changed from the tip `known` to `now`.
    fn newer(&self, known: Option<Oid>, now: Option<Oid>) -> Result<Vec<(Oid, Oid)>> {
        let tree = |tip: Option<Oid>| tip.map_or_else(|| Ok(self.repo.empty_tree()), |tip| self.repo.tree_of(tip));
        let now = tree(now)?;
        // if the known tip is gone, all of it is new
        let found = differences(self.repo, tree(known).unwrap_or_else(|_| self.repo.empty_tree()), now)?;
        let only = found.notes.into_iter().map(|(on, [old, new])| (on, new, old));
        Ok(only
            .flat_map(|(on, new, old)| new.into_iter().filter(move |b| !old.contains(b)).map(move |b| (on, b)))
            .collect())
    }

    /// The notes of a ref's saved tip that `now` lacks. A tip that is gone cannot be united.
    pub(crate) fn lost(&self, name: &str, now: Option<Oid>, unite: notes::Unite, tips: &Tips) -> Result<Notes> {
        let known = tips.refs.get(name).copied().filter(|known| Some(*known) != now && self.repo.has_object(*known));
        known.map_or_else(|| Ok(Notes::new()), |known| self.missing(known, now, unite))
    }

    /// The notes of `known` whose content is not contained in `now`.
    fn missing(&self, known: Oid, now: Option<Oid>, unite: notes::Unite) -> Result<Notes> {
        let mut out = Notes::new();
        let mut current = NotesTree::open(self.repo, now, unite)?;
        // a saved tip with missing objects cannot be united
        for (on, blob) in self.newer(now, Some(known)).unwrap_or_default() {
            let Some(content) = self.repo.read_blob(blob)? else { continue };
            let have = current.get(on)?.unwrap_or_default();
            if unite(&have, &content) != unite(&have, &[]) {
                out.insert(on, content);
            }
        }
        Ok(out)
    }
}
