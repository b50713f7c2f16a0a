//! Records in notes: appended to a log, flushed to refs by union, read from logs and refs.

mod export;
pub mod files;
pub mod log;
pub mod pending_handoffs;
pub mod read;
pub mod recover;
mod redact;
mod refs;
pub mod secrets;
mod sync;
mod write;

use crate::store::log::lock::Lock;
use crate::store::write::tips::Tips;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};

use crate::env::Env;
use crate::error::Result;
use crate::format;
use crate::git::history::reach::Reach;
use crate::git::{HeadState, Oid, Repository};
use crate::model::{Horizon, Id, Namespace, Record};

pub use crate::store::export::{ExportItem, Imported};
pub use crate::store::files::paths::Paths;
pub use crate::store::files::unique;
pub use crate::store::log::lock::pause;
pub use crate::store::log::{PendingCounts, PendingRecord};
pub use crate::store::read::origin::{LineOrigin, LineQuery};
pub use crate::store::read::{Lookup, Note, Placements, RecordEntry, Scan, resolve_note};
pub use crate::store::recover::health::NotesHealth;
pub use crate::store::recover::rescue::Rescued;
pub use crate::store::redact::RedactedRecords;
pub use crate::store::redact::scrub::Scrubbed;
pub use crate::store::redact::tombstones::{NoteFormat, Tombstones};
pub use crate::store::refs::{MARKDOWN_REF, PREFIX, data_ref, own_refs, tracking_ref};
pub use crate::store::secrets::leak::{Leak, LeakPart, has_allowed_secrets};
pub use crate::store::sync::policy::SyncPolicy;
pub use crate::store::sync::{Line, RefComparison, TransferLines};
pub use crate::store::write::follow::Follow;
pub use crate::store::write::outcome::{FlushTiming, Storage, WriteOutcome};
pub use empirica_secrets::Replaced;

pub(crate) use crate::store::refs::{TRACKING, namespace_of, tracked};

/// Renders Markdown notes; implemented by the crate that has the templates.
pub trait Render {
    /// The Markdown blocks of a note's records: one per session with a handoff or digest, and one per redacted record
    /// of these kinds. `left` has the records whose work is in the next commit; `whole` selects whole reports.
    fn blocks(&self, records: &[Record], left: &BTreeSet<Id>, whole: bool) -> Result<Vec<String>>;

    /// The report of a handoff; empty for other records.
    fn report(&self, record: &Record) -> Result<String>;
}

/// The total time a hook waits for locks.
const HOOK_WAIT: Duration = Duration::from_millis(500);

/// The records of one repository, as seen by one command: its configuration, clock and locks. Its accessors,
/// such as [`Store::reader`], give a type per subject.
pub struct Store<'a> {
    repo: &'a Repository,
    paths: Paths,
    head: HeadState,
    now: DateTime<Utc>,
    newest_ms: Cell<u64>,
    /// The newest id in notes read or lines written since the tips were loaded, in milliseconds.
    newest_seen_ms: Cell<u64>,
    lock_timeout: Duration,
    /// The deadline for all waiting; `None` without a limit.
    deadline: Option<Instant>,
    scan_secrets: bool,
    /// Whether secrets are stored unchanged, and reported.
    allow_secrets: bool,
    flushes_later: bool,
    render: &'a dyn Render,
    reach: RefCell<Reach>,
    /// The records of single notes, in which attached records were looked for.
    noted: RefCell<BTreeMap<(Namespace, Oid), BTreeSet<Id>>>,
    /// Redacted texts, removed from everything this process writes.
    forgotten: RefCell<crate::format::redact::RedactedTexts>,
    /// The ids of local records that redactions of others removed or rewrote, not yet told.
    redacted_by_others: RefCell<BTreeSet<String>>,
}

/// Reads records from the local refs, the tracking refs and the logs at once; writes no note.
pub struct Reader<'s> {
    store: &'s Store<'s>,
}

/// Stores records: each is in a log before a note has it, and leaves the log after.
pub struct Writer<'s> {
    store: &'s Store<'s>,
}

/// The records in the logs of all worktrees, not yet in their notes.
pub struct Log<'s> {
    store: &'s Store<'s>,
}

/// The handoffs of this worktree for uncommitted or future work. If the list is lost, they stay on the commit they were
/// written on.
pub struct PendingHandoffs<'s> {
    store: &'s Store<'s>,
}

/// Exports all stored lines, and imports them by union, so that a repeated import changes nothing.
pub struct Archive<'s> {
    store: &'s Store<'s>,
}

