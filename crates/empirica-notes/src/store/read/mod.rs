//! Reading: the union of the notes, what was fetched, and what still waits in the logs.

pub mod origin;

use std::collections::{BTreeMap, BTreeSet, btree_map};
use std::time::Duration;

use crate::error::Result;
use crate::format;
use crate::format::lines;
use crate::git::{Notes, Oid, Repository, notes, parse_oid};
use crate::model::superseded::superseded;
use crate::model::{Body, Id, Namespace, Record, SessionId};
use crate::store::log;
use crate::store::log::PendingRecord;
use crate::store::log::lock::Lock;
use crate::store::redact::tombstones::Epoch;
use crate::store::write::tips::Tips;
use crate::store::write::touched;
use crate::store::{PREFIX, Store, data_ref, tracked};

/// A record and the objects whose notes hold it.
#[derive(Debug, Clone)]
pub struct RecordEntry {
    /// The record.
    pub record: Record,
    /// Where it stands; at least one.
    pub on: BTreeSet<Oid>,
}

/// Records by id, each once, with what could not be understood.
#[derive(Debug, Default)]
pub struct Scan {
    entries: BTreeMap<Id, (Vec<u8>, RecordEntry)>,
    /// Ids of which two different versions are stored; the greater bytes are taken.
    pub doubled: BTreeSet<Id>,
    /// Ids of records that were taken back: they are kept, and not listed.
    pub retracted: BTreeSet<Id>,
}

impl Scan {
    fn add(&mut self, on: Oid, line: &[u8]) {
        if let Some(record) = format::record::decode(line) {
            self.put(line.to_vec(), RecordEntry { record, on: BTreeSet::from([on]) });
        }
    }

    /// Adds a line with the record it stands for.
    pub fn put(&mut self, line: Vec<u8>, entry: RecordEntry) {
        if let Body::Retract(retract) = &entry.record.body {
            self.retracted.extend(retract.of.iter().cloned());
        }
        match self.entries.entry(entry.record.head.id.clone()) {
            btree_map::Entry::Vacant(free) => drop(free.insert((line, entry))),
            btree_map::Entry::Occupied(mut taken) => {
                let (known, standing) = taken.get_mut();
                standing.on.extend(entry.on);
                if *known != line {
                    self.doubled.insert(entry.record.head.id.clone());
                    if line > *known {
                        (*known, standing.record) = (line, entry.record);
                    }
                }
            }
        }
    }

    /// The records, oldest first.
    pub fn records(&self) -> impl DoubleEndedIterator<Item = &Record> {
        self.entries().map(|entry| &entry.record)
    }

    /// The records with where they stand, oldest first. Those that were taken back are not among them.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &RecordEntry> {
        self.entries.values().map(|(_, entry)| entry).filter(|entry| !self.retracted.contains(&entry.record.head.id))
    }

    /// The records that were taken back, oldest first.
    pub fn retracted(&self) -> impl Iterator<Item = &Record> {
        self.retracted.iter().filter_map(|id| Some(&self.get(id)?.record))
    }

    /// One record.
    pub fn get(&self, id: &Id) -> Option<&RecordEntry> {
        self.entries.get(id).map(|(_, entry)| entry)
    }

    /// The line of a record as it is stored.
    pub fn line(&self, id: &Id) -> Option<&[u8]> {
        self.entries.get(id).map(|(line, _)| line.as_slice())
    }

    /// Takes in all of another scan.
    pub fn merge(&mut self, other: Scan) {
        for (line, entry) in other.entries.into_values() {
            self.put(line, entry);
        }
        self.doubled.extend(other.doubled);
        self.retracted.extend(other.retracted);
    }
}

/// The note of one object, as far as all sources are alike.
#[derive(Debug, PartialEq, Eq)]
pub enum Note {
    /// No source has one.
    None,
    /// Whoever has one has this blob, here or not, and all of it counts.
    One(Oid),
    /// There is something to unite or to leave out.
    Several,
}

