//! Looks notes up in the folders of a notes tree: one for each level of fan-out.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use gix::objs::FindExt;
use gix::objs::tree::EntryMode;

use crate::git::Oid;
use crate::git::notes::difference::is_hex;
use crate::git::repository::Repository;

/// The folders that were read of a notes tree.
pub(super) struct Folders {
    root: Oid,
    folders: HashMap<Oid, Folder>,
}

pub(super) enum Found {
    Note(Option<Oid>),
    /// A folder is out of order, has a name twice or in upper case, or has the note both there and below: git writes none of these.
    IllFormed,
}

impl Folders {
    /// Fails if the tree `root` cannot be read.
    pub fn new(repo: &Repository, root: Oid) -> gix::error::Result<Self> {
        let mut folders = HashMap::new();
        if root != repo.empty_tree() {
            folders.insert(root, Folder::read(repo, root)?);
        }
        Ok(Folders { root, folders })
    }

    pub fn root(&self) -> Oid {
        self.root
    }

    /// The blob of the note of `target`.
    pub fn find(&mut self, repo: &Repository, target: Oid) -> gix::error::Result<Found> {
        let hex = target.to_string();
        let mut rest = hex.as_bytes();
        let mut id = self.root;
        if id == repo.empty_tree() {
            return Ok(Found::Note(None));
        }
        loop {
            let folder = match self.folders.entry(id) {
                Entry::Occupied(read) => read.into_mut(),
                Entry::Vacant(place) => place.insert(Folder::read(repo, id)?),
            };
            if !folder.is_well_formed {
                return Ok(Found::IllFormed);
            }
            let note = folder.entry(rest).filter(|entry| entry.mode.is_blob()).map(|entry| entry.id);
            let below = folder.entry(&rest[..2]).filter(|entry| entry.mode.is_tree() && rest.len() > 2);
            (id, rest) = match (note, below) {
                (Some(_), Some(_)) => return Ok(Found::IllFormed),
                (None, Some(below)) => (below.id, &rest[2..]),
                (note, None) => return Ok(Found::Note(note)),
            };
        }
    }
}

struct Folder {
    /// All names, one after the other.
    names: Vec<u8>,
    /// In the order of their names, if `is_well_formed`.
    entries: Vec<FolderEntry>,
    is_well_formed: bool,
}

struct FolderEntry {
    name: Range<usize>,
    mode: EntryMode,
    id: Oid,
}

impl Folder {
    fn read(repo: &Repository, id: Oid) -> gix::error::Result<Self> {
        let mut buffer = Vec::new();
        let tree = repo.find_tree(&id, &mut buffer)?;
        let mut folder =
            Folder { names: Vec::new(), entries: Vec::with_capacity(tree.entries.len()), is_well_formed: true };
        let mut before: &[u8] = b"";
        for entry in &tree.entries {
            let name: &[u8] = entry.filename;
            // git reads digits of both cases
            let is_of_note = || is_hex(&name.to_ascii_lowercase());
            folder.is_well_formed &= before < name && !(name.iter().any(u8::is_ascii_uppercase) && is_of_note());
            before = name;
            let begin = folder.names.len();
            folder.names.extend_from_slice(name);
            let name = begin..folder.names.len();
            folder.entries.push(FolderEntry { name, mode: entry.mode, id: entry.oid.to_owned() });
        }
        Ok(folder)
    }

    fn entry(&self, name: &[u8]) -> Option<&FolderEntry> {
        let at = self.entries.binary_search_by(|entry| self.names[entry.name.clone()].cmp(name)).ok()?;
        self.entries.get(at)
    }
}
