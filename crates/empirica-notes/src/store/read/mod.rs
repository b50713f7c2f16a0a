//! Reads the union of local notes, fetched notes and pending records.

pub mod objects;
pub mod origin;

use std::collections::{BTreeMap, BTreeSet, btree_map};
use std::time::Duration;

use crate::error::Result;
use crate::format;
use crate::format::lines;
use crate::git::history::reach::is_older_ancestor;
use crate::git::{NotesTree, Oid, Repository, notes, parse_oid};
use crate::model::handoff::corrected::gone_by;
use crate::model::handoff::superseded::superseded;
use crate::model::record::retracted_among;
use crate::model::{Body, Id, Namespace, Record, SessionId};
use crate::store::log;
use crate::store::log::PendingRecord;
use crate::store::log::lock::Lock;
use crate::store::redact::tombstones::Tombstones;
use crate::store::write::session_notes;
use crate::store::write::tips::Tips;
use crate::store::{Reader, Store, TRACKING, data_ref, tracked};

/// A record and the objects whose notes hold it.
#[derive(Debug, Clone)]
pub struct RecordEntry {
    /// The record.
    pub record: Record,
    /// The annotated objects; at least one.
    pub on: BTreeSet<Oid>,
}

/// Records by id.
#[derive(Debug, Default)]
pub struct Scan {
    entries: BTreeMap<Id, (Vec<u8>, RecordEntry)>,
    /// Ids with two different stored lines; the one with the greater bytes is used.
    pub conflicting_ids: BTreeSet<Id>,
    /// Ids of records that are retracted by others; they are kept but not listed.
    pub retracted: BTreeSet<Id>,
    /// The retracts among the records.
    retracts: BTreeSet<Id>,
}

impl Scan {
    fn add(&mut self, on: Oid, line: &[u8]) {
        if let Some(record) = format::record::decode(line) {
            self.put(line.to_vec(), RecordEntry { record, on: BTreeSet::from([on]) });
        }
    }

    /// Adds a line and the record decoded from it.
    pub fn put(&mut self, line: Vec<u8>, entry: RecordEntry) {
        if matches!(entry.record.body, Body::Retract(_)) {
            self.retracts.insert(entry.record.envelope.id.clone());
        }
        match self.entries.entry(entry.record.envelope.id.clone()) {
            btree_map::Entry::Vacant(free) => drop(free.insert((line, entry))),
            btree_map::Entry::Occupied(mut taken) => {
                let (stored, existing) = taken.get_mut();
                existing.on.extend(entry.on);
                if *stored != line {
                    self.conflicting_ids.insert(entry.record.envelope.id.clone());
                    if line > *stored {
                        (*stored, existing.record) = (line, entry.record);
                    }
                }
            }
        }
    }

    /// The records, oldest first.
    pub fn records(&self) -> impl DoubleEndedIterator<Item = &Record> {
        self.entries().map(|entry| &entry.record)
    }