/// Single notes of one namespace, united over all sources.
pub struct Lookup<'s> {
    repo: &'s Repository,
    /// Each with what was redacted and it does not know of.
    trees: Vec<(Notes<'s>, Epoch)>,
    waiting: Vec<PendingRecord>,
    /// What was redacted on the namespace, over all sources.
    pub redacted: Epoch,
}

/// A notes commit a namespace is read from.
pub struct NotesSource {
    /// The tip that is read.
    pub tip: Oid,
    /// Whether it must be readable.
    pub required: bool,
    /// What was redacted and it does not know of: what does not count there.
    pub stale: Epoch,
}

/// What is read beside our own refs, looked at once. The log comes first: what leaves it meanwhile is then in the notes.
pub struct PendingView {
    /// What waits in the logs.
    pub waiting: Vec<PendingRecord>,
    tips: Tips,
    fetched: Vec<(String, Oid)>,
}

impl<'s> Lookup<'s> {
    /// Opens the namespace.
    pub fn open(store: &'s Store<'_>, namespace: Namespace) -> Result<Self> {
        Self::over(store, namespace, &store.reading()?)
    }

    fn over(store: &'s Store<'_>, namespace: Namespace, reading: &PendingView) -> Result<Self> {
        let (sources, redacted) = store.sources(namespace, reading);
        let waiting = reading.waiting.iter().filter(|w| w.namespace == namespace && redacted.counts(&w.line));
        let waiting = waiting.cloned().collect();
        let mut trees: Vec<(Notes<'s>, Epoch)> = Vec::new();
        for NotesSource { tip, required, stale } in sources {
            let tree = match Notes::open(store.repo, Some(tip), lines::union) {
                Err(_) if !required => continue,
                tree => tree?,
            };
            if trees.iter().all(|(known, _)| known.tree() != tree.tree()) {
                trees.push((tree, stale));
            }
        }
        Ok(Lookup { repo: store.repo, trees, waiting, redacted })
    }

    /// The blob of one object's note, for who can do without its lines in order.
    pub fn note(&mut self, on: Oid) -> Result<Note> {
        if self.waiting.iter().any(|waiting| waiting.on == on) {
            return Ok(Note::Several);
        }
        let mut only = None;
        for (tree, stale) in &mut self.trees {
            match (tree.blob(on)?, only) {
                (None, _) => {}
                (Some(blob), None) if stale.redacted.is_empty() => only = Some(blob),
                // what counts whole in one source does so in all
                (Some(blob), Some(known)) if blob == known => {}
                _ => return Ok(Note::Several),
            }
        }
        Ok(only.map_or(Note::None, Note::One))
    }

    /// The lines of one object's note, canonical, from all sources.
    pub fn lines(&mut self, on: Oid) -> Result<Vec<Vec<u8>>> {
        let mut found: Vec<Vec<u8>> = Vec::new();
        for (tree, stale) in &mut self.trees {
            if let Some(note) = tree.blob(on)?.and_then(|blob| self.repo.note(blob)) {
                found.extend(lines::split(&note).filter(|line| stale.counts(line)).map(<[u8]>::to_vec));
            }
        }
        found.extend(self.waiting.iter().filter(|w| w.on == on).map(|w| w.line.clone()));
        if found.is_empty() {
            return Ok(found);
        }
        let note = lines::canonical(found.iter().map(Vec::as_slice));
        Ok(lines::split(&note).map(<[u8]>::to_vec).collect())
    }

    /// Every note as (object, blob), from all sources but the log, possibly several times.
    pub fn notes(&self, repo: &Repository) -> Result<Vec<(Oid, Oid)>> {
        let trees = self.trees.iter().map(|(tree, _)| Ok(notes::entries(repo, tree.tree())?.notes));
        Ok(trees.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }

    /// The objects that lines of the log belong to.
    pub fn waits_on(&self) -> impl Iterator<Item = Oid> {
        self.waiting.iter().map(|waiting| waiting.on)
    }

    /// The records of one object's note.
    pub fn scan(&mut self, on: Oid) -> Result<Scan> {
        let mut scan = Scan::default();
        for line in self.lines(on)? {
            scan.add(on, &line);
        }
        Ok(scan)
    }
}

impl Store<'_> {
    /// The refs and logs as they are now.
    pub fn reading(&self) -> Result<PendingView> {
        let waiting = log::read(&self.paths);
        let fetched = self.repo.list_refs(&format!("{PREFIX}remotes/"))?;
        Ok(PendingView { waiting, tips: Tips::load(&self.paths), fetched })
    }

    /// The notes commits a namespace is read from, and what of it was redacted. Our ref must be readable; the
    /// remembered tip, when it could not be united back, and what was fetched from each remote do not keep us from
    /// reading. What was fetched and united already is in ours.
    pub fn sources(&self, namespace: Namespace, reading: &PendingView) -> (Vec<NotesSource>, Epoch) {
        let name = data_ref(namespace);
        // a ref that cannot be read hides neither the remembered tip nor the log; settling says that it is broken
        let now = self.repo.find_ref(&name).ok().flatten();
        let ours = now.filter(|id| self.is_readable(*id));
        // of one that is damaged what it was before is left
        let lost = now.filter(|_| ours.is_none());
        let before = lost.and_then(|tip| self.before_damage(&name, tip));
        let remembered = reading.tips.refs.get(&name).copied();
        let is_united = |(tracking, id): &&(String, Oid)| {
            ours.is_some() && ours == remembered && reading.tips.refs.get(tracking) == Some(id)
        };
        let fetched = reading.fetched.iter().filter(|(known, _)| tracked(known).as_ref() == Some(&name));
        let fetched = fetched.filter(|fetched| !is_united(fetched)).map(|(_, id)| *id);
        let others = before.into_iter().chain(remembered).chain(fetched);
        let mut seen = BTreeSet::from_iter(ours);
        let others = others.filter(|id| seen.insert(*id) && self.is_readable(*id)).map(|id| (id, false));
        let mut all: Vec<(Oid, bool)> =
            ours.into_iter().map(|id| (id, true)).chain(others.collect::<Vec<_>>()).collect();
        if all.is_empty() && !reading.waiting.iter().any(|waiting| waiting.namespace == namespace) {
            // nothing is left: that is not the same as nothing
            all.extend(lost.map(|tip| (tip, true)));
        }
        // what cannot be read says so when it is read
        let epoch = |(tip, _): &(Oid, bool)| Epoch::of(self.repo, Some(*tip)).unwrap_or_default();
        let epochs: Vec<Epoch> = all.iter().map(epoch).collect();
        let united = epochs.iter().fold(Epoch::default(), |united, epoch| united.united(epoch));
        let source = |((tip, required), epoch): ((Oid, bool), &Epoch)| NotesSource {
            tip,
            required,
            stale: epoch.unaware_of(&united),
        };
        let mut sources: Vec<NotesSource> = all.into_iter().zip(&epochs).map(source).collect();
        // what counts whole comes first, so that the same blob elsewhere is known already
        sources.sort_by_key(|source| !source.stale.redacted.is_empty());
        (sources, united)
    }

    /// Every record of a namespace.
    pub fn scan(&self, namespace: Namespace) -> Result<Scan> {
        self.scan_over(namespace, &self.reading()?)
    }

    fn scan_over(&self, namespace: Namespace, reading: &PendingView) -> Result<Scan> {
        let mut scan = Scan::default();
        let mut seen = BTreeSet::new();
        let (sources, redacted) = self.sources(namespace, reading);
        for NotesSource { tip, required, stale } in sources {
            let found = match self.repo.tree_of(tip).and_then(|tree| notes::entries(self.repo, tree)) {
                Err(_) if !required => continue,
                found => found?.notes,
            };
            for (on, blob) in found {
                let new = if stale.redacted.is_empty() { seen.insert((on, blob)) } else { !seen.contains(&(on, blob)) };
                if new && let Some(note) = self.repo.note(blob) {
                    lines::split(&note).filter(|line| stale.counts(line)).for_each(|line| scan.add(on, line));
                }
            }
        }
        for record in reading.waiting.iter().filter(|w| w.namespace == namespace && redacted.counts(&w.line)) {
            scan.add(record.on, &record.line);
        }
        Ok(scan)
    }

    /// Every record of all namespaces.
    pub fn scan_all(&self) -> Result<Scan> {
        let reading = self.reading()?;
        let mut all = Scan::default();
        for namespace in Namespace::ALL {
            all.merge(self.scan_over(namespace, &reading)?);
        }
        Ok(all)
    }

    /// Everything a session said and everything that is about what it said. Reads only the session's notes when they
    /// are known, else takes what `find` finds, and remembers where that stands.
    pub fn session(&self, session: &SessionId, find: impl FnOnce() -> Result<Scan>) -> Result<Scan> {
        let reading = self.reading()?;
        let places = touched::read(&self.paths, session).filter(|_| self.in_step(&reading.tips));
        match places {
            Some(places) => self.scan_places(&places, &reading),
            None => {
                let found = find()?;
                self.relist(&found, session, &reading.tips);
                Ok(found)
            }
        }
    }

    /// The same for who cannot wait: when the session's notes are not known, only what lies on `near` and in the logs.
    pub fn session_near(&self, session: &SessionId, near: Option<Oid>) -> Result<Scan> {
        let reading = self.reading()?;
        let places = touched::read(&self.paths, session).filter(|_| self.in_step(&reading.tips));
        let near = || Namespace::ALL.into_iter().flat_map(|namespace| near.map(|on| (namespace, on))).collect();
        self.scan_places(&places.unwrap_or_else(near), &reading)
    }

    /// The notes at these places and what waits in the logs.
    fn scan_places(&self, places: &BTreeSet<touched::NoteKey>, reading: &PendingView) -> Result<Scan> {
        let mut scan = Scan::default();
        for namespace in Namespace::ALL {
            let mut on: BTreeSet<Oid> = places.iter().filter(|(s, _)| *s == namespace).map(|(_, on)| *on).collect();
            on.extend(reading.waiting.iter().filter(|w| w.namespace == namespace).map(|w| w.on));
            if on.is_empty() {
                continue;
            }
            let mut lookup = Lookup::over(self, namespace, reading)?;
            for on in on {
                scan.merge(lookup.scan(on)?);
            }
        }
        Ok(scan)
    }

    /// Makes the list of a session's notes anew, unless something was written since `tips`.
    fn relist(&self, all: &Scan, session: &SessionId, tips: &Tips) {
        let mut places = BTreeSet::new();
        for entry in all.entries() {
            let namespace = entry.record.body.namespace();
            places.extend(namespace.into_iter().flat_map(|namespace| entry.on.iter().map(move |on| (namespace, *on))));
        }
        // a writer that is at it will change the refs: no list, then
        if let Ok(_lock) = Lock::acquire(&self.paths, &self.paths.lock(), Duration::ZERO)
            && Tips::load(&self.paths) == *tips
            && self.in_step(tips)
        {
            touched::begin(&self.paths, session, &places);
        }
    }

    /// What waits in the logs.
    pub fn waiting(&self) -> log::PendingCounts {
        log::count(&self.paths)
    }

    /// How many records wait in the logs.
    pub fn unflushed(&self) -> usize {
        self.waiting().all()
    }
}

/// The records of a note that holds no attachment, oldest first: those at home on the commit it stands on and in force.
/// `None` when there is an attachment, since only the store knows what that comes to.
pub fn standing_alone(on: Oid, note: &[u8]) -> Option<Vec<Record>> {
    let mut found: Vec<(&[u8], Record)> =
        lines::split(note).filter_map(|l| Some((l, format::record::decode(l)?))).collect();
    if found.iter().any(|(_, record)| matches!(record.body, Body::Attach(_))) {
        return None;
    }
    if let [(_, Record { body: Body::Handoff(_) | Body::Digest(_), .. })] = found.as_slice() {
        // nothing is there that could put it aside
        return Some(found.into_iter().filter_map(|(_, record)| placed_on(on, record)).collect());
    }
    found.sort_by(|(a, x), (b, y)| x.head.id.cmp(&y.head.id).then_with(|| b.cmp(a)));
    // of two versions the greater bytes are taken
    found.dedup_by(|(_, next), (_, kept)| next.head.id == kept.head.id);
    let mut aside = superseded(found.iter().map(|(_, record)| record));
    let retracts = found.iter().filter(|(_, record)| matches!(record.body, Body::Retract(_)));
    aside.extend(retracts.flat_map(|(_, record)| record.names()).cloned());
    let in_force = |record: &Record| !record.body.is_meta() && !aside.contains(&record.head.id);
    let records = found.into_iter().map(|(_, record)| record).filter(in_force);
    Some(records.filter_map(|record| placed_on(on, record)).collect())
}

/// A record that was never attached, if the commit it stands on is the one it was made on, or it was made on none.
fn placed_on(on: Oid, mut record: Record) -> Option<Record> {
    let made_on = record.head.commit.as_deref().and_then(parse_oid);
    record.head.commit = Some(on.to_string());
    made_on.is_none_or(|made_on| made_on == on).then_some(record)
}

/// Where records are at home, given the attachments that are known.
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
                    attached.entry(id.clone()).or_default().push((record.head.id.clone(), to));
                }
            }
        }
        Placements { attached }
    }

    /// The record of an entry as views show it: its `commit` is the one it is at home on, if that is one.
    pub fn placed(&self, store: &Store<'_>, entry: &RecordEntry) -> Record {
        let home = self.of(store, entry);
        let mut record = entry.record.clone();
        if home != store.repo.empty_tree() {
            record.head.commit = Some(home.to_string());
        }
        record
    }

    /// The object a record is at home on: its newest attachment that exists here and is reachable from HEAD, else the
    /// commit it was made on if that is reachable (an amend that was undone), else the newest existing attachment, else
    /// the commit it was made on. One that was made on none and not attached is at home where it stands, rather on a
    /// commit than on the empty tree.
    pub fn of(&self, store: &Store<'_>, entry: &RecordEntry) -> Oid {
        let head = &entry.record.head;
        let made_on = || {
            let empty = store.repo.empty_tree();
            let stands = || entry.on.iter().copied().find(|on| *on != empty).unwrap_or(empty);
            head.commit.as_deref().and_then(parse_oid).unwrap_or_else(stands)
        };
        let Some(attached) = self.attached.get(&head.id) else { return made_on() };
        let mut existing: Vec<&(Id, Oid)> = attached.iter().filter(|(_, to)| store.repo.has_object(*to)).collect();
        existing.sort();
        let mut reach = store.reach.borrow_mut();
        let mut reaches = |to: Oid| reach.contains(store.repo, to);
        if let Some((_, to)) = existing.iter().rev().find(|(_, to)| reaches(*to)) {
            return *to;
        }
        let own = head.commit.as_deref().and_then(parse_oid).filter(|own| store.repo.has_object(*own));
        match (own, existing.last()) {
            // an amend was undone; what a commit took from its parent is not, though the parent is reachable
            (Some(own), Some((_, to))) if reaches(own) && store.repo.first_parent(*to) != Some(own) => own,
            (_, Some((_, to))) => *to,
            (_, None) => made_on(),
        }
    }
}
