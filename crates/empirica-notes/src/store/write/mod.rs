//! Appending: every record goes to the log first, and is flushed to its note at once or later.

pub mod flush;
pub mod follow;
pub mod merge;
pub mod outcome;
pub mod rendered;
pub mod session_notes;
pub mod tips;

use crate::store::write::outcome::{FlushTiming, Storage, WriteOutcome};
use std::collections::BTreeSet;

use crate::error::{Error, Result, blank, empirica};
use crate::format;
use crate::git::Oid;
use crate::model::record::{Supersede, VERSION};
use crate::model::{Body, Envelope, Id, Namespace, Record, SessionId};
use crate::store::log;
use crate::store::log::unborn;
use crate::store::log::{Appended, PendingRecord};
use crate::store::write::flush::{Flushed, ForeignContent};
use crate::store::{RecordEntry, Writer};
use empirica_secrets::Replaced;

impl Writer<'_> {
    /// The envelope of a new record on HEAD.
    pub fn new_envelope(&self, session: Option<&SessionId>, ai: &str) -> Envelope {
        Envelope {
            v: VERSION,
            id: self.store.new_id(),
            session: session.cloned(),
            ai: ai.to_owned(),
            at: self.store.now.to_rfc3339_opts(chrono::SecondsFormat::Millis, true),
            commit: self.store.head.commit.map(|id| id.to_string()),
            tree: self.store.head.tree.map(|id| id.to_string()),
        }
    }

    /// A new record on HEAD.
    pub fn new_record(&self, session: &SessionId, ai: &str, body: Body) -> Record {
        // its id tells that this clone made it
        self.store.paths.identify();
        Record { envelope: self.new_envelope(Some(session), ai), body }
    }

    /// Stores records on their commits. Fails only if no log can be written. A single statement that the same session made in the same
    /// words is not stored again while that one waits in a log, and no other there refers to it: the outcome has the earlier record. So a
    /// command that is repeated, as when its answer was lost, changes nothing.
    pub fn append(&self, records: Vec<Record>, when: FlushTiming) -> Result<WriteOutcome> {
        let (mut written, pending) = self.encoded(records.into_iter().map(|record| (record, None)).collect())?;
        let earlier = match (written.records.as_slice(), pending.as_slice()) {
            ([record], [new]) if record.body.is_statement() => same_in(&log::read(&self.store.paths), record, new),
            _ => None,
        };
        match earlier {
            Some(earlier) => written.records = vec![earlier],
            None => self.put(&mut written, &pending, when)?,
        }
        Ok(written)
    }

    /// Stores a handoff and flushes it, with a supersede record on every object that has an `older` one.
    pub fn append_handoff(&self, handoff: Record, older: Vec<(Id, BTreeSet<Oid>)>) -> Result<WriteOutcome> {
        let by = handoff.envelope.id.clone();
        let (session, ai) = (handoff.envelope.session.clone(), handoff.envelope.ai.clone());
        let mut records = vec![(handoff, None)];
        for (of, places) in older {
            let body = Body::Supersede(Supersede { of, by: by.clone() });
            let record = Record { envelope: self.new_envelope(session.as_ref(), &ai), body };
            records.extend(places.into_iter().map(|on| (record.clone(), Some((Namespace::Handoffs, on)))));
        }
        self.append_on(records, FlushTiming::Now)
    }

    /// Stores a record in each of these notes, and `beside` in that of its kind and commit.
    pub fn append_in_notes(
        &self,
        record: &Record,
        places: &BTreeSet<(Namespace, Oid)>,
        beside: Option<Record>,
        when: FlushTiming,
    ) -> Result<WriteOutcome> {
        let beside = beside.into_iter().map(|record| (record, None));
        self.append_on(beside.chain(places.iter().map(|place| (record.clone(), Some(*place)))).collect(), when)
    }

    /// As [`Self::append`], with a note for each record; `None` for the one of its kind and commit.
    fn append_on(&self, records: Vec<(Record, Option<(Namespace, Oid)>)>, when: FlushTiming) -> Result<WriteOutcome> {
        let (mut written, pending) = self.encoded(records)?;
        self.put(&mut written, &pending, when)?;
        Ok(written)
    }

    /// The records as they are stored, each with its line and note; nothing is stored yet.
    fn encoded(&self, records: Vec<(Record, Option<(Namespace, Oid)>)>) -> Result<(WriteOutcome, Vec<PendingRecord>)> {
        let mut written = WriteOutcome::default();
        let mut pending = Vec::new();
        for (record, place) in records {
            let (record, line) = self.encode(record, &mut written.redacted)?;
            let (namespace, on) = place.unwrap_or_else(|| {
                (record.body.namespace().unwrap_or(Namespace::Journal), self.commit_of_new(&record))
            });
            pending.push(PendingRecord { namespace, on, line });
            written.records.push(record);
        }
        if self.store.allow_secrets {
            written.allowed = std::mem::take(&mut written.redacted);
        }
        Ok((written, pending))
    }

    /// Appends encoded records to the log, and flushes it if it is time.
    fn put(&self, written: &mut WriteOutcome, pending: &[PendingRecord], when: FlushTiming) -> Result<()> {
        let appended = self.append_to_log(pending)?;
        for (record, pending) in written.records.iter().zip(pending) {
            self.note_new(record, pending);
        }
        let is_now = when == FlushTiming::Now && !self.store.flushes_later;
        let flushed = (is_now || appended.size >= log::FLUSH_BYTES).then(|| self.flush_with(ForeignContent::default()));
        self.set_storage(written, appended, flushed);
        Ok(())
    }

    /// Sets the storage of appended records, and the reason if a flush could not write them to the notes.
    pub(crate) fn set_storage(&self, written: &mut WriteOutcome, appended: Appended, flushed: Option<Flushed>) {
        let is_flushed = flushed.is_some();
        let Flushed { degraded, left, warnings, .. } = flushed.unwrap_or_default();
        let is_left = left.iter().any(|log| log.path == appended.path);
        written.degraded = degraded;
        for log in left {
            match log.path == appended.path && written.degraded.is_none() {
                true => written.degraded = Some(log.into_error()),
                false => written.warnings.push(log.into_error().in_one_line()),
            }
        }
        written.warnings.extend(warnings);
        let is_pending = !is_flushed || is_left || written.degraded.is_some();
        written.storage = Some(match (is_pending, appended.fallback) {
            (false, _) => Storage::GitNotes,
            (true, None) => Storage::Log,
            (true, Some(log)) => {
                let error = Error::storage("cannot write the repository's log").on_path(&log.path, log.error);
                written.degraded = written.degraded.take().or(Some(error));
                Storage::UserState
            }
        });
    }

    /// The annotated object of a new record: its commit, or the empty tree on an unborn HEAD.
    fn commit_of_new(&self, record: &Record) -> Oid {
        let commit = record.envelope.commit.as_deref().and_then(crate::git::parse_oid);
        commit.unwrap_or_else(|| self.store.repo.empty_tree())
    }

    /// The record as it would be stored, and the secrets that would be replaced. Stores nothing.
    pub fn preview(&self, record: Record) -> Result<(Record, Vec<Replaced>)> {
        let mut redacted = Vec::new();
        let (record, _) = self.encode(record, &mut redacted)?;
        Ok((record, if self.store.allow_secrets { Vec::new() } else { redacted }))
    }

    fn encode(&self, record: Record, redacted: &mut Vec<Replaced>) -> Result<(Record, Vec<u8>)> {
        let keys = format::record::body_to_map(&record.body);
        let before = redacted.len();
        let line = self.encode_line(&record.envelope, record.body.kind(), keys, redacted)?;
        if redacted.len() == before || self.store.allow_secrets {
            return Ok((record, line));
        }
        let stored = format::record::decode(&line).ok_or_else(unredactable)?;
        Ok((stored, line))
    }

    /// The line of an envelope and the keys of a body, with secrets replaced, or marked as allowed.
    pub fn encode_line(
        &self,
        envelope: &Envelope,
        kind: &str,
        mut keys: serde_json::Map<String, serde_json::Value>,
        redacted: &mut Vec<Replaced>,
    ) -> Result<Vec<u8>> {
        let mut envelope = envelope.clone();
        let mut clean = serde_json::Value::Object(keys.clone());
        let mut found = Vec::new();
        if self.store.scan_secrets || self.store.allow_secrets {
            if let Some((ai, rules)) = empirica_secrets::redact_text(&envelope.ai) {
                found.extend(rules.into_iter().map(|rule| Replaced { field: "ai".to_owned(), rule }));
                envelope.ai = if self.store.allow_secrets { envelope.ai } else { ai };
            }
            // a signature is made by git, and invalid with a character changed
            if kind != "signature" || self.store.allow_secrets {
                found.extend(empirica_secrets::redact_value(&mut clean));
            }
        }
        if self.store.allow_secrets && !found.is_empty() {
            keys.insert(empirica_secrets::ALLOWED.to_owned(), true.into());
        } else if let (false, serde_json::Value::Object(clean)) = (self.store.allow_secrets, clean) {
            keys = clean;
        }
        redacted.append(&mut found);
        let line = format::record::encode_with(&envelope, kind, keys).into_bytes();
        if line.len() > format::record::MAX_LINE_BYTES { Err(too_long(line.len())) } else { Ok(line) }
    }

    /// Updates derived state for a new record.
    fn note_new(&self, record: &Record, pending: &PendingRecord) {
        if record.envelope.commit.is_none() && pending.on == self.store.repo.empty_tree() {
            unborn::remember(&self.store.paths, pending, self.store.repo.reflog_len());
        }
        if let (Body::SessionStart(_), Some(session)) = (&record.body, &record.envelope.session) {
            session_notes::begin(&self.store.paths, session, &[]);
        }
    }

    /// Adds the notes of these entries to a session's list. Call it before storing a record that takes them over.
    pub fn add_to_session<'e>(
        &self,
        session: &SessionId,
        entries: impl IntoIterator<Item = &'e RecordEntry>,
    ) -> Result<()> {
        let mut places = BTreeSet::new();
        for entry in entries {
            let namespace = entry.record.body.namespace().unwrap_or(Namespace::Journal);
            places.extend(entry.on.iter().map(|on| (namespace, *on)));
        }
        session_notes::add(&self.store.paths, session, &places)
    }

    /// Appends records to the repository's log, else to the one in the user's state folder.
    pub(crate) fn append_to_log(&self, pending: &[PendingRecord]) -> Result<Appended> {
        let appended = log::append(&self.store.paths, pending, self.store.lock_timeout, self.store.repo.is_durable());
        appended.map_err(|failed| {
            let mut out = Error::storage("cannot store the record anywhere");
            let mut reasons = Vec::new();
            for log in failed {
                // each reason names its log; fixing one is enough
                let one = Error::storage("").on_path(&log.path, log.error);
                out = out.commands_of(one.commands().iter().cloned());
                reasons.push(one.reason_text().to_string());
            }
            out.reason(format!(
                "neither the repository's log nor the user's state folder can be written: {}",
                reasons.join("; ")
            ))
            .suggest("Fix one of the two, then run the command again.")
        })
    }
}

