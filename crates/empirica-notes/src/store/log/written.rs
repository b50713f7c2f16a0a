//! Logs whose records are in the notes, kept for a time: `git prune`, also of `git gc --prune=now`, removes loose objects that
//! no ref led to when it looked, and so those of a flush that it overlaps.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fs, io};

use crate::fault;
use crate::git::Oid;
use crate::model::Namespace;
use crate::store::files;
use crate::store::files::paths::Paths;
use crate::store::log::{TAKEN, TakenLog, UNIQUE, append_in, place, whole_lines};

/// The folder of written logs; a name is `<seconds since 1970>.<name of the taken log>`.
const WRITTEN: &str = "written";
/// The time a written log is kept, in seconds: longer than a prune takes from its look at the refs to its end.
const KEPT_SECONDS: u64 = 600;

fn now_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The time and the name of a written log.
fn parts(path: &Path) -> Option<(u64, &str)> {
    let (at, name) = path.file_name()?.to_str()?.split_once('.')?;
    Some((at.parse().ok()?, name))
}

/// Puts a taken log with the written ones, or removes it.
fn keep(paths: &Paths, taken: &Path) -> io::Result<()> {
    let folder = taken.parent().and_then(Path::parent).unwrap_or(Path::new(".")).join(WRITTEN);
    let name = taken.file_name().unwrap_or_default().to_string_lossy();
    let moved = paths.sharing().make_folder(&folder);
    let moved = moved.and_then(|()| fs::rename(taken, folder.join(format!("{}.{name}", now_seconds()))));
    moved.or_else(|_| fs::remove_file(taken))
}

/// Puts logs aside whose records are in the notes. Lines that could not be parsed go to a new log first.
pub fn discard(paths: &Paths, taken: &[TakenLog]) {
    for log in taken {
        let folder = log.path.parent().and_then(Path::parent).unwrap_or(Path::new("."));
        let name = log.path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.rsplit_once(UNIQUE).map_or(name.as_ref(), |(name, _)| name);
        let rest = [log.rest.as_slice(), b"\n"].concat();
        let kept =
            log.rest.is_empty() || append_in(paths, &folder.join(name), &rest, Duration::from_secs(1), true).is_ok();
        if kept {
            // if it stays, the next flush finds nothing new in it
            let _ = fault::point("log: to be discarded").and_then(|()| keep(paths, &log.path));
            fault::step("log: discarded");
        }
    }
}

/// All written logs.
pub fn all(paths: &Paths) -> Vec<PathBuf> {
    let folders = paths.logs().into_iter().map(|folder| folder.join(WRITTEN));
    let entries = folders.filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| parts(path).is_some()).collect()
}

/// Those of these written logs whose notes are to be looked for: each at ages that double, so that the cost of a flush does not
/// grow with the number of flushes before, and once it was kept long enough. A lost object is missed for no longer than it was
/// there.
pub fn due(written: &[PathBuf]) -> Vec<PathBuf> {
    let now = now_seconds();
    let is_due = |path: &PathBuf| {
        let Some((at, _)) = parts(path) else { return false };
        let seen = fs::metadata(path).and_then(|meta| meta.modified()).unwrap_or(UNIX_EPOCH);
        let seen = seen.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        // a clock that was set back tells nothing
        is_expired(at, now) || seen > now || now - at >= 2 * seen.saturating_sub(at)
    };
    written.iter().filter(|path| is_due(path)).cloned().collect()
}

/// Notes that the notes of these written logs are there.
pub fn seen(written: &[PathBuf]) {
    for path in written {
        // if this fails, the next flush looks again
        let _ = fs::File::options().append(true).open(path).and_then(|file| file.set_modified(SystemTime::now()));
    }
}

/// Whether a log that was written at a time, in seconds, was kept long enough.
fn is_expired(at: u64, now: u64) -> bool {
    !(at..=at.saturating_add(KEPT_SECONDS)).contains(&now)
}

/// Those of these written logs that were kept long enough.
pub fn expired(written: Vec<PathBuf>) -> Vec<PathBuf> {
    let now = now_seconds();
    written.into_iter().filter(|path| parts(path).is_some_and(|(at, _)| is_expired(at, now))).collect()
}

/// The notes of the records in these logs.
pub fn notes(written: &[PathBuf]) -> BTreeSet<(Namespace, Oid)> {
    let mut notes = BTreeSet::new();
    for bytes in written.iter().filter_map(|path| fs::read(path).ok()) {
        let places = whole_lines(&bytes).filter_map(place);
        notes.extend(places.filter_map(|(namespace, on, _)| Some((Namespace::parse(namespace)?, on))));
    }
    notes
}

/// Lets the next flush write these logs again. The caller holds the lock.
pub fn take_again(written: &[PathBuf]) {
    for path in written {
        let taken = path.parent().and_then(Path::parent).unwrap_or(Path::new(".")).join(TAKEN);
        // what stays is tried again
        let _ = fs::rename(path, taken.join(parts(path).map_or("", |(_, name)| name)));
    }
}

/// Removes written logs.
pub fn remove(written: &[PathBuf]) -> io::Result<()> {
    written.iter().try_for_each(|path| files::remove(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_looked_for_at_ages_that_double() {
        let folder = tempfile::tempdir().unwrap();
        // the age of a log, and at which age it was seen
        let log = |age: u64, seen_at: u64| {
            let path = folder.path().join(format!("{}.main.taken-{age}-{seen_at}", now_seconds() - age));
            fs::write(&path, "").unwrap();
            let seen = SystemTime::now() - Duration::from_secs(age - seen_at);
            fs::File::options().append(true).open(&path).unwrap().set_modified(seen).unwrap();
            path
        };
        let looked_for = [log(0, 0), log(3, 1), log(100, 0), log(100, 45), log(KEPT_SECONDS + 5, 590)];
        let not = [log(100, 55), log(100, 95), log(500, 400)];
        assert_eq!(due(&[looked_for.as_slice(), &not].concat()), looked_for);
        seen(&looked_for);
        assert_eq!(due(&looked_for[2..]), looked_for[4..]);
        let ahead = log(100, 55);
        fs::File::options()
            .append(true)
            .open(&ahead)
            .unwrap()
            .set_modified(SystemTime::now() + Duration::from_secs(3600))
            .unwrap();
        assert_eq!(due(std::slice::from_ref(&ahead)), [ahead]);
        assert_eq!(due(&[folder.path().join("other")]), [] as [PathBuf; 0]);
    }
}
