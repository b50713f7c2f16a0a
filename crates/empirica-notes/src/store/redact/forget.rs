//! Forgetting: removes redacted texts from the tips of refs and from all records that quote them, and references to old
//! tips.
//!
//! A clone that learns of a redaction may still have the text: before two tips are united, records on either side that
//! quote it are rewritten without it. Clones that already dropped the text have nothing to rewrite.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Result;
use crate::fault;
use crate::format::redact::{Attribution, RedactedLine, RedactedTexts, hash, is_readable, is_stub, stub};
use crate::format::{blocks, lines};
use crate::git::notes::difference::differences;
use crate::git::refs::delete;
use crate::git::{Oid, notes};
use crate::model::{Id, Namespace};
use crate::store::log::{PendingRecord, written};
use crate::store::redact::tombstones::{NoteFormat, Tombstone, Tombstones};
use crate::store::write::tips::Tips;
use crate::store::{MARKDOWN_REF, PREFIX, Redaction, TRACKING, data_ref, tracked};

/// The message of commits without redacted texts, and that of their reflog entries.
pub(crate) const MESSAGE: &str = "Notes redacted by 'git empirica'\n";
pub(crate) const REFLOG: &str = "notes: Notes redacted by 'git empirica'";

/// The redactions to apply to a ref.
#[derive(Debug, Default)]
pub(crate) struct Removal<'g> {
    /// The records to replace by stubs, with the stubs' attribution.
    pub records: BTreeMap<String, &'g Attribution>,
    /// The redactions of all records.
    pub tombstones: Tombstones,
}

impl<'g> Removal<'g> {
    /// The redaction of `ids`, in addition to `earlier` redactions.
    pub fn of(ids: &BTreeSet<Id>, by: &'g Attribution, earlier: Tombstones) -> Self {
        let entry = |id: &Id| (id.as_str().to_owned(), Tombstone::gone(id.as_str()));
        let tombstones = Tombstones { number: 0, redacted: ids.iter().map(entry).collect() }.united(&earlier);
        Removal { records: ids.iter().map(|id| (id.as_str().to_owned(), by)).collect(), tombstones }
    }
}

/// A notes tree after redactions.
pub(crate) struct RewrittenTree {
    pub tree: Oid,
    /// Whether a note changed.
    pub is_touched: bool,
    /// The records rewritten without quotes, including those that became stubs.
    pub quoting: BTreeSet<String>,
}

