//! Forgetting: tips of our refs without texts that were redacted, whoever quotes them, and the places where old tips lie.
//!
//! A clone that learns of a redaction still has the text then: what it, or the other side, has written since and quotes it
//! is made anew without it before the two are united. Whoever knows the text no more need not: nothing of it came.

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

/// What is to be gone from a ref.
#[derive(Debug, Default)]
pub(crate) struct Removal<'g> {
    /// The records that are replaced by stubs, and what these say.
    pub records: BTreeMap<String, &'g By>,
    /// What was redacted elsewhere.
    pub epoch: Epoch,
}

impl<'g> Removal<'g> {
    /// Records that somebody redacts, where that much is known already.
    pub fn of(ids: &BTreeSet<Id>, by: &'g By, known: Epoch) -> Self {
        let entry = |id: &Id| (id.as_str().to_owned(), Redacted::gone(id.as_str()));
        let epoch = Epoch { number: 0, redacted: ids.iter().map(entry).collect() }.united(&known);
        Removal { records: ids.iter().map(|id| (id.as_str().to_owned(), by)).collect(), epoch }
    }
}

/// A notes tree without something.
pub(crate) struct RewrittenTree {
    /// The tree.
    pub tree: Oid,
    /// Whether a note changed.
    pub is_touched: bool,
    /// The records that were made anew without what they quoted; those of which nothing was left among them.
    pub rewritten: BTreeSet<String>,
}

