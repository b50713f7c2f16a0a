//! The write-ahead log: records are appended here first, in one write each, and flushed to the notes later.
//!
//! A line is `<namespace> <object id> <record>`. Each append begins with a line feed, so that a torn line damages no
//! other. A flush first renames the file; until it has written the records, readers still read that file.

pub mod lock;
pub mod pending;
pub mod unborn;
pub mod written;

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{Error, empirica};
use crate::fault;
use crate::format::lines;
use crate::git::{Oid, Sharing, parse_oid};
use crate::model::{Id, Namespace};
use crate::store::files;
use crate::store::files::paths::Paths;
use crate::store::log::lock::wait;

/// The size at which an append triggers a flush.
pub const FLUSH_BYTES: u64 = 64 * 1024;
/// The folder of logs that a flush has taken.
const TAKEN: &str = "taken";
/// The separator between the name and the unique part of a taken log.
const UNIQUE: &str = ".taken-";

/// Attempts to open or read a log that is renamed meanwhile.
const ATTEMPTS: usize = 100;

/// A record not yet written to its note.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct PendingRecord {
    pub namespace: Namespace,
    /// The annotated object.
    pub on: Oid,
    pub line: Vec<u8>,
}

/// A log that cannot be used at present.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct LogUnavailable {
    pub path: PathBuf,
    pub error: io::Error,
}

impl LogUnavailable {
    /// The error of a flush that cannot take this log.
    pub fn into_error(self) -> Error {
        let error = Error::storage(format!("cannot flush the log {}", self.path.display()));
        match self.error.kind() {
            io::ErrorKind::TimedOut => error
                .reason("another process is writing to it")
                .suggest("Run it again after that process exits.")
                .command(empirica("flush"))
                .caused_by(self.error),
            // it would be moved into that folder
            _ if !is_taken(&self.path) => {
                let folder = self.path.parent().unwrap_or(Path::new(".")).join(TAKEN);
                error.on_path(&folder.join("log"), self.error)
            }
            _ => error.on_path(&self.path, self.error),
        }
    }
}

/// The result of an append.
#[derive(Debug)]
pub struct Appended {
    /// The log.
    pub path: PathBuf,
    /// The size of the log after it, in bytes.
    pub size: u64,
    /// The error of the usual log, if the fallback was used.
    pub fallback: Option<LogUnavailable>,
}

/// The numbers of pending records, by log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PendingCounts {
    /// In the repository's logs, of all worktrees.
    pub log: usize,
    /// In the log of the user's state folder.
    pub user_state: usize,
    /// In logs taken by a flush that failed, was interrupted, or is running.
    pub interrupted: usize,
    /// The time of the oldest record; null if none is pending or it has no time.
    pub since: Option<String>,
}

impl PendingCounts {
    /// The number in all logs.
    pub fn total(&self) -> usize {
        self.log + self.user_state + self.interrupted
    }
}

/// Appends records in one write to the usual log, else to the one in the user's state folder. With `durable`, syncs
/// them to disk. Fails with the errors of both logs, the usual one first.
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
    // a clone with an id does not write to the log of 0.1.0
    for folder in paths.logs().into_iter().take(2) {
        let path = folder.join(paths.log_name());
        match append_in(paths, &path, &text, timeout, durable) {
            Ok(size) => return Ok(Appended { path, size, fallback: failed.pop() }),
            Err(error) => failed.push(LogUnavailable { path, error }),
        }
    }
    Err(failed)
}

fn append_in(paths: &Paths, path: &Path, text: &[u8], timeout: Duration, durable: bool) -> io::Result<u64> {
    let folder = path.parent().unwrap_or(path);
    paths.sharing().make_folder(folder)?;
    let mut file = open_locked(paths.sharing(), path, timeout, is_at)?;
    fault::point("log: to be written")?;
    let written = file.write(fault::part("log: half written", text))?;
    fault::step("log: written");
    if written < text.len() {
        take_back(&mut file, written as u64, timeout);
        return Err(io::Error::new(io::ErrorKind::StorageFull, "the log took only a part of the record"));
    }
    if durable {
        file.sync_all()?;
        // for the folder entry of a new log
        File::open(folder)?.sync_all()?;
    }
    Ok(file.metadata()?.len())
}

