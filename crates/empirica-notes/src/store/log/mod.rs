//! The write-ahead log: records are appended here first, one write each, and flushed to the notes later.
//!
//! A line is `<namespace> <object id> <record>`. Each append begins with a line feed, so that a line torn by a kill spoils
//! nothing but itself. A flush first renames the file away; what it has taken is still read by everyone.

pub mod attachments;
pub mod lock;
pub mod unborn;

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{Error, empirica};
use crate::fault;
use crate::format::lines;
use crate::git::{Oid, Sharing, parse_oid};
use crate::model::{Id, Namespace};
use crate::store::files;
use crate::store::files::paths::Paths;
use crate::store::log::lock::pause;

/// From this size on the log is flushed at the next append.
pub const FLUSH_BYTES: u64 = 64 * 1024;
/// The folder, beside the logs, of those that a flush has taken.
const TAKEN: &str = "taken";
/// What keeps a taken log's name apart from what makes it unique.
const UNIQUE: &str = ".taken-";

/// How often a log is opened, or looked for, that is renamed meanwhile.
const ATTEMPTS: usize = 100;

/// A record that waits for its note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingRecord {
    /// Where it belongs.
    pub namespace: Namespace,
    /// The object whose note it belongs to.
    pub on: Oid,
    /// The line.
    pub line: Vec<u8>,
}

/// A log that cannot be used now.
#[derive(Debug)]
pub struct LogUnavailable {
    /// The log.
    pub path: PathBuf,
    /// Why.
    pub error: io::Error,
}

impl LogUnavailable {
    /// Why what is in it waits.
    pub fn untaken(self) -> Error {
        let error = Error::storage(format!("the log {} cannot be taken to the notes", self.path.display()));
        match self.error.kind() {
            io::ErrorKind::TimedOut => error
                .reason("another process is writing to it")
                .suggest("Run it again when that is over.")
                .command(empirica("flush"))
                .caused_by(self.error),
            // it is moved into a folder beside it
            _ if !is_taken(&self.path) => {
                let folder = self.path.parent().unwrap_or(Path::new(".")).join(TAKEN);
                error.on_path(&folder.join("log"), self.error)
            }
            _ => error.on_path(&self.path, self.error),
        }
    }
}

/// Where an append went.
#[derive(Debug)]
pub struct Appended {
    /// The log.
    pub path: PathBuf,
    /// The size of the log afterwards, in bytes.
    pub size: u64,
    /// Why the usual log could not be written, when the fallback was taken.
    pub fallback: Option<LogUnavailable>,
}

/// What waits in the logs, by where it lies.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PendingCounts {
    /// How many in the repository's logs, of all worktrees.
    pub log: usize,
    /// How many in the log of the user's state folder.
    pub user_state: usize,
    /// How many in logs that a flush took and did not get to the notes: it failed, was interrupted, or is at it.
    pub interrupted: usize,
    /// The time that the oldest record states; null when nothing waits or it cannot be told.
    pub since: Option<String>,
}

impl PendingCounts {
    /// How many wait in all.
    pub fn all(&self) -> usize {
        self.log + self.user_state + self.interrupted
    }
}

/// Appends records in one write. Tries the usual log, then the one in the user's state folder. An error is that of the
/// usual log, with its path. With `durable` the records have reached the disk when it returns.
pub fn append(
    paths: &Paths,
    records: &[PendingRecord],
    timeout: Duration,
    durable: bool,
) -> Result<Appended, Vec<LogUnavailable>> {
    let mut text = Vec::new();
    for record in records {
        text.push(b'\n');
        text.extend_from_slice(format!("{} {} ", record.namespace.name(), record.on).as_bytes());
        text.extend_from_slice(&record.line);
    }
    text.push(b'\n');
    let mut failed: Vec<LogUnavailable> = Vec::new();
    paths.identify();
    // a clone with an id leaves the log of 0.1.0 to be read
    for folder in paths.logs().into_iter().take(2) {
        let path = folder.join(paths.log_name());
        match append_in(paths, &folder, paths.log_name(), &text, timeout, durable) {
            Ok(size) => return Ok(Appended { path, size, fallback: failed.pop() }),
            Err(error) => failed.push(LogUnavailable { path, error }),
        }
    }
    Err(failed)
}

