//! OpenCode's stores: a database, and an older storage.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::agents::format::{Format, Sessions, Store};
use crate::agents::opencode;
use crate::agents::opencode::{TOOLS, database, storage};
use crate::error::Result;
use crate::model::{Agent, Transcript};
use crate::read::files::modified;
use crate::read::sqlite::is_database;

pub(crate) static FORMAT: Format = Format {
    agent: Agent::OpenCode,
    tools: TOOLS,
    data: (Some("XDG_DATA_HOME"), ".local/share"),
    sessions: Sessions::Store(Store { is_store, read, newest }),
};

/// The database in a data folder.
const DATABASE: &str = "opencode.db";

fn is_store(path: &Path) -> bool {
    let is_storage = storage::is_storage(path) || storage::is_storage(&path.join("storage"));
    let database = if path.is_dir() { path.join(DATABASE) } else { path.to_owned() };
    is_storage
        || is_database(&database) && database::list(&database).is_ok()
        || storage::storage_of(path).is_some() && storage::session(path).is_some()
}

fn read(path: &Path, root: Option<&Path>) -> Option<Result<Transcript>> {
    if is_database(path) {
        return Some(database::read(path, root));
    }
    if let (Some(storage), Some(info)) = (storage::storage_of(path), storage::session(path)) {
        return Some(storage::read(&storage, Some(&info.id), root));
    }
    if storage::is_storage(path) {
        return Some(storage::read(path, None, root));
    }
    let (database, storage) = (path.join(DATABASE), path.join("storage"));
    let in_database = database.is_file().then(|| database::read(&database, root));
    let has_read = in_database.as_ref().is_some_and(Result::is_ok);
    if !has_read && storage::is_storage(&storage) {
        return Some(storage::read(&storage, None, root));
    }
    in_database
}

/// In the database or the older storage, whichever has the newer one.
fn newest(data: &Path, root: &Path) -> Option<(SystemTime, PathBuf)> {
    let base = data.join("opencode");
    let at = |ms: u64| SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(ms)).unwrap_or(SystemTime::UNIX_EPOCH);
    let file = base.join(DATABASE);
    let in_database = modified(&file).and_then(|_| database::list(&file).ok()).unwrap_or_default();
    let newest = opencode::newest(&in_database, Some(root)).map(|info| (at(info.updated), file));
    let (files, stored): (Vec<PathBuf>, Vec<_>) = storage::list(&base.join("storage")).into_iter().unzip();
    let newest_stored = opencode::newest(&stored, Some(root)).and_then(|info| {
        let index = stored.iter().position(|other| other == info)?;
        Some((at(info.updated), files.get(index)?.clone()))
    });
    newest.into_iter().chain(newest_stored).max()
}
