//! What the index must hold now: the trees of our refs, and what is read beside them.

use crate::index::schema::LAYOUT;
use empirica_notes::error::Result;
use empirica_notes::format::lines;
use empirica_notes::git::notes::difference;
use empirica_notes::git::{Oid, notes};
use empirica_notes::model::Namespace;
use empirica_notes::model::hash::fnv;
use empirica_notes::store::Epoch;
use empirica_notes::store::Store;
use empirica_notes::store::log::PendingRecord;
use empirica_notes::store::read::NotesSource;

/// A notes tree that is read beside ours.
struct ExtraNotes {
    namespace: Namespace,
    tree: Oid,
    required: bool,
    stale: Epoch,
}

/// A note that is read beside those of our refs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BesideNotes {
    /// Its place in [`Namespace::ALL`].
    pub namespace: usize,
    /// The annotated object.
    pub target: Oid,
    /// Its lines, canonical.
    pub text: Vec<u8>,
}

/// What the index must hold. Only trees are looked up for it; no note is read.
pub struct WantedNotes {
    /// The trees of our refs, in the order of [`Namespace::ALL`]; the empty tree for what counts not at all, or not whole.
    pub trees: [Oid; 3],
    extras: Vec<ExtraNotes>,
    waiting: Vec<PendingRecord>,
    /// Stands for what is read beside the trees.
    beside: u64,
}

impl WantedNotes {
    /// Looks at the refs and logs.
    pub fn look(store: &Store<'_>) -> Result<Self> {
        let reading = store.reading()?;
        let empty = store.repo().empty_tree();
        let mut out = WantedNotes { trees: [empty; 3], extras: Vec::new(), waiting: Vec::new(), beside: 0 };
        for (at, namespace) in Namespace::ALL.into_iter().enumerate() {
            let (sources, redacted) = store.sources(namespace, &reading);
            for NotesSource { tip, required, stale } in sources {
                let tree = match store.repo().tree_of(tip) {
                    Err(_) if !required => continue,
                    tree => tree?,
                };
                if required && stale.redacted.is_empty() {
                    out.trees[at] = tree;
                } else {
                    out.extras.push(ExtraNotes { namespace, tree, required, stale });
                }
            }
            let waiting = reading.waiting.iter().filter(|w| w.namespace == namespace && redacted.counts(&w.line));
            out.waiting.extend(waiting.cloned());
        }
        let trees = out.trees;
        out.extras.retain(|extra| trees[place(extra.namespace)] != extra.tree);
        out.beside = out.hash();
        Ok(out)
    }

    fn hash(&self) -> u64 {
        if self.extras.is_empty() && self.waiting.is_empty() {
            return 0;
        }
        let mut bytes = Vec::new();
        for extra in &self.extras {
            bytes.extend_from_slice(format!("{} {}\n", extra.namespace.name(), extra.tree).as_bytes());
            bytes.extend_from_slice(extra.stale.text().as_bytes());
        }
        if !self.extras.is_empty() {
            // an extra tree adds what ours has not
            self.trees.iter().for_each(|tree| bytes.extend_from_slice(tree.as_bytes()));
        }
        for waiting in &self.waiting {
            bytes.extend_from_slice(format!("{} {} ", waiting.namespace.name(), waiting.on).as_bytes());
            bytes.extend_from_slice(&waiting.line);
            bytes.push(b'\n');
        }
        fnv(&bytes)
    }

    /// What stands for all of it, in an index that this program made.
    pub fn key(&self) -> String {
        let trees: Vec<String> = self.trees.iter().map(|tree| tree.to_string()).collect();
        format!("{LAYOUT} {} {} {:016x}", env!("CARGO_PKG_VERSION"), trees.join(" "), self.beside)
    }

    /// Reads the notes beside ours: the lines that ours has not, and those that wait.
    pub fn beside(&self, store: &Store<'_>) -> Result<Vec<BesideNotes>> {
        let mut found: std::collections::BTreeMap<(usize, Oid), Vec<u8>> = Default::default();
        let mut add = |namespace: Namespace, target: Oid, lines: Vec<&[u8]>| {
            if !lines.is_empty() {
                let text = found.entry((place(namespace), target)).or_default();
                *text = lines::union(text, &lines::canonical(lines));
            }
        };
        for extra in &self.extras {
            for (target, blob) in self.notes_of(store, extra)? {
                let note = store.repo().read_blob(blob)?.unwrap_or_default();
                add(extra.namespace, target, lines::split(&note).filter(|line| extra.stale.counts(line)).collect());
            }
        }
        for waiting in &self.waiting {
            add(waiting.namespace, waiting.on, vec![&waiting.line]);
        }
        Ok(found.into_iter().map(|((namespace, target), text)| BesideNotes { namespace, target, text }).collect())
    }

    /// The notes of a tree beside ours that ours has not, or not so.
    fn notes_of(&self, store: &Store<'_>, extra: &ExtraNotes) -> Result<Vec<(Oid, Oid)>> {
        let ours = self.trees[place(extra.namespace)];
        let read = || -> Result<Vec<(Oid, Oid)>> {
            if ours == store.repo().empty_tree() {
                return Ok(notes::entries(store.repo(), extra.tree)?.notes);
            }
            let found = difference::differences(store.repo(), ours, extra.tree)?;
            let theirs = |(target, [old, new]): (Oid, [Vec<Oid>; 2])| {
                new.into_iter().filter(move |blob| !old.contains(blob)).map(move |blob| (target, blob))
            };
            Ok(found.notes.into_iter().flat_map(theirs).collect())
        };
        match read() {
            Err(_) if !extra.required => Ok(Vec::new()),
            found => found,
        }
    }
}

fn place(namespace: Namespace) -> usize {
    Namespace::ALL.iter().position(|known| *known == namespace).unwrap_or_default()
}
