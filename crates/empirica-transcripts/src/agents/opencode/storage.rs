//! OpenCode's older storage: one file per session, message and part. Ids from files are compared with names, never
//! joined to a path.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::agents::opencode;
use crate::agents::opencode::{SessionInfo, read_document};
use crate::error::{Error, Result};
use crate::model::Transcript;
use crate::read::files::entries;
use crate::read::lenient::{Count, Text, lenient};
use crate::read::rows::LONGEST;
use crate::summary::fold::Fold;

/// The size limit of a session file, in bytes.
const SESSION: u64 = 1 << 20;

lenient! {
    /// A creation time, in milliseconds since 1970.
    Made {
        created: Count = "created",
    }

    /// The keys that order messages.
    Order {
        id: Text<'a> = "id",
        time: Made<'a> = "time",
    }
}

/// The JSON files of a folder, sorted by name.
fn documents(folder: &Path) -> impl Iterator<Item = PathBuf> {
    entries(folder).into_iter().filter(|path| path.extension().is_some_and(|end| end == "json") && path.is_file())
}

/// Whether a folder has the layout of a storage.
pub fn is_storage(folder: &Path) -> bool {
    folder.join("session").is_dir() && folder.join("message").is_dir()
}

/// The session in a file; `None` if it is too large or no session.
pub fn session(path: &Path) -> Option<SessionInfo> {
    let small = std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= SESSION);
    let bytes = small.then(|| std::fs::read(path).ok())??;
    SessionInfo::parse(String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}'))
}

/// The storage that contains a session file.
pub fn storage_of(path: &Path) -> Option<PathBuf> {
    let path = path.canonicalize().ok()?;
    let sessions = path.parent()?.parent()?;
    let storage = sessions.parent()?;
    (sessions.file_name()? == "session" && is_storage(storage)).then(|| storage.to_owned())
}

/// All session files, with their sessions.
pub fn list(storage: &Path) -> Vec<(PathBuf, SessionInfo)> {
    let files =
        entries(&storage.join("session")).into_iter().flat_map(|project| documents(&project).collect::<Vec<_>>());
    files.filter_map(|path| session(&path).map(|info| (path, info))).collect()
}

/// The length of a session's messages and their parts, in bytes; `path` is its file.
pub fn size(path: &Path, id: &str) -> u64 {
    let Some(storage) = storage_of(path) else { return 0 };
    let lengths = |folder: &Path| documents(folder).filter_map(|file| Some(file.metadata().ok()?.len())).sum::<u64>();
    // the id is compared, not joined
    let folders = entries(&storage.join("message"))
        .into_iter()
        .filter(|folder| folder.file_name().is_some_and(|name| name == id));
    let messages: Vec<PathBuf> = folders.collect();
    let stems =
        messages.iter().flat_map(|folder| documents(folder)).filter_map(|file| Some(file.file_stem()?.to_owned()));
    let parts = stems.map(|stem| storage.join("part").join(stem));
    messages.iter().map(|folder| lengths(folder)).sum::<u64>() + parts.map(|folder| lengths(&folder)).sum::<u64>()
}

/// Reads the session `id` of a storage, else the newest one made in `root`, with its subagents.
pub fn read(storage: &Path, id: Option<&str>, root: Option<&Path>) -> Result<Transcript> {
    let sessions: Vec<SessionInfo> = list(storage).into_iter().map(|(_, info)| info).collect();
    let main = match id {
        Some(id) => sessions.iter().find(|info| info.id == id),
        None => opencode::newest(&sessions, root),
    };
    let Some(main) = main else { return Err(Error::no_session(storage, root)) };
    let by_name = |kind: &str| -> HashMap<String, PathBuf> {
        let folders = entries(&storage.join(kind)).into_iter();
        folders.filter_map(|path| Some((path.file_name()?.to_str()?.to_owned(), path))).collect()
    };
    let (messages, parts) = (by_name("message"), by_name("part"));
    opencode::read(&sessions, main, root, |session, reader, fold| {
        for (_, id, path) in messages.get(&session.id).into_iter().flat_map(|folder| ordered_messages(folder)) {
            read_file(&path, fold, |text, fold| reader.message(text, &id, fold))?;
            for part in parts.get(&id).into_iter().flat_map(|folder| documents(folder)) {
                read_file(&part, fold, |text, fold| reader.part(text, fold))?;
            }
        }
        Ok(())
    })
}

/// The message files, ordered by time and id.
fn ordered_messages(folder: &Path) -> Vec<(u64, String, PathBuf)> {
    let mut out: Vec<(u64, String, PathBuf)> = documents(folder)
        .filter_map(|path| {
            let stem = path.file_stem()?.to_str()?.to_owned();
            let text = text(&path).ok().flatten().unwrap_or_default();
            let order = serde_json::from_str::<Order>(&text).unwrap_or_default();
            let id = order.id.get().map_or(stem, str::to_owned);
            Some((order.time.created.get(), id, path))
        })
        .collect();
    out.sort();
    out
}

/// The text of a file; `None` if it is too long.
fn text(path: &Path) -> std::io::Result<Option<String>> {
    if std::fs::metadata(path)?.len() > LONGEST as u64 {
        return Ok(None);
    }
    Ok(Some(String::from_utf8_lossy(&std::fs::read(path)?).into_owned()))
}

fn read_file(path: &Path, fold: &mut Fold, read: impl FnMut(&str, &mut Fold) -> bool) -> Result<()> {
    let text = text(path).map_err(|error| Error::unreadable(path, error))?.unwrap_or_default();
    fold.out.size = fold.out.size.saturating_add(text.len() as u64);
    read_document(&text, fold, read);
    Ok(())
}
