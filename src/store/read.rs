//! Reading: the union of the notes, what was fetched, and what still waits in the logs.

use std::collections::{BTreeMap, BTreeSet};

use super::log::{self, Waiting};
use super::tips::Tips;
use super::{PREFIX, Store, data_ref, touched};
use crate::error::Result;
use crate::git::{NotesTree, Oid, history, notes, parse_oid};
use crate::model::{Body, Id, Record, SessionId, Shelf};
use crate::wire;
use crate::wire::lines;

/// A record and the objects whose notes hold it.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The record.
    pub record: Record,
    /// Where it stands; at least one.
    pub on: BTreeSet<Oid>,
}

/// Records by id, each once, with what could not be understood.
#[derive(Debug, Default)]
pub struct Scan {
    entries: BTreeMap<Id, (Vec<u8>, Entry)>,
    /// Ids of which two different versions are stored; the greater bytes are taken.
    pub doubled: BTreeSet<Id>,
}

impl Scan {
    fn add(&mut self, on: Oid, line: &[u8]) {
        let Some(record) = wire::record::decode(line) else { return };
        let id = record.head.id.clone();
        match self.entries.get_mut(&id) {
            None => {
                let entry = Entry { record, on: BTreeSet::from([on]) };
                self.entries.insert(id, (line.to_vec(), entry));
            }
            Some((known, entry)) => {
                entry.on.insert(on);
                if known != line {
                    self.doubled.insert(id);
                    if line > known.as_slice() {
                        *known = line.to_vec();
                        entry.record = record;
                    }
                }
            }
        }
    }

    /// The records, oldest first.
    pub fn records(&self) -> impl DoubleEndedIterator<Item = &Record> {
        self.entries.values().map(|(_, entry)| &entry.record)
    }

    /// The records with where they stand, oldest first.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.values().map(|(_, entry)| entry)
    }

    /// One record.
    pub fn get(&self, id: &Id) -> Option<&Entry> {
        self.entries.get(id).map(|(_, entry)| entry)
    }

    /// Takes in all of another scan.
    pub fn merge(&mut self, other: Scan) {
        for (_, (line, entry)) in other.entries {
            for on in &entry.on {
                self.add(*on, &line);
            }
        }
        self.doubled.extend(other.doubled);
    }
}

/// Single notes of one shelf, united over all sources.
pub struct Lookup<'s> {
    trees: Vec<NotesTree<'s>>,
    waiting: Vec<Waiting>,
}

impl<'s> Lookup<'s> {
    /// Opens the shelf. The log is read first: what leaves it meanwhile is then in the notes.
    pub fn open(store: &'s Store<'_>, shelf: Shelf) -> Result<Self> {
        let waiting = log::read(&store.paths).into_iter().filter(|w| w.shelf == shelf).collect();
        let mut trees: Vec<NotesTree<'s>> = Vec::new();
        for tip in store.sources(shelf)? {
            let tree = NotesTree::open(store.repo, Some(tip), lines::union)?;
            if trees.iter().all(|known| known.tree() != tree.tree()) {
                trees.push(tree);
            }
        }
        Ok(Lookup { trees, waiting })
    }

