//! Out and in: every stored line with where it stands, and such lines united into the notes, one commit a ref.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::error::Result;
use crate::format::redact::Texts;
use crate::format::{lines, portable};
use crate::git::notes::difference::Other;
use crate::git::{Notes, Oid, notes};
use crate::model::Namespace;
use crate::store::log;
use crate::store::log::PendingRecord;
use crate::store::redact::progress::Forgetting;
use crate::store::redact::tombstones::{Epoch, NAME};
use crate::store::write::flush::{Beside, Change};
use crate::store::write::merge::{absent, damaged};
use crate::store::write::touched;
use crate::store::{Lookup, Store, data_ref, our_refs};

/// What became of lines that were imported.
#[derive(Debug, Default)]
pub struct Imported {
    /// How many were not here, by the kind they say they are of; `None` for lines that are no records.
    pub new: BTreeMap<Option<String>, usize>,
    /// How many were here before, in the notes or in a log, or came several times.
    pub known: usize,
    /// How many stand under an id that was redacted here, and were left out.
    pub left_out: usize,
    /// What else went wrong without losing anything.
    pub warnings: Vec<String>,
}

/// What is exported.
pub enum Out<'l> {
    /// What was redacted on a namespace, as its tree says it; before the lines of the namespace.
    Epoch(Namespace, String),
    /// A line, with its namespace and the object it stands on.
    Line(Namespace, Oid, &'l [u8]),
}

