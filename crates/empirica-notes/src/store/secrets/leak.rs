//! A secret in stored data or in a push.

use serde_json::Value;

use crate::error::{Command, empirica};
use crate::format::lines;
use crate::git::Oid;

/// The location of a secret that is stored or would be pushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leak {
    /// The record's id; `None` outside records.
    pub id: Option<String>,
    /// The record's field.
    pub field: Option<String>,
    /// The rule that matched.
    pub rule: &'static str,
    /// The ref, and the annotated object, commit or tree; `None` for a pending record.
    pub place: Option<(String, Oid)>,
    /// The part of the ref.
    pub part: LeakPart,
}

/// A part of a ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeakPart {
    /// The current version of a note.
    Note,
    /// An older version of a note.
    Earlier,
    /// The author or message of a notes commit.
    Message,
    /// The name of a file.
    Name,
    /// A file other than a note, at this path.
    File(String),
}

impl Leak {
    pub(crate) fn new(id: Option<String>, field: Option<String>, rule: &'static str) -> Self {
        Leak { id, field, rule, place: None, part: LeakPart::Note }
    }

    pub(crate) fn at(self, name: &str, object: Oid, part: LeakPart) -> Self {
        Leak { place: Some((name.to_owned(), object)), part, ..self }
    }

    /// The location in words, without the secret.
    pub fn location(&self) -> String {
        let (name, object) =
            self.place.as_ref().map_or(("the log", String::new()), |(name, on)| (name.as_str(), on.to_string()));
        match (&self.part, &self.id) {
            (LeakPart::Note, Some(id)) => format!("the record {id}"),
            (LeakPart::Note, None) => format!("text outside records, in the note of {object} in {name}"),
            (LeakPart::Earlier, _) => format!("an older version of the note of {object} in {name}"),
            (LeakPart::Message, _) => format!("the commit {object} of {name}"),
            (LeakPart::Name, _) => format!("the name of a file in {name}"),
            (LeakPart::File(path), _) => format!("the file {path} in {name}"),
        }
    }

    /// The commands that remove it.
    pub fn remedies(&self) -> Vec<Command> {
        match (&self.part, &self.id) {
            (LeakPart::Note, Some(id)) => vec![empirica("redact").arg(id.as_str())],
            _ => vec![empirica("redact").flag("--secrets")],
        }
    }
}

/// The id of a record with allowed secrets; `None` for other lines.
pub(crate) fn allowed_id(line: &[u8]) -> Option<String> {
    // most lines do not contain the key, and need not be parsed
    let key = empirica_secrets::ALLOWED.as_bytes();
    let has_key = line.windows(key.len()).any(|word| word == key);
    let value: Value = has_key.then(|| serde_json::from_slice(line).ok()).flatten()?;
    is_allowed(&value).then(|| lines::id(line).map(str::to_owned)).flatten()
}

/// Whether a line is marked as having allowed secrets.
pub fn has_allowed_secrets(line: &[u8]) -> bool {
    allowed_id(line).is_some()
}

pub(crate) fn is_allowed(record: &Value) -> bool {
    record.get(empirica_secrets::ALLOWED).and_then(Value::as_bool).unwrap_or(false)
}
