//! Epochs: which record ids of a notes tree were redacted, and what therefore no longer counts.

use std::collections::BTreeSet;

use crate::error::Result;
use crate::git::{Oid, Repository, notes};
use crate::wire::{blocks, lines};

/// The name of the entry at the root of a notes tree.
pub const NAME: &str = "epoch";

/// What was redacted on one ref.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Epoch {
    /// How many redactions there were, at least; 0 when nothing was ever redacted.
    pub number: u64,
    /// The ids of the redacted records.
    pub ids: BTreeSet<String>,
}

impl Epoch {
    /// The epoch of a notes tree; without an entry, or with one that is not here, number 0 and no ids.
    pub fn of_tree(repo: &Repository, tree: Oid) -> Result<Self> {
        let file = notes::root_file(repo, tree, NAME)?;
        Ok(file
            .map(|id| repo.read_blob(id))
            .transpose()?
            .flatten()
            .map_or_else(Epoch::default, |text| Self::parse(&text)))
    }

    /// The epoch of a notes commit; of none: number 0 and no ids.
    pub fn of(repo: &Repository, commit: Option<Oid>) -> Result<Self> {
        commit.map_or_else(|| Ok(Epoch::default()), |commit| Self::of_tree(repo, repo.tree_of(commit)?))
    }

    /// Reads the entry. What is not understood in it is passed over.
    pub fn parse(text: &[u8]) -> Self {
        let text = String::from_utf8_lossy(text);
        let mut words = text.lines();
        let number = words.next().and_then(|line| line.trim().parse().ok()).unwrap_or(0);
        let ids = words.filter_map(crate::model::Id::parse).map(|id| id.as_str().to_owned()).collect();
        Epoch { number, ids }
    }

    /// The entry as it is written.
    pub fn text(&self) -> String {
        self.ids.iter().fold(format!("{}\n", self.number), |text, id| text + id + "\n")
    }

    /// Both together: the greater number, all ids.
    pub fn united(&self, other: &Self) -> Self {
        Epoch { number: self.number.max(other.number), ids: self.ids.union(&other.ids).cloned().collect() }
    }

    /// Whether there never was a redaction.
    pub fn is_empty(&self) -> bool {
        *self == Epoch::default()
    }

    /// The ids that `all` has and this one does not know of: what stands under them here does not count.
    pub fn unaware_of(&self, all: &Self) -> BTreeSet<String> {
        all.ids.difference(&self.ids).cloned().collect()
    }
}

/// How the notes of a ref are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Sets of lines: the data refs.
    Lines,
    /// Blocks: the Markdown ref.
    Blocks,
}

impl Form {
    /// How two versions of a note are united.
    pub fn unite(self) -> notes::Unite {
        match self {
            Form::Lines => lines::union,
            Form::Blocks => blocks::union,
        }
    }

    /// The note without the records of some ids; as it is, byte for byte, when it holds none of them.
    pub fn without(self, note: Vec<u8>, ids: &BTreeSet<String>) -> Vec<u8> {
        if ids.is_empty() {
            return note;
        }
        match self {
            Form::Lines => {
                let counts = |line: &&[u8]| lines::id(line).is_none_or(|id| !ids.contains(id));
                let kept: Vec<&[u8]> = lines::split(&note).filter(counts).collect();
                if kept.len() == lines::split(&note).count() { note } else { lines::canonical(kept) }
            }
            Form::Blocks => blocks::without(&note, ids).unwrap_or(note),
        }
    }
}