/// Takes what is exported; an error ends the export.
type Each<'e> = &'e mut dyn FnMut(Out<'_>) -> Result<()>;

impl Store<'_> {
    /// Hands out every stored line, of all sources: by namespace, then by the hex of the object it stands on, then in the order of a
    /// canonical note; before those of a namespace, what was redacted there, if anything. What was redacted stays out. An error
    /// when a note is not here, or damaged: what lacks it is no whole.
    pub fn export(&self, each: Each<'_>) -> Result<()> {
        if let Some((name, tip)) = self.unreadable_tips().first() {
            return Err(self.repo.lost_tip(name, *tip));
        }
        let mut namespaces = Vec::new();
        for namespace in Namespace::ALL {
            let lookup = Lookup::open(self, namespace)?;
            let mut places: BTreeSet<Oid> = lookup.waits_on().collect();
            for (on, blob) in lookup.notes(self.repo)? {
                if !self.repo.has_object(blob) {
                    return Err(absent(blob));
                }
                places.insert(on);
            }
            namespaces.push((namespace, lookup, places));
        }
        for (namespace, mut lookup, places) in namespaces {
            if !lookup.redacted.is_empty() {
                each(Out::Epoch(namespace, lookup.redacted.text()))?;
            }
            for on in places {
                let lines = lookup.lines(on)?;
                if let Some(blob) = self.repo.unreadable().first() {
                    return Err(damaged(*blob));
                }
                for line in lines {
                    each(Out::Line(namespace, on, &line))?;
                }
            }
        }
        Ok(())
    }

    /// Unites lines into the notes, all of them in one commit a ref, and renders the Markdown of handoffs. The objects they
    /// stand on need not be here. Nothing goes through the log: what cannot be written is an error. `told` hears
    /// how many notes are done, of how many.
    ///
    /// Twice is the same as once, and what was interrupted is completed by the next time.
    pub fn import(&self, given: Vec<PendingRecord>, told: &mut dyn FnMut(usize, usize)) -> Result<Imported> {
        self.import_with(given, &BTreeMap::new(), told)
    }

    /// The same of lines of a repository where something was redacted (the texts of its epochs, by namespace): it is redacted here
    /// then, as after a sync.
    pub fn import_with(
        &self,
        mut given: Vec<PendingRecord>,
        epochs: &BTreeMap<Namespace, String>,
        told: &mut dyn FnMut(usize, usize),
    ) -> Result<Imported> {
        let mut imported = Imported::default();
        let _lock = self.locked()?;
        let mut tips = self.heal_locked(&mut imported.warnings)?;
        let all = given.len();
        given.sort_unstable_by(|a, b| (a.namespace, a.on, &a.line).cmp(&(b.namespace, b.on, &b.line)));
        given.dedup();
        let is_new = self.new_among(&given, &mut imported)?;
        let before = self.own_epochs()?;
        let learned = self.import_redactions(&given, epochs, &mut tips)?;
        let new = is_new.iter().filter(|new| **new == Some(true)).count();
        imported.known = all - new - imported.left_out;
        // the Markdown of handoffs that are known may be what an interrupted import still lacks
        let mut kept = is_new.iter();
        given.retain(|line| match kept.next() {
            Some(Some(new)) => *new || line.namespace == Namespace::Handoffs,
            _ => false,
        });
        touched::add_waiting(&self.paths, &given).map_err(|error| touched::unusable(&self.paths, error))?;
        self.write_waiting(&given, Beside::default(), &mut tips, &mut imported.warnings, told)?;
        if !epochs.is_empty() {
            touched::forget_all(&self.paths).map_err(|error| touched::unusable(&self.paths, error))?;
            self.settle_redactions(learned, &before, &mut tips, &mut imported.warnings)?;
            tips.save(&self.paths);
            self.forgot()?;
        }
        tips.save(&self.paths);
        Ok(imported)
    }

    /// Unites what was redacted elsewhere with our refs, and the lines that stand for it. Says whether texts of ours were among
    /// it.
    fn import_redactions(
        &self,
        given: &[PendingRecord],
        epochs: &BTreeMap<Namespace, String>,
        tips: &mut crate::store::write::tips::Tips,
    ) -> Result<bool> {
        self.forgotten.borrow_mut().extend(self.texts_among(given)?);
        let mut theirs = Vec::new();
        for (namespace, text) in epochs {
            let epoch = Epoch::parse(text.as_bytes());
            let stands = |waiting: &&PendingRecord| {
                waiting.namespace == *namespace
                    && lines::id(&waiting.line).is_some_and(|id| epoch.redacted.contains_key(id))
            };
            let mut notes: BTreeMap<Oid, Vec<&[u8]>> = BTreeMap::new();
            for waiting in given.iter().filter(stands).filter(|waiting| epoch.counts(&waiting.line)) {
                notes.entry(waiting.on).or_default().push(&waiting.line);
            }
            let blob = |lines: Vec<&[u8]>| self.repo.write_blob(&lines::canonical(lines)).map(Some);
            let edits = notes.into_iter().map(|(on, lines)| Ok((on, blob(lines)?))).collect::<Result<_>>()?;
            let others = [(NAME.as_bytes().to_vec(), Other::file(self.repo.write_blob(epoch.text().as_bytes())?))];
            let tree = notes::rebuilt(self.repo, self.repo.empty_tree(), &edits, &others, lines::union, false)?;
            let tip = self.repo.write_merge(tree, Vec::new(), "Notes imported by 'git empirica'\n", 0)?;
            theirs.push((data_ref(*namespace), tip));
        }
        let mut pairs = Vec::new();
        for (name, tip) in &theirs {
            pairs.push([self.repo.find_ref(name)?, Some(*tip)]);
        }
        let lines = self.lines_to_forget(&pairs)?;
        let learned = !lines.is_empty();
        if learned {
            let forgetting = Forgetting { redacting: None, lines };
            self.remember_forgetting(&forgetting)?;
            self.forget(&forgetting)?;
            for (name, form) in our_refs() {
                self.unite_into(&[Change { name, new: Default::default(), unite: form.unite() }], tips)?;
            }
        }
        for (name, tip) in &theirs {
            self.unite_tip(name, *tip, false, tips)?;
        }
        Ok(learned)
    }

    /// The texts of records that are gone here and of which the given lines still tell: what else is given may quote them.
    fn texts_among(&self, given: &[PendingRecord]) -> Result<Texts> {
        let mut texts = Texts::default();
        for of_namespace in given.chunk_by(|a, b| a.namespace == b.namespace) {
            let Some(namespace) = of_namespace.first().map(|line| line.namespace) else { continue };
            let epoch = Epoch::of(self.repo, self.repo.find_ref(&data_ref(namespace))?)?;
            let gone: HashSet<&str> = epoch.gone().collect();
            let is_gone = |line: &&PendingRecord| lines::id(&line.line).is_some_and(|id| gone.contains(id));
            of_namespace.iter().filter(is_gone).for_each(|line| texts.add(&line.line));
        }
        Ok(texts)
    }

    /// Which of these lines, sorted, are new here; `None` for those that do not count, because their id was redacted.
    fn new_among(&self, given: &[PendingRecord], imported: &mut Imported) -> Result<Vec<Option<bool>>> {
        let waiting = log::read(&self.paths);
        let waiting: HashSet<(Namespace, Oid, &[u8])> =
            waiting.iter().map(|w| (w.namespace, w.on, w.line.as_slice())).collect();
        let mut out = Vec::with_capacity(given.len());
        for of_namespace in given.chunk_by(|a, b| a.namespace == b.namespace) {
            let Some(namespace) = of_namespace.first().map(|line| line.namespace) else { continue };
            let tip = self.repo.find_ref(&data_ref(namespace))?;
            let epoch = Epoch::of(self.repo, tip)?;
            let mut tree = Notes::open(self.repo, tip, lines::union)?;
            self.whole(tree.tree(), of_namespace)?;
            for of_note in of_namespace.chunk_by(|a, b| a.on == b.on) {
                let Some(on) = of_note.first().map(|line| line.on) else { continue };
                let note = tree.get(on)?.unwrap_or_default();
                let here: HashSet<&[u8]> = lines::split(&note).collect();
                let by_id: HashMap<&str, &[u8]> =
                    lines::split(&note).filter_map(|l| Some((lines::id(l)?, l))).collect();
                // what is stored need not be as we would write it
                let is_said = |line: &[u8]| {
                    let known = lines::id(line).and_then(|id| by_id.get(id));
                    known.is_some_and(|known| portable::is_same(known, line))
                };
                for line in of_note {
                    let is_redacted = || !epoch.counts(&line.line);
                    let is_known = here.contains(line.line.as_slice())
                        || waiting.contains(&(namespace, on, line.line.as_slice()))
                        || is_said(&line.line);
                    let new = if is_known { Some(false) } else { (!is_redacted()).then_some(true) };
                    match new {
                        Some(true) => *imported.new.entry(portable::kind(&line.line)).or_default() += 1,
                        Some(false) => {}
                        None => imported.left_out += 1,
                    }
                    out.push(new);
                }
            }
        }
        Ok(out)
    }

    /// A note whose content is not here must not be taken for none when lines are united into it.
    fn whole(&self, tree: Oid, given: &[PendingRecord]) -> Result<()> {
        let places: HashSet<Oid> = given.iter().map(|line| line.on).collect();
        let notes = notes::entries(self.repo, tree)?.notes;
        let mut touched = notes.into_iter().filter(|(on, _)| places.contains(on));
        touched.find(|(_, blob)| !self.repo.has_object(*blob)).map_or(Ok(()), |(_, blob)| Err(absent(blob)))
    }
}
