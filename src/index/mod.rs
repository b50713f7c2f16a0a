//! The index over all notes: derived, disposable, brought up to date by its readers.

mod connection;
mod fault;
mod file;
mod note;
mod query;
mod schema;
pub mod searchable;
mod texts;
mod update;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};

pub use crate::index::connection::Index;
use crate::index::connection::Opened;
use crate::index::fault::IndexError;
use crate::index::file::Files;
pub use crate::index::query::RecordQuery;
pub use crate::index::query::handoffs::{HandoffQuery, HandoffRow};
pub(crate) use crate::index::query::rare_words::{by_rare_words, stems};
pub use crate::index::query::search::{SearchMatch, SearchQuery, WordSet};
pub use crate::index::query::sessions::SessionRow;
use crate::index::texts::Texts;
use crate::index::update::Filler;
use crate::index::update::derive;
use crate::index::update::wanted::WantedNotes;
use empirica_notes::error::Result;
use empirica_notes::git::objects::partial_clone;
use empirica_notes::git::remotes::is_partial;
use empirica_notes::git::{Oid, parse_oid};
use empirica_notes::store::Store;
use empirica_notes::store::log::lock::Lock;
use empirica_notes::store::recover::complete::ASK_AGAIN;

/// How long a reader waits for another process that updates the index, before it builds its own.
const PATIENCE: Duration = Duration::from_secs(20);

/// Most missing blobs looked for when the index is opened.
const WATCHED: usize = 50;

/// Told of progress: how many notes and sessions are done. How many there are is not known before.
pub type Progress = Box<dyn Fn(usize)>;

/// Opens the index and keeps it open until the notes change.
#[derive(Default)]
pub struct Opener {
    opened: RefCell<Option<Rc<Opened>>>,
    progress: RefCell<Option<Progress>>,
}

impl Opener {
    /// Calls `tell` while a long update runs.
    pub fn on_progress(&self, tell: Progress) {
        self.progress.replace(Some(tell));
    }

    /// The index of the current notes, updated or rebuilt if stale. If its file cannot be written or `empirica.index`
    /// is false, it is built in memory from all notes.
    pub fn open<'s>(&self, store: &'s Store<'s>) -> Result<Index<'s>> {
        let wanted = WantedNotes::look(store)?;
        let key = wanted.key();
        if let Some(opened) = self.opened.borrow().as_ref().filter(|opened| opened.key == key) {
            return Ok(Index { store, opened: opened.clone() });
        }
        // an older snapshot must not block the writer
        self.opened.replace(None);
        let opened = Rc::new(Opening { store, progress: &self.progress }.opened_as(&wanted, key)?);
        self.opened.replace(Some(opened.clone()));
        Ok(Index { store, opened })
    }
}

struct Opening<'o> {
    store: &'o Store<'o>,
    progress: &'o RefCell<Option<Progress>>,
}