    /// The records with their annotated objects, oldest first, without retracted ones.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &RecordEntry> {
        let hidden = self.hidden();
        self.entries.values().map(|(_, entry)| entry).filter(move |entry| !hidden.contains(&entry.record.envelope.id))
    }

    /// The records without those, oldest first.
    pub fn into_records(self) -> impl Iterator<Item = Record> {
        let hidden = self.hidden();
        let records = self.entries.into_values().map(|(_, entry)| entry.record);
        records.filter(move |record| !hidden.contains(&record.envelope.id))
    }

    /// The retracted records, oldest first.
    pub fn retracted(&self) -> impl Iterator<Item = &Record> {
        self.hidden().into_iter().filter_map(|id| Some(&self.get(&id)?.record))
    }

    /// Leaves out of handoffs and digests the claims that are no longer in force, by the retracts in the same notes.
    fn without_gone(mut self) -> Self {
        if self.retracts.is_empty() {
            return self;
        }
        let retracts: Vec<RecordEntry> = self.retracts.iter().filter_map(|id| self.get(id)).cloned().collect();
        let gone_on = |on: &BTreeSet<Oid>| {
            let beside = retracts.iter().filter(|retract| !retract.on.is_disjoint(on));
            gone_by(beside.map(|retract| &retract.record))
        };
        let mut known = BTreeMap::new();
        for (_, entry) in self.entries.values_mut() {
            if entry.record.body.quotes() {
                let gone = known.entry(entry.on.clone()).or_insert_with_key(gone_on);
                entry.record.body.retain_claims(|id| !gone.contains(id));
            }
        }
        self
    }

    fn hidden(&self) -> BTreeSet<Id> {
        let record_of = |id: &Id| self.get(id).map(|entry| &entry.record);
        retracted_among(self.retracts.iter().filter_map(record_of), record_of, &self.retracted)
    }

    /// A record, even if retracted.
    pub fn get(&self, id: &Id) -> Option<&RecordEntry> {
        self.entries.get(id).map(|(_, entry)| entry)
    }

    /// The stored line of a record.
    pub fn line(&self, id: &Id) -> Option<&[u8]> {
        self.entries.get(id).map(|(line, _)| line.as_slice())
    }

    /// Leaves out the records for which `keeps` is false.
    pub fn retain(&mut self, keeps: impl Fn(&Id) -> bool) {
        self.entries.retain(|id, _| keeps(id));
    }

    /// Adds all of another scan.
    pub fn merge(&mut self, other: Scan) {
        for (line, entry) in other.entries.into_values() {
            self.put(line, entry);
        }
        self.conflicting_ids.extend(other.conflicting_ids);
        self.retracted.extend(other.retracted);
    }
}

/// The note of one object over all sources.
#[derive(Debug, PartialEq, Eq)]
pub enum Note {
    /// No source has a note.
    None,
    /// All sources with a note have this blob, which may be missing, and all of its lines count.
    One(Oid),
    /// Notes differ, or have lines to leave out.
    Several,
}

/// Single notes of one namespace, united over all sources.
pub struct Lookup<'s> {
    repo: &'s Repository,
    /// Each with the redactions that it lacks.
    trees: Vec<(NotesTree<'s>, Tombstones)>,
    pending: Vec<PendingRecord>,
    /// The redactions of the namespace, over all sources.
    pub redacted: Tombstones,
}

/// A notes commit that a namespace is read from.
pub struct NotesSource {
    /// The commit.
    pub tip: Oid,
    /// Whether reading fails if it is unreadable.
    pub required: bool,
    /// The redactions that it lacks; their records do not count there.
    pub stale: Tombstones,
}

/// A snapshot of the sources other than the local refs. The log is read first: records that leave it meanwhile are then
/// in the notes.
pub struct PendingView {
    /// The records in the logs.
    pending: Vec<PendingRecord>,
    tips: Tips,
    fetched: Vec<(String, Oid)>,
}

impl PendingView {
    /// The pending records of a namespace that count.
    pub fn permitted<'v>(
        &'v self,
        namespace: Namespace,
        redacted: &Tombstones,
    ) -> impl Iterator<Item = &'v PendingRecord> {
        self.pending.iter().filter(move |record| record.namespace == namespace && redacted.permits(&record.line))
    }
}

impl<'s> Lookup<'s> {
    /// Opens a namespace.
    pub fn open(store: &'s Store<'_>, namespace: Namespace) -> Result<Self> {
        Self::over(store, namespace, &store.reader().pending_view()?)
    }

