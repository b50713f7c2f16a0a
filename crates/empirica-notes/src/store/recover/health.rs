//! Read-only checks: saved tips, writability, damaged objects and obstacles to a flush.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, lock_error};
use crate::format::{lines, record};
use crate::git::refs::locks::add_stale_locks;
use crate::git::remotes::is_partial;
use crate::git::{Oid, notes};
use crate::store::read::objects::missing_note;
use crate::store::write::tips::Tips;
use crate::store::{Health, MARKDOWN_REF, own_refs};

/// What is wrong with the stored notes.
#[derive(Debug, Default)]
pub struct NotesHealth {
    /// The objects that cannot be read, with their ref and the cause: damaged, or missing in a clone that is not partial.
    pub damaged: Vec<(String, Oid, String)>,
    /// The ids of records that only a newer version of this program reads.
    pub newer: BTreeSet<String>,
}

impl Health<'_> {
    /// The last seen or written tips, by full ref name.
    pub fn saved_tips(&self) -> BTreeMap<String, Oid> {
        Tips::load(&self.store.paths).refs
    }

    /// Checks that files can be created in the store's folder, or in its parent if it does not exist. Leaves nothing
    /// behind.
    pub fn probe(&self) -> Result<(), (PathBuf, io::Error)> {
        let folder = self.store_folder();
        probe(folder, ".probe").map_err(|error| (folder.to_owned(), error))
    }

    /// The store's folder, or its parent if it does not exist.
    fn store_folder(&self) -> &Path {
        let state = self.store.paths.state();
        if state.symlink_metadata().is_ok() { state } else { state.parent().unwrap_or(state) }
    }

    /// Reads every note. The contents of an unreadable tree are unknown.
    pub fn notes(&self) -> NotesHealth {
        let repo = self.store.repo;
        let is_whole = !is_partial(repo);
        let mut out = NotesHealth::default();
        let (mut note, mut newer) = (Vec::new(), BTreeSet::new());
        for name in own_refs() {
            let Ok(Some(tip)) = repo.find_ref(&name) else { continue };
            let Ok(tree) = repo.tree_of(tip) else { continue };
            let mut report = |id: Oid, error: &Error| {
                let causes: Vec<String> = error.causes().iter().map(|cause| cause.to_string()).collect();
                out.damaged.push((name.clone(), id, causes.join(": ")));
            };
            let notes = match notes::entries(repo, tree) {
                Ok(entries) => entries.notes,
                Err(error) => {
                    report(tree, &error);
                    continue;
                }
            };
            for (_, blob) in notes {
                match repo.read_blob_into(blob, &mut note) {
                    Ok(true) if name == MARKDOWN_REF => {}
                    Ok(true) => newer.extend(lines::split(&note).filter_map(record::newer)),
                    Ok(false) if is_whole => report(blob, &missing_note(blob)),
                    Ok(false) => {}
                    Err(error) => report(blob, &error),
                }
            }
        }
        NotesHealth { newer, ..out }
    }

    /// The first obstacle to a flush that can be found without one: an unwritable folder or object store, a held lock,
    /// or a ref that is locked, broken, or in conflict with another name. `None` if there is none.
    pub fn obstacle(&self) -> Option<Error> {
        if let Err((folder, error)) = self.probe() {
            return Some(Error::storage(format!("cannot write {}", folder.display())).on_path(&folder, error));
        }
        let lock = self.store.paths.lock();
        if let Ok(file) = File::open(&lock)
            && let Err(TryLockError::WouldBlock) = file.try_lock_shared()
        {
            return Some(crate::store::log::lock::held(&lock));
        }
        self.unwritable().or_else(|| own_refs().iter().find_map(|name| self.ref_refused(name)))
    }

    /// The error for file locks, git's objects or the folders of the refs if a flush could not use them; `None` if it could.
    pub fn unwritable(&self) -> Option<Error> {
        self.locks_refused().or_else(|| self.objects_refused()).or_else(|| self.refs_refused())
    }

    fn locks_refused(&self) -> Option<Error> {
        let folder = self.store_folder();
        let path = folder.join(format!(".probe.{}", crate::store::files::unique()));
        let tried = File::create_new(&path).and_then(|file| match file.try_lock() {
            Err(TryLockError::Error(error)) => Err(lock_error(error)),
            _ => fs::remove_file(&path),
        });
        let error = tried.err()?;
        // if this fails, a later flush sweeps it
        let _ = fs::remove_file(&path);
        Some(Error::storage("cannot lock the log").on_path(folder, error))
    }

    fn refs_refused(&self) -> Option<Error> {
        let mut folder = self.store.repo.common_dir();
        for name in ["refs", "notes", "empirica", "data"] {
            folder.push(name);
            // a missing folder is created in its parent; reftables have no folders
            if !folder.is_dir() {
                break;
            }
            if let Err(error) = probe(&folder, ".probe") {
                let out = Error::storage("cannot write the refs of the notes");
                return Some(out.on_path(&folder, error));
            }
        }
        None
    }

    fn objects_refused(&self) -> Option<Error> {
        let objects = self.store.repo.objects();
        let refused = |path: &Path, error| Error::storage("cannot write the object store").on_path(path, error);
        let entries = match fs::read_dir(&objects) {
            Ok(entries) => entries,
            Err(error) => return Some(refused(&objects, error)),
        };
        let is_fan_out = |path: &PathBuf| path.file_name().is_some_and(|name| name.len() == 2);
        let blocking = entries.flatten().map(|entry| entry.path()).find(|path| is_fan_out(path) && !path.is_dir());
        if let Some(path) = blocking {
            return Some(refused(&path.join("object"), io::ErrorKind::NotADirectory.into()));
        }
        // named like git's temporary objects, so that git removes it after a kill
        probe(&objects, "tmp_obj_empirica").err().map(|error| refused(&objects, error))
    }

    fn ref_refused(&self, name: &str) -> Option<Error> {
        let repo = self.store.repo;
        let tip = match repo.find_ref(name) {
            Ok(tip) => tip,
            Err(error) => return Some(error),
        };
        if let Some(tip) = tip.filter(|tip| !self.store.recovery().is_readable(*tip)) {
            return Some(repo.unreadable_tip(name, tip));
        }
        let locks = repo.held_locks(&[name], false);
        if !locks.is_empty() {
            return Some(add_stale_locks(Error::storage(format!("cannot update {name}: it is locked")), &locks));
        }
        let below = repo.list_refs(&format!("{name}/")).unwrap_or_default();
        let (other, _) = below.first()?;
        Some(
            Error::storage(format!("cannot create {name}"))
                .reason(format!("its name conflicts with the ref {other}"))
                .suggest("List the refs; doctor names the commands that rename that one.")
                .command(format!("git for-each-ref {}", crate::store::PREFIX)),
        )
    }
}

/// Writes a file in a folder and removes it.
fn probe(folder: &Path, name: &str) -> io::Result<()> {
    let path = folder.join(format!("{name}.{}", crate::store::files::unique()));
    let written = File::create_new(&path).and_then(|mut file| file.write_all(b"probe\n"));
    let removed = fs::remove_file(&path);
    written.and(removed)
}