/// Unites content that others or damage removed from the refs back into them; no readable record is lost.
pub struct Recovery<'s> {
    store: &'s Store<'s>,
}

/// Checks whether records can be read and written; changes nothing.
pub struct Health<'s> {
    store: &'s Store<'s>,
}

/// The errors of hooks, which never fail and rarely print: the newest 128 at most.
pub struct HookErrors<'s> {
    store: &'s Store<'s>,
}

/// Compares the refs with those of remotes and unites them, so that a push is a fast-forward.
pub struct Remotes<'s> {
    store: &'s Store<'s>,
}

/// The state kept for the server at a URL, so that not every push contacts it.
pub struct ServerState<'s> {
    store: &'s Store<'s>,
    url: &'s str,
}

/// Removes records and their texts: nothing that this process writes afterwards has a redacted text.
pub struct Redaction<'s> {
    store: &'s Store<'s>,
}

/// Replaces secrets in new texts, as configured: no text changes while they are allowed or `empirica.redact` is off.
pub struct SecretFilter<'s> {
    store: &'s Store<'s>,
}

/// Finds secrets in stored data and in what a push would send; replaces none.
pub struct SecretScan<'s> {
    store: &'s Store<'s>,
}

impl<'a> Store<'a> {
    /// Opens the store of a repository, without reading or writing notes.
    pub fn new(repo: &'a Repository, env: &Env, render: &'a dyn Render) -> Result<Self> {
        Ok(Store {
            paths: Paths::new(repo, env),
            head: repo.head()?,
            now: env.now(),
            newest_ms: Cell::new(0),
            newest_seen_ms: Cell::new(0),
            lock_timeout: lock_timeout(repo),
            deadline: None,
            scan_secrets: repo.config_bool("empirica.redact").unwrap_or(true),
            allow_secrets: false,
            flushes_later: false,
            render,
            reach: RefCell::default(),
            noted: RefCell::default(),
            forgotten: RefCell::default(),
            redacted_by_others: RefCell::default(),
            repo,
        })
    }