    fn over(store: &'s Store<'_>, namespace: Namespace, view: &PendingView) -> Result<Self> {
        let (sources, redacted) = store.reader().sources(namespace, view);
        let pending = view.permitted(namespace, &redacted).cloned().collect();
        let mut trees: Vec<(NotesTree<'s>, Tombstones)> = Vec::new();
        for NotesSource { tip, required, stale } in sources {
            let tree = match NotesTree::open(store.repo, Some(tip), lines::union) {
                Err(_) if !required => continue,
                tree => tree?,
            };
            if trees.iter().all(|(other, _)| other.tree() != tree.tree()) {
                trees.push((tree, stale));
            }
        }
        Ok(Lookup { repo: store.repo, trees, pending, redacted })
    }

    /// The blob of an object's note, for callers that do not need canonical lines.
    pub fn note(&mut self, on: Oid) -> Result<Note> {
        if self.pending.iter().any(|pending| pending.on == on) {
            return Ok(Note::Several);
        }
        let mut only = None;
        for (tree, stale) in &mut self.trees {
            match (tree.blob(on)?, only) {
                (None, _) => {}
                (Some(blob), None) if stale.redacted.is_empty() => only = Some(blob),
                // a blob that counts in full in one source does so in all
                (Some(blob), Some(first)) if blob == first => {}
                _ => return Ok(Note::Several),
            }
        }
        Ok(only.map_or(Note::None, Note::One))
    }

    /// The lines of an object's note from all sources, canonical.
    pub fn lines(&mut self, on: Oid) -> Result<Vec<Vec<u8>>> {
        let mut found: Vec<Vec<u8>> = Vec::new();
        for (tree, stale) in &mut self.trees {
            if let Some(note) = tree.blob(on)?.and_then(|blob| self.repo.note(blob)) {
                found.extend(lines::split(&note).filter(|line| stale.permits(line)).map(<[u8]>::to_vec));
            }
        }
        found.extend(self.pending.iter().filter(|pending| pending.on == on).map(|pending| pending.line.clone()));
        if found.is_empty() {
            return Ok(found);
        }
        let note = lines::canonical(found.iter().map(Vec::as_slice));
        Ok(lines::split(&note).map(<[u8]>::to_vec).collect())
    }

    /// All notes as (object, blob), from all sources but the log, with duplicates.
    pub fn notes(&self) -> Result<Vec<(Oid, Oid)>> {
        let mut out = Vec::new();
        for (tree, _) in &self.trees {
            out.extend(notes::entries(self.repo, tree.tree())?.notes);
        }
        Ok(out)
    }

    /// All annotated objects, of stored and pending records.
    pub fn objects(&self) -> Result<BTreeSet<Oid>> {
        let stored = self.notes()?.into_iter().map(|(on, _)| on);
        Ok(stored.chain(self.pending.iter().map(|pending| pending.on)).collect())
    }

    /// The records of an object's note.
    pub fn scan(&mut self, on: Oid) -> Result<Scan> {
        let mut scan = Scan::default();
        for line in self.lines(on)? {
            scan.add(on, &line);
        }
        Ok(scan.without_gone())
    }
}

impl Reader<'_> {
    /// Whether a commit is reachable from HEAD; `false` if it is missing.
    pub fn is_reachable(&self, commit: crate::git::Oid) -> bool {
        self.store.reach.borrow_mut().contains(self.store.repo, commit)
    }

    /// Takes a snapshot of the logs and tracking refs.
    pub fn pending_view(&self) -> Result<PendingView> {
        let pending = log::read(&self.store.paths);
        let fetched = self.store.repo.list_refs(TRACKING)?;
        Ok(PendingView { pending, tips: Tips::load(&self.store.paths), fetched })
    }

