//! A payload as it was found, and the records to be made of it.

use std::collections::HashMap;

use serde_json::Value;

use crate::import::python::convert::derive;
use crate::import::python::convert::family::Family;
use crate::import::python::convert::read::at;
use empirica_notes::model::record::VERSION;
use empirica_notes::model::{Body, Envelope, Id, SessionId};

/// The word for the tool in the key `foreign`.
pub const TOOL: &str = "empirica-python";

/// One payload as it was found.
#[derive(Debug, Clone)]
pub struct Original {
    /// The full name of the ref.
    pub name: String,
    /// The annotated object, hex.
    pub commit: String,
    /// When the tip of the ref was made, in seconds since 1970: for payloads that name no time.
    pub seconds: i64,
    /// Its bytes.
    pub content: Vec<u8>,
}

/// A record made of an original.
#[derive(Debug, Clone)]
pub struct ConvertedLine {
    pub head: Envelope,
    pub body: Body,
    /// Its origin and original values: the key `foreign`.
    pub foreign: Value,
}

/// One payload, read.
pub(crate) struct ParsedPayload<'o> {
    pub(crate) original: &'o Original,
    /// What it says; a string when it is no JSON.
    pub(crate) value: Value,
    /// As it is kept.
    pub(crate) kept: Value,
    /// Its time, in milliseconds.
    pub(crate) ms: u64,
    /// The newest time it names.
    pub(crate) newest: u64,
    /// Why the time is incomplete: `naive` or `missing`.
    pub(crate) clock: Option<&'static str>,
}

/// The payloads of one ref, oldest first; at least one.
pub(crate) struct RefPayloads<'o> {
    pub(crate) name: &'o str,
    pub(crate) family: Family<'o>,
    pub(crate) entries: Vec<ParsedPayload<'o>>,
}

/// A record to be made of one of the entries of a ref.
pub(crate) struct RecordDraft {
    pub(crate) id: Id,
    pub(crate) ms: u64,
    pub(crate) entry: usize,
    pub(crate) body: Body,
    /// The session, as the tool calls it, where the entry itself does not say it.
    pub(crate) session: Option<String>,
}

impl RefPayloads<'_> {
    /// A draft; `role` tells it from the others of the same entry. Of what is one thing, however often it is written again, it does
    /// not matter in which entry it stands: whoever imports it later makes the same.
    pub(crate) fn draft(&self, entry: usize, ms: u64, role: &str, body: Body) -> RecordDraft {
        let commit = self.entries[entry].original.commit.as_str();
        let of_entry = if self.family.is_one_thing() { "" } else { commit };
        RecordDraft { id: derive::id(ms, &[self.name, role, of_entry]), ms, entry, body, session: None }
    }

    /// The newest entry, with its place.
    pub(crate) fn newest(&self) -> (usize, &ParsedPayload<'_>) {
        let at = self.entries.len() - 1;
        (at, &self.entries[at])
    }
}

/// Goals by the id the tool has for them: their record, its time, and their session.
pub(crate) type KnownGoals = HashMap<String, (Id, u64, Option<String>)>;

pub(crate) fn head(id: Id, ms: u64, session: Option<SessionId>, ai: String, commit: &str) -> Envelope {
    Envelope { v: VERSION, id, session, ai, at: at(ms), commit: Some(commit.to_owned()), tree: None }
}
