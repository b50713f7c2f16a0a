//! Which notes hold a session's records, so that a handoff reads those and not the whole history. Derived: written under
//! the lock before the notes are, trusted only while the refs are as remembered, forgotten when other hands changed them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use crate::error::Error;
use crate::fault;
use crate::format;
use crate::git::{Oid, parse_oid};
use crate::model::{Namespace, SessionId};
use crate::store::files::paths::Paths;
use crate::store::files::{read_lines, replace_by_way_of};
use crate::store::log::PendingRecord;

/// A note: its namespace and the object it annotates.
pub type NoteKey = (Namespace, Oid);

fn path(paths: &Paths, session: &SessionId) -> PathBuf {
    paths.sessions().join(session.as_str())
}

/// The notes that hold records of the session, beside what waits in the logs; `None` when that is not known.
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

/// Begins a list, for a session that has no records in the notes but these.
pub fn begin(paths: &Paths, session: &SessionId, places: &BTreeSet<NoteKey>) {
    let text: String = places.iter().map(line).collect();
    // without a list everything is read
    let _ = replace_by_way_of(paths.sharing(), paths.state(), &path(paths, session), &text);
}

fn line(place: &NoteKey) -> String {
    format!("{} {}\n", place.0.name(), place.1)
}

/// Adds notes to the list of a session that has one. A list that cannot be completed is forgotten; an error when it
/// cannot be forgotten either.
pub fn add(paths: &Paths, session: &SessionId, places: &BTreeSet<NoteKey>) -> io::Result<()> {
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
    append().or_else(|_| fs::remove_file(&path))
}

/// Adds the notes that records are about to be written to, to the lists of the sessions they concern.
pub fn add_waiting(paths: &Paths, waiting: &[PendingRecord]) -> io::Result<()> {
    let mut lists: BTreeMap<SessionId, BTreeSet<NoteKey>> = BTreeMap::new();
    for record in waiting {
        for session in format::record::decode(&record.line).iter().flat_map(|record| record.concerns()) {
            lists.entry(session.clone()).or_default().insert((record.namespace, record.on));
        }
    }
    lists.iter().try_for_each(|(session, places)| add(paths, session, places))
}

/// The error of lists that can neither be written nor forgotten.
pub fn unusable(paths: &Paths, error: io::Error) -> Error {
    Error::storage("the lists of the sessions' notes cannot be written").on_path(&paths.sessions(), error)
}

/// Forgets all lists, because the refs changed by other hands.
pub fn forget_all(paths: &Paths) -> io::Result<()> {
    match fault::point("lists of sessions: to be forgotten").and_then(|()| fs::remove_dir_all(paths.sessions())) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
