//! Healing: unites the last written content back into refs that were set back, pruned or deleted by others.
//!
//! Contents are compared, never ancestry: a fast-forward can remove notes, too.

use crate::error::{Result, empirica};
use crate::format::lines;
use crate::git::notes::difference::differences;
use crate::git::{NotesTree, Oid, notes};
use crate::model::{Id, Namespace};
use crate::store::redact::forget::Removal;
use crate::store::redact::progress::{Forgetting, Redacting};
use crate::store::redact::tombstones::{NoteFormat, Tombstones};
use crate::store::write::flush::Notes;
use crate::store::write::session_notes;
use crate::store::write::tips::Tips;
use crate::store::{MARKDOWN_REF, Recovery, TRACKING, data_ref, own_refs, tracked};

/// Most records that a warning names.
const TOLD: usize = 5;

impl Recovery<'_> {
    /// Whether all refs are at the saved tips. An unreadable ref is not.
    pub(crate) fn at_saved_tips(&self, tips: &Tips) -> bool {
        let same = |name: &String| self.store.repo.find_ref(name).is_ok_and(|now| now == tips.refs.get(name).copied());
        own_refs().iter().all(same) && !self.tracking_moved(tips)
    }

    fn tracking_moved(&self, tips: &Tips) -> bool {
        let now = self.store.tracking();
        let saved = tips.refs.keys().filter(|name| name.starts_with(TRACKING)).count();
        now.len() != saved || now.iter().any(|(name, id)| tips.refs.get(name) != Some(id))
    }

    /// Compares each ref with its saved tip and unites missing content in; then unites each tracking ref that moved.
    /// The caller holds the lock. Returns the tips to save.
    pub(crate) fn heal_locked(&self, warnings: &mut Vec<String>) -> Result<Tips> {
        let mut tips = Tips::load(&self.store.paths);
        let before: Vec<Oid> = tips.refs.values().copied().collect();
        let is_forgetting = self.learn_redactions(&mut tips)?;
        let (mut is_changed, mut is_complete) = (is_forgetting, true);
        for name in own_refs() {
            let now = self.store.repo.find_ref(&name)?;
            if now == tips.refs.get(&name).copied() && !is_forgetting {
                continue;
            }
            is_changed = true;
            if NoteFormat::of(&name) == NoteFormat::Lines {
                self.see_changes(tips.refs.get(&name).copied(), now);
            }
            self.store.writer().restore(name, &mut tips)?;
        }
        if self.tracking_moved(&tips) {
            let before_tracking = warnings.len();
            is_changed |= self.unite_tracking(&mut tips, warnings);
            is_complete = warnings.len() == before_tracking;
        }
        if is_changed {
            session_notes::forget_all(&self.store.paths)?;
            self.finish_redactions(is_forgetting, &self.tombstones_of(before), &mut tips, warnings)?;
        }
        if is_forgetting && is_complete {
            tips.save(&self.store.paths);
            Forgetting::remove(&self.store.paths)?;
        }
        self.tell_redactions(warnings);
        Ok(tips)
    }

    /// Warns, once, of the records that redactions of others removed or rewrote.
    pub(crate) fn tell_redactions(&self, warnings: &mut Vec<String>) {
        let ids: Vec<Id> = self.store.redacted_by_others.take().iter().filter_map(|id| Id::parse(id)).collect();
        let Some(first) = ids.first() else { return };
        let shown: Vec<&str> = ids.iter().take(TOLD).map(Id::short).collect();
        let more = if ids.len() > TOLD { format!(" and {} more", ids.len() - TOLD) } else { String::new() };
        let show = empirica("show").arg(first.short());
        warnings.push(format!(
            "others redacted records that were here, or texts in them: {}{more}: {show}",
            shown.join(", ")
        ));
    }

    /// The united redactions of those of these tips that exist here.
    fn tombstones_of(&self, tips: impl IntoIterator<Item = Oid>) -> Tombstones {
        let existing = tips.into_iter().filter(|tip| self.store.repo.has_object(*tip));
        let of = existing.map(|tip| Tombstones::of(self.store.repo, Some(tip)).unwrap_or_default());
        of.fold(Tombstones::default(), |all, one| all.united(&one))
    }

    /// The united redactions of the local refs.
    pub(crate) fn own_tombstones(&self) -> Result<Tombstones> {
        let tips = own_refs().iter().map(|name| self.store.repo.find_ref(name)).collect::<Result<Vec<_>>>()?;
        Ok(self.tombstones_of(tips.into_iter().flatten()))
    }

    /// The saved tip of a ref, if it exists here and differs from `now`.
    fn other_saved_tip(&self, name: &str, now: Option<Oid>, tips: &Tips) -> Option<Oid> {
        tips.refs.get(name).copied().filter(|saved| Some(*saved) != now && self.store.repo.has_object(*saved))
    }

    /// The pairs of tips to unite: each local ref with its saved tip and the tracking refs, if these moved.
    pub(crate) fn pairs_to_unite(&self, tips: &Tips) -> Result<Vec<[Option<Oid>; 2]>> {
        let mut pairs = Vec::new();
        let mut moved = self.store.tracking();
        moved.retain(|(tracking, id)| tips.refs.get(tracking) != Some(id) && self.store.repo.has_object(*id));
        for name in own_refs() {
            let now = self.store.repo.find_ref(&name)?;
            let saved = self.other_saved_tip(&name, now, tips);
            let fetched = moved.iter().filter(|(tracking, _)| tracked(tracking).as_ref() == Some(&name));
            let now = now.filter(|now| self.store.repo.has_object(*now));
            pairs.extend(saved.into_iter().chain(fetched.map(|(_, id)| *id)).map(|other| [now, Some(other)]));
        }
        Ok(pairs)
    }

    /// Finds texts that one side of a pending union has redacted and another still has, and persists them as texts to
    /// forget. Continues an interrupted redaction. Returns whether there is anything to forget.
    fn learn_redactions(&self, tips: &mut Tips) -> Result<bool> {
        // content that cannot be read now cannot be united either
        let lines = self.store.redaction().lines_to_forget(&self.pairs_to_unite(tips)?).unwrap_or_default();
        if lines.is_empty() && !Forgetting::exists(&self.store.paths) {
            return Ok(false);
        }
        let mut forgetting = Forgetting::load(&self.store.paths);
        let own = self.own_tombstones()?;
        let has_begun = |redacting: &Redacting| redacting.ids.iter().any(|id| own.redacted.contains_key(id.as_str()));
        if forgetting.redacting.as_ref().is_some_and(|redacting| !has_begun(redacting)) {
            // the command that started it has failed
            forgetting = Forgetting::default();
        }
        let taken = lines.iter().filter_map(|line| lines::id(line)).filter(|id| !own.redacted.contains_key(*id));
        self.store.redacted_by_others.borrow_mut().extend(taken.map(str::to_owned));
        let is_more = !lines.is_subset(&forgetting.lines);
        forgetting.lines.extend(lines);
        if forgetting.lines.is_empty() {
            Forgetting::remove(&self.store.paths)?;
            return Ok(false);
        }
        if is_more {
            forgetting.save(&self.store.paths, self.store.repo.is_durable())?;
        }
        self.store.redaction().forget(&forgetting)?;
        if let Some(redacting) = &forgetting.redacting {
            self.store.redaction().rewrite_refs(&Removal::of(&redacting.ids, &redacting.by, own), tips)?;
        }
        Ok(true)
    }

    /// After fetched redactions: applies them to pending records, the Markdown and references to old tips.
    pub(crate) fn finish_redactions(
        &self,
        is_forgetting: bool,
        before: &Tombstones,
        tips: &mut Tips,
        warnings: &mut Vec<String>,
    ) -> Result<()> {
        if is_forgetting {
            warnings.extend(self.store.writer().write_all_logs(tips)?);
        }
        let (handoffs, markdown) =
            (self.store.tombstones(&data_ref(Namespace::Handoffs))?, self.store.tombstones(MARKDOWN_REF)?);
        if is_forgetting || markdown.lacks(&handoffs) {
            self.store.redaction().update_markdown(tips)?;
        }
        if is_forgetting || before.lacks(&self.own_tombstones()?) {
            self.store.redaction().forget_traces(warnings);
        }
        Ok(())
    }

    /// Unites the tracking refs that moved. A tip that cannot be united (missing objects, a locked local ref) is not
    /// saved, so that the next command retries. Returns whether the local notes changed, or may have fewer records than
    /// are read.
    fn unite_tracking(&self, tips: &mut Tips, warnings: &mut Vec<String>) -> bool {
        let mut is_changed = false;
        let now = self.store.tracking();
        tips.refs.retain(|name, _| !name.starts_with(TRACKING) || now.iter().any(|(tracking, _)| tracking == name));
        for (tracking, theirs) in now {
            if tips.refs.get(&tracking) == Some(&theirs) {
                continue;
            }
            if let Some(name) = tracked(&tracking) {
                let before = tips.refs.get(&name).copied();
                let united = if self.store.repo.has_object(theirs) {
                    self.unite_tip(&name, theirs, false, tips)
                } else {
                    Err(self.store.repo.unreadable_tip(&tracking, theirs))
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
        let theirs = self.store.redaction().without_texts(name, theirs)?;
        self.store.writer().move_refs(&[name], tips, "notes: Notes merged by 'git empirica'", |_, tip, tips| {
            let at = self.tip_with_saved_redactions(name, tip, tips)?;
            Ok(Some(self.store.writer().merge(name, at, theirs, publish)?).filter(|united| Some(*united) != tip))
        })
    }

    /// The tip without texts to forget, united with the saved tip if that has redactions which `tip` lacks: a ref set
    /// back by others must not bring back the text.
    pub(crate) fn tip_with_saved_redactions(&self, name: &str, tip: Option<Oid>, tips: &Tips) -> Result<Option<Oid>> {
        let saved = self.other_saved_tip(name, tip, tips);
        let tip = tip.map(|tip| self.store.redaction().without_texts(name, tip)).transpose()?;
        let Some(saved) = saved else { return Ok(tip) };
        let Ok(redactions) = Tombstones::of(self.store.repo, Some(saved)) else { return Ok(tip) };
        if redactions.is_empty() || !Tombstones::of(self.store.repo, tip)?.lacks(&redactions) {
            return Ok(tip);
        }
        self.store.writer().merge(name, tip, saved, false).map(Some)
    }

    /// Counts the ids in the notes that others changed since a tip was saved.
    fn see_changes(&self, saved: Option<Oid>, now: Option<Oid>) {
        for (_, blob) in self.changed(saved, now).unwrap_or_default() {
            self.store.observe_ids(lines::split(&self.store.repo.read_blob(blob).ok().flatten().unwrap_or_default()));
        }
    }

    /// The notes added or changed from one tip to another. An unreadable `from` counts as empty.
    fn changed(&self, from: Option<Oid>, to: Option<Oid>) -> Result<Vec<(Oid, Oid)>> {
        let from = self.store.tree(from).unwrap_or_else(|_| self.store.repo.empty_tree());
        let mut out = Vec::new();
        for (on, [old, new]) in differences(self.store.repo, from, self.store.tree(to)?)?.notes {
            out.extend(new.into_iter().filter(|blob| !old.contains(blob)).map(|blob| (on, blob)));
        }
        Ok(out)
    }

    /// The notes of a ref's saved tip whose content `now` lacks. A tip with missing objects cannot be united.
    pub(crate) fn lost(&self, name: &str, now: Option<Oid>, unite: notes::Unite, tips: &Tips) -> Result<Notes> {
        let mut out = Notes::new();
        let Some(saved) = self.other_saved_tip(name, now, tips) else { return Ok(out) };
        let mut current = NotesTree::open(self.store.repo, now, unite)?;
        for (on, blob) in self.changed(now, Some(saved)).unwrap_or_default() {
            let Some(content) = self.store.repo.read_blob(blob)? else { continue };
            let have = current.get(on)?.unwrap_or_default();
            if unite(&have, &content) != unite(&have, &[]) {
                out.insert(on, content);
            }
        }
        Ok(out)
    }
}