    /// The notes commits that a namespace is read from, and its redactions. The local ref must be readable. The last
    /// written tip, if it could not be united back, and the tracking refs may be unreadable. Tracking refs that are
    /// united already are left out.
    pub fn sources(&self, namespace: Namespace, view: &PendingView) -> (Vec<NotesSource>, Tombstones) {
        let name = data_ref(namespace);
        // an unreadable ref hides neither the last written tip nor the log; reconciling reports it
        let now = self.store.repo.find_ref(&name).ok().flatten();
        let ours = now.filter(|id| self.store.recovery().is_readable(*id));
        // for a damaged tip, the state before the damage
        let lost = now.filter(|_| ours.is_none());
        let before = lost.and_then(|tip| self.store.recovery().before_damage(&name, tip));
        let saved = view.tips.refs.get(&name).copied();
        let is_united =
            |tracking: &String, id: &Oid| ours.is_some() && ours == saved && view.tips.refs.get(tracking) == Some(id);
        let fetched = view.fetched.iter().filter(|(tracking, _)| tracked(tracking).as_ref() == Some(&name));
        let fetched = fetched.filter(|(tracking, id)| !is_united(tracking, id)).map(|(_, id)| *id);
        let mut all: Vec<(Oid, bool)> = ours.iter().map(|id| (*id, true)).collect();
        for other in before.into_iter().chain(saved).chain(fetched) {
            if all.iter().all(|(id, _)| *id != other) && self.store.recovery().is_readable(other) {
                all.push((other, false));
            }
        }
        if all.is_empty() && !view.pending.iter().any(|pending| pending.namespace == namespace) {
            // everything is lost, which differs from no notes: fail on it
            all.extend(lost.map(|tip| (tip, true)));
        }
        // an unreadable tip fails when its notes are read
        let of = |(tip, _): &(Oid, bool)| Tombstones::of(self.store.repo, Some(*tip)).unwrap_or_default();
        let tombstones: Vec<Tombstones> = all.iter().map(of).collect();
        let united = tombstones.iter().fold(Tombstones::default(), |united, one| united.united(one));
        let source = |((tip, required), own): ((Oid, bool), &Tombstones)| NotesSource {
            tip,
            required,
            stale: own.missing(&united),
        };
        let mut sources: Vec<NotesSource> = all.into_iter().zip(&tombstones).map(source).collect();
        // sources that count in full come first, so that the same blob elsewhere is already seen
        sources.sort_by_key(|source| !source.stale.redacted.is_empty());
        (sources, united)
    }

    /// All records of a namespace.
    pub fn scan(&self, namespace: Namespace) -> Result<Scan> {
        self.scan_over(namespace, &self.pending_view()?)
    }

    fn scan_over(&self, namespace: Namespace, view: &PendingView) -> Result<Scan> {
        let repo = self.store.repo;
        let mut scan = Scan::default();
        let mut seen = BTreeSet::new();
        let (sources, redacted) = self.sources(namespace, view);
        for NotesSource { tip, required, stale } in sources {
            let found = match repo.tree_of(tip).and_then(|tree| notes::entries(repo, tree)) {
                Err(_) if !required => continue,
                found => found?.notes,
            };
            for (on, blob) in found {
                let new = if stale.redacted.is_empty() { seen.insert((on, blob)) } else { !seen.contains(&(on, blob)) };
                if new && let Some(note) = repo.note(blob) {
                    lines::split(&note).filter(|line| stale.permits(line)).for_each(|line| scan.add(on, line));
                }
            }
        }
        view.permitted(namespace, &redacted).for_each(|record| scan.add(record.on, &record.line));
        Ok(scan.without_gone())
    }

    /// All records of all namespaces.
    pub fn scan_all(&self) -> Result<Scan> {
        let view = self.pending_view()?;
        let mut all = Scan::default();
        for namespace in Namespace::ALL {
            all.merge(self.scan_over(namespace, &view)?);
        }
        Ok(all)
    }

    /// The records of a session and those about them. Reads only the session's notes if they are known, else calls
    /// `find` and remembers where its records are.
    pub fn session(&self, session: &SessionId, find: impl FnOnce() -> Result<Scan>) -> Result<Scan> {
        let view = self.pending_view()?;
        let known = session_notes::read(&self.store.paths, session);
        if let Some(places) = known.filter(|_| self.store.recovery().at_saved_tips(&view.tips)) {
            return self.scan_places(&places, &view);
        }
        let found = find()?;
        self.save_list(&found, session, &view.tips);
        Ok(found)
    }

