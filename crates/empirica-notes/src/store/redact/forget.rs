//! Forgetting: removes redacted texts from the tips of refs, from whatever quotes them, and from references to old
//! tips.
//!
//! A clone that learns of a redaction may still have the text: before two tips are united, records on either side that
//! quote it are rewritten without it. Clones that already dropped the text have nothing to rewrite.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Result;
use crate::fault;
use crate::format::redact::{By, Texts, hash, is_readable, is_stub, stub};
use crate::format::{blocks, lines};
use crate::git::notes::difference::{Other, differences};
use crate::git::refs::delete;
use crate::git::{Oid, notes};
use crate::model::{Id, Namespace};
use crate::store::log::PendingRecord;
use crate::store::redact::tombstones::{Epoch, Form, NAME, Redacted};
use crate::store::write::merge::{absent, form_of};
use crate::store::{MARKDOWN_REF, PREFIX, Store, data_ref, tracked};

/// The redactions to apply to a ref.
#[derive(Debug, Default)]
pub(crate) struct Removal<'g> {
    /// The records to replace by stubs, with the stubs' attribution.
    pub records: BTreeMap<String, &'g By>,
    /// The redactions of others.
    pub epoch: Epoch,
}

impl<'g> Removal<'g> {
    /// The redaction of `ids`, in addition to the redactions in `known`.
    pub fn of(ids: &BTreeSet<Id>, by: &'g By, known: Epoch) -> Self {
        let entry = |id: &Id| (id.as_str().to_owned(), Redacted::gone(id.as_str()));
        let epoch = Epoch { number: 0, redacted: ids.iter().map(entry).collect() }.united(&known);
        Removal { records: ids.iter().map(|id| (id.as_str().to_owned(), by)).collect(), epoch }
    }
}

/// A notes tree after redactions.
pub(crate) struct RewrittenTree {
    pub tree: Oid,
    /// Whether a note changed.
    pub is_touched: bool,
    /// The records rewritten without quotes, including those that became stubs.
    pub rewritten: BTreeSet<String>,
}