    /// The lines of one object's note, canonical, from all sources.
    pub fn lines(&mut self, on: Oid) -> Result<Vec<Vec<u8>>> {
        let mut found: Vec<Vec<u8>> = Vec::new();
        for tree in &mut self.trees {
            if let Some(note) = tree.get(on)? {
                found.extend(lines::split(&note).map(<[u8]>::to_vec));
            }
        }
        found.extend(self.waiting.iter().filter(|w| w.on == on).map(|w| w.line.clone()));
        if found.is_empty() {
            return Ok(found);
        }
        let note = lines::canonical(found.iter().map(Vec::as_slice));
        Ok(lines::split(&note).map(<[u8]>::to_vec).collect())
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
    /// The notes commits a shelf is read from: our ref, the remembered tip when it could not be united back, and what
    /// was fetched from each remote.
    fn sources(&self, shelf: Shelf) -> Result<Vec<Oid>> {
        let name = data_ref(shelf);
        // a ref that cannot be read hides neither the remembered tip nor the log; settling says that it is broken
        let mut out: Vec<Oid> = self.repo.find_ref(&name).ok().flatten().into_iter().collect();
        let remembered = Tips::load(&self.paths).refs.get(&name).copied();
        out.extend(remembered.filter(|id| self.repo.has_object(*id)));
        let wanted = format!("/data/{}", shelf.name());
        let fetched = self.repo.list_refs(&format!("{PREFIX}remotes/"))?;
        out.extend(fetched.into_iter().filter(|(name, _)| name.ends_with(&wanted)).map(|(_, id)| id));
        let mut seen = BTreeSet::new();
        out.retain(|id| seen.insert(*id));
        Ok(out)
    }

    /// Every record of a shelf.
    pub fn scan(&self, shelf: Shelf) -> Result<Scan> {
        let waiting = log::read(&self.paths);
        let mut scan = Scan::default();
        let mut seen = BTreeSet::new();
        for tip in self.sources(shelf)? {
            for (on, blob) in notes::entries(self.repo, self.repo.tree_of(tip)?)?.notes {
                if seen.insert((on, blob))
                    && let Some(note) = self.repo.read_blob(blob)?
                {
                    lines::split(&note).for_each(|line| scan.add(on, line));
                }
            }
        }
        for record in waiting.iter().filter(|w| w.shelf == shelf) {
            scan.add(record.on, &record.line);
        }
        Ok(scan)
    }

    /// Every record of all shelves.
    pub fn scan_all(&self) -> Result<Scan> {
        let mut all = Scan::default();
        for shelf in Shelf::ALL {
            all.merge(self.scan(shelf)?);
        }
        Ok(all)
    }

    /// Everything a session said and everything that is about what it said. Reads only the session's notes when they
    /// are known, else all.
    pub fn session(&self, session: &SessionId) -> Result<Scan> {
        let Some(places) = touched::read(&self.paths, session) else {
            let all = self.scan_all()?;
            self.relist(&all, session);
            return Ok(all);
        };
        let mut scan = Scan::default();
        for shelf in Shelf::ALL {
            let mut on: BTreeSet<Oid> = places.iter().filter(|(s, _)| *s == shelf).map(|(_, on)| *on).collect();
            let mut lookup = Lookup::open(self, shelf)?;
            on.extend(lookup.waiting.iter().map(|w| w.on));
            for on in on {
                scan.merge(lookup.scan(on)?);
            }
        }
        Ok(scan)
    }

    /// Makes the list of a session's notes anew from a full scan.
    fn relist(&self, all: &Scan, session: &SessionId) {
        let own: BTreeSet<&Id> =
            all.records().filter(|r| r.head.session.as_ref() == Some(session)).map(|r| &r.head.id).collect();
        if own.is_empty() {
            return;
        }
        touched::begin(&self.paths, session);
        for entry in all.entries() {
            let about = entry.record.names().iter().any(|id| own.contains(id));
            if let Some(shelf) = entry.record.body.shelf().filter(|_| about || own.contains(&entry.record.head.id)) {
                for on in &entry.on {
                    touched::add(&self.paths, session, (shelf, *on));
                }
            }
        }
    }

    /// How many records wait in the logs.
    pub fn unflushed(&self) -> usize {
        log::read(&self.paths).len()
    }
}

/// Where records are at home, given the attachments that are known.
#[derive(Debug, Default)]
pub struct Homes {
    attached: BTreeMap<Id, Vec<(Id, Oid)>>,
}

impl Homes {
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
        Homes { attached }
    }

    /// The object a record is at home on: its newest attachment that exists here and is reachable from HEAD, else the
    /// newest existing one, else the commit it was made on. One that was made on none and not attached is at home where
    /// it stands, rather on a commit than on the empty tree.
    pub fn of(&self, store: &Store<'_>, entry: &Entry) -> Oid {
        let head = &entry.record.head;
        let made_on = || {
            let empty = store.repo.empty_tree();
            let stands = || entry.on.iter().copied().find(|on| *on != empty).unwrap_or(empty);
            head.commit.as_deref().and_then(parse_oid).unwrap_or_else(stands)
        };
        let Some(attached) = self.attached.get(&head.id) else { return made_on() };
        let mut existing: Vec<&(Id, Oid)> = attached.iter().filter(|(_, to)| store.repo.has_object(*to)).collect();
        existing.sort();
        let reachable = existing.iter().rev().find(|(_, to)| history::reachable_from_head(store.repo, *to));
        reachable.or(existing.last()).map_or_else(made_on, |(_, to)| *to)
    }
}
