//! Lists of the notes with a session's records, so that a handoff need not read the whole history. Derived state:
//! written under the lock before the notes, trusted only while the refs are at the saved tips, removed if others
//! changed them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::fault;
use crate::format;
use crate::git::{Oid, parse_oid};
use crate::model::{Namespace, SessionId};
use crate::store::files::paths::Paths;
use crate::store::files::{read_lines, replace_by_way_of};
use crate::store::log::PendingRecord;

/// A note: its namespace and annotated object.
pub type NoteKey = (Namespace, Oid);

fn path(paths: &Paths, session: &SessionId) -> PathBuf {
    paths.file("sessions").join(session.as_str())
}

/// The notes with records of the session, without pending ones; `None` if unknown.
pub fn read(paths: &Paths, session: &SessionId) -> Option<BTreeSet<NoteKey>> {
    let path = path(paths, session);
    path.exists().then(|| {
        let lines = read_lines(&path);
        lines
            .iter()
            .filter_map(|line| line.split_once(' '))
            .filter_map(|(namespace, id)| Some((Namespace::parse(namespace)?, parse_oid(id)?)))
            .collect()
    })
}

/// Writes the list of a session that has records only in these notes.
pub fn begin(paths: &Paths, session: &SessionId, places: &BTreeSet<NoteKey>) {
    let text: String = places.iter().map(line).collect();
    // without a list all notes are read
    let _ = replace_by_way_of(paths.sharing(), paths.state(), &path(paths, session), &text);
}

fn line(place: &NoteKey) -> String {
    format!("{} {}\n", place.0.name(), place.1)
}

/// Adds notes to the list of a session, if it has one. A list that cannot be extended is removed; fails if that fails,
/// too.
pub fn add(paths: &Paths, session: &SessionId, places: &BTreeSet<NoteKey>) -> Result<()> {
    let Some(known) = read(paths, session) else { return Ok(()) };
    let text: String = places.difference(&known).map(line).collect();
    if text.is_empty() {
        return Ok(());
    }
    let path = path(paths, session);
    let append = || {
        fault::point("list of a session: to be appended to")?;
        fs::OpenOptions::new().append(true).open(&path)?.write_all(text.as_bytes())
    };
    append().or_else(|_: io::Error| fs::remove_file(&path)).map_err(|error| unusable(paths, error))
}

/// Adds the notes of pending records to the lists of the sessions they concern.
pub fn add_pending(paths: &Paths, records: &[PendingRecord]) -> Result<()> {
    let mut lists: BTreeMap<SessionId, BTreeSet<NoteKey>> = BTreeMap::new();
    for record in records {
        for session in format::record::decode(&record.line).iter().flat_map(|record| record.concerns()) {
            lists.entry(session.clone()).or_default().insert((record.namespace, record.on));
        }
    }
    lists.iter().try_for_each(|(session, places)| add(paths, session, places))
}

/// The error for lists that can be neither written nor removed.
fn unusable(paths: &Paths, error: io::Error) -> Error {
    Error::storage("cannot write the lists of the sessions' notes").on_path(&paths.file("sessions"), error)
}

/// Removes all lists, because others changed the refs.
pub fn forget_all(paths: &Paths) -> Result<()> {
    match fault::point("lists of sessions: to be forgotten").and_then(|()| fs::remove_dir_all(paths.file("sessions"))) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unusable(paths, error)),
        _ => Ok(()),
    }
}
