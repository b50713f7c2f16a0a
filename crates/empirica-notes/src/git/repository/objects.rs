//! Reads and writes objects; fetches trees missing from a partial clone.

use std::path::PathBuf;

use crate::error::{Error, Result, empirica, io_cause, quote};
use crate::git::Oid;
use crate::git::objects::limits::MAX_OBJECT_BYTES;
use crate::git::objects::partial_clone::fetch_trees;
use crate::git::objects::unreadable;
use crate::git::refs::Identity;
use crate::git::remotes::is_partial;
use crate::git::repository::{FALLBACK, Repository};

/// Most trees kept in memory. More are read only by a command that reads many notes, most of them once.
const FIRST_TREES: usize = 64;

impl Repository {
    /// The content of a blob; `None` if it is missing.
    pub fn read_blob(&self, id: Oid) -> Result<Option<Vec<u8>>> {
        let mut content = Vec::new();
        Ok(self.read_blob_into(id, &mut content)?.then_some(content))
    }

    /// The content of a note; `None` if it is missing or unreadable. Remembers unreadable ones, and missing ones unless
    /// this is a partial clone.
    pub fn note(&self, id: Oid) -> Option<Vec<u8>> {
        let found = self.read_blob(id);
        if !matches!(found, Ok(Some(_))) && (found.is_err() || !is_partial(self)) {
            self.unreadable.borrow_mut().insert(id);
        }
        found.ok().flatten()
    }

    /// The size of an object, in bytes, without reading it; 0 if it is missing or damaged.
    pub(crate) fn object_size(&self, id: Oid) -> u64 {
        self.inner.try_find_header(id).ok().flatten().map_or(0, |header| header.size())
    }

    /// Reads an object. Fails above [`MAX_OBJECT_BYTES`].
    fn find<'a>(&self, id: &gix::oid, buffer: &'a mut Vec<u8>) -> gix::error::Result<Option<gix::objs::Data<'a>>> {
        match gix::objs::Find::try_find(&self.inner, id, buffer) {
            // gix says that it allocates no more, but not the size
            Err(error) => Err(self.check_size(id).err().unwrap_or(error)),
            Ok(Some(object)) if object.data.len() as u64 > MAX_OBJECT_BYTES => Err(too_large(object.data.len() as u64)),
            found => found,
        }
    }

    /// Fails for an object above [`MAX_OBJECT_BYTES`].
    pub(crate) fn check_size(&self, id: &gix::oid) -> gix::error::Result<()> {
        let size = self.object_size(id.to_owned());
        if size <= MAX_OBJECT_BYTES { Ok(()) } else { Err(too_large(size)) }
    }

    /// As [`Self::read_blob`], replacing `content`. Returns whether the blob exists. Fails above [`MAX_OBJECT_BYTES`].
    pub fn read_blob_into(&self, id: Oid, content: &mut Vec<u8>) -> Result<bool> {
        let found = self.find(&id, content).map_err(|error| unreadable(id, error))?;
        Ok(found.is_some_and(|object| object.kind == gix::objs::Kind::Blob))
    }

    fn store_object(&self, kind: gix::objs::Kind, bytes: &[u8]) -> gix::error::Result<Oid> {
        crate::fault::point("object: to be written").map_err(gix::Error::from_error)?;
        let written = gix::objs::Write::write_buf(&self.inner, kind, bytes);
        crate::fault::step("object: written");
        written
    }

    /// Stores a blob. Refuses one that would not be read.
    pub fn write_blob(&self, bytes: &[u8]) -> Result<Oid> {
        if bytes.len() as u64 > MAX_OBJECT_BYTES {
            return Err(Error::refused(format!("cannot write a note of {} MiB", bytes.len() >> 20))
                .reason(format!("no more than {} are read", MAX_OBJECT_BYTES >> 20))
                .suggest("See which note it is, and who wrote most of it.")
                .command(empirica("doctor")));
        }
        self.store_object(gix::objs::Kind::Blob, bytes).map_err(|error| self.unwritable(error))
    }

    /// The tree of a commit.
    pub fn tree_of(&self, commit: Oid) -> Result<Oid> {
        if let Some(tree) = self.commit_trees.borrow().get(&commit) {
            return Ok(*tree);
        }
        let read = || {
            self.check_size(&commit)?;
            Ok(self.inner.find_commit(commit)?.tree_id()?.detach())
        };
        let tree = read().map_err(|error: gix::Error| unreadable(commit, error))?;
        self.commit_trees.borrow_mut().insert(commit, tree);
        Ok(tree)
    }

    /// Stores a commit of `tree` with `parents`, by `identity`, now, and checks that the objects exist.
    pub fn write_commit(&self, tree: Oid, parents: Vec<Oid>, message: &str, identity: &Identity) -> Result<Oid> {
        self.write_signed(tree, parents, message, identity.signature())
    }

    /// As [`Self::write_commit`], the same in every clone: by this program, at `seconds` since 1970, parents sorted.
    pub fn write_merge(&self, tree: Oid, mut parents: Vec<Oid>, message: &str, seconds: i64) -> Result<Oid> {
        parents.sort_unstable();
        let signature = gix::actor::Signature {
            name: FALLBACK.0.into(),
            email: FALLBACK.1.into(),
            time: gix::date::Time { seconds, offset: 0 },
        };
        self.write_signed(tree, parents, message, signature)
    }

    fn write_signed(
        &self,
        tree: Oid,
        parents: Vec<Oid>,
        message: &str,
        signature: gix::actor::Signature,
    ) -> Result<Oid> {
        let commit = gix::objs::Commit {
            tree,
            parents: parents.into_iter().collect(),
            author: signature.clone(),
            committer: signature,
            encoding: None,
            message: message.into(),
            extra_headers: Vec::new(),
        };
        let id = gix::objs::Write::write(self, &commit).map_err(|error| self.unwritable(error))?;
        if !self.has_object(id) || !self.has_object(tree) {
            return Err(Error::storage("cannot find the notes commit just written")
                .reason("another process removes objects meanwhile, or the file system loses them")
                .suggest("Stop the process that prunes the repository, then write again.")
                .command(empirica("flush")));
        }
        Ok(id)
    }

    /// The folder objects are written to.
    pub fn objects(&self) -> PathBuf {
        self.absolute(self.inner.objects.store_ref().path())
    }

    pub(crate) fn unwritable(&self, error: gix::Error) -> Error {
        let out = Error::storage("cannot write the object store");
        let out = match io_cause(&error) {
            Some(cause) => out.about_path(&self.objects(), cause),
            None => out
                .suggest("Check the free space, and who may write there.")
                .command(format!("ls -ld {}", quote(&self.objects().to_string_lossy()))),
        };
        out.caused_by(error)
    }

    /// The date of a commit, in seconds since 1970.
    pub fn commit_seconds(&self, commit: Oid) -> Result<i64> {
        // a date that is none counts as 0, as for git
        let read = || Ok(self.inner.find_commit(commit)?.time().map_or(0, |time| time.seconds));
        read().map_err(|error: gix::Error| unreadable(commit, error))
    }

    /// The dates of commits, in seconds since 1970, 0 for those that are missing; looks for a missing one only in the packs that are
    /// known, as there may be any number of them.
    pub fn commit_dates(&self) -> impl Fn(Oid) -> i64 + use<> {
        let mut repo = self.inner.clone();
        repo.objects.refresh_never();
        move |commit| {
            let found = repo.find_commit(commit).ok();
            found.and_then(|commit| commit.time().ok()).map_or(0, |time| time.seconds)
        }
    }

    /// Stores pending objects by git, if they are kept in memory. Required before another process gets their ids.
    pub fn store_objects(&self) -> Result<()> {
        let pending = self.inner.objects.reset_object_memory();
        let outcome = pending.map_or(Ok(()), |objects| crate::git::objects::pack::store(self, &objects));
        crate::fault::step("objects: stored by git");
        outcome
    }

    /// Forbids fetching objects missing from a partial clone.
    pub fn stay_offline(&self) {
        self.is_offline.set(true);
    }

    /// Fetches the note trees missing from a partial clone, in one fetch.
    pub fn complete_trees(&self) {
        fetch_trees(self, None);
    }
}

