//! Appending: every record goes to the log first, then, at once or later, to its note.

use std::collections::BTreeSet;

use super::flush::Flushed;
use super::log::{self, Waiting};
use super::{Entry, Replaced, Store, secrets, touched, unborn};
use crate::error::{Error, Result};
use crate::git::Oid;
use crate::model::record::{Supersede, VERSION};
use crate::model::{Body, Head, Id, Record, SessionId, Shelf};
use crate::wire;

/// When records shall be in the notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// With the next flush; before that when the log has grown to 64 KB.
    Later,
    /// Before the command ends.
    Now,
}

/// What became of an append. The records are safe in every case.
#[derive(Debug, Default)]
pub struct Written {
    /// The records as stored, after secrets were replaced.
    pub records: Vec<Record>,
    /// The secrets that were replaced.
    pub redacted: Vec<Replaced>,
    /// Why the notes could not be written, when the records wait in the log.
    pub degraded: Option<Error>,
    /// What else went wrong without losing anything.
    pub warnings: Vec<String>,
}

impl Store<'_> {
    /// The envelope of a new record made now, on HEAD.
    pub fn new_head(&self, session: Option<&SessionId>, ai: &str) -> Head {
        Head {
            v: VERSION,
            id: self.new_id(),
            session: session.cloned(),
            ai: ai.to_owned(),
            at: self.now.to_rfc3339_opts(chrono::SecondsFormat::Millis, true),
            commit: self.head.commit.map(|id| id.to_string()),
            tree: self.head.tree.map(|id| id.to_string()),
        }
    }

    /// A new record made now, on HEAD.
    pub fn new_record(&self, session: &SessionId, ai: &str, body: Body) -> Record {
        Record { head: self.new_head(Some(session), ai), body }
    }

    /// Stores records on the commit they were made on. Fails only when no log can be written.
    pub fn append(&self, records: Vec<Record>, when: When) -> Result<Written> {
        self.append_on(records.into_iter().map(|record| (record, None)).collect(), when)
    }

    /// Stores a handoff at once, and beside each older one it takes the place of, on every object where that stands,
    /// a record that says so.
    pub fn hand_over(&self, handoff: Record, older: Vec<(Id, BTreeSet<Oid>)>) -> Result<Written> {
        let by = handoff.head.id.clone();
        let (session, ai) = (handoff.head.session.clone(), handoff.head.ai.clone());
        let mut records = vec![(handoff, None)];
        for (of, places) in older {
            let body = Body::Supersede(Supersede { of, by: by.clone() });
            let record = Record { head: self.new_head(session.as_ref(), &ai), body };
            records.extend(places.into_iter().map(|on| (record.clone(), Some((Shelf::Handoffs, on)))));
        }
        self.append_on(records, When::Now)
    }

    /// As [`Self::append`], with the object and shelf given where they are not the record's own.
    pub(super) fn append_on(&self, records: Vec<(Record, Option<(Shelf, Oid)>)>, when: When) -> Result<Written> {
        let mut written = Written::default();
        let mut waiting = Vec::new();
        for (record, place) in records {
            let (record, line) = self.encode(record, &mut written.redacted)?;
            let (shelf, on) =
                place.unwrap_or_else(|| (record.body.shelf().unwrap_or(Shelf::Journal), self.home_of_new(&record)));
            waiting.push(Waiting { shelf, on, line });
            written.records.push(record);
        }
        let appended = log::append(&self.paths, &waiting, self.lock_timeout).map_err(|error| self.nowhere(error))?;
        if let Some(error) = appended.fallback {
            written.warnings.push(format!(
                "the repository's log cannot be written ({error}); the record waits in the user's state folder"
            ));
        }
        for (record, waiting) in written.records.iter().zip(&waiting) {
            self.note_new(record, waiting);
        }
        if when == When::Now || appended.size >= log::FLUSH_BYTES {
            let Flushed { degraded, warnings, .. } = self.flush();
            written.degraded = degraded;
            written.warnings.extend(warnings);
        }
        Ok(written)
    }

    /// The object whose note a new record belongs to: its commit, or the empty tree on an unborn HEAD.
    fn home_of_new(&self, record: &Record) -> Oid {
        let commit = record.head.commit.as_deref().and_then(crate::git::parse_oid);
        commit.unwrap_or_else(|| self.repo.empty_tree())
    }

    fn encode(&self, record: Record, redacted: &mut Vec<Replaced>) -> Result<(Record, Vec<u8>)> {
        let kind = record.body.kind();
        let mut keys = serde_json::Value::Object(wire::record::body_to_map(&record.body));
        let found = if self.scan_secrets { secrets::redact_value(&mut keys) } else { Vec::new() };
        let serde_json::Value::Object(map) = keys else {
            return Err(Error::storage("a record is no longer a record after its secrets were replaced"));
        };
        let mut head = record.head.clone();
        if let Some((ai, rules)) = self.scan_secrets.then(|| secrets::redact_text(&head.ai)).flatten() {
            head.ai = ai;
            redacted.extend(rules.into_iter().map(|rule| Replaced { field: "ai".to_owned(), rule }));
        }
        let line = wire::record::encode_with(&head, kind, map).into_bytes();
        if found.is_empty() && head == record.head {
            return Ok((record, line));
        }
        redacted.extend(found);
        let stored = wire::record::decode(&line)
            .ok_or_else(|| Error::storage("a record could not be read back after its secrets were replaced"))?;
        Ok((stored, line))
    }

    /// A text as it would be stored. For who quotes a part of one: half a secret is not recognised as one.
    pub fn without_secrets(&self, text: &str) -> String {
        let replaced = self.scan_secrets.then(|| secrets::redact_text(text)).flatten();
        replaced.map_or_else(|| text.to_owned(), |(text, _)| text)
    }

    /// Derived state that goes with a new record.
    fn note_new(&self, record: &Record, waiting: &Waiting) {
        if record.head.commit.is_none() && waiting.on == self.repo.empty_tree() {
            unborn::remember(&self.paths, waiting, self.repo.reflog_len());
        }
        if let (Body::SessionStart(_), Some(session)) = (&record.body, &record.head.session) {
            touched::begin(&self.paths, session, &BTreeSet::new());
        }
    }

    /// Says that a session's views hold what these entries hold as well. Called before a record that takes them over.
    pub fn take_in<'e>(&self, session: &SessionId, entries: impl IntoIterator<Item = &'e Entry>) -> Result<()> {
        let mut places = BTreeSet::new();
        for entry in entries {
            let shelf = entry.record.body.shelf().unwrap_or(Shelf::Journal);
            places.extend(entry.on.iter().map(|on| (shelf, *on)));
        }
        touched::add(&self.paths, session, &places)
            .map_err(|error| Error::storage("the list of the session's notes cannot be written").caused_by(error))
    }

    pub(super) fn nowhere(&self, error: std::io::Error) -> Error {
        Error::storage("the record could not be stored anywhere")
            .reason(format!("neither the repository's log nor the user's state folder can be written: {error}"))
            .suggest("Make room or give write permission, then run the command again.")
            .command(format!("ls -ld {}", crate::git::repository::quote(&self.paths.state().to_string_lossy())))
            .command("df -h .")
            .caused_by(error)
    }
}
