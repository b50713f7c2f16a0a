//! Blobs read in other threads, each with a view of its own on the object store: the repository's is one thread's.

use std::path::PathBuf;

use crate::git::Oid;
use crate::git::repository::Repository;

/// Where the objects of a repository are; any thread can open them.
#[derive(Debug, Clone)]
pub struct Objects {
    folder: PathBuf,
    hash: gix::hash::Kind,
    replaced: Vec<(Oid, Oid)>,
}

/// One thread's view.
pub struct Blobs {
    store: gix::odb::Handle,
}

impl Objects {
    /// Those of this repository.
    pub fn of(repo: &Repository) -> Self {
        let store = repo.gix().objects.store_ref();
        let replaced = store.replacements().collect();
        Objects { folder: store.path().to_owned(), hash: repo.gix().object_hash(), replaced }
    }

    /// Opens them; `None` when that fails.
    pub fn open(&self) -> Option<Blobs> {
        let options = gix::odb::store::init::Options::default();
        let store = gix::odb::at_opts(&self.folder, self.hash, self.replaced.iter().copied(), options).ok()?;
        Some(Blobs { store })
    }
}

impl Blobs {
    /// The content of a blob into `content`, whatever that held. Returns whether it could be read here. Never fetches.
    pub fn read_into(&self, id: Oid, content: &mut Vec<u8>) -> bool {
        let found = gix::objs::Find::try_find(&self.store, &id, content);
        matches!(found, Ok(Some(found)) if found.kind == gix::objs::Kind::Blob)
    }
}