fn append_in(
    paths: &Paths,
    folder: &Path,
    name: &str,
    text: &[u8],
    timeout: Duration,
    durable: bool,
) -> io::Result<u64> {
    paths.sharing().make_folder(folder)?;
    let path = folder.join(name);
    let mut file = open_locked(paths.sharing(), &path, timeout, is_at)?;
    fault::point("log: to be written")?;
    let written = file.write(fault::part("log: half written", text))?;
    fault::step("log: written");
    if written < text.len() {
        take_back(&mut file, written as u64, timeout);
        return Err(io::Error::new(io::ErrorKind::StorageFull, "the log took only a part of the record"));
    }
    if durable {
        file.sync_all()?;
        // the name of a log that is new
        File::open(folder)?.sync_all()?;
    }
    Ok(file.metadata()?.len())
}

/// Opens a log and takes its shared lock. A flush may rename it in between: then `is_at` is false, and the new one is opened.
fn open_locked(sharing: &Sharing, path: &Path, timeout: Duration, is_at: fn(&File, &Path) -> bool) -> io::Result<File> {
    for _ in 0..ATTEMPTS {
        fault::point("log: to be opened")?;
        let file = files::open_to_append(sharing, path)?;
        locked(timeout, || file.try_lock_shared())?;
        if is_at(&file, path) {
            return Ok(file);
        }
    }
    let text = format!("gave up after {ATTEMPTS} attempts: its path kept naming another file than the one opened");
    Err(io::Error::other(text))
}

/// Whether a path names this open file.
fn is_at(file: &File, path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|now| file.metadata().is_ok_and(|ours| ours.ino() == now.ino()))
}

/// Removes the part of an append that was written before the disk was full, if nothing came after it: a command that fails
/// leaves no half of what it said. A part that stays is a torn line like any other.
fn take_back(file: &mut File, written: u64, timeout: Duration) {
    let Ok(end) = file.stream_position() else { return };
    let alone = locked(timeout, || file.try_lock()).is_ok();
    if alone && file.metadata().is_ok_and(|now| now.len() == end) {
        let _ = file.set_len(end.saturating_sub(written));
    }
}

/// Takes records out of the logs as if they had never been appended, if all of them wait there and nobody has taken them: their bytes
/// become line feeds, and nothing else is touched. Who appends meanwhile appends behind them; a flush waits.
pub fn withdraw(paths: &Paths, ids: &BTreeSet<Id>, timeout: Duration) -> io::Result<bool> {
    for path in logs(paths).into_iter().filter(|path| !is_taken(path)) {
        let Ok(mut file) = OpenOptions::new().read(true).write(true).open(&path) else { continue };
        locked(timeout, || file.try_lock_shared())?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let mut spans = Vec::new();
        let mut found = BTreeSet::new();
        let mut at = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let id = parse(line.trim_ascii_end()).and_then(|waiting| Id::parse(lines::id(&waiting.line)?));
            if let Some(id) = id.filter(|id| ids.contains(id)) {
                found.insert(id);
                spans.push((at as u64, line.len()));
            }
            at += line.len();
        }
        // a flush may have renamed it between opening and locking
        if !is_at(&file, &path) || found != *ids {
            continue;
        }
        for (at, length) in spans {
            fault::point("log: to be blanked")?;
            file.seek(SeekFrom::Start(at))?;
            file.write_all(&vec![b'\n'; length])?;
        }
        return Ok(true);
    }
    Ok(false)
}