impl Store<'_> {
    /// The lines of records that one of two tips knows as redacted and the other still has, for all of these pairs.
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

    /// The tip of a ref without what is to be forgotten; itself when it holds nothing of it. A commit without parents, which
    /// depends on the tip and the texts alone.
    pub(crate) fn without_texts(&self, name: &str, tip: Oid) -> Result<Oid> {
        let texts = self.forgotten.borrow().clone();
        if texts.is_empty() {
            return Ok(tip);
        }
        let anew = self.anew(name, tip, &texts, &Removal::default())?;
        anew.map_or(Ok(tip), |anew| {
            let seconds = self.repo.commit_seconds(tip)?;
            self.repo.write_merge(anew.tree, Vec::new(), "Notes redacted by 'git empirica'\n", seconds)
        })
    }

    /// The notes tree of a tip without texts, and with stubs in place of records; `None` when nothing changes. The blocks of
    /// Markdown follow the records besides.
    pub(crate) fn anew(
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
            // of several versions of a record one is left
            let note = if form == Form::Lines { form.without(note, &epoch) } else { note };
            edits.insert(on, Some(self.repo.write_blob(&note)?));
        }
        let text = self.repo.write_blob(epoch.text().as_bytes())?;
        let others = [(NAME.as_bytes().to_vec(), Other::file(text))];
        let tree = notes::rebuilt(self.repo, tree, &edits, &others, form.unite(), false)?;
        Ok(Some(RewrittenTree { tree, is_touched, rewritten: best.into_keys().collect() }))
    }

    /// A text without what was redacted just now; `None` when it holds nothing of it.
    pub fn without_redacted(&self, text: &str) -> Option<String> {
        self.forgotten.borrow().passage(text)
    }

    /// What waits, without what was redacted and texts that are to be forgotten.
    pub(crate) fn counting(&self, waiting: &[PendingRecord]) -> Result<Vec<PendingRecord>> {
        let texts = self.forgotten.borrow();
        let mut epochs = BTreeMap::new();
        for namespace in waiting.iter().map(|waiting| waiting.namespace).collect::<BTreeSet<Namespace>>() {
            epochs.insert(namespace, Epoch::of(self.repo, self.repo.find_ref(&data_ref(namespace))?)?);
        }
        let counts = waiting.iter().filter(|waiting| epochs[&waiting.namespace].counts(&waiting.line));
        let without = |waiting: &PendingRecord| match texts.without(&waiting.line) {
            Some(without) => PendingRecord { line: without.line, ..waiting.clone() },
            None => waiting.clone(),
        };
        Ok(counts.map(without).collect())
    }

    /// The blocks of the notes where redacted records stand, as these are now, by the object.
    pub(crate) fn blocks_anew(&self, handoffs: Oid, epoch: &Epoch) -> Result<BTreeMap<Oid, Vec<u8>>> {
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

    /// The tip of the Markdown as the records have it that were redacted: none of their old blocks, their new ones wherever
    /// they stand. Itself, or `None`, when it is so.
    pub(crate) fn markdown_anew(&self, handoffs: Option<Oid>, markdown: Option<Oid>) -> Result<Option<Oid>> {
        let Some(handoffs) = handoffs else { return Ok(markdown) };
        let known = Epoch::of(self.repo, Some(handoffs))?;
        let Some(tip) = markdown.filter(|_| !known.redacted.is_empty()) else { return Ok(markdown) };
        let before = Epoch::of(self.repo, Some(tip))?;
        let epoch = before.united(&known);
        let stale = before.unaware_of(&epoch);
        let anew = self.blocks_anew(handoffs, &known)?;
        let tree = self.repo.tree_of(tip)?;
        let mut edits = BTreeMap::new();
        let mut rest = anew.clone();
        for (on, blob) in notes::entries(self.repo, tree)?.notes {
            let note = self.repo.read_blob(blob)?.ok_or_else(|| absent(blob))?;
            let kept = Form::Blocks.without(note.clone(), &stale);
            let new = rest.remove(&on).map_or(kept.clone(), |anew| blocks::union(&kept, &anew));
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

    /// Removes what still leads to old tips beside our refs: their reflogs, those of the tracking refs, and the index, which is
    /// made anew by whoever asks. What could not be removed is said.
    pub fn forget_traces(&self, warnings: &mut Vec<String>) {
        if let Err(error) = self.paths.remove_index() {
            warnings.push(format!("the index still holds what was redacted: {error}"));
        }
        let names: Vec<String> = self.repo.list_refs(PREFIX).unwrap_or_default().into_iter().map(|(n, _)| n).collect();
        if let Err(error) = delete::expire_reflogs(self.repo, &names) {
            warnings.push(format!("the reflogs of the notes still lead to what was redacted: {error}"));
        }
        fault::step("redaction: traces removed");
    }

    /// The tracking refs that do not know of all that is redacted here: our ref, and what it was fetched as.
    pub(crate) fn stale_tracking(&self, below: &str) -> Result<Vec<(String, String, Oid)>> {
        let mut out = Vec::new();
        for (tracking, tip) in self.repo.list_refs(below)? {
            let Some(name) = tracked(&tracking) else { continue };
            let ours = Epoch::of(self.repo, self.repo.find_ref(&name)?)?;
            let is_stale = || {
                Ok::<_, crate::error::Error>(!Epoch::of(self.repo, Some(tip))?.unaware_of(&ours).redacted.is_empty())
            };
            // what is not here leads nowhere
            if !ours.redacted.is_empty() && self.repo.has_object(tip) && is_stale()? {
                out.push((name, tracking, tip));
            }
        }
        Ok(out)
    }

    /// Removes the tracking refs below a prefix that still lead to what is redacted here; returns which of our refs they were
    /// of. A fetch brings them back as long as that remote has the text.
    pub fn forget_tracking(&self, tracking: &str) -> Result<Vec<String>> {
        let stale =
            self.stale_tracking(&format!("{PREFIX}remotes/{tracking}{}", if tracking.is_empty() { "" } else { "/" }))?;
        let refs: Vec<(String, Oid)> = stale.iter().map(|(_, tracking, tip)| (tracking.clone(), *tip)).collect();
        delete::delete(self.repo, &refs)?;
        fault::step("redaction: tracking refs removed");
        Ok(stale.into_iter().map(|(name, ..)| name).collect())
    }

    /// Brings the Markdown in step with the records that were redacted. The lock is held by the caller.
    pub(crate) fn markdown_in_step(&self, tips: &mut crate::store::write::tips::Tips) -> Result<()> {
        let handoffs = self.repo.find_ref(&data_ref(Namespace::Handoffs))?;
        if Epoch::of(self.repo, handoffs)?.redacted.is_empty() {
            return Ok(());
        }
        self.move_refs(&[MARKDOWN_REF], tips, "notes: Notes redacted by 'git empirica'", |_, tip, _| {
            Ok(self.markdown_anew(handoffs, tip)?.filter(|new| Some(*new) != tip))
        })
    }
}

/// A note of lines without texts and records that are gone; `None` when it holds nothing of them. What was made anew goes to
/// `best`, the greatest of several versions.
fn lines_without(
    note: &[u8],
    texts: &Texts,
    gone: &Removal<'_>,
    best: &mut BTreeMap<String, (Vec<u8>, BTreeSet<String>, bool)>,
) -> Option<Vec<u8>> {
    let mut any = false;
    let mut out: Vec<Vec<u8>> = Vec::new();
    let is_gone = |line: &&[u8]| lines::id(line).is_some_and(|id| gone.records.contains_key(id));
    let of_gone = lines::split(note).filter(is_gone);
    let stubbed: BTreeSet<&str> = of_gone.filter(|line| is_readable(line)).filter_map(lines::id).collect();
    for line in lines::split(note) {
        let id = lines::id(line);
        if let Some(by) = id.and_then(|id| gone.records.get(id)) {
            any |= !is_stub(line);
            // one that cannot be read leaves a stub only where no other of that id does
            let is_told = !is_readable(line) && id.is_some_and(|id| stubbed.contains(id));
            out.extend(if is_stub(line) { Some(line.to_vec()) } else { stub(line, Some(by)).filter(|_| !is_told) });
        } else if let Some(without) = texts.without(line) {
            any = true;
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
    any.then(|| lines::canonical(out.iter().map(Vec::as_slice)))
}
