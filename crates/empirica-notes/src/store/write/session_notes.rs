//! Lists of the notes with a session's records, so that a handoff need not read the whole history. Derived state:
//! written under the lock before the notes, trusted only while the refs are at the saved tips, removed if others
//! changed them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

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

/// The number of notes that a caller who cannot wait reads. A session writes two or three for each commit.
const NEWEST: usize = 128;
/// The length of the longest line, in bytes.
const LINE_BYTES: u64 = 80;

fn path(paths: &Paths, session: &SessionId) -> PathBuf {
    paths.file("sessions").join(session.as_str())
}

/// The notes with records of the session, without pending ones; `None` if unknown.
pub fn read(paths: &Paths, session: &SessionId) -> Option<BTreeSet<NoteKey>> {
    let path = path(paths, session);
    path.exists().then(|| read_lines(&path).iter().filter_map(|line| parse(line)).collect())
}

/// As [`read`], but at most the [`NEWEST`]: in other clones, anyone can write any number of notes for a session.
pub fn newest(paths: &Paths, session: &SessionId) -> Option<BTreeSet<NoteKey>> {
    newest_of(&path(paths, session), NEWEST)
}

fn newest_of(list: &Path, most: usize) -> Option<BTreeSet<NoteKey>> {
    let read = || {
        let mut file = fs::File::open(list)?;
        let size = file.metadata()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(most as u64 * LINE_BYTES)))?;
        let mut end = String::new();
        file.read_to_string(&mut end).map(|_| end)
    };
    match read() {
        // the first of these lines may be cut, and names no note then
        Ok(end) => Some(end.lines().rev().take(most).filter_map(parse).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(_) => Some(BTreeSet::new()),
    }
}

fn parse(line: &str) -> Option<NoteKey> {
    let (namespace, id) = line.split_once(' ')?;
    Some((Namespace::parse(namespace)?, parse_oid(id)?))
}

/// Writes the list of a session that has records only in these notes, in the order in which they were written.
pub fn begin(paths: &Paths, session: &SessionId, places: &[NoteKey]) {
    let text: String = places.iter().map(line).collect();
    // without a list all notes are read
    let _ = replace_by_way_of(paths.sharing(), paths.state(), &path(paths, session), &text);
}

fn line(place: &NoteKey) -> String {
    format!("{} {}\n", place.0.name(), place.1)
}

/// Makes notes the newest of a session's list, if it has one. A list that cannot be extended is removed; fails if that fails,
/// too.
pub fn add(paths: &Paths, session: &SessionId, places: &BTreeSet<NoteKey>) -> Result<()> {
    // one that is not far from the end stays there
    let Some(newest) = newest_of(&path(paths, session), NEWEST / 2) else { return Ok(()) };
    let text: String = places.difference(&newest).map(line).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_notes_are_those_at_the_end_of_the_list() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("list");
        assert_eq!(newest_of(&list, NEWEST), None);
        let note = |n: usize| (Namespace::Checkpoints, parse_oid(&format!("{n:064x}")).unwrap());
        let mut text = String::new();
        for n in 0..2 * NEWEST {
            fs::write(&list, &text).unwrap();
            assert_eq!(newest_of(&list, NEWEST), Some((n.saturating_sub(NEWEST)..n).map(note).collect()));
            let written = line(&note(n));
            assert!(written.len() as u64 <= LINE_BYTES);
            text.push_str(&written);
        }
        // an old note that is written again is new
        text.push_str(&line(&note(3)));
        fs::write(&list, &text).unwrap();
        assert!(newest_of(&list, NEWEST).unwrap().contains(&note(3)));
    }
}