/// Waits for a lock on a log, which is held for a write or a rename only.
fn locked(timeout: Duration, mut try_lock: impl FnMut() -> Result<(), TryLockError>) -> io::Result<()> {
    let deadline = Instant::now() + timeout;
    for round in 0.. {
        match try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(pause(round)),
            Err(TryLockError::WouldBlock) => return Err(io::Error::new(io::ErrorKind::TimedOut, "the log is locked")),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(())
}

/// Moves all logs, of all worktrees, to where nobody appends to them; returns them with those that an interrupted
/// flush had left, and those that cannot be moved now and wait for the next flush.
pub fn take(paths: &Paths, timeout: Duration) -> (Vec<PathBuf>, Vec<LogUnavailable>) {
    let (mut taken, open): (Vec<PathBuf>, Vec<PathBuf>) = logs(paths).into_iter().partition(|path| is_taken(path));
    let mut left = Vec::new();
    for path in open {
        match take_one(paths, &path, timeout) {
            Ok(moved) => taken.push(moved),
            // its worktree was removed meanwhile, or somebody else took it
            Err(error) if error.kind() == io::ErrorKind::NotFound && !path.exists() => {}
            Err(error) => left.push(LogUnavailable { path, error }),
        }
    }
    (taken, left)
}

fn take_one(paths: &Paths, path: &Path, timeout: Duration) -> io::Result<PathBuf> {
    let file = File::open(path)?;
    locked(timeout, || file.try_lock())?;
    let folder = path.parent().unwrap_or(Path::new(".")).join(TAKEN);
    paths.sharing().make_folder(&folder)?;
    fault::point("log: to be taken")?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let taken = folder.join(format!("{name}{UNIQUE}{}", files::unique()));
    fs::rename(path, &taken)?;
    fault::step("log: taken");
    Ok(taken)
}

fn is_taken(path: &Path) -> bool {
    path.parent().is_some_and(|folder| folder.ends_with(TAKEN))
}

/// All logs, taken or not.
fn logs(paths: &Paths) -> Vec<PathBuf> {
    let mut out: Vec<PathBuf> = paths
        .logs()
        .iter()
        .flat_map(|folder| [folder.clone(), folder.join(TAKEN)])
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten()
        .filter_map(|entry| entry.ok())
        .map(|entry| entry.path())
        .filter(|path| path.is_file())
        .collect();
    out.sort();
    out
}

/// The folders of logs that are there and cannot be looked into: what waits in them is not seen.
pub fn unseen(paths: &Paths) -> Vec<(PathBuf, io::Error)> {
    let looked = paths.logs().into_iter().map(|folder| (fs::read_dir(&folder), folder));
    let failed = looked.filter_map(|(entries, folder)| entries.err().map(|error| (folder, error)));
    failed.filter(|(_, error)| error.kind() == io::ErrorKind::PermissionDenied).collect()
}

/// Every record that waits in any log.
pub fn read(paths: &Paths) -> Vec<PendingRecord> {
    // a file that a flush takes or removes meanwhile has another name, or its records are in the notes, which are
    // read afterwards: look again
    let read = (0..ATTEMPTS).find_map(|_| try_read(&logs(paths)));
    // a file that is listed and never there holds nothing
    read.unwrap_or_else(|| {
        logs(paths).iter().filter_map(|path| fs::read(path).ok()).flat_map(|b| parse_all(&b)).collect()
    })
}

/// Counts what waits, by where it lies; a record that two logs hold counts once, where it was found first.
pub fn count(paths: &Paths) -> PendingCounts {
    let usual = paths.logs().into_iter().next().unwrap_or_default();
    let mut counted = PendingCounts::default();
    let mut known = BTreeSet::new();
    for path in logs(paths) {
        // what leaves a log meanwhile waits no longer
        for waiting in fs::read(&path).map(|bytes| parse_all(&bytes)).unwrap_or_default() {
            let at = at(&waiting.line);
            if !known.insert((waiting.namespace, waiting.on, waiting.line)) {
                continue;
            }
            match (is_taken(&path), path.starts_with(&usual)) {
                (true, _) => counted.interrupted += 1,
                (_, true) => counted.log += 1,
                (_, false) => counted.user_state += 1,
            }
            if at.is_some() && (counted.since.is_none() || at < counted.since) {
                counted.since = at;
            }
        }
    }
    counted
}

/// The time that a record says it was made at.
fn at(line: &[u8]) -> Option<String> {
    let value: serde_json::Value = serde_json::from_slice(line).ok()?;
    Some(value.get("at")?.as_str()?.to_owned())
}

/// A log that a flush has taken and read.
pub struct TakenLog {
    path: PathBuf,
    /// Whole lines that are not understood: of another version, which knows where they belong.
    rest: Vec<u8>,
}

/// The records in these logs, and the logs that could be read; the others are added to `left`. Torn lines were never
/// acknowledged and are passed over.
pub fn read_taken(files: Vec<PathBuf>, left: &mut Vec<LogUnavailable>) -> (Vec<PendingRecord>, Vec<TakenLog>) {
    let mut waiting = Vec::new();
    let mut read = Vec::new();
    for path in files {
        let bytes = match fault::point("log: to be read").and_then(|()| fs::read(&path)) {
            Ok(bytes) => bytes,
            Err(error) => {
                left.push(LogUnavailable { path, error });
                continue;
            }
        };
        let mut rest = Vec::new();
        for line in whole_lines(&bytes) {
            match parse(line) {
                Some(record) => waiting.push(record),
                None if is_foreign(line) => rest.extend([b"\n", line].concat()),
                None => {}
            }
        }
        read.push(TakenLog { path, rest });
    }
    (waiting, read)
}

/// A whole line of a namespace that this version does not know.
fn is_foreign(line: &[u8]) -> bool {
    let mut parts = line.splitn(3, |b| *b == b' ');
    let namespace = parts.next().unwrap_or_default();
    let named = namespace.iter().all(|b| b.is_ascii_lowercase() || *b == b'-') && !namespace.is_empty();
    let on = parts.next().and_then(|on| parse_oid(std::str::from_utf8(on).ok()?));
    let whole = parts.next().is_some_and(|line| serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok());
    named && on.is_some() && whole
}

/// The same, or `None` when one of them is no longer there.
fn try_read(files: &[PathBuf]) -> Option<Vec<PendingRecord>> {
    let mut out = Vec::new();
    for path in files {
        match fs::read(path) {
            Ok(bytes) => out.extend(parse_all(&bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            // what cannot be read now waits until it can
            Err(_) => {}
        }
    }
    Some(out)
}

fn parse_all(bytes: &[u8]) -> Vec<PendingRecord> {
    whole_lines(bytes).filter_map(parse).collect()
}

/// The lines that are ended; without its LF a line may be half of one.
fn whole_lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |end| end + 1);
    lines::split(&bytes[..whole])
}

fn parse(line: &[u8]) -> Option<PendingRecord> {
    let mut parts = line.splitn(3, |b| *b == b' ');
    let namespace = Namespace::parse(std::str::from_utf8(parts.next()?).ok()?)?;
    let on = parse_oid(std::str::from_utf8(parts.next()?).ok()?)?;
    let line = parts.next()?;
    // a torn line can end anywhere, also behind a brace
    lines::id(line)?;
    serde_json::from_slice::<serde::de::IgnoredAny>(line).ok()?;
    Some(PendingRecord { namespace, on, line: line.to_vec() })
}

/// Forgets logs whose records are in the notes. What was not understood in them goes to a new log first.
pub fn discard(paths: &Paths, taken: &[TakenLog]) {
    for log in taken {
        let folder = log.path.parent().and_then(Path::parent).unwrap_or(Path::new("."));
        let name = log.path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.rsplit_once(UNIQUE).map_or(name.as_ref(), |(name, _)| name);
        let rest = [log.rest.as_slice(), b"\n"].concat();
        let kept = log.rest.is_empty() || append_in(paths, folder, name, &rest, Duration::from_secs(1), true).is_ok();
        if kept {
            // when it stays, the next flush finds nothing new in it
            let _ = fault::point("log: to be discarded").and_then(|()| fs::remove_file(&log.path));
            fault::step("log: discarded");
        }
    }
}

/// The time of the newest id near the end of the logs, in milliseconds, of those up to `latest`; 0 when there is none.
pub fn newest_ms(paths: &Paths, latest: u64) -> u64 {
    let ms = |bytes: &[u8]| {
        let waiting = lines::split(bytes).filter_map(parse);
        waiting
            .filter_map(|waiting| Id::parse(lines::id(&waiting.line)?))
            .map(|id| id.ms())
            .filter(|ms| *ms <= latest)
            .max()
    };
    // a record that is longer than the tail is looked for in the whole
    let newest = |path: &PathBuf| ms(&tail(path).ok()?).or_else(|| ms(&fs::read(path).ok()?));
    logs(paths).iter().filter_map(newest).max().unwrap_or(0)
}

fn tail(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(8 * 1024)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_whose_path_never_names_the_file_that_was_opened_is_given_up_with_a_reason() {
        let folder = tempfile::tempdir().unwrap();
        let (path, sharing) = (folder.path().join("log"), Sharing::default());
        let error = open_locked(&sharing, &path, Duration::from_secs(1), |_, _| false).unwrap_err();
        assert!(error.to_string().contains("gave up after 100 attempts"), "{error}");
        open_locked(&sharing, &path, Duration::from_secs(1), is_at).unwrap();
    }
}
