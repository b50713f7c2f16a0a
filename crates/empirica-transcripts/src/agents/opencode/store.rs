//! OpenCode's stores: a database, and an older storage.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::agents::format::{Format, Sessions, Store, StoredSession};
use crate::agents::opencode;
use crate::agents::opencode::{SessionInfo, TOOLS, database, storage};
use crate::error::Result;
use crate::model::{Agent, Transcript};
use crate::read::files::modified;
use crate::read::sqlite::is_database;

pub(crate) static FORMAT: Format = Format {
    agent: Agent::OpenCode,
    tools: TOOLS,
    data: (Some("XDG_DATA_HOME"), ".local/share"),
    sessions: Sessions::Store(Store { is_store, read, read_session, newest, list, size }),
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
        return Some(database::read(path, None, root));
    }
    if let (Some(storage), Some(info)) = (storage::storage_of(path), storage::session(path)) {
        return Some(storage::read(&storage, Some(&info.id), root));
    }
    if storage::is_storage(path) {
        return Some(storage::read(path, None, root));
    }
    let (database, storage) = (path.join(DATABASE), path.join("storage"));
    let in_database = database.is_file().then(|| database::read(&database, None, root));
    let has_read = in_database.as_ref().is_some_and(Result::is_ok);
    if !has_read && storage::is_storage(&storage) {
        return Some(storage::read(&storage, None, root));
    }
    in_database
}

fn read_session(path: &Path, id: &str, root: &Path) -> Result<Transcript> {
    database::read(path, Some(id), Some(root))
}

fn at(ms: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(ms)).unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Those of the database, then those of the older storage that it lacks.
fn list(data: &Path) -> Vec<StoredSession> {
    let base = data.join("opencode");
    let file = base.join(DATABASE);
    let in_database = modified(&file).and_then(|_| database::list(&file).ok()).unwrap_or_default();
    let in_database = in_database.into_iter().map(|info| (file.clone(), info, true));
    let stored = storage::list(&base.join("storage")).into_iter().map(|(path, info)| (path, info, false));
    let mut seen = HashSet::new();
    let all = in_database.chain(stored).filter(|(_, info, _)| info.parent.is_none() && seen.insert(info.id.clone()));
    let session = |(path, info, is_shared): (PathBuf, SessionInfo, bool)| StoredSession {
        path,
        is_shared,
        id: info.id,
        folder: info.folder,
        updated: at(info.updated),
    };
    all.map(session).collect()
}

fn size(session: &StoredSession) -> u64 {
    match session.is_shared {
        true => database::size(&session.path, &session.id),
        false => storage::size(&session.path, &session.id),
    }
}

/// In the database or the older storage, whichever has the newer one.
fn newest(data: &Path, root: &Path) -> Option<(SystemTime, PathBuf)> {
    let base = data.join("opencode");
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
