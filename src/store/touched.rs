//! Which notes hold a session's records, so that a handoff reads those and not the whole history. Derived: forgotten
//! whenever the refs changed by other hands, and then everything is read.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

use super::files::{read_lines, replace};
use super::paths::Paths;
use crate::git::{Oid, parse_oid};
use crate::model::{SessionId, Shelf};

/// A note: its shelf and the object it annotates.
pub type Place = (Shelf, Oid);

fn path(paths: &Paths, session: &SessionId) -> PathBuf {
    paths.sessions().join(session.as_str())
}

/// The notes that hold records of the session; `None` when that is not known for certain.
pub fn read(paths: &Paths, session: &SessionId) -> Option<BTreeSet<Place>> {
    let path = path(paths, session);
    path.exists().then(|| {
        let lines = read_lines(&path);
        lines
            .iter()
            .filter_map(|line| line.split_once(' '))
            .filter_map(|(shelf, id)| Some((Shelf::parse(shelf)?, parse_oid(id)?)))
            .collect()
    })
}

/// Begins a list for a session that has no records elsewhere.
pub fn begin(paths: &Paths, session: &SessionId) {
    // derived: without a list everything is read
    let _ = replace(&path(paths, session), "");
}

/// Adds a note to the list of a session that has one.
pub fn add(paths: &Paths, session: &SessionId, place: Place) {
    let known = read(paths, session);
    if known.is_some_and(|known| !known.contains(&place)) {
        let line = format!("{} {}\n", place.0.name(), place.1);
        let append = || fs::OpenOptions::new().append(true).open(path(paths, session))?.write_all(line.as_bytes());
        if append().is_err() {
            // an incomplete list would hide records; none at all does not
            forget_one(paths, session);
        }
    }
}

fn forget_one(paths: &Paths, session: &SessionId) {
    let _ = fs::remove_file(path(paths, session));
}

/// Forgets all lists, because the refs changed by other hands.
pub fn forget_all(paths: &Paths) {
    let _ = fs::remove_dir_all(paths.sessions());
}