    /// As [`Self::session`] for callers that cannot wait: reads only the newest of the session's notes, if they are known,
    /// the notes of `near`, and the logs.
    pub fn session_near(&self, session: &SessionId, near: Option<Oid>) -> Result<Scan> {
        let view = self.pending_view()?;
        let newest = session_notes::newest(&self.store.paths, session);
        let mut places = newest.filter(|_| self.store.recovery().at_saved_tips(&view.tips)).unwrap_or_default();
        places.extend(Namespace::ALL.into_iter().flat_map(|namespace| near.map(|on| (namespace, on))));
        self.scan_places(&places, &view)
    }

    /// The records of these notes and of the logs.
    fn scan_places(&self, places: &BTreeSet<session_notes::NoteKey>, view: &PendingView) -> Result<Scan> {
        let mut scan = Scan::default();
        for namespace in Namespace::ALL {
            let mut on: BTreeSet<Oid> = places.iter().filter(|(of, _)| *of == namespace).map(|(_, on)| *on).collect();
            on.extend(view.pending.iter().filter(|pending| pending.namespace == namespace).map(|pending| pending.on));
            if on.is_empty() {
                continue;
            }
            let mut lookup = Lookup::over(self.store, namespace, view)?;
            for on in on {
                scan.merge(lookup.scan(on)?);
            }
        }
        Ok(scan)
    }

    /// Rewrites the list of a session's notes, unless something was written since `tips`.
    fn save_list(&self, all: &Scan, session: &SessionId, tips: &Tips) {
        let (mut places, mut listed) = (Vec::new(), BTreeSet::new());
        for entry in all.entries().rev() {
            let namespace = entry.record.body.namespace();
            let of_entry = namespace.into_iter().flat_map(|namespace| entry.on.iter().map(move |on| (namespace, *on)));
            places.extend(of_entry.filter(|place| listed.insert(*place)));
        }
        places.reverse();
        // a running writer will change the refs: write no list then
        if let Ok(_lock) = Lock::acquire(&self.store.paths, &self.store.paths.lock(), Duration::ZERO)
            && Tips::load(&self.store.paths) == *tips
            && self.store.recovery().at_saved_tips(tips)
        {
            session_notes::begin(&self.store.paths, session, &places);
        }
    }
}

/// The records of a note, oldest first: those attached to the annotated commit, without superseded and retracted ones.
/// `None` if it has attach records, which only the store can resolve.
pub fn resolve_note(on: Oid, note: &[u8]) -> Option<Vec<Record>> {
    let mut found: Vec<(&[u8], Record)> =
        lines::split(note).filter_map(|l| Some((l, format::record::decode(l)?))).collect();
    if found.iter().any(|(_, record)| matches!(record.body, Body::Attach(_))) {
        return None;
    }
    if let [(_, Record { body: Body::Handoff(_) | Body::Digest(_), .. })] = found.as_slice() {
        // nothing here can supersede it
        return Some(found.into_iter().filter_map(|(_, record)| placed_on(on, record)).collect());
    }
    found.sort_by(|(a, x), (b, y)| x.envelope.id.cmp(&y.envelope.id).then_with(|| b.cmp(a)));
    // of two lines with one id the greater bytes are used
    found.dedup_by(|(_, next), (_, kept)| next.envelope.id == kept.envelope.id);
    let gone = gone_by(found.iter().map(|(_, record)| record));
    let mut hidden = superseded(found.iter().map(|(_, record)| record));
    hidden.extend(gone.iter().cloned());
    let is_in_force = |record: &Record| !record.body.is_meta() && !hidden.contains(&record.envelope.id);
    let mut records: Vec<Record> = found.into_iter().map(|(_, record)| record).filter(is_in_force).collect();
    records.iter_mut().for_each(|record| record.body.retain_claims(|id| !gone.contains(id)));
    Some(records.into_iter().filter_map(|record| placed_on(on, record)).collect())
}

/// The record, if it was made on the annotated commit or on none; it was never attached elsewhere.
fn placed_on(on: Oid, mut record: Record) -> Option<Record> {
    let made_on = record.envelope.commit.as_deref().and_then(parse_oid);
    record.envelope.commit = Some(on.to_string());
    made_on.is_none_or(|made_on| made_on == on).then_some(record)
}