/// A waiting record that differs from a new one in nothing but id and time, and that no other waiting record refers to.
fn same_in(waiting: &[PendingRecord], record: &Record, new: &PendingRecord) -> Option<Record> {
    // ids and times have one length
    let similar = waiting.iter().filter(|earlier| {
        (earlier.namespace, earlier.on, earlier.line.len()) == (new.namespace, new.on, new.line.len())
    });
    let is_same = |earlier: &Record| {
        let Envelope { id, at, .. } = &record.envelope;
        let envelope = Envelope { id: id.clone(), at: at.clone(), ..earlier.envelope.clone() };
        envelope == record.envelope && earlier.body == record.body
    };
    let earlier = similar.filter_map(|earlier| format::record::decode(&earlier.line)).find(is_same)?;
    let refers = |other: &PendingRecord| {
        let other = format::record::decode(&other.line);
        other.is_some_and(|other| other.referenced_ids().contains(&&earlier.envelope.id))
    };
    (!waiting.iter().any(refers)).then_some(earlier)
}

fn too_long(length: usize) -> Error {
    Error::refused(format!("cannot store a record of {} MiB", length >> 20))
        .reason(format!("no more than {} are read", format::record::MAX_LINE_BYTES >> 20))
        .suggest("Shorten it, or put the text in a file and log its path.")
        .command(empirica("source").arg(blank("<path>")))
}

fn unredactable() -> Error {
    Error::storage("cannot store the record with its secrets replaced")
        .reason("without them it is not a valid record; nothing was stored")
        .suggest("Reword it without the secret; or, if it is none, turn the scan off once.")
        .command("git config --get-regexp '^empirica\\.' || true")
}
