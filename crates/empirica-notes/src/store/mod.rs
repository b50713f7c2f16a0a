//! Records in notes: appended to a log, flushed to refs by union, read from everywhere they may be.

pub mod files;
pub mod log;
mod portable;
pub mod read;
pub mod recover;
mod redact;
pub mod secrets;
mod sync;
mod write;

use crate::store::log::lock;
use crate::store::write::tips;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};

use crate::env::Env;
use crate::error::Result;
use crate::git::history::reach::Reach;
use crate::git::{HeadState, Repository};
use crate::model::{Id, Namespace, Record};

pub use crate::store::files::paths::Paths;
pub use crate::store::files::unique;
pub use crate::store::log::attachments::Pending;
pub use crate::store::log::lock::pause;
pub use crate::store::log::{PendingCounts, PendingRecord};
pub use crate::store::portable::{Imported, Out};
pub use crate::store::read::origin::{LineOrigin, WantedLine};
pub use crate::store::read::{Lookup, Note, Placements, RecordEntry, Scan, standing_alone};
pub use crate::store::recover::rescue::Rescued;
pub use crate::store::redact::Redaction;
pub use crate::store::redact::scrub::Scrubbed;
pub use crate::store::redact::tombstones::{Epoch, Form};
pub use crate::store::secrets::leak::{Leak, Part};
pub use crate::store::sync::{Line, RefComparison, TransferLines};
pub use crate::store::write::follow::Follow;
pub use crate::store::write::outcome::{FlushTiming, Storage, WriteOutcome};
pub use empirica_secrets::Replaced;

/// Renders what the notes show to people. Given by the floor that has the templates.
pub trait Render {
    /// The Markdown blocks of all records of a note: one for each session that handed over or has a digest there, one for each
    /// of these records that was redacted. `left` names those that the next commit holds; `whole` asks for whole reports.
    fn blocks(&self, records: &[Record], left: &BTreeSet<Id>, whole: bool) -> Result<Vec<String>>;

    /// The whole report of a handoff; empty for other records.
    fn report(&self, record: &Record) -> Result<String>;
}

/// How long a hook waits for others, all in all.
const HURRY: Duration = Duration::from_millis(500);

/// The ref of the Markdown notes.
pub const MARKDOWN_REF: &str = "refs/notes/empirica/handoffs";
/// Where all refs of this program are.
pub const PREFIX: &str = crate::git::refs::OURS;

/// The data ref of a namespace.
pub fn data_ref(namespace: Namespace) -> String {
    format!("{PREFIX}data/{}", namespace.name())
}

/// Our refs with how their notes are written: the namespaces, then the Markdown.
pub fn our_refs() -> Vec<(String, Form)> {
    let namespaces = Namespace::ALL.into_iter().map(|namespace| (data_ref(namespace), Form::Lines));
    namespaces.chain([(MARKDOWN_REF.to_owned(), Form::Blocks)]).collect()
}

/// The names of our refs, in the same order.
pub fn own_refs() -> Vec<String> {
    our_refs().into_iter().map(|(name, _)| name).collect()
}

/// The tracking ref of one of our refs. `tracking` is the name of [`crate::git::remotes::tracking`].
pub fn tracking_ref(tracking: &str, ours: &str) -> String {
    format!("{PREFIX}remotes/{tracking}/{}", ours.strip_prefix(PREFIX).unwrap_or(ours))
}

/// Which of our refs a tracking ref belongs to; `None` for any other ref.
pub(crate) fn tracked(name: &str) -> Option<String> {
    let rest = name.strip_prefix(PREFIX)?.strip_prefix("remotes/")?;
    let ours = our_refs().into_iter().map(|(name, _)| name);
    // data/handoffs ends as the Markdown ref does, and comes first
    ours.into_iter().find(|ours| {
        let end = format!("/{}", ours.strip_prefix(PREFIX).unwrap_or(ours));
        rest.strip_suffix(&end).is_some_and(|remote| !remote.is_empty())
    })
}

/// The records of one repository.
pub struct Store<'a> {
    repo: &'a Repository,
    paths: Paths,
    head: HeadState,
    now: DateTime<Utc>,
    newest_ms: Cell<u64>,
    lock_timeout: Duration,
    /// When waiting for others ends, all of it together; `None` without a hurry.
    until: Option<Instant>,
    scan_secrets: bool,
    /// Whether secrets are stored as they are, and said.
    allow_secrets: bool,
    render: &'a dyn Render,
    reach: RefCell<Reach>,
    /// The texts that this process learned are redacted: gone from whatever it writes.
    forgotten: RefCell<crate::format::redact::Texts>,
}