fn too_large(size: u64) -> gix::Error {
    let (size, limit) = (size >> 20, MAX_OBJECT_BYTES >> 20);
    gix::Error::from_error(std::io::Error::new(
        std::io::ErrorKind::FileTooLarge,
        format!("it has {size} MiB, and no more than {limit} are read"),
    ))
}

impl gix::objs::Find for Repository {
    fn try_find<'a>(&self, id: &gix::oid, buffer: &'a mut Vec<u8>) -> gix::error::Result<Option<gix::objs::Data<'a>>> {
        // only note trees are looked up here
        if let Some(tree) = self.first_trees.borrow().get(id) {
            buffer.clear();
            buffer.extend_from_slice(tree);
            return Ok(Some(gix::objs::Data { kind: gix::objs::Kind::Tree, object_hash: id.kind(), data: buffer }));
        }
        fetch_trees(self, Some(id.to_owned()));
        let found = self.find(id, buffer)?;
        let mut first = self.first_trees.borrow_mut();
        if let Some(tree) = found.as_ref().filter(|found| found.kind == gix::objs::Kind::Tree)
            && first.len() < FIRST_TREES
        {
            first.insert(id.to_owned(), tree.data.to_vec());
        }
        Ok(found)
    }
}

impl gix::objs::Write for Repository {
    fn write_buf_with_known_id(&self, kind: gix::objs::Kind, from: &[u8], _id: Oid) -> gix::error::Result<Oid> {
        self.store_object(kind, from)
    }

    fn write_stream(&self, kind: gix::objs::Kind, _size: u64, from: &mut dyn std::io::Read) -> gix::error::Result<Oid> {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).map_err(gix::Error::from_error)?;
        self.store_object(kind, &bytes)
    }

    fn write_stream_with_known_id(
        &self,
        kind: gix::objs::Kind,
        size: u64,
        from: &mut dyn std::io::Read,
        _id: Oid,
    ) -> gix::error::Result<Oid> {
        gix::objs::Write::write_stream(self, kind, size, from)
    }
}
