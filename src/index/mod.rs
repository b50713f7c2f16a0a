//! The index over all notes: derived, disposable, brought up to date by its readers.

mod connection;
mod error;
mod file;
mod known;
mod note;
mod query;
mod schema;
pub mod searchable;
mod texts;
mod update;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension};

pub use crate::index::connection::Index;
use crate::index::connection::OpenIndex;
use crate::index::error::IndexError;
use crate::index::file::Files;
pub use crate::index::query::RecordQuery;
pub use crate::index::query::anchors::ClaimAnchor;
pub use crate::index::query::handoffs::{HandoffQuery, HandoffRow};
pub(crate) use crate::index::query::rare_words::by_rare_words;
pub use crate::index::query::search::{RANKED, SearchMatch, SearchQuery, WordSet};
pub use crate::index::query::sessions::SessionRow;
use crate::index::texts::SharedCache;
use crate::index::update::RowInserter;
use crate::index::update::derive;
use crate::index::update::wanted::WantedNotes;
use empirica_notes::error::Result;
use empirica_notes::fault;
use empirica_notes::git::objects::partial_clone;
use empirica_notes::git::remotes::is_partial;
use empirica_notes::git::{Oid, parse_oid};
use empirica_notes::store::Store;
use empirica_notes::store::log::lock::Lock;
use empirica_notes::store::recover::fetch_missing::RETRY_AFTER;

/// How long a reader waits for another process that updates the index, before it builds its own.
const INDEX_LOCK_WAIT: Duration = Duration::from_secs(20);

/// Most missing blobs looked for when the index is opened.
const WATCHED: usize = 50;

/// Receives the number of notes and sessions indexed so far; the total is unknown.
pub type Progress = Box<dyn Fn(usize)>;

/// Opens the index and keeps it open until the notes change.
#[derive(Default)]
pub struct IndexCache {
    opened: RefCell<Option<Rc<OpenIndex>>>,
    progress: RefCell<Option<Progress>>,
    /// How long an update may take.
    limit: Cell<Option<Duration>>,
    is_late: Cell<bool>,
    is_kept: Cell<bool>,
    leaves_file: Cell<bool>,
}

impl IndexCache {
    /// From now on, an index that takes longer to update is not opened.
    pub fn limit(&self, limit: Duration) {
        self.limit.set(Some(limit));
    }

    /// From now on, an index that is not current is built in memory, and no file is written.
    pub fn leave_file(&self) {
        self.leaves_file.set(true);
    }

    /// Whether no file is written.
    pub fn leaves_file(&self) -> bool {
        self.leaves_file.get()
    }

    /// From now on, the opened index is read even if records are added.
    pub fn keep(&self) {
        self.is_kept.set(true);
    }

    /// Whether an index was not opened for that.
    pub fn is_late(&self) -> bool {
        self.is_late.get()
    }

    /// Calls `progress` while a long update runs.
    pub fn on_progress(&self, progress: Progress) {
        self.progress.replace(Some(progress));
    }

    /// The index of the current notes, updated or rebuilt if stale. If its file cannot be written or `empirica.index`
    /// is false, it is built in memory from all notes.
    pub fn open<'s>(&self, store: &'s Store<'s>) -> Result<Index<'s>> {
        if let Some(opened) = self.opened.borrow().as_ref().filter(|_| self.is_kept.get()) {
            return Ok(Index { store, opened: opened.clone() });
        }
        let wanted = WantedNotes::read(store)?;
        let key = wanted.key();
        if let Some(opened) = self.opened.borrow().as_ref().filter(|opened| opened.key == key) {
            return Ok(Index { store, opened: opened.clone() });
        }
        if let Some(older) = self.opened.take() {
            // use cases may still hold it, and an update waits for its lock; without a transaction it has none
            let _ = older.db.execute_batch("COMMIT");
        }
        let files = Files::within(store.paths());
        let until = self.limit.get().map(|limit| Instant::now() + limit);
        let writes = !self.leaves_file.get();
        let opened = IndexUpdate { store, files, wanted, key: &key, progress: &self.progress, until, writes }.open();
        self.is_late.set(matches!(opened, Err(IndexError::Late)));
        let db = opened?;
        let opened = Rc::new(OpenIndex { db, key, texts: SharedCache::default() });
        self.opened.replace(Some(opened.clone()));
        Ok(Index { store, opened })
    }
}

