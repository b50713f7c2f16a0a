//! Reads blobs in other threads, each with its own handle on the object store, as the repository's is bound to one
//! thread.

use std::path::PathBuf;

use crate::git::Oid;
use crate::git::objects::delta_bases::DeltaBases;
use crate::git::objects::limits::{MAX_ALLOCATED_BYTES, MAX_OBJECT_BYTES};
use crate::git::repository::Repository;

/// The location of a repository's objects, which any thread can open.
#[derive(Debug, Clone)]
pub struct Objects {
    folder: PathBuf,
    hash: gix::hash::Kind,
    replaced: Vec<(Oid, Oid)>,
}

/// One thread's handle.
pub struct Blobs {
    store: gix::odb::Handle,
}

impl Objects {
    /// The objects of a repository.
    pub fn of(repo: &Repository) -> Self {
        let store = repo.gix().objects.store_ref();
        let replaced = store.replacements().collect();
        Objects { folder: store.path().to_owned(), hash: repo.gix().object_hash(), replaced }
    }

    /// Opens a handle; `None` on failure.
    pub fn open(&self) -> Option<Blobs> {
        let options = gix::odb::store::init::Options {
            alloc_limit_bytes: usize::try_from(MAX_ALLOCATED_BYTES).ok(),
            ..Default::default()
        };
        let mut store = gix::odb::at_opts(&self.folder, self.hash, self.replaced.iter().copied(), options).ok()?;
        store.set_pack_cache(|| Box::new(DeltaBases::default()));
        Some(Blobs { store })
    }
}

impl Blobs {
    /// Reads a blob, replacing `content`. Returns whether it was readable, which one above [`MAX_OBJECT_BYTES`] is not. Never fetches.
    pub fn read_into(&self, id: Oid, content: &mut Vec<u8>) -> bool {
        let found = gix::objs::Find::try_find(&self.store, &id, content);
        let is_read = |found: gix::objs::Data<'_>| {
            found.kind == gix::objs::Kind::Blob && found.data.len() as u64 <= MAX_OBJECT_BYTES
        };
        found.ok().flatten().is_some_and(is_read)
    }
}
