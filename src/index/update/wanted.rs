//! The expected content of the index: the trees of the notes refs, and notes outside them.

use crate::index::schema::LAYOUT;
use empirica_notes::error::Result;
use empirica_notes::format::lines;
use empirica_notes::git::notes::difference;
use empirica_notes::git::{Oid, notes};
use empirica_notes::model::Namespace;
use empirica_notes::model::hash::fnv;
use empirica_notes::store::Store;
use empirica_notes::store::Tombstones;
use empirica_notes::store::log::PendingRecord;
use empirica_notes::store::read::NotesSource;

/// A notes tree read in addition to our refs.
struct ExtraNotes {
    namespace: Namespace,
    tree: Oid,
    required: bool,
    stale: Tombstones,
}

/// A note read in addition to our refs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BesideNotes {
    /// Position in [`Namespace::ALL`].
    pub namespace: usize,
    /// The annotated object.
    pub target: Oid,
    /// Its lines, canonical.
    pub text: Vec<u8>,
}

/// What the index must hold. Looks up trees only; reads no note.
pub struct WantedNotes {
    /// Trees of our refs, in the order of [`Namespace::ALL`]; the empty tree if a ref is ignored or filtered.
    pub trees: [Oid; 3],
    extras: Vec<ExtraNotes>,
    pending: Vec<PendingRecord>,
    /// Hash of the notes outside the trees.
    beside: u64,
}

impl WantedNotes {
    /// Reads refs and pending records.
    pub fn look(store: &Store<'_>) -> Result<Self> {
        let view = store.pending_view()?;
        let empty = store.repo().empty_tree();
        let mut out = WantedNotes { trees: [empty; 3], extras: Vec::new(), pending: Vec::new(), beside: 0 };
        for (at, namespace) in Namespace::ALL.into_iter().enumerate() {
            let (sources, redacted) = store.sources(namespace, &view);
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
            out.pending.extend(view.counting(namespace, &redacted).cloned());
        }
        let trees = out.trees;
        out.extras.retain(|extra| trees[place(extra.namespace)] != extra.tree);
        out.beside = out.hash();
        Ok(out)
    }

    fn hash(&self) -> u64 {
        if self.extras.is_empty() && self.pending.is_empty() {
            return 0;
        }
        let mut bytes = Vec::new();
        for extra in &self.extras {
            bytes.extend_from_slice(format!("{} {}\n", extra.namespace.name(), extra.tree).as_bytes());
            bytes.extend_from_slice(extra.stale.text().as_bytes());
        }
        if !self.extras.is_empty() {
            // an extra tree adds only what ours lacks
            self.trees.iter().for_each(|tree| bytes.extend_from_slice(tree.as_bytes()));
        }
        for pending in &self.pending {
            bytes.extend_from_slice(format!("{} {} ", pending.namespace.name(), pending.on).as_bytes());
            bytes.extend_from_slice(&pending.line);
            bytes.push(b'\n');
        }
        fnv(&bytes)
    }

    /// Identifies the content of an up-to-date index made by this version.
    pub fn key(&self) -> String {
        let trees: Vec<String> = self.trees.iter().map(|tree| tree.to_string()).collect();
        format!("{LAYOUT} {} {} {:016x}", env!("CARGO_PKG_VERSION"), trees.join(" "), self.beside)
    }

    /// Reads the notes outside our refs: lines ours lack, and pending records.
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
        for pending in &self.pending {
            add(pending.namespace, pending.on, vec![&pending.line]);
        }
        Ok(found.into_iter().map(|((namespace, target), text)| BesideNotes { namespace, target, text }).collect())
    }

    /// The notes of an extra tree that differ from ours.
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