impl Redaction<'_> {
    /// The lines of records redacted in one tip and present in the other, over all these pairs.
    pub(crate) fn lines_to_forget(&self, pairs: &[[Option<Oid>; 2]]) -> Result<BTreeSet<Vec<u8>>> {
        let mut found = BTreeSet::new();
        let mut all = Tombstones::default();
        for tip in pairs.iter().flatten() {
            all = all.united(&Tombstones::of(self.store.repo, *tip)?);
        }
        if all.redacted.is_empty() {
            return Ok(found);
        }
        for pair in pairs {
            for (tip, other) in [(pair[0], pair[1]), (pair[1], pair[0])] {
                let missing = Tombstones::of(self.store.repo, tip)?.missing(&all);
                let gone: BTreeSet<&str> = missing.gone().collect();
                if gone.is_empty() || tip.is_none() {
                    continue;
                }
                let is_redacted = |line: &&[u8]| lines::id(line).is_some_and(|id| gone.contains(id)) && !is_stub(line);
                for (_, [own, _]) in differences(self.store.repo, self.store.tree(tip)?, self.store.tree(other)?)?.notes
                {
                    for blob in own {
                        let note = self.store.repo.read_blob(blob)?.unwrap_or_default();
                        found.extend(lines::split(&note).filter(is_redacted).map(<[u8]>::to_vec));
                    }
                }
            }
        }
        Ok(found)
    }

    /// The tip without texts to forget; unchanged if it has none, else a commit without parents that depends only on
    /// the tip and the texts.
    pub(crate) fn without_texts(&self, name: &str, tip: Oid) -> Result<Oid> {
        let texts = self.store.forgotten.borrow().clone();
        if texts.is_empty() {
            return Ok(tip);
        }
        match self.rewrite(name, tip, &texts, &Removal::default())? {
            Some(new) => {
                self.store.repo.write_merge(new.tree, Vec::new(), MESSAGE, self.store.repo.commit_seconds(tip)?)
            }
            None => Ok(tip),
        }
    }

    /// The notes tree of a tip without these texts and with stubs for these records; `None` if nothing changes. Blocks
    /// of Markdown are rendered separately.
    pub(crate) fn rewrite(
        &self,
        name: &str,
        tip: Oid,
        texts: &RedactedTexts,
        removal: &Removal<'_>,
    ) -> Result<Option<RewrittenTree>> {
        let repo = self.store.repo;
        let tree = repo.tree_of(tip)?;
        let form = NoteFormat::of(name);
        let before = Tombstones::of_tree(repo, tree)?;
        let mut after = before.united(&removal.tombstones);
        let mut changed: BTreeMap<Oid, Vec<u8>> = BTreeMap::new();
        let mut quoting: BTreeMap<String, RedactedLine> = BTreeMap::new();
        for (on, blob) in notes::entries(repo, tree)?.notes {
            let note = self.store.read_note(blob)?;
            let new = match form {
                NoteFormat::Lines => lines_without(&note, texts, removal, &mut quoting),
                NoteFormat::Blocks => blocks::with_texts(&note, |text| texts.passage(text)),
            };
            if let Some(new) = new {
                let united = changed.get(&on).map_or_else(|| new.clone(), |united| form.unite()(united, &new));
                changed.insert(on, united);
            }
        }
        for (id, new) in &quoting {
            let mut of = before.redacted.get(id).map(|redacted| redacted.of.clone()).unwrap_or_default();
            of.extend(new.quoted_ids.iter().cloned().chain(new.is_stub.then(|| id.clone())));
            let lines = if new.is_stub { BTreeSet::new() } else { BTreeSet::from([hash(&new.line)]) };
            after.redacted.insert(id.clone(), Tombstone { of, lines });
        }
        if changed.is_empty() && after == before {
            return Ok(None);
        }
        let mut edits = BTreeMap::new();
        let is_touched = !changed.is_empty();
        for (on, note) in changed {
            // one version of each record is left
            let note = if form == NoteFormat::Lines { form.without(note, &after) } else { note };
            edits.insert(on, Some(repo.write_blob(&note)?));
        }
        let tree = notes::rebuild_tree(repo, tree, &edits, &[after.entry(repo)?], form.unite(), false)?;
        Ok(Some(RewrittenTree { tree, is_touched, quoting: quoting.into_keys().collect() }))
    }

    /// The text without those just redacted; `None` if it contains none.
    pub fn without_redacted(&self, text: &str) -> Option<String> {
        self.store.forgotten.borrow().passage(text)
    }

    /// The pending records without redacted ones, and without texts to forget.
    pub(crate) fn without_redactions(&self, pending: &[PendingRecord]) -> Result<Vec<PendingRecord>> {
        let texts = self.store.forgotten.borrow();
        let mut tombstones = BTreeMap::new();
        for namespace in pending.iter().map(|pending| pending.namespace).collect::<BTreeSet<Namespace>>() {
            tombstones.insert(namespace, self.store.tombstones(&data_ref(namespace))?);
        }
        let counting = pending.iter().filter(|pending| tombstones[&pending.namespace].permits(&pending.line));
        let without = |pending: &PendingRecord| match texts.redact_line(&pending.line) {
            Some(without) => PendingRecord { line: without.line, ..pending.clone() },
            None => pending.clone(),
        };
        Ok(counting.map(without).collect())
    }

    /// The newly rendered blocks of the notes with redacted records, by annotated object.
    fn rendered_blocks(&self, handoffs: Option<Oid>, tombstones: &Tombstones) -> Result<BTreeMap<Oid, Vec<u8>>> {
        let mut out: BTreeMap<Oid, Vec<u8>> = BTreeMap::new();
        let is_redacted = |line: &[u8]| lines::id(line).is_some_and(|id| tombstones.redacted.contains_key(id));
        for (on, blob) in self.store.notes(handoffs)? {
            let note = self.store.read_note(blob)?;
            if lines::split(&note).any(is_redacted) {
                let new = self.store.writer().blocks(on, lines::split(&note), &BTreeSet::new())?;
                let united = out.entry(on).or_default();
                *united = blocks::union_all([united.as_slice()].into_iter().chain(new.iter().map(String::as_bytes)));
            }
        }
        Ok(out)
    }

    /// The tip of the Markdown ref with blocks updated for the redactions of the handoffs and for `new` ones. Returns
    /// it unchanged if nothing changes.
    pub(crate) fn updated_markdown(&self, tip: Oid, handoffs: Option<Oid>, new: &Tombstones) -> Result<Oid> {
        let repo = self.store.repo;
        let redactions = Tombstones::of(repo, handoffs)?.united(new);
        if redactions.redacted.is_empty() {
            return Ok(tip);
        }
        let before = Tombstones::of(repo, Some(tip))?;
        let after = before.united(&redactions);
        let stale = before.missing(&after);
        let mut rendered = self.rendered_blocks(handoffs, &redactions)?;
        let tree = repo.tree_of(tip)?;
        let mut edits = BTreeMap::new();
        for (on, blob) in notes::entries(repo, tree)?.notes {
            let note = self.store.read_note(blob)?;
            let kept = NoteFormat::Blocks.without(note.clone(), &stale);
            let new = rendered.remove(&on).map_or(kept.clone(), |rendered| blocks::union(&kept, &rendered));
            if new != note && blocks::union(&note, b"") != new {
                edits.insert(on, if new.is_empty() { None } else { Some(repo.write_blob(&new)?) });
            }
        }
        for (on, new) in rendered {
            edits.insert(on, Some(repo.write_blob(&new)?));
        }
        if edits.is_empty() && after == before {
            return Ok(tip);
        }
        let tree = notes::rebuild_tree(repo, tree, &edits, &[after.entry(repo)?], blocks::union, false)?;
        let parents = if stale.redacted.is_empty() { vec![tip] } else { Vec::new() };
        repo.write_merge(tree, parents, MESSAGE, repo.commit_seconds(tip)?)
    }

    /// Removes other references to old tips: the reflogs of local and tracking refs, the logs that were written, and the
    /// index, which is rebuilt on demand. Failures become warnings.
    pub fn forget_traces(&self, warnings: &mut Vec<String>) {
        if let Err(error) = self.store.paths.remove_index() {
            warnings.push(format!("cannot remove the index, which has redacted texts: {error}"));
        }
        if let Err(error) = written::remove(&written::all(&self.store.paths)) {
            warnings.push(format!("cannot remove written logs, which have redacted texts: {error}"));
        }
        let names: Vec<String> =
            self.store.repo.list_refs(PREFIX).unwrap_or_default().into_iter().map(|(n, _)| n).collect();
        if let Err(error) = delete::expire_reflogs(self.store.repo, &names) {
            warnings.push(format!("cannot expire the reflogs of the notes, which lead to redacted texts: {error}"));
        }
        fault::step("redaction: traces removed");
    }

    /// Removes the tracking refs of a remote (all remotes if empty) that lack redactions made here: they keep redacted
    /// texts reachable. Returns their local refs. A fetch restores them as long as the remote has the text.
    pub fn forget_tracking(&self, tracking: &str) -> Result<Vec<String>> {
        let repo = self.store.repo;
        let (mut names, mut stale) = (Vec::new(), Vec::new());
        for (tracking, tip) in
            repo.list_refs(&format!("{TRACKING}{tracking}{}", if tracking.is_empty() { "" } else { "/" }))?
        {
            let Some(name) = tracked(&tracking) else { continue };
            let ours = self.store.tombstones(&name)?;
            // a missing object leads nowhere
            if !ours.redacted.is_empty() && repo.has_object(tip) && Tombstones::of(repo, Some(tip))?.lacks(&ours) {
                names.push(name);
                stale.push((tracking, tip));
            }
        }
        delete::delete(repo, &stale)?;
        fault::step("redaction: tracking refs removed");
        Ok(names)
    }

    /// Updates the Markdown for redacted records. The caller holds the lock.
    pub(crate) fn update_markdown(&self, tips: &mut Tips) -> Result<()> {
        let handoffs = self.store.repo.find_ref(&data_ref(Namespace::Handoffs))?;
        if Tombstones::of(self.store.repo, handoffs)?.redacted.is_empty() {
            return Ok(());
        }
        self.store.writer().move_refs(&[MARKDOWN_REF], tips, REFLOG, |_, tip, _| {
            let Some(tip) = tip else { return Ok(None) };
            Ok(Some(self.updated_markdown(tip, handoffs, &Tombstones::default())?).filter(|new| *new != tip))
        })
    }
}

