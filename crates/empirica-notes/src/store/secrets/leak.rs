//! A secret in what is stored or would leave.

use serde_json::Value;

use crate::error::{Command, empirica};
use crate::format::lines;
use crate::git::Oid;

/// Where a secret would leave with what travels, or is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leak {
    /// The record's id; `None` for what is no record.
    pub id: Option<String>,
    /// The field of the record that holds it.
    pub field: Option<String>,
    /// The rule that saw it.
    pub rule: &'static str,
    /// The ref that has it, and the object whose note it is, or the commit or tree; `None` for what waits in the log.
    pub place: Option<(String, Oid)>,
    /// What of the ref has it.
    pub part: Part,
}

/// What of a ref something is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// A note as it is now.
    Note,
    /// An older version of a note.
    Earlier,
    /// Who made a commit of the notes, or its message.
    Message,
    /// The name of a file.
    Name,
    /// A file that is no note, at this path.
    File(String),
}

impl Leak {
    pub(crate) fn new(id: Option<String>, field: Option<String>, rule: &'static str) -> Self {
        Leak { id, field, rule, place: None, part: Part::Note }
    }

    pub(crate) fn at(self, name: &str, object: Oid, part: Part) -> Self {
        Leak { place: Some((name.to_owned(), object)), part, ..self }
    }

    /// What holds it, in words. What was found is not said.
    pub fn what(&self) -> String {
        let (name, object) =
            self.place.as_ref().map_or(("the log", String::new()), |(name, on)| (name.as_str(), on.to_string()));
        match (&self.part, &self.id) {
            (Part::Note, Some(id)) => format!("the record {id}"),
            (Part::Note, None) => format!("what is no record, in the note of {object} in {name},"),
            (Part::Earlier, _) => format!("an older version of the note of {object} in {name}"),
            (Part::Message, _) => format!("the commit {object} of {name}"),
            (Part::Name, _) => format!("the name of a file in {name}"),
            (Part::File(path), _) => format!("the file {path} in {name}"),
        }
    }

    /// The commands that take it out.
    pub fn remedies(&self) -> Vec<Command> {
        match (&self.part, &self.id) {
            (Part::Note, Some(id)) => vec![empirica("redact").arg(id.as_str())],
            _ => vec![empirica("redact").flag("--secrets")],
        }
    }
}

/// The id of a record whose secrets were allowed.
pub(crate) fn allowed_id(line: &[u8]) -> Option<String> {
    // most lines do not say the word, and need not be read for it
    let key = empirica_secrets::ALLOWED.as_bytes();
    let says = line.windows(key.len()).any(|word| word == key);
    let value: Value = says.then(|| serde_json::from_slice(line).ok()).flatten()?;
    is_allowed(&value).then(|| lines::id(line).map(str::to_owned)).flatten()
}

pub(crate) fn is_allowed(record: &Value) -> bool {
    record.get(empirica_secrets::ALLOWED).and_then(Value::as_bool).unwrap_or(false)
}