impl Store<'_> {
    /// The lines of records redacted in one tip and present in the other, over all these pairs.
    pub(crate) fn lines_to_forget(&self, pairs: &[[Option<Oid>; 2]]) -> Result<BTreeSet<Vec<u8>>> {
        let mut all = Epoch::default();
        for tip in pairs.iter().flatten() {
            all = all.united(&Epoch::of(self.repo, *tip)?);
        }
        let mut found = BTreeSet::new();
        if all.redacted.is_empty() {
            return Ok(found);
        }
        let tree = |tip: Option<Oid>| tip.map_or_else(|| Ok(self.repo.empty_tree()), |tip| self.repo.tree_of(tip));
        for pair in pairs {
            let trees = [tree(pair[0])?, tree(pair[1])?];
            for (side, tip) in pair.iter().enumerate() {
                let unaware = Epoch::of(self.repo, *tip)?.unaware_of(&all);
                let gone: BTreeSet<&str> = unaware.gone().collect();
                if gone.is_empty() || tip.is_none() {
                    continue;
                }
                for (_, sides) in differences(self.repo, trees[side], trees[1 - side])?.notes {
                    for blob in &sides[0] {
                        let note = self.repo.read_blob(*blob)?.unwrap_or_default();
                        let is_gone =
                            |line: &&[u8]| lines::id(line).is_some_and(|id| gone.contains(id)) && !is_stub(line);
                        found.extend(lines::split(&note).filter(is_gone).map(<[u8]>::to_vec));
                    }
                }
            }
        }
        Ok(found)
    }

    /// The tip without texts to forget; unchanged if it has none, else a commit without parents that depends only on
    /// the tip and the texts.
    pub(crate) fn without_texts(&self, name: &str, tip: Oid) -> Result<Oid> {
        let texts = self.forgotten.borrow().clone();
        if texts.is_empty() {
            return Ok(tip);
        }
        let rewritten = self.rewritten(name, tip, &texts, &Removal::default())?;
        rewritten.map_or(Ok(tip), |rewritten| {
            let seconds = self.repo.commit_seconds(tip)?;
            self.repo.write_merge(rewritten.tree, Vec::new(), "Notes redacted by 'git empirica'\n", seconds)
        })
    }

    /// The notes tree of a tip without these texts and with stubs for these records; `None` if nothing changes. Blocks
    /// of Markdown are rendered separately.
    pub(crate) fn rewritten(
        &self,
        name: &str,
        tip: Oid,
        texts: &Texts,
        gone: &Removal<'_>,
    ) -> Result<Option<RewrittenTree>> {
        let tree = self.repo.tree_of(tip)?;
        let form = form_of(name);
        let before = Epoch::of_tree(self.repo, tree)?;
        let mut epoch = before.united(&gone.epoch);
        let mut changed: BTreeMap<Oid, Vec<u8>> = BTreeMap::new();
        let mut best: BTreeMap<String, (Vec<u8>, BTreeSet<String>, bool)> = BTreeMap::new();
        for (on, blob) in notes::entries(self.repo, tree)?.notes {
            let note = self.repo.read_blob(blob)?.ok_or_else(|| absent(blob))?;
            let new = match form {
                Form::Lines => lines_without(&note, texts, gone, &mut best),
                Form::Blocks => blocks::with_texts(&note, |text| texts.passage(text)),
            };
            if let Some(new) = new {
                let united = changed.get(&on).map_or_else(|| new.clone(), |known| form.unite()(known, &new));
                changed.insert(on, united);
            }
        }
        for (id, (line, of, is_gone)) in &best {
            let known = before.redacted.get(id).map(|redacted| redacted.of.clone()).unwrap_or_default();
            let mut of: BTreeSet<String> = known.union(of).cloned().collect();
            let lines = if *is_gone { BTreeSet::new() } else { BTreeSet::from([hash(line)]) };
            of.extend(is_gone.then(|| id.clone()));
            epoch.redacted.insert(id.clone(), Redacted { of, lines });
        }
        if changed.is_empty() && epoch == before {
            return Ok(None);
        }
        let mut edits = BTreeMap::new();
        let is_touched = !changed.is_empty();
        for (on, note) in changed {
            // one version of each record is left
            let note = if form == Form::Lines { form.without(note, &epoch) } else { note };
            edits.insert(on, Some(self.repo.write_blob(&note)?));
        }
        let text = self.repo.write_blob(epoch.text().as_bytes())?;
        let others = [(NAME.as_bytes().to_vec(), Other::file(text))];
        let tree = notes::rebuilt(self.repo, tree, &edits, &others, form.unite(), false)?;
        Ok(Some(RewrittenTree { tree, is_touched, rewritten: best.into_keys().collect() }))
    }

    /// The text without those just redacted; `None` if it contains none.
    pub fn without_redacted(&self, text: &str) -> Option<String> {
        self.forgotten.borrow().passage(text)
    }

    /// The pending records without redacted ones, and without texts to forget.
    pub(crate) fn counting(&self, pending: &[PendingRecord]) -> Result<Vec<PendingRecord>> {
        let texts = self.forgotten.borrow();
        let mut epochs = BTreeMap::new();
        for namespace in pending.iter().map(|pending| pending.namespace).collect::<BTreeSet<Namespace>>() {
            epochs.insert(namespace, Epoch::of(self.repo, self.repo.find_ref(&data_ref(namespace))?)?);
        }
        let counted = pending.iter().filter(|pending| epochs[&pending.namespace].counts(&pending.line));
        let without = |pending: &PendingRecord| match texts.without(&pending.line) {
            Some(without) => PendingRecord { line: without.line, ..pending.clone() },
            None => pending.clone(),
        };
        Ok(counted.map(without).collect())
    }

    /// The newly rendered blocks of the notes with redacted records, by annotated object.
    pub(crate) fn rendered_blocks(&self, handoffs: Oid, epoch: &Epoch) -> Result<BTreeMap<Oid, Vec<u8>>> {
        let mut out = BTreeMap::new();
        for (on, blob) in notes::entries(self.repo, self.repo.tree_of(handoffs)?)?.notes {
            let note = self.repo.read_blob(blob)?.ok_or_else(|| absent(blob))?;
            let is_redacted = |line: &[u8]| lines::id(line).is_some_and(|id| epoch.redacted.contains_key(id));
            if lines::split(&note).any(is_redacted) {
                let lines: Vec<Vec<u8>> = lines::split(&note).map(<[u8]>::to_vec).collect();
                let new = self.blocks(on, &lines, &BTreeSet::new())?;
                let all = out.remove(&on).into_iter().chain(new.into_iter().map(String::into_bytes));
                out.insert(on, blocks::union_all(all.collect::<Vec<_>>().iter().map(Vec::as_slice)));
            }
        }
        Ok(out)
    }

    /// Updates the Markdown for redacted records: removes their old blocks and adds new ones. Returns the tip unchanged
    /// if nothing changes.
    pub(crate) fn updated_markdown(&self, handoffs: Option<Oid>, markdown: Option<Oid>) -> Result<Option<Oid>> {
        let Some(handoffs) = handoffs else { return Ok(markdown) };
        let known = Epoch::of(self.repo, Some(handoffs))?;
        let Some(tip) = markdown.filter(|_| !known.redacted.is_empty()) else { return Ok(markdown) };
        let before = Epoch::of(self.repo, Some(tip))?;
        let epoch = before.united(&known);
        let stale = before.unaware_of(&epoch);
        let rendered = self.rendered_blocks(handoffs, &known)?;
        let tree = self.repo.tree_of(tip)?;
        let mut edits = BTreeMap::new();
        let mut rest = rendered.clone();
        for (on, blob) in notes::entries(self.repo, tree)?.notes {
            let note = self.repo.read_blob(blob)?.ok_or_else(|| absent(blob))?;
            let kept = Form::Blocks.without(note.clone(), &stale);
            let new = rest.remove(&on).map_or(kept.clone(), |rendered| blocks::union(&kept, &rendered));
            if new != note && blocks::union(&note, b"") != new {
                edits.insert(on, if new.is_empty() { None } else { Some(self.repo.write_blob(&new)?) });
            }
        }
        for (on, new) in rest {
            edits.insert(on, Some(self.repo.write_blob(&new)?));
        }
        if edits.is_empty() && epoch == before {
            return Ok(Some(tip));
        }
        let others = [(NAME.as_bytes().to_vec(), Other::file(self.repo.write_blob(epoch.text().as_bytes())?))];
        let tree = notes::rebuilt(self.repo, tree, &edits, &others, blocks::union, false)?;
        let parents = Some(tip).filter(|_| stale.redacted.is_empty()).into_iter().collect();
        let seconds = self.repo.commit_seconds(tip)?;
        self.repo.write_merge(tree, parents, "Notes redacted by 'git empirica'\n", seconds).map(Some)
    }

    /// Removes other references to old tips: the reflogs of local and tracking refs, and the index, which is rebuilt on
    /// demand. Failures become warnings.
    pub fn forget_traces(&self, warnings: &mut Vec<String>) {
        if let Err(error) = self.paths.remove_index() {
            warnings.push(format!("cannot remove the index, which has redacted texts: {error}"));
        }
        let names: Vec<String> = self.repo.list_refs(PREFIX).unwrap_or_default().into_iter().map(|(n, _)| n).collect();
        if let Err(error) = delete::expire_reflogs(self.repo, &names) {
            warnings.push(format!("cannot expire the reflogs of the notes, which lead to redacted texts: {error}"));
        }
        fault::step("redaction: traces removed");
    }

    /// The tracking refs that lack redactions made here, as (local ref, tracking ref, tip).
    pub(crate) fn stale_tracking(&self, below: &str) -> Result<Vec<(String, String, Oid)>> {
        let mut out = Vec::new();
        for (tracking, tip) in self.repo.list_refs(below)? {
            let Some(name) = tracked(&tracking) else { continue };
            let ours = Epoch::of(self.repo, self.repo.find_ref(&name)?)?;
            let is_stale = || {
                Ok::<_, crate::error::Error>(!Epoch::of(self.repo, Some(tip))?.unaware_of(&ours).redacted.is_empty())
            };
            // a missing object leads nowhere
            if !ours.redacted.is_empty() && self.repo.has_object(tip) && is_stale()? {
                out.push((name, tracking, tip));
            }
        }
        Ok(out)
    }

    /// Removes the stale tracking refs of a remote (all remotes if empty), which keep redacted texts reachable; returns
    /// their local refs. A fetch restores them as long as the remote has the text.
    pub fn forget_tracking(&self, tracking: &str) -> Result<Vec<String>> {
        let stale =
            self.stale_tracking(&format!("{PREFIX}remotes/{tracking}{}", if tracking.is_empty() { "" } else { "/" }))?;
        let refs: Vec<(String, Oid)> = stale.iter().map(|(_, tracking, tip)| (tracking.clone(), *tip)).collect();
        delete::delete(self.repo, &refs)?;
        fault::step("redaction: tracking refs removed");
        Ok(stale.into_iter().map(|(name, ..)| name).collect())
    }

    /// Updates the Markdown for redacted records. The caller holds the lock.
    pub(crate) fn update_markdown(&self, tips: &mut crate::store::write::tips::Tips) -> Result<()> {
        let handoffs = self.repo.find_ref(&data_ref(Namespace::Handoffs))?;
        if Epoch::of(self.repo, handoffs)?.redacted.is_empty() {
            return Ok(());
        }
        self.move_refs(&[MARKDOWN_REF], tips, "notes: Notes redacted by 'git empirica'", |_, tip, _| {
            Ok(self.updated_markdown(handoffs, tip)?.filter(|new| Some(*new) != tip))
        })
    }
}