impl<'a> Store<'a> {
    /// The store of a repository. Nothing is read or written yet.
    pub fn new(repo: &'a Repository, env: &Env, render: &'a dyn Render) -> Result<Self> {
        Ok(Store {
            paths: Paths::new(repo, env),
            head: repo.head()?,
            now: env.now(),
            newest_ms: Cell::new(0),
            lock_timeout: lock_timeout(repo),
            until: None,
            scan_secrets: repo.config_bool("empirica.redact").unwrap_or(true),
            allow_secrets: false,
            render,
            reach: RefCell::default(),
            forgotten: RefCell::default(),
            repo,
        })
    }

    /// The repository.
    pub fn repo(&self) -> &'a Repository {
        self.repo
    }

    /// HEAD as it was when the store was opened: what new records are made on.
    pub fn head(&self) -> &HeadState {
        &self.head
    }

    /// From now on waits for others half a second at most, all in all: in a hook, the user's own work comes first.
    pub fn hurry(&mut self) {
        self.lock_timeout = self.lock_timeout.min(HURRY);
        self.until = Some(Instant::now() + HURRY);
        self.repo.stay_offline();
    }

    /// From now on stores secrets as they are, in records that say so.
    pub fn allow_secrets(&mut self) {
        self.allow_secrets = true;
    }

    /// How long others are waited for now: `wanted`, or what a hurry has left of it.
    pub fn patience(&self, wanted: Duration) -> Duration {
        self.until.map_or(wanted, |until| until.saturating_duration_since(Instant::now()).min(wanted))
    }

    /// Whether a commit can be reached from HEAD. One that is not here cannot.
    pub fn reaches(&self, commit: crate::git::Oid) -> bool {
        self.reach.borrow_mut().contains(self.repo, commit)
    }

    /// Whether records of this worktree wait for a first commit.
    pub fn has_unborn(&self) -> bool {
        self.paths.unborn().exists()
    }

    /// The lock of who writes to the notes, held until it is dropped. What has to come over the network for that comes before.
    fn locked(&self) -> Result<lock::Lock> {
        self.complete();
        lock::Lock::acquire(&self.paths, &self.paths.lock(), self.patience(self.lock_timeout))
    }

    /// A turn of its own in what is decided by what others stored: held until it is dropped. Who cannot have it within the time that
    /// locks are waited for goes on without: a record is never lost for it.
    pub fn turn(&self) -> Option<impl Sized + use<>> {
        lock::Lock::acquire(&self.paths, &self.paths.state().join("turn"), self.patience(self.lock_timeout)).ok()
    }

    /// To be the only one that does something: `None` when another still does it after that time. Held until it is dropped.
    pub fn alone(&self, what: &str, patience: Duration) -> Option<impl Sized + use<>> {
        lock::Lock::acquire(&self.paths, &self.paths.state().join(what), patience).ok()
    }

    /// The whole report of a handoff in Markdown; `None` when it cannot be rendered.
    pub fn report(&self, record: &Record) -> Option<String> {
        self.render.report(record).ok()
    }

    /// Takes records out of the logs, if all of them wait there and nobody has taken them to the notes.
    pub fn withdraw(&self, ids: &BTreeSet<Id>) -> bool {
        log::withdraw(&self.paths, ids, self.lock_timeout).unwrap_or(false)
    }

    /// Redacts the texts of a redacted line from whatever this process writes.
    pub fn forget_text(&self, line: &[u8]) {
        self.forgotten.borrow_mut().add(line);
    }

    /// The time the command began.
    pub fn now(&self) -> DateTime<Utc> {
        self.now
    }

    /// Where the store keeps what is not in the notes.
    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// The latest time an id may have to count for the order of new ones, in milliseconds.
    fn latest_ms(&self) -> u64 {
        self.now.timestamp_millis().max(0) as u64 + crate::model::id::MAX_AHEAD_MS
    }

    /// A new id, later than every id known here.
    pub fn new_id(&self) -> Id {
        let known = match self.newest_ms.get() {
            0 => tips::newest_ms(&self.paths).max(log::newest_ms(&self.paths, self.latest_ms())),
            known => known,
        };
        let ms = crate::model::id::next_ms(self.now.timestamp_millis().max(0) as u64, known);
        self.newest_ms.set(ms);
        Id::at(ms)
    }
}

/// `empirica.lockTimeout` (`300ms`, `10s`), else 10 s.
fn lock_timeout(repo: &Repository) -> Duration {
    let configured = repo.config("empirica.lockTimeout").and_then(|text| parse_duration(&text));
    configured.unwrap_or(Duration::from_secs(10))
}

/// Reads `300ms`, `10s` or `2m`, a number alone as seconds; anything else is `None`.
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

impl Store<'_> {
    /// Replaces a file whole, so that a reader sees the old or the new content; its folder is made. A link in its place is
    /// replaced, not followed.
    pub fn replace_file(&self, path: &std::path::Path, content: &str) -> std::io::Result<()> {
        self.paths.replace(path, content)
    }
}
