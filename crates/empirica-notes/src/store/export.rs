//! Export of all stored lines with their annotated objects, and import by union, in one commit per ref.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::error::Result;
use crate::format::redact::RedactedTexts;
use crate::format::{export, lines};
use crate::git::{NotesTree, Oid, notes};
use crate::model::Namespace;
use crate::store::log;
use crate::store::log::PendingRecord;
use crate::store::read::objects::{damaged_note, missing_note};
use crate::store::redact::progress::Forgetting;
use crate::store::redact::tombstones::Tombstones;
use crate::store::write::flush::ForeignContent;
use crate::store::write::session_notes;
use crate::store::write::tips::Tips;
use crate::store::{Archive, Lookup, data_ref, own_refs};

/// The outcome of an import.
#[derive(Debug, Default)]
pub struct Imported {
    /// The numbers of new lines by kind; `None` for foreign lines.
    pub new: BTreeMap<Option<String>, usize>,
    /// The number of lines already in the notes or a log, or repeated in the input.
    pub known: usize,
    /// The number of lines skipped because their id is redacted here.
    pub left_out: usize,
    /// Problems that lost nothing.
    pub warnings: Vec<String>,
}

/// An item of an export.
pub enum ExportItem<'l> {
    /// A namespace's redactions, as text; before the namespace's lines.
    Tombstones(Namespace, String),
    /// A line, with its namespace and annotated object.
    Line(Namespace, Oid, &'l [u8]),
}

