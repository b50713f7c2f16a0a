//! What can be looked at from outside without changing anything.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use super::Store;
use super::tips::Tips;
use crate::git::Oid;

impl Store<'_> {
    /// The tips we last saw or wrote, by full ref name.
    pub fn remembered(&self) -> BTreeMap<String, Oid> {
        Tips::load(&self.paths).refs
    }

    /// Whether files can be put into the folder of the store, or where it will be made. Leaves nothing behind.
    pub fn probe(&self) -> Result<(), (PathBuf, io::Error)> {
        let state = self.paths.state();
        let folder = if state.symlink_metadata().is_ok() { state } else { state.parent().unwrap_or(state) };
        let probe = folder.join(format!(".probe.{}", std::process::id()));
        let made = std::fs::File::create_new(&probe).and_then(|_| std::fs::remove_file(&probe));
        made.map_err(|error| (folder.to_owned(), error))
    }
}
