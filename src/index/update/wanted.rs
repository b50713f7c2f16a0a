//! The expected content of the index: the trees of the notes refs, and notes outside them.

use std::collections::BTreeMap;

use crate::index::schema::LAYOUT;
use empirica_notes::error::Result;
use empirica_notes::format::lines;
use empirica_notes::git::notes::difference;
use empirica_notes::git::{Oid, notes};
use empirica_notes::model::Namespace;
use empirica_notes::model::hash::fnv;
use empirica_notes::store::log::PendingRecord;
use empirica_notes::store::read::NotesSource;
use empirica_notes::store::{Store, Tombstones};

/// A notes tree read in addition to our refs.
struct ExtraTree {
    namespace: Namespace,
    tree: Oid,
    required: bool,
    stale: Tombstones,
}

/// A note read in addition to our refs.
pub struct ExtraNote {
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
    extras: Vec<ExtraTree>,
    pending: Vec<PendingRecord>,
}

impl WantedNotes {
    /// Reads refs and pending records.
    pub fn read(store: &Store<'_>) -> Result<Self> {
        let view = store.reader().pending_view()?;
        let empty = store.repo().empty_tree();
        let mut out = WantedNotes { trees: [empty; 3], extras: Vec::new(), pending: Vec::new() };
        for (at, namespace) in Namespace::ALL.into_iter().enumerate() {
            let (sources, redacted) = store.reader().sources(namespace, &view);
            for NotesSource { tip, required, stale } in sources {
                let tree = match store.repo().tree_of(tip) {
                    Err(_) if !required => continue,
                    tree => tree?,
                };
                if required && stale.redacted.is_empty() {
                    out.trees[at] = tree;
                } else {
                    out.extras.push(ExtraTree { namespace, tree, required, stale });
                }
            }
            out.pending.extend(view.permitted(namespace, &redacted).cloned());
        }
        let trees = out.trees;
        out.extras.retain(|extra| trees[extra.namespace as usize] != extra.tree);
        Ok(out)
    }

    /// Hash of the notes outside our refs.
    fn extra_hash(&self) -> u64 {
        if self.extras.is_empty() && self.pending.is_empty() {
            return 0;
        }
        let mut bytes = Vec::new();
        for extra in &self.extras {
            bytes.extend_from_slice(format!("{} {}\n", extra.namespace.name(), extra.tree).as_bytes());
            bytes.extend_from_slice(extra.stale.text().as_bytes());
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
        let trees = self.trees.map(|tree| tree.to_string()).join(" ");
        format!("{LAYOUT} {} {trees} {:016x}", env!("CARGO_PKG_VERSION"), self.extra_hash())
    }

    /// Reads the notes outside our refs: lines ours lack, and pending records.
    pub fn extra(&self, store: &Store<'_>) -> Result<Vec<ExtraNote>> {
        let mut found: BTreeMap<(usize, Oid), Vec<u8>> = BTreeMap::new();
        let mut add = |namespace: Namespace, target: Oid, lines: Vec<&[u8]>| {
            if !lines.is_empty() {
                let text = found.entry((namespace as usize, target)).or_default();
                *text = lines::union(text, &lines::canonical(lines));
            }
        };
        for extra in &self.extras {
            let notes = match self.notes_of(store, extra) {
                Err(_) if !extra.required => continue,
                notes => notes?,
            };
            for (target, blob) in notes {
                let note = store.repo().note(blob).unwrap_or_default();
                add(extra.namespace, target, lines::split(&note).filter(|line| extra.stale.permits(line)).collect());
            }
        }
        for pending in &self.pending {
            add(pending.namespace, pending.on, vec![&pending.line]);
        }
        Ok(found.into_iter().map(|((namespace, target), text)| ExtraNote { namespace, target, text }).collect())
    }

    /// The notes of an extra tree that differ from ours.
    fn notes_of(&self, store: &Store<'_>, extra: &ExtraTree) -> Result<Vec<(Oid, Oid)>> {
        let ours = self.trees[extra.namespace as usize];
        if ours == store.repo().empty_tree() {
            return Ok(notes::entries(store.repo(), extra.tree)?.notes);
        }
        let found = difference::differences(store.repo(), ours, extra.tree)?;
        let theirs = |(target, [old, new]): (Oid, [Vec<Oid>; 2])| {
            new.into_iter().filter(move |blob| !old.contains(blob)).map(move |blob| (target, blob))
        };
        Ok(found.notes.into_iter().flat_map(theirs).collect())
    }
}