    /// The repository it was opened on.
    pub fn repo(&self) -> &'a Repository {
        self.repo
    }

    /// The renderer of its Markdown notes.
    pub fn render(&self) -> &'a dyn Render {
        self.render
    }

    /// HEAD when the store was opened, on which new records are made.
    pub fn head(&self) -> &HeadState {
        &self.head
    }

    /// Limits all further waiting to half a second and stays offline, for hooks.
    pub fn limit_waiting_for_hook(&mut self) {
        self.lock_timeout = self.lock_timeout.min(HOOK_WAIT);
        self.deadline = Some(Instant::now() + HOOK_WAIT);
        self.repo.stay_offline();
    }

    /// Whether a hook is running.
    pub fn is_in_hook(&self) -> bool {
        self.deadline.is_some()
    }

    /// Leaves all further records in the log until another process flushes it, or it has reached 64 KB.
    pub fn flush_later(&mut self) {
        self.flushes_later = true;
    }

    /// Stores secrets unchanged from now on, in records that report them.
    pub fn allow_secrets(&mut self) {
        self.allow_secrets = true;
    }

    /// The reading of records.
    pub fn reader(&self) -> Reader<'_> {
        Reader { store: self }
    }

    /// The writing of records.
    pub fn writer(&self) -> Writer<'_> {
        Writer { store: self }
    }

    /// The pending records.
    pub fn log(&self) -> Log<'_> {
        Log { store: self }
    }

    /// The handoffs for uncommitted work.
    pub fn pending_handoffs(&self) -> PendingHandoffs<'_> {
        PendingHandoffs { store: self }
    }

    /// The export and import of records.
    pub fn archive(&self) -> Archive<'_> {
        Archive { store: self }
    }

    /// The recovery of content lost from refs.
    pub fn recovery(&self) -> Recovery<'_> {
        Recovery { store: self }
    }

    /// The checks of this repository's records.
    pub fn health(&self) -> Health<'_> {
        Health { store: self }
    }

    /// The errors that hooks logged.
    pub fn hook_errors(&self) -> HookErrors<'_> {
        HookErrors { store: self }
    }

    /// The comparison and union with remotes.
    pub fn remotes(&self) -> Remotes<'_> {
        Remotes { store: self }
    }

    /// The state kept for the server at `url`.
    pub fn server<'s>(&'s self, url: &'s str) -> ServerState<'s> {
        ServerState { store: self, url }
    }

    /// The redaction of records.
    pub fn redaction(&self) -> Redaction<'_> {
        Redaction { store: self }
    }

    /// The replacement of secrets in new texts.
    pub fn secret_filter(&self) -> SecretFilter<'_> {
        SecretFilter { store: self }
    }

    /// The search for secrets.
    pub fn secret_scan(&self) -> SecretScan<'_> {
        SecretScan { store: self }
    }

    /// The time to wait for a lock: `timeout`, or what is left until the deadline.
    pub fn remaining_wait(&self, timeout: Duration) -> Duration {
        self.deadline.map_or(timeout, |until| until.saturating_duration_since(Instant::now()).min(timeout))
    }

    /// The lock for writing notes. Fetches missing objects first, as the lock is never held across the network.
    fn locked(&self) -> Result<Lock> {
        self.recovery().fetch_missing_objects();
        Lock::acquire(&self.paths, &self.paths.lock(), self.remaining_wait(self.lock_timeout))
    }

    /// A lock for read-decide-write sequences. `None` after the lock timeout: the caller then continues without it, so
    /// that no record is lost.
    pub fn read_decide_write_lock(&self) -> Option<Lock> {
        self.need_read_decide_write_lock().ok()
    }

    /// As [`Self::read_decide_write_lock`]; an error if another process still holds it.
    pub fn need_read_decide_write_lock(&self) -> Result<Lock> {
        Lock::acquire(&self.paths, &self.paths.file("turn"), self.remaining_wait(self.lock_timeout))
    }

    /// The lock named `name`; `None` if another process still holds it after `patience`.
    pub fn try_lock(&self, name: &str, patience: Duration) -> Option<Lock> {
        Lock::acquire(&self.paths, &self.paths.file(name), patience).ok()
    }

    /// How long a writer waits for others: `empirica.lockTimeout`.
    pub fn patience(&self) -> Duration {
        self.lock_timeout
    }

    /// The start time of the command.
    pub fn now(&self) -> DateTime<Utc> {
        self.now
    }

    /// From when ids are ahead of the clock.
    pub fn horizon(&self) -> Horizon {
        Horizon::after(self.now)
    }

    /// The store's files outside the notes.
    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// The time of the newest id in lines, in milliseconds; 0 without one. Ids far ahead of the local clock do not
    /// count.
    fn newest_ms<'l>(&self, lines: impl Iterator<Item = &'l [u8]>) -> u64 {
        let latest = self.now_ms() + crate::model::id::MAX_AHEAD_MS;
        let ms = lines.filter_map(|line| Some(Id::parse(format::lines::id(line)?)?.ms()));
        ms.filter(|ms| *ms <= latest).max().unwrap_or(0)
    }

    /// Counts the ids in lines among those seen.
    pub(crate) fn observe_ids<'l>(&self, lines: impl Iterator<Item = &'l [u8]>) {
        self.newest_seen_ms.set(self.newest_seen_ms.get().max(self.newest_ms(lines)));
    }

    fn now_ms(&self) -> u64 {
        self.now.timestamp_millis().max(0) as u64
    }

    /// A new id, later than all ids in the notes and logs.
    fn new_id(&self) -> Id {
        let newest = match self.newest_ms.get() {
            0 => {
                let pending = log::read(&self.paths);
                let pending = self.newest_ms(pending.iter().map(|pending| pending.line.as_slice()));
                Tips::load(&self.paths).newest_ms.max(pending)
            }
            newest => newest,
        };
        let ms = crate::model::id::next_ms(self.now_ms(), newest);
        self.newest_ms.set(ms);
        self.paths.secret().map_or_else(|| Id::at(ms), |secret| Id::sealed(ms, secret))
    }

    /// Whether this clone made a record with this id. Anybody can copy an id: who made the record is known only if no other has
    /// it.
    pub fn made(&self, id: &Id) -> bool {
        self.paths.secret().is_some_and(|secret| id.is_sealed_by(secret))
    }
}

/// `empirica.lockTimeout` (`300ms`, `10s`), else 10 s.
fn lock_timeout(repo: &Repository) -> Duration {
    let configured = repo.config("empirica.lockTimeout").and_then(|text| parse_duration(&text));
    configured.unwrap_or(Duration::from_secs(10))
}

/// Parses `300ms`, `10s` or `2m`, and a bare number as seconds; `None` for anything else.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..split].parse().ok()?;
    match &text[split..] {
        "ms" => Some(Duration::from_millis(number)),
        "s" | "" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_secs(number.checked_mul(60)?)),
        _ => None,
    }
}
