//! Read-only lookup of single notes, tree by tree.

use gix::objs::TreeRefIter;

use crate::error::Result;
use crate::git::notes::{Unite, normalised};
use crate::git::objects::unreadable;
use crate::git::repository::Repository;
use crate::git::{Oid, parse_oid};

/// The notes of a notes commit, opened lazily.
pub struct Notes<'r> {
    repo: &'r Repository,
    tree: Oid,
    root: Folder,
    unite: Unite,
}

/// A tree of the fan-out.
#[derive(Default)]
struct Folder {
    /// Its subtrees, sorted by the next byte of the annotated ids.
    fans: Vec<(u8, Fan)>,
    /// Its notes, sorted by annotated object.
    notes: Vec<(Oid, Oid)>,
}

enum Fan {
    Closed(Oid),
    Open(Box<Folder>),
}

impl<'r> Notes<'r> {
    /// Opens the notes of a commit; `None` has none. `unite` merges the notes of an object that an ill-formed tree
    /// lists twice (flat and fanned out), which git cannot read.
    pub fn open(repo: &'r Repository, commit: Option<Oid>, unite: Unite) -> Result<Self> {
        let tree = match commit {
            Some(id) => repo.tree_of(id)?,
            None => repo.empty_tree(),
        };
        Ok(Notes { repo, tree, root: Folder::read(repo, tree, "")?, unite })
    }

    /// The tree of the commit.
    pub fn tree(&self) -> Oid {
        self.tree
    }

    /// The blob of the note of `target`, which may be missing; `None` without a note.
    pub fn blob(&mut self, target: Oid) -> Result<Option<Oid>> {
        let mut found = Vec::new();
        self.root.find(self.repo, target, 0, &mut found)?;
        if found.len() > 1 {
            let tree = normalised(self.repo, self.tree, self.unite)?;
            self.root = Folder::read(self.repo, tree.root_tree_id(), "")?;
            found.clear();
            self.root.find(self.repo, target, 0, &mut found)?;
        }
        Ok(found.pop())
    }

    /// The content of the note of `target`; `None` without a note, or if its blob is missing.
    pub fn get(&mut self, target: Oid) -> Result<Option<Vec<u8>>> {
        match self.blob(target)? {
            Some(blob) => self.repo.read_blob(blob),
            None => Ok(None),
        }
    }
}

impl Folder {
    /// Reads a tree for ids with the prefix `hex`; skips entries other than notes and fan-out.
    fn read(repo: &Repository, tree: Oid, hex: &str) -> Result<Self> {
        let mut out = Folder::default();
        if tree == repo.empty_tree() {
            return Ok(out);
        }
        let content = repo.tree(tree).map_err(|error| unreadable(tree, error))?;
        let mut name = String::from(hex);
        for entry in TreeRefIter::from_bytes(&content.data, tree.kind()) {
            let entry = entry.map_err(|error| unreadable(tree, error))?;
            let Ok(rest) = std::str::from_utf8(entry.filename) else { continue };
            let is_hex = rest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
            let length = hex.len() + rest.len();
            if !is_hex {
                continue;
            }
            if entry.mode.is_tree() && rest.len() == 2 && length < repo.hex_len() {
                let byte = u8::from_str_radix(rest, 16).unwrap_or_default();
                out.fans.push((byte, Fan::Closed(entry.oid.to_owned())));
            } else if entry.mode.is_blob() && length == repo.hex_len() {
                name.truncate(hex.len());
                name.push_str(rest);
                out.notes.extend(parse_oid(&name).map(|target| (target, entry.oid.to_owned())));
            }
        }
        // already sorted, except in trees that git did not write
        out.fans.sort_by_key(|(byte, _)| *byte);
        out.notes.sort_unstable();
        Ok(out)
    }

    /// Adds all note blobs of `target`, whose first `depth` bytes lead to this tree.
    fn find(&mut self, repo: &Repository, target: Oid, depth: usize, found: &mut Vec<Oid>) -> Result<()> {
        let start = self.notes.partition_point(|(known, _)| *known < target);
        found.extend(self.notes[start..].iter().take_while(|(known, _)| *known == target).map(|(_, blob)| *blob));
        let Some(byte) = target.as_bytes().get(depth) else { return Ok(()) };
        let start = self.fans.partition_point(|(known, _)| known < byte);
        for (_, fan) in self.fans[start..].iter_mut().take_while(|(known, _)| known == byte) {
            if let Fan::Closed(tree) = fan {
                let hex = target.to_hex_with_len(2 * (depth + 1)).to_string();
                *fan = Fan::Open(Box::new(Folder::read(repo, *tree, &hex)?));
            }
            if let Fan::Open(folder) = fan {
                folder.find(repo, target, depth + 1, found)?;
            }
        }
        Ok(())
    }
}
