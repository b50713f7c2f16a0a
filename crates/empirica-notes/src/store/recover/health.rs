//! What can be looked at from outside without changing anything: what is remembered, what can be written, what is in the way.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::git::refs::locks::left_behind;
use crate::git::remotes::is_partial;
use crate::git::{Oid, notes};
use crate::store::write::tips::Tips;
use crate::store::{Store, own_refs};

impl Store<'_> {
    /// The tips we last saw or wrote, by full ref name.
    pub fn remembered(&self) -> BTreeMap<String, Oid> {
        Tips::load(&self.paths).refs
    }

    /// Whether files can be put into the folder of the store, or where it will be made. Leaves nothing behind.
    pub fn probe(&self) -> Result<(), (PathBuf, io::Error)> {
        let state = self.paths.state();
        let folder = if state.symlink_metadata().is_ok() { state } else { state.parent().unwrap_or(state) };
        probe(folder, ".probe").map_err(|error| (folder.to_owned(), error))
    }

    /// The objects of our notes that cannot be read, with the ref they belong to and why: damaged, or not here where nothing was
    /// left out on purpose. Of a tree that cannot be read nobody knows what it holds.
    pub fn damaged(&self) -> Vec<(String, Oid, String)> {
        let is_whole = !is_partial(self.repo);
        let mut out = Vec::new();
        for name in own_refs() {
            let Ok(Some(tip)) = self.repo.find_ref(&name) else { continue };
            let Ok(tree) = self.repo.tree_of(tip) else { continue };
            let mut say = |id: Oid, error: &Error| {
                let causes: Vec<String> = error.causes().iter().map(|cause| cause.to_string()).collect();
                out.push((name.clone(), id, causes.join(": ")));
            };
            let notes = match notes::entries(self.repo, tree) {
                Ok(entries) => entries.notes,
                Err(error) => {
                    say(tree, &error);
                    continue;
                }
            };
            for (_, blob) in notes {
                match self.repo.read_blob(blob) {
                    Ok(Some(_)) => {}
                    Ok(None) if is_whole => say(blob, &crate::store::write::merge::absent(blob)),
                    Ok(None) => {}
                    Err(error) => say(blob, &error),
                }
            }
        }
        out
    }

    /// What would keep a flush from writing the notes, as far as it can be seen without one: the first of a folder or object
    /// store that cannot be written, a lock that is held, a ref that is locked, broken, or has another in its way. `None`
    /// when nothing of that is so.
    pub fn obstacle(&self) -> Option<Error> {
        if let Err((folder, error)) = self.probe() {
            return Some(Error::storage(format!("{} cannot be written", folder.display())).on_path(&folder, error));
        }
        let lock = self.paths.lock();
        if let Ok(file) = File::open(&lock)
            && let Err(TryLockError::WouldBlock) = file.try_lock_shared()
        {
            return Some(crate::store::log::lock::held(&lock));
        }
        self.unwritable().or_else(|| own_refs().iter().find_map(|name| self.ref_refused(name)))
    }

    /// What of git's own cannot be written that a flush writes: the objects, or the folders of our refs. `None` when all can be.
    pub fn unwritable(&self) -> Option<Error> {
        self.objects_refused().or_else(|| self.refs_refused())
    }

    fn refs_refused(&self) -> Option<Error> {
        let mut folder = self.repo.common_dir();
        for name in ["refs", "notes", "empirica", "data"] {
            folder.push(name);
            // one that is not there is made in the one before; tables are no folders
            if !folder.is_dir() {
                break;
            }
            if let Err(error) = probe(&folder, ".probe") {
                let out = Error::storage("the refs of the notes cannot be written");
                return Some(out.on_path(&folder, error));
            }
        }
        None
    }

    fn objects_refused(&self) -> Option<Error> {
        let objects = self.repo.objects();
        let refused = |path: &Path, error| Error::storage("the object store cannot be written").on_path(path, error);
        let entries = match fs::read_dir(&objects) {
            Ok(entries) => entries,
            Err(error) => return Some(refused(&objects, error)),
        };
        let is_fan_out = |path: &PathBuf| path.file_name().is_some_and(|name| name.len() == 2);
        let in_the_way = entries.flatten().map(|entry| entry.path()).find(|path| is_fan_out(path) && !path.is_dir());
        if let Some(path) = in_the_way {
            return Some(refused(&path.join("object"), io::ErrorKind::NotADirectory.into()));
        }
        // named as git names what it has not finished, so that it is swept up when we are killed
        probe(&objects, "tmp_obj_empirica").err().map(|error| refused(&objects, error))
    }

    fn ref_refused(&self, name: &str) -> Option<Error> {
        let tip = match self.repo.find_ref(name) {
            Ok(tip) => tip,
            Err(error) => return Some(error),
        };
        if let Some(tip) = tip.filter(|tip| !self.is_readable(*tip)) {
            return Some(self.repo.lost_tip(name, tip));
        }
        if let Some(lock) = self.repo.ref_lock(&[name]) {
            return Some(left_behind(Error::storage(format!("{name} is locked")), &lock));
        }
        let below = self.repo.list_refs(&format!("{name}/")).unwrap_or_default();
        let (other, _) = below.first()?;
        Some(
            Error::storage(format!("{name} cannot be made"))
                .reason(format!("the ref {other} stands where it needs the name"))
                .suggest("See which refs are there; doctor names the commands that rename it.")
                .command(format!("git for-each-ref {}", crate::store::PREFIX)),
        )
    }
}

/// Puts a file with something in it into a folder, and removes it.
fn probe(folder: &Path, name: &str) -> io::Result<()> {
    let path = folder.join(format!("{name}.{}", crate::store::files::unique()));
    let written = File::create_new(&path).and_then(|mut file| file.write_all(b"probe\n"));
    let removed = fs::remove_file(&path);
    written.and(removed)
}
