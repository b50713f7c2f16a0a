//! A payload, and the drafts of its records.

use std::collections::HashMap;

use serde_json::Value;

use crate::use_cases::import::python::convert::derive;
use crate::use_cases::import::python::convert::family::PythonRef;
use crate::use_cases::import::python::convert::read::rfc3339;
use empirica_notes::model::record::VERSION;
use empirica_notes::model::{Body, Envelope, Id, SessionId};

/// The tool's name in the key `foreign`.
pub const TOOL: &str = "empirica-python";

#[derive(Debug, Clone)]
pub struct Original {
    pub name: String,
    /// The annotated object, hex.
    pub commit: String,
    /// When the tip of the ref was committed, in Unix seconds: the time of payloads without one.
    pub seconds: i64,
    pub content: Vec<u8>,
}

/// A record made of an original.
#[derive(Debug, Clone)]
pub struct ConvertedLine {
    pub envelope: Envelope,
    pub body: Body,
    /// Its origin and original values: the key `foreign`.
    pub foreign: Value,
}

pub(crate) struct ParsedPayload<'o> {
    pub(crate) original: &'o Original,
    /// A string if it is not JSON.
    pub(crate) value: Value,
    pub(crate) kept: Value,
    /// Its time, in Unix milliseconds.
    pub(crate) ms: u64,
    /// The newest time in it.
    pub(crate) newest: u64,
    /// Why the time is incomplete: `naive` or `missing`.
    pub(crate) clock: Option<&'static str>,
}

/// The payloads of one ref, oldest first; at least one.
pub(crate) struct RefPayloads<'o> {
    pub(crate) name: &'o str,
    pub(crate) family: PythonRef<'o>,
    pub(crate) entries: Vec<ParsedPayload<'o>>,
}

/// A draft of a record from an entry of a ref.
pub(crate) struct RecordDraft {
    pub(crate) id: Id,
    pub(crate) ms: u64,
    pub(crate) entry: usize,
    pub(crate) body: Body,
    /// The tool's session ID, if the entry lacks it.
    pub(crate) session: Option<String>,
}

impl RefPayloads<'_> {
    /// A draft; `role` distinguishes the drafts of an entry. The ID of a single item does not depend on the entry, so that
    /// later imports of a rewritten item derive the same.
    pub(crate) fn draft(&self, entry: usize, ms: u64, role: &str, body: Body) -> RecordDraft {
        let commit = self.entries[entry].original.commit.as_str();
        let of_entry = if self.family.is_single() { "" } else { commit };
        RecordDraft { id: derive::id(ms, &[self.name, role, of_entry]), ms, entry, body, session: None }
    }

    /// The newest entry, with its index.
    pub(crate) fn newest(&self) -> (usize, &ParsedPayload<'_>) {
        let at = self.entries.len() - 1;
        (at, &self.entries[at])
    }
}

/// Goals by the tool's ID: their record, its time, and their session.
pub(crate) type KnownGoals = HashMap<String, (Id, u64, Option<String>)>;

pub(crate) fn head(id: Id, ms: u64, session: Option<SessionId>, ai: String, commit: &str) -> Envelope {
    Envelope { v: VERSION, id, session, ai, at: rfc3339(ms), commit: Some(commit.to_owned()), tree: None }
}