/// The note without these texts and records; `None` if it has none. Adds rewritten lines to `quoting`, the greatest of
/// several versions.
fn lines_without(
    note: &[u8],
    texts: &RedactedTexts,
    removal: &Removal<'_>,
    quoting: &mut BTreeMap<String, RedactedLine>,
) -> Option<Vec<u8>> {
    let mut is_changed = false;
    let mut out: Vec<Vec<u8>> = Vec::new();
    let is_redacted = |line: &&[u8]| lines::id(line).is_some_and(|id| removal.records.contains_key(id));
    let of_gone = lines::split(note).filter(is_redacted);
    let stubbed: BTreeSet<&str> = of_gone.filter(|line| is_readable(line)).filter_map(lines::id).collect();
    for line in lines::split(note) {
        let id = lines::id(line);
        if let Some(by) = id.and_then(|id| removal.records.get(id)) {
            is_changed |= !is_stub(line);
            // an unreadable line becomes a stub only if no other line with its id does
            let is_covered = !is_readable(line) && id.is_some_and(|id| stubbed.contains(id));
            out.extend(if is_stub(line) { Some(line.to_vec()) } else { stub(line, Some(by)).filter(|_| !is_covered) });
        } else if let Some(new) = texts.redact_line(line) {
            is_changed = true;
            out.push(new.line.clone());
            if let Some(id) = id {
                let best = quoting.entry(id.to_owned()).or_insert_with(|| new.clone());
                best.quoted_ids.extend(new.quoted_ids);
                if new.line > best.line {
                    (best.line, best.is_stub) = (new.line, new.is_stub);
                }
            }
        } else {
            out.push(line.to_vec());
        }
    }
    is_changed.then(|| lines::canonical(out.iter().map(Vec::as_slice)))
}
