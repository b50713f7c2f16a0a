//! Trees that are in a notes tree many times: with them, a few small objects can list any number of notes.

use std::collections::HashSet;

use crate::error::{Error, Result};
use crate::git::Oid;
use crate::git::objects::COMMITTERS;

/// Most entries of trees that are read again. The trees that git writes for notes all differ.
const MAX_ENTRIES: usize = 10_000;

/// The trees read in a walk.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    seen: HashSet<Oid>,
    entries: usize,
}

impl Repeats {
    /// Counts a tree that was read, with its entries. Fails if trees are read again too often.
    pub(crate) fn count(&mut self, tree: Oid, entries: usize) -> Result<()> {
        if self.seen.insert(tree) {
            return Ok(());
        }
        self.entries += entries + 1;
        if self.entries <= MAX_ENTRIES {
            return Ok(());
        }
        Err(Error::storage(format!("cannot read the notes: the tree {tree} is in them too often"))
            .reason("git writes no such notes; they can list more than any program can read")
            .suggest("See who committed them; the ref must be set back where it comes from.")
            .command(COMMITTERS))
    }
}