/// Commits that records are attached to.
#[derive(Debug, Default)]
pub struct Placements {
    attached: BTreeMap<Id, Vec<(Id, Oid)>>,
}

impl Placements {
    /// Collects the attachments of a scan.
    pub fn new(scan: &Scan) -> Self {
        let mut attached: BTreeMap<Id, Vec<(Id, Oid)>> = BTreeMap::new();
        for record in scan.records() {
            if let Body::Attach(attach) = &record.body
                && let Some(to) = parse_oid(&attach.to)
            {
                for id in &attach.of {
                    attached.entry(id.clone()).or_default().push((record.envelope.id.clone(), to));
                }
            }
        }
        Placements { attached }
    }

    /// The record as shown: with `commit` set to [`Self::of`], unless that is the empty tree.
    pub fn placed(&self, store: &Store<'_>, entry: &RecordEntry) -> Record {
        let commit = self.of(store, entry);
        let mut record = entry.record.clone();
        if commit != store.repo.empty_tree() {
            record.envelope.commit = Some(commit.to_string());
        }
        record
    }

    /// The commit of a record: its newest attachment that exists here and is reachable from HEAD, else the commit it
    /// was made on if that is reachable (an amend was undone), else the newest existing attachment, else the commit it
    /// was made on. For a record made on no commit and never attached: an annotated commit, else the empty tree.
    /// Anyone can attach a record, so what this clone did not attach counts only where the record is, and not at an ancestor
    /// of its commit while that is reachable.
    pub fn of(&self, store: &Store<'_>, entry: &RecordEntry) -> Oid {
        let envelope = &entry.record.envelope;
        let made_on = || {
            let empty = store.repo.empty_tree();
            let annotated = || entry.on.iter().copied().find(|on| *on != empty).unwrap_or(empty);
            envelope.commit.as_deref().and_then(parse_oid).unwrap_or_else(annotated)
        };
        let Some(attached) = self.attached.get(&envelope.id) else { return made_on() };
        let own = envelope.commit.as_deref().and_then(parse_oid).filter(|own| store.repo.has_object(*own));
        let mut reach = store.reach.borrow_mut();
        let mut reaches = |to: Oid| reach.contains(store.repo, to);
        let mut is_past = |own: Oid, to: Oid| {
            store.repo.first_parent(to) != Some(own)
                && own != to
                && is_older_ancestor(store.repo, to, own)
                && reaches(own)
        };
        let mut counts = |(attach, to): &(Id, Oid)| {
            store.repo.has_object(*to)
                && (store.made(attach) || is_on(store, entry, *to) && !own.is_some_and(|own| is_past(own, *to)))
        };
        let mut existing: Vec<&(Id, Oid)> = attached.iter().filter(|attached| counts(attached)).collect();
        existing.sort();
        if let Some((_, to)) = existing.iter().rev().find(|(_, to)| reaches(*to)) {
            return *to;
        }
        match (own, existing.last()) {
            // an amend was undone; a record that moved from a parent to its child was not undone, though the parent is
            // reachable
            (Some(own), Some((_, to))) if reaches(own) && store.repo.first_parent(*to) != Some(own) => own,
            (_, Some((_, to))) => *to,
            (_, None) => made_on(),
        }
    }
}

/// Whether the note of a commit has the record.
fn is_on(store: &Store<'_>, entry: &RecordEntry, commit: Oid) -> bool {
    let namespace = entry.record.body.namespace().unwrap_or(Namespace::Journal);
    let records_of = || {
        let lines = Lookup::open(store, namespace).and_then(|mut lookup| lookup.lines(commit)).unwrap_or_default();
        lines.iter().filter_map(|line| lines::id(line).and_then(Id::parse)).collect()
    };
    entry.on.contains(&commit)
        || store
            .noted
            .borrow_mut()
            .entry((namespace, commit))
            .or_insert_with(records_of)
            .contains(&entry.record.envelope.id)
}