impl Opening<'_> {
    fn opened_as(&self, wanted: &WantedNotes, key: String) -> Result<Opened> {
        if self.store.repo().config_bool("empirica.index").unwrap_or(true) {
            let files = Files::within(self.store.paths());
            if let Some(db) = self.current(&files, &key) {
                return Ok(Opened { db, key });
            }
            match self.update(&files, wanted, &key) {
                Ok(Some(opened)) => return Ok(opened),
                Ok(None) | Err(IndexError::File(_) | IndexError::Lost) => {}
                Err(IndexError::Notes(error)) => return Err(error),
            }
        }
        Ok(Opened { db: self.in_memory(wanted, &key)?, key })
    }

    /// Updates or rebuilds the file. `None` if it cannot be written.
    fn update(&self, files: &Files, wanted: &WantedNotes, key: &str) -> Result<Option<Opened>, IndexError> {
        let Ok(_lock) = Lock::acquire(self.store.paths(), &files.lock, self.store.patience(PATIENCE)) else {
            return Ok(None);
        };
        let refreshed = || -> Result<Option<(Connection, Vec<Oid>)>, IndexError> {
            let Some((db, seen)) = files.open(true) else { return Ok(None) };
            db.execute_batch("BEGIN")?;
            let (Some(held), true) = (held(&db)?, files.is_trusted(&db, &seen)) else { return Ok(None) };
            let none = [self.store.repo().empty_tree(); 3];
            if self.has_arrived(&db)? || (held == none && wanted.trees != none) {
                return Ok(None);
            }
            if meta(&db, "key")?.as_deref() == Some(key) {
                // another process updated it meanwhile
                return Ok(Some((db, Vec::new())));
            }
            files.distrust();
            let missing = self.fill(&db, held, wanted, key)?;
            empirica_notes::fault::step("index: filled");
            db.execute_batch("COMMIT")?;
            empirica_notes::fault::step("index: committed");
            files.leave();
            // read it before another process can write
            file::map(&db)?;
            db.execute_batch("BEGIN")?;
            meta(&db, "key")?;
            Ok(Some((db, missing)))
        };
        let rebuild = || -> Result<Vec<Oid>, IndexError> {
            let (db, path) = files.begin()?;
            let filled = self.build(&db, wanted, key);
            drop(db);
            let placed = filled.and_then(|missing| {
                empirica_notes::fault::point("index: to be renamed")
                    .and_then(|()| std::fs::rename(&path, &files.db))
                    .map_err(|error| IndexError::File(rusqlite::Error::ToSqlConversionFailure(error.into())))?;
                Ok(missing)
            });
            if placed.is_err() {
                let _ = std::fs::remove_file(&path);
            }
            let missing = placed?;
            files.leave();
            Ok(missing)
        };
        // missing notes may be known to the old index only
        let fetched = match refreshed() {
            Ok(Some((_, missing))) if self.fetched(&missing) => true,
            Ok(Some((db, _))) => return Ok(Some(Opened { db, key: key.to_owned() })),
            _ => self.fetched(&rebuild()?),
        };
        if fetched {
            rebuild()?;
        }
        Ok(self.current(files, key).map(|db| Opened { db, key: key.to_owned() }))
    }

    /// Builds the index in memory: from the file if that can be trusted, otherwise from all notes.
    fn in_memory(&self, wanted: &WantedNotes, key: &str) -> Result<Connection, IndexError> {
        let copied = || -> Result<Option<Connection>, IndexError> {
            let files = Files::within(self.store.paths());
            let Some((file, seen)) = files.open(false) else { return Ok(None) };
            file.execute_batch("BEGIN")?;
            let Some(held) = held(&file)?.filter(|_| files.is_trusted(&file, &seen)) else { return Ok(None) };
            let mut db = empty()?;
            rusqlite::backup::Backup::new(&file, &mut db)?.run_to_completion(10_000, Duration::ZERO, None)?;
            self.fill(&db, held, wanted, key)?;
            Ok(Some(db))
        };
        if self.store.repo().config_bool("empirica.index").unwrap_or(true)
            && let Ok(Some(db)) = copied()
        {
            return Ok(db);
        }
        let db = empty()?;
        let missing = self.build(&db, wanted, key)?;
        if self.fetched(&missing) {
            let db = empty()?;
            self.build(&db, wanted, key)?;
            return Ok(db);
        }
        Ok(db)
    }

    /// Fetches blobs that a partial clone left out, all at once. Whether they are now present.
    fn fetched(&self, missing: &[Oid]) -> bool {
        if !is_partial(self.store.repo()) {
            // reading them reports them as missing
            missing.iter().for_each(|id| drop(self.store.repo().note(*id)));
            return false;
        }
        !missing.is_empty() && partial_clone::fetch(self.store.repo(), missing).is_ok()
    }

    /// Whether blobs missing when the database was filled are now present, or it is time to request them again.
    fn has_arrived(&self, db: &Connection) -> Result<bool, IndexError> {
        let missing = meta(db, "lacking")?.unwrap_or_default();
        let mut words = missing.split(' ');
        let requested: i64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(i64::MAX);
        let mut ids = words.filter_map(parse_oid).peekable();
        let is_time = ids.peek().is_some() && self.store.now().timestamp().saturating_sub(requested) >= ASK_AGAIN;
        Ok(is_time && is_partial(self.store.repo()) || ids.any(|id| self.store.repo().note(id).is_some()))
    }

    /// The database if it can be trusted and is up to date.
    fn current(&self, files: &Files, key: &str) -> Option<Connection> {
        let (db, seen) = files.open(false)?;
        db.execute_batch("BEGIN").ok()?;
        let is_current = meta(&db, "key").ok()?.as_deref() == Some(key) && files.is_trusted(&db, &seen);
        (is_current && !self.has_arrived(&db).ok()?).then_some(db)
    }

    /// Fills an empty database from all notes.
    fn build(&self, db: &Connection, wanted: &WantedNotes, key: &str) -> Result<Vec<Oid>, IndexError> {
        db.execute_batch("PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-131072; PRAGMA threads=2; BEGIN")?;
        db.execute_batch(schema::TABLES)?;
        let missing = self.fill(db, [self.store.repo().empty_tree(); 3], wanted, key)?;
        db.execute_batch("COMMIT")?;
        Ok(missing)
    }

    /// Updates a database from the trees it holds to `wanted`. Returns missing blobs.
    fn fill(&self, db: &Connection, held: [Oid; 3], wanted: &WantedNotes, key: &str) -> Result<Vec<Oid>, IndexError> {
        let find = "SELECT count(*) = 0 FROM sqlite_schema WHERE name = 'record_kind'";
        let is_new = db.query_row(find, [], |row| row.get(0))?;
        let texts = Texts::new(self.store.repo());
        let mut filler = Filler::new(db, self.store.repo(), &texts, is_new)?;
        let mut done = 0;
        let mut tell = || {
            done += 1;
            if done % 1000 == 0
                && let Some(tell) = &*self.progress.borrow()
            {
                tell(done);
            }
        };
        for (namespace, (old, new)) in held.into_iter().zip(wanted.trees).enumerate() {
            if old != new {
                filler.namespace(namespace, old, new, &mut tell)?;
            }
        }
        filler.extra(wanted.extra(self.store)?)?;
        filler.settle()?;
        derive::derive_sessions(&filler, &mut tell)?;
        if is_new {
            db.execute_batch(schema::SESSION_INDEXES)?;
        }
        if filler.sessionless {
            derive::sessionless(db)?;
        }
        let trees = wanted.trees.map(|tree| tree.to_string()).join(" ");
        let mut set = db.prepare_cached("INSERT OR REPLACE INTO meta(name, value) VALUES(?, ?)")?;
        for (name, value) in [("key", key), ("trees", &trees)] {
            set.execute(params![name, value])?;
        }
        let missing = filler.missing;
        if !missing.is_empty() {
            let some: Vec<String> = missing.iter().take(WATCHED).map(|id| id.to_string()).collect();
            set.execute(params!["lacking", format!("{} {}", self.store.now().timestamp(), some.join(" "))])?;
        }
        Ok(missing)
    }
}

fn empty() -> Result<Connection, IndexError> {
    let db = Connection::open_in_memory()?;
    file::prepare(&db)?;
    Ok(db)
}

fn meta(db: &Connection, name: &str) -> Result<Option<String>, IndexError> {
    let mut find = db.prepare_cached("SELECT value FROM meta WHERE name = ?")?;
    Ok(find.query_row([name], |row| row.get(0)).optional()?)
}

/// The trees a database of this layout and version holds.
fn held(db: &Connection) -> Result<Option<[Oid; 3]>, IndexError> {
    let made_by = format!("{} {} ", schema::LAYOUT, env!("CARGO_PKG_VERSION"));
    if !meta(db, "key")?.is_some_and(|key| key.starts_with(&made_by)) {
        return Ok(None);
    }
    let trees: Vec<Oid> = meta(db, "trees")?.unwrap_or_default().split(' ').filter_map(parse_oid).collect();
    Ok(trees.try_into().ok())
}