struct IndexUpdate<'o> {
    store: &'o Store<'o>,
    files: Files,
    wanted: WantedNotes,
    key: &'o str,
    progress: &'o RefCell<Option<Progress>>,
    until: Option<Instant>,
    writes: bool,
}

impl IndexUpdate<'_> {
    fn open(&self) -> Result<Connection, IndexError> {
        if self.store.repo().config_bool("empirica.index").unwrap_or(true) {
            if let Some(db) = self.current() {
                return Ok(db);
            }
            match if self.writes { self.update() } else { Ok(None) } {
                Ok(Some(db)) => return Ok(db),
                Err(error @ (IndexError::Notes(_) | IndexError::Late)) => return Err(error),
                Ok(None) | Err(IndexError::File(_) | IndexError::Lost) => {}
            }
        }
        let (db, missing) = self.in_memory()?;
        Ok(if self.fetch(&missing) { self.in_memory()?.0 } else { db })
    }

    /// The database if it can be trusted and is up to date.
    fn current(&self) -> Option<Connection> {
        let (db, state) = self.files.open(false)?;
        db.execute_batch("BEGIN").ok()?;
        let is_current = meta(&db, "key").ok()?.as_deref() == Some(self.key) && self.files.is_trusted(&db, &state);
        (is_current && !self.has_arrived(&db).ok()?).then_some(db)
    }

    /// Updates or rebuilds the file. `None` if it cannot be written.
    fn update(&self) -> Result<Option<Connection>, IndexError> {
        let patience = self.until.map_or(INDEX_LOCK_WAIT, |until| until.saturating_duration_since(Instant::now()));
        let patience = self.store.remaining_wait(patience.min(INDEX_LOCK_WAIT));
        let Ok(_lock) = Lock::acquire(self.store.paths(), &self.files.lock, patience) else {
            return if self.until.is_some() { Err(IndexError::Late) } else { Ok(None) };
        };
        // missing notes may be known to the old index only
        let fetched = match self.refresh() {
            Ok(Some((db, missing))) if !self.fetch(&missing) => return Ok(Some(db)),
            Ok(Some(_)) => true,
            Err(IndexError::Late) => return Err(IndexError::Late),
            Ok(None) | Err(_) => self.fetch(&self.rebuild()?),
        };
        if fetched {
            self.rebuild()?;
        }
        Ok(self.current())
    }

    /// Updates the file, and returns missing blobs. `None` if it must be rebuilt.
    fn refresh(&self) -> Result<Option<(Connection, Vec<Oid>)>, IndexError> {
        let Some((db, state)) = self.files.open(true) else { return Ok(None) };
        db.execute_batch("BEGIN")?;
        let (Some(trees), true) = (trees(&db)?, self.files.is_trusted(&db, &state)) else { return Ok(None) };
        let none = [self.store.repo().empty_tree(); 3];
        if self.has_arrived(&db)? || (trees == none && self.wanted.trees != none) {
            return Ok(None);
        }
        if meta(&db, "key")?.as_deref() == Some(self.key) {
            // another process updated it meanwhile
            return Ok(Some((db, Vec::new())));
        }
        self.files.distrust();
        let missing = self.fill(&db, trees)?;
        fault::step("index: filled");
        db.execute_batch("COMMIT")?;
        fault::step("index: committed");
        self.files.stamp();
        // read it before another process can write
        file::map(&db)?;
        db.execute_batch("BEGIN")?;
        meta(&db, "key")?;
        Ok(Some((db, missing)))
    }

    /// Replaces the file, and returns missing blobs.
    fn rebuild(&self) -> Result<Vec<Oid>, IndexError> {
        let (db, path) = self.files.create()?;
        let filled = self.build(&db);
        drop(db);
        let missing = filled.and_then(|missing| {
            fault::point("index: to be renamed")
                .and_then(|()| std::fs::rename(&path, &self.files.db))
                .map_or(Err(IndexError::Lost), |()| Ok(missing))
        });
        match &missing {
            Ok(_) => self.files.stamp(),
            Err(_) => drop(std::fs::remove_file(&path)),
        }
        missing
    }

    fn in_memory(&self) -> Result<(Connection, Vec<Oid>), IndexError> {
        let db = Connection::open_in_memory()?;
        file::prepare(&db)?;
        let missing = self.build(&db)?;
        Ok((db, missing))
    }

    /// Fetches blobs that a partial clone left out, all at once. Whether they are now present.
    fn fetch(&self, missing: &[Oid]) -> bool {
        if !is_partial(self.store.repo()) {
            // reading them reports them as missing
            missing.iter().for_each(|id| drop(self.store.repo().note(*id)));
            return false;
        }
        !missing.is_empty() && partial_clone::fetch(self.store.repo(), missing).is_ok()
    }

    /// Whether blobs missing when the database was filled are now present, or it is time to request them again.
    fn has_arrived(&self, db: &Connection) -> Result<bool, IndexError> {
        let missing = meta(db, "missing")?.unwrap_or_default();
        let mut words = missing.split(' ');
        let requested: i64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(i64::MAX);
        let mut ids = words.filter_map(parse_oid).peekable();
        let is_time = ids.peek().is_some() && self.store.now().timestamp().saturating_sub(requested) >= RETRY_AFTER;
        Ok(is_time && is_partial(self.store.repo()) || ids.any(|id| self.store.repo().note(id).is_some()))
    }

    /// Fills an empty database from all notes. Returns missing blobs.
    fn build(&self, db: &Connection) -> Result<Vec<Oid>, IndexError> {
        db.execute_batch("PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-32768; PRAGMA threads=2; BEGIN")?;
        db.execute_batch(schema::TABLES)?;
        let missing = self.fill(db, [self.store.repo().empty_tree(); 3])?;
        db.execute_batch("COMMIT")?;
        Ok(missing)
    }

    /// Updates a database from the trees it holds. Returns missing blobs.
    fn fill(&self, db: &Connection, held: [Oid; 3]) -> Result<Vec<Oid>, IndexError> {
        let find = "SELECT count(*) = 0 FROM sqlite_schema WHERE name = 'record_kind'";
        let is_new = db.query_row(find, [], |row| row.get(0))?;
        let mut inserter = RowInserter::new(db, self.store.repo(), is_new)?;
        let mut done = 0;
        let mut tell = || {
            done += 1;
            if done % 1000 == 0
                && let Some(progress) = &*self.progress.borrow()
            {
                progress(done);
            }
            if self.until.is_some_and(|until| Instant::now() > until) { Err(IndexError::Late) } else { Ok(()) }
        };
        if is_new {
            inserter.all(&self.wanted.trees, &mut tell)?;
        } else {
            for (namespace, (old, new)) in held.into_iter().zip(self.wanted.trees).enumerate() {
                if old != new {
                    inserter.namespace(namespace, old, new, &mut tell)?;
                }
            }
        }
        inserter.extra(self.wanted.extra(self.store)?)?;
        inserter.settle(&mut tell)?;
        inserter.correct_words()?;
        derive::derive_sessions(&inserter, self.store, &mut tell)?;
        if is_new {
            db.execute_batch(schema::SESSION_INDEXES)?;
        }
        if inserter.sessionless {
            derive::sessionless(db)?;
        }
        let mut set = db.prepare_cached("INSERT OR REPLACE INTO meta(name, value) VALUES(?, ?)")?;
        set.execute(["key", self.key])?;
        set.execute(["trees", &self.wanted.trees.map(|tree| tree.to_string()).join(" ")])?;
        if !inserter.missing.is_empty() {
            let watched: Vec<String> = inserter.missing.iter().take(WATCHED).map(|id| id.to_string()).collect();
            set.execute(["missing", &format!("{} {}", self.store.now().timestamp(), watched.join(" "))])?;
        }
        Ok(inserter.missing)
    }
}

fn meta(db: &Connection, name: &str) -> Result<Option<String>, IndexError> {
    let mut find = db.prepare_cached("SELECT value FROM meta WHERE name = ?")?;
    Ok(find.query_row([name], |row| row.get(0)).optional()?)
}

/// The trees a database of this layout and version holds.
fn trees(db: &Connection) -> Result<Option<[Oid; 3]>, IndexError> {
    let made_by = format!("{} {} ", schema::LAYOUT, env!("CARGO_PKG_VERSION"));
    if !meta(db, "key")?.is_some_and(|key| key.starts_with(&made_by)) {
        return Ok(None);
    }
    let trees: Vec<Oid> = meta(db, "trees")?.unwrap_or_default().split(' ').filter_map(parse_oid).collect();
    Ok(trees.try_into().ok())
}
