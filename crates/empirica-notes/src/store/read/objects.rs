//! Trees and notes of tips, and the errors for missing and damaged notes.

use crate::error::{Error, Result, empirica};
use crate::git::{Oid, notes};
use crate::store::redact::tombstones::Tombstones;
use crate::store::{Store, TRACKING};

impl Store<'_> {
    /// The tree of a tip; the empty tree for `None`.
    pub(crate) fn tree(&self, tip: Option<Oid>) -> Result<Oid> {
        tip.map_or_else(|| Ok(self.repo.empty_tree()), |tip| self.repo.tree_of(tip))
    }

    /// The notes of a tip as (annotated object, blob).
    pub(crate) fn notes(&self, tip: Option<Oid>) -> Result<Vec<(Oid, Oid)>> {
        Ok(notes::entries(self.repo, self.tree(tip)?)?.notes)
    }

    /// The tracking refs of all remotes.
    pub(crate) fn tracking(&self) -> Vec<(String, Oid)> {
        self.repo.list_refs(TRACKING).unwrap_or_default()
    }

    /// The redactions of a local ref.
    pub(crate) fn tombstones(&self, name: &str) -> Result<Tombstones> {
        Tombstones::of(self.repo, self.repo.find_ref(name)?)
    }

    /// The content of a note. Fails if it is missing: it must not be treated as empty.
    pub(crate) fn read_note(&self, blob: Oid) -> Result<Vec<u8>> {
        self.repo.read_blob(blob)?.ok_or_else(|| missing_note(blob))
    }
}

pub(crate) fn missing_note(blob: Oid) -> Error {
    Error::storage(format!("cannot read the note {blob}: it is missing"))
        .reason("it was removed, or fetched without its content, as in a partial clone")
        .suggest("Fetch the missing notes; doctor lists them, and how to continue without them.")
        .command(empirica("sync"))
        .command(empirica("doctor"))
}

pub(crate) fn damaged_note(blob: Oid) -> Error {
    Error::storage(format!("cannot read the note {blob}"))
        .reason("its object is damaged")
        .suggest("See how to recover it, or continue without it.")
        .command(empirica("doctor"))
}