/// The note without these texts and records; `None` if it has none. Adds rewritten lines to `best`, the greatest of
/// several versions.
fn lines_without(
    note: &[u8],
    texts: &Texts,
    gone: &Removal<'_>,
    best: &mut BTreeMap<String, (Vec<u8>, BTreeSet<String>, bool)>,
) -> Option<Vec<u8>> {
    let mut is_changed = false;
    let mut out: Vec<Vec<u8>> = Vec::new();
    let is_gone = |line: &&[u8]| lines::id(line).is_some_and(|id| gone.records.contains_key(id));
    let of_gone = lines::split(note).filter(is_gone);
    let stubbed: BTreeSet<&str> = of_gone.filter(|line| is_readable(line)).filter_map(lines::id).collect();
    for line in lines::split(note) {
        let id = lines::id(line);
        if let Some(by) = id.and_then(|id| gone.records.get(id)) {
            is_changed |= !is_stub(line);
            // an unreadable line becomes a stub only if no other line with its id does
            let is_covered = !is_readable(line) && id.is_some_and(|id| stubbed.contains(id));
            out.extend(if is_stub(line) { Some(line.to_vec()) } else { stub(line, Some(by)).filter(|_| !is_covered) });
        } else if let Some(without) = texts.without(line) {
            is_changed = true;
            if let Some(id) = id {
                let new = (without.line.clone(), without.of, without.is_gone);
                let known = best.entry(id.to_owned()).or_insert_with(|| new.clone());
                known.1.extend(new.1);
                if new.0 > known.0 {
                    (known.0, known.2) = (new.0, new.2);
                }
            }
            out.push(without.line);
        } else {
            out.push(line.to_vec());
        }
    }
    is_changed.then(|| lines::canonical(out.iter().map(Vec::as_slice)))
}