/// The consumer; its error ends the export.
type ExportSink<'e> = &'e mut dyn FnMut(ExportItem<'_>) -> Result<()>;

impl Archive<'_> {
    /// Exports every stored line from all sources, by namespace, then object id, then in canonical order; before the
    /// lines of a namespace, its redactions, if any. Redacted lines are omitted. Fails if a note is missing or damaged,
    /// as the export would be incomplete.
    pub fn export(&self, each: ExportSink<'_>) -> Result<()> {
        let repo = self.store.repo;
        if let Some((name, tip)) = self.store.recovery().unreadable_tips().first() {
            return Err(repo.unreadable_tip(name, *tip));
        }
        let mut namespaces = Vec::new();
        for namespace in Namespace::ALL {
            let lookup = Lookup::open(self.store, namespace)?;
            if let Some((_, blob)) = lookup.notes()?.into_iter().find(|(_, blob)| !repo.has_object(*blob)) {
                return Err(missing_note(blob));
            }
            namespaces.push((namespace, lookup));
        }
        for (namespace, mut lookup) in namespaces {
            if !lookup.redacted.is_empty() {
                each(ExportItem::Tombstones(namespace, lookup.redacted.text()))?;
            }
            for on in lookup.objects()? {
                let lines = lookup.lines(on)?;
                if let Some(blob) = repo.unreadable_notes().first() {
                    return Err(damaged_note(*blob));
                }
                for line in lines {
                    each(ExportItem::Line(namespace, on, &line))?;
                }
            }
        }
        Ok(())
    }

    /// Unites lines into the notes, in one commit per ref, and renders the Markdown of handoffs. The annotated objects
    /// may be missing. Bypasses the log: if the notes cannot be written, it fails. `progress` gets the numbers of notes
    /// done and of all.
    ///
    /// Idempotent; a repeated import completes an interrupted one. Applies the redactions of the source (the texts of
    /// its tombstones, by namespace), as a sync would.
    pub fn import(
        &self,
        mut input: Vec<PendingRecord>,
        tombstones: &BTreeMap<Namespace, String>,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Imported> {
        let mut imported = Imported::default();
        let _lock = self.store.locked()?;
        let mut tips = self.store.recovery().heal_locked(&mut imported.warnings)?;
        let all = input.len();
        input.sort_unstable_by(|a, b| (a.namespace, a.on, &a.line).cmp(&(b.namespace, b.on, &b.line)));
        input.dedup();
        let mut is_written = self.find_new(&input, &mut imported)?.into_iter();
        imported.known = all - imported.new.values().sum::<usize>() - imported.left_out;
        let before = self.store.recovery().own_tombstones()?;
        let is_forgetting = self.import_redactions(&input, tombstones, &mut tips)?;
        input.retain(|_| is_written.next() == Some(true));
        session_notes::add_pending(&self.store.paths, &input)?;
        self.store.writer().write_pending(
            &input,
            ForeignContent::default(),
            &mut tips,
            &mut imported.warnings,
            progress,
        )?;
        if !tombstones.is_empty() {
            session_notes::forget_all(&self.store.paths)?;
            self.store.recovery().finish_redactions(is_forgetting, &before, &mut tips, &mut imported.warnings)?;
            tips.save(&self.store.paths);
            Forgetting::remove(&self.store.paths)?;
        }
        tips.save(&self.store.paths);
        Ok(imported)
    }

    /// Unites the source's redactions and stubs with the local refs. Returns whether they redact local texts.
    fn import_redactions(
        &self,
        input: &[PendingRecord],
        tombstones: &BTreeMap<Namespace, String>,
        tips: &mut Tips,
    ) -> Result<bool> {
        let repo = self.store.repo;
        self.store.forgotten.borrow_mut().extend(self.redacted_texts(input)?);
        let mut theirs = Vec::new();
        for (namespace, text) in tombstones {
            let redactions = Tombstones::parse(text.as_bytes());
            let is_redacted = |line: &&PendingRecord| {
                line.namespace == *namespace
                    && lines::id(&line.line).is_some_and(|id| redactions.redacted.contains_key(id))
                    && redactions.permits(&line.line)
            };
            let mut notes: BTreeMap<Oid, Vec<&[u8]>> = BTreeMap::new();
            for line in input.iter().filter(is_redacted) {
                notes.entry(line.on).or_default().push(&line.line);
            }
            let blob = |lines: Vec<&[u8]>| repo.write_blob(&lines::canonical(lines)).map(Some);
            let edits = notes.into_iter().map(|(on, lines)| Ok((on, blob(lines)?))).collect::<Result<_>>()?;
            let others = [redactions.entry(repo)?];
            let tree = notes::rebuild_tree(repo, repo.empty_tree(), &edits, &others, lines::union, false)?;
            let tip = repo.write_merge(tree, Vec::new(), "Notes imported by 'git empirica'\n", 0)?;
            theirs.push((data_ref(*namespace), tip));
        }
        let mut pairs = Vec::new();
        for (name, tip) in &theirs {
            pairs.push([repo.find_ref(name)?, Some(*tip)]);
        }
        let lines = self.store.redaction().lines_to_forget(&pairs)?;
        let redacts_local = !lines.is_empty();
        if redacts_local {
            let forgetting = Forgetting { redacting: None, lines };
            forgetting.save(&self.store.paths, repo.is_durable())?;
            self.store.redaction().forget(&forgetting)?;
            for name in own_refs() {
                self.store.writer().restore(name, tips)?;
            }
        }
        for (name, tip) in &theirs {
            self.store.recovery().unite_tip(name, *tip, false, tips)?;
        }
        Ok(redacts_local)
    }

    /// The texts of input lines whose records are redacted here: other input lines may quote them.
    fn redacted_texts(&self, input: &[PendingRecord]) -> Result<RedactedTexts> {
        let mut texts = RedactedTexts::default();
        for of_namespace in input.chunk_by(|a, b| a.namespace == b.namespace) {
            let Some(namespace) = of_namespace.first().map(|line| line.namespace) else { continue };
            let redactions = self.store.tombstones(&data_ref(namespace))?;
            let gone: HashSet<&str> = redactions.gone().collect();
            let is_gone = |line: &&PendingRecord| lines::id(&line.line).is_some_and(|id| gone.contains(id));
            of_namespace.iter().filter(is_gone).for_each(|line| texts.add(&line.line));
        }
        Ok(texts)
    }

    /// Counts the new and the redacted ones of these sorted lines, and returns for each whether to write it. Fails if a
    /// note to be extended is missing.
    fn find_new(&self, input: &[PendingRecord], imported: &mut Imported) -> Result<Vec<bool>> {
        let repo = self.store.repo;
        let pending = log::read(&self.store.paths);
        let pending: HashSet<(Namespace, Oid, &[u8])> =
            pending.iter().map(|w| (w.namespace, w.on, w.line.as_slice())).collect();
        let mut out = Vec::with_capacity(input.len());
        for of_namespace in input.chunk_by(|a, b| a.namespace == b.namespace) {
            let Some(namespace) = of_namespace.first().map(|line| line.namespace) else { continue };
            let tip = repo.find_ref(&data_ref(namespace))?;
            let redactions = Tombstones::of(repo, tip)?;
            let mut tree = NotesTree::open(repo, tip, lines::union)?;
            for of_note in of_namespace.chunk_by(|a, b| a.on == b.on) {
                let Some(on) = of_note.first().map(|line| line.on) else { continue };
                let note = tree.blob(on)?.map(|blob| self.store.read_note(blob)).transpose()?.unwrap_or_default();
                let stored: HashSet<&[u8]> = lines::split(&note).collect();
                let by_id: HashMap<&str, &[u8]> =
                    lines::split(&note).filter_map(|l| Some((lines::id(l)?, l))).collect();
                // stored lines need not be in canonical form
                let is_equivalent = |line: &[u8]| {
                    let known = lines::id(line).and_then(|id| by_id.get(id));
                    known.is_some_and(|known| export::is_same(known, line))
                };
                for line in of_note {
                    let is_known = stored.contains(line.line.as_slice())
                        || pending.contains(&(namespace, on, line.line.as_slice()))
                        || is_equivalent(&line.line);
                    let counts = redactions.permits(&line.line);
                    if !is_known && counts {
                        *imported.new.entry(export::kind(&line.line)).or_default() += 1;
                    } else if !is_known {
                        imported.left_out += 1;
                    }
                    // an interrupted import may have left out the Markdown of known handoffs
                    out.push(if is_known { namespace == Namespace::Handoffs } else { counts });
                }
            }
        }
        Ok(out)
    }
}