/// Opens a log and takes its shared lock. Retries if a flush renames it in between, which `is_at` detects.
fn open_locked(sharing: &Sharing, path: &Path, timeout: Duration, is_at: fn(&File, &Path) -> bool) -> io::Result<File> {
    for _ in 0..ATTEMPTS {
        fault::point("log: to be opened")?;
        let file = files::open_to_append(sharing, path)?;
        wait(timeout, || file.try_lock_shared())?;
        if is_at(&file, path) {
            return Ok(file);
        }
    }
    let text = format!("gave up after {ATTEMPTS} attempts: its path kept naming another file than the one opened");
    Err(io::Error::other(text))
}

/// Whether a path still names this open file.
fn is_at(file: &File, path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|now| file.metadata().is_ok_and(|ours| ours.ino() == now.ino()))
}

/// Truncates a partial append if nothing follows it, so that a failed command leaves nothing behind. A part that stays
/// is a torn line.
fn take_back(file: &mut File, written: u64, timeout: Duration) {
    let Ok(end) = file.stream_position() else { return };
    let is_alone = wait(timeout, || file.try_lock()).is_ok();
    if is_alone && file.metadata().is_ok_and(|now| now.len() == end) {
        let _ = file.set_len(end.saturating_sub(written));
    }
}

/// Removes records from the logs, if all are in one that no flush has taken: overwrites their bytes with line feeds.
/// Concurrent appends go after them; a flush waits.
pub fn withdraw(paths: &Paths, ids: &BTreeSet<Id>, timeout: Duration) -> io::Result<bool> {
    for path in logs(paths).into_iter().filter(|path| !is_taken(path)) {
        let Ok(mut file) = OpenOptions::new().read(true).write(true).open(&path) else { continue };
        wait(timeout, || file.try_lock_shared())?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let mut spans = Vec::new();
        let mut found = BTreeSet::new();
        let mut at = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let id = parse(line.trim_ascii_end()).and_then(|pending| Id::parse(lines::id(&pending.line)?));
            if let Some(id) = id.filter(|id| ids.contains(id)) {
                found.insert(id);
                spans.push((at as u64, line.len()));
            }
            at += line.len();
        }
        // a flush may have renamed it between open and lock
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

/// Takes the logs of all worktrees: renames them, so that no one appends to them. Returns them with those left by
/// interrupted flushes, and the logs that could not be taken.
pub fn take(paths: &Paths, timeout: Duration) -> (Vec<PathBuf>, Vec<LogUnavailable>) {
    let (mut taken, open): (Vec<PathBuf>, Vec<PathBuf>) = logs(paths).into_iter().partition(|path| is_taken(path));
    let mut left = Vec::new();
    for path in open {
        match take_one(paths, &path, timeout) {
            Ok(moved) => taken.push(moved),
            // its worktree was removed, or another flush took it
            Err(error) if error.kind() == io::ErrorKind::NotFound && !path.exists() => {}
            Err(error) => left.push(LogUnavailable { path, error }),
        }
    }
    (taken, left)
}

fn take_one(paths: &Paths, path: &Path, timeout: Duration) -> io::Result<PathBuf> {
    let file = File::open(path)?;
    wait(timeout, || file.try_lock())?;
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

/// All logs, including taken ones.
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

/// The log folders that exist but cannot be read.
pub fn unreadable_folders(paths: &Paths) -> Vec<(PathBuf, io::Error)> {
    let listed = paths.logs().into_iter().map(|folder| (fs::read_dir(&folder), folder));
    let failed = listed.filter_map(|(entries, folder)| entries.err().map(|error| (folder, error)));
    failed.filter(|(_, error)| error.kind() == io::ErrorKind::PermissionDenied).collect()
}

/// The pending records of all logs.
pub fn read(paths: &Paths) -> Vec<PendingRecord> {
    let mut out = Vec::new();
    for _ in 0..ATTEMPTS {
        out.clear();
        let mut is_complete = true;
        for path in logs(paths) {
            match fs::read(path) {
                Ok(bytes) => out.extend(parse_all(&bytes)),
                // a flush renamed or removed it: read all again; flushed records are in the notes, which callers read
                // afterwards
                Err(error) if error.kind() == io::ErrorKind::NotFound => is_complete = false,
                // an unreadable log stays pending
                Err(_) => {}
            }
        }
        if is_complete {
            break;
        }
    }
    out
}

/// Counts pending records by log; a record in two logs counts once, in the first.
pub fn count(paths: &Paths) -> PendingCounts {
    let usual = paths.logs().into_iter().next().unwrap_or_default();
    let mut counted = PendingCounts::default();
    let mut seen = BTreeSet::new();
    for path in logs(paths) {
        // records that leave a log meanwhile are no longer pending
        for pending in fs::read(&path).map(|bytes| parse_all(&bytes)).unwrap_or_default() {
            let at = at(&pending.line);
            if !seen.insert((pending.namespace, pending.on, pending.line)) {
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

/// The `at` of a record.
fn at(line: &[u8]) -> Option<String> {
    let value: serde_json::Value = serde_json::from_slice(line).ok()?;
    Some(value.get("at")?.as_str()?.to_owned())
}

/// A log that a flush has taken and read.
pub struct TakenLog {
    path: PathBuf,
    /// Complete lines that cannot be parsed, from another version.
    rest: Vec<u8>,
}

/// The records in these logs, and the logs that could be read; adds the others to `left`. Skips torn lines, which were
/// never acknowledged.
pub fn read_taken(files: Vec<PathBuf>, left: &mut Vec<LogUnavailable>) -> (Vec<PendingRecord>, Vec<TakenLog>) {
    let mut pending = Vec::new();
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
                Some(record) => pending.push(record),
                None if is_foreign(line) => rest.extend([b"\n", line].concat()),
                None => {}
            }
        }
        read.push(TakenLog { path, rest });
    }
    (pending, read)
}

/// The namespace and annotated object of a line, and the rest of it.
fn place(line: &[u8]) -> Option<(&str, Oid, &[u8])> {
    let mut parts = line.splitn(3, |b| *b == b' ');
    let namespace = std::str::from_utf8(parts.next()?).ok()?;
    let on = parse_oid(std::str::from_utf8(parts.next()?).ok()?)?;
    Some((namespace, on, parts.next()?))
}

/// The namespace, annotated object and record of a complete line.
fn fields(line: &[u8]) -> Option<(&str, Oid, &[u8])> {
    let (namespace, on, record) = place(line)?;
    // a torn line can end anywhere, even after a brace
    serde_json::from_slice::<serde::de::IgnoredAny>(record).ok()?;
    Some((namespace, on, record))
}

/// Whether a line is complete but of a namespace unknown to this version.
fn is_foreign(line: &[u8]) -> bool {
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    fields(line).is_some_and(|(namespace, ..)| is_name(namespace))
}

fn parse_all(bytes: &[u8]) -> Vec<PendingRecord> {
    whole_lines(bytes).filter_map(parse).collect()
}

/// The lines that end in LF; the last one may be torn.
fn whole_lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |end| end + 1);
    lines::split(&bytes[..whole])
}

fn parse(line: &[u8]) -> Option<PendingRecord> {
    let (namespace, on, record) = fields(line)?;
    lines::id(record)?;
    Some(PendingRecord { namespace: Namespace::parse(namespace)?, on, line: record.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_append_fails_if_the_log_is_always_renamed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, sharing) = (folder.path().join("log"), Sharing::default());
        let error = open_locked(&sharing, &path, Duration::from_secs(1), |_, _| false).unwrap_err();
        assert!(error.to_string().contains("gave up after 100 attempts"), "{error}");
        open_locked(&sharing, &path, Duration::from_secs(1), is_at).unwrap();
    }
}
