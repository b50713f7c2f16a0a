//! Payloads of managed handoffs. The order of the fields of a struct is that of the stored document and of its schema.

pub mod context;
pub mod error_recovery;
pub mod escalation;
pub mod initialization;
pub mod progress;
#[cfg(test)]
mod tests;
pub mod text;

use std::collections::BTreeSet;

use jsonc_parser::ast;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::use_cases::handoff::managed::payload::context::Context;
use crate::use_cases::handoff::managed::payload::error_recovery::ErrorRecovery;
use crate::use_cases::handoff::managed::payload::escalation::Escalation;
use crate::use_cases::handoff::managed::payload::initialization::Initialization;
use crate::use_cases::handoff::managed::payload::progress::Progress;
use empirica_notes::model::Handoff;
use empirica_notes::model::handoff::CONTEXT;

/// The key that names the type.
pub const TYPE: &str = "handoff_type";
/// The keys that the record holds beside the payload.
const TASK_ID: &str = "task_id";
const ITERATION: &str = "iteration";

/// The document of a managed handoff.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(tag = "handoff_type")]
pub enum Document {
    Initialization(Initialization),
    Progress(Progress),
    ErrorRecovery(ErrorRecovery),
    Escalation(Escalation),
    Context(Context),
}

impl Document {
    /// Reads the fields of a type. The error has the path of the first violation, from the type on.
    pub fn read(kind: &str, fields: &Value) -> Result<Self, serde_path_to_error::Error<serde_json::Error>> {
        serde_path_to_error::deserialize(json!({kind: fields}))
    }

    /// Puts the document into a handoff.
    pub fn put_in(&self, handoff: &mut Handoff) {
        if let Value::Object(typed) = without_nulls(json!(self)) {
            typed.into_iter().for_each(|(kind, fields)| put_in(&kind, fields, handoff));
        }
    }
}

/// Puts the fields of a type into a handoff.
pub fn put_in(kind: &str, mut fields: Value, handoff: &mut Handoff) {
    handoff.kind = kind.to_owned();
    handoff.payload = fields.as_object_mut().map(|payload| {
        handoff.task_id = payload.shift_remove(TASK_ID).and_then(|id| Some(id.as_str()?.to_owned()));
        handoff.iteration = payload.shift_remove(ITERATION).and_then(|round| round.as_u64());
        std::mem::take(payload)
    });
}

/// The document of a managed handoff as stored, with `at` as its timestamp unless it has one; `None` if it is not managed.
pub fn document(handoff: &Handoff, at: &str) -> Option<Map<String, Value>> {
    let mut payload = handoff.payload.clone()?;
    let mut document = Map::from_iter([(TYPE.to_owned(), json!(handoff.kind))]);
    if handoff.kind != CONTEXT {
        let timestamp = payload.shift_remove("timestamp").unwrap_or_else(|| json!(at));
        document.insert("timestamp".to_owned(), timestamp);
        document.extend(handoff.task_id.iter().map(|id| (TASK_ID.to_owned(), json!(id))));
        document.extend(handoff.iteration.iter().map(|round| (ITERATION.to_owned(), json!(round))));
    }
    for (key, value) in payload {
        document.entry(key).or_insert(value);
    }
    Some(document)
}

/// Removes absent fields.
pub fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let present = map.into_iter().filter(|(_, value)| !value.is_null());
            present.map(|(key, value)| (key, without_nulls(value))).collect()
        }
        Value::Array(entries) => entries.into_iter().map(without_nulls).collect(),
        other => other,
    }
}

/// A document of the type with every field that its author can know; `None` for types without fields of their own.
pub fn example(kind: &str) -> Option<Value> {
    let examples: Vec<Value> = serde_json::from_str(include_str!("examples.json")).unwrap_or_default();
    examples.into_iter().find(|example| example[TYPE] == kind)
}

/// The schema of documents.
pub fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<Document>().to_value()
}

/// Parses a document, and refuses a key that an object has twice.
pub fn parsed(text: &str) -> Result<Value, String> {
    let value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let whole = jsonc_parser::parse_to_ast(text, &Default::default(), &Default::default());
    match whole.map_err(|error| error.to_string())?.value.as_ref().and_then(given_twice) {
        Some(key) => Err(format!("the key {key:?} is given twice")),
        None => Ok(value),
    }
}

fn given_twice<'a>(value: &'a ast::Value<'_>) -> Option<&'a str> {
    match value {
        ast::Value::Array(array) => array.elements.iter().find_map(given_twice),
        ast::Value::Object(object) => {
            let mut known = BTreeSet::new();
            let mut keys = object.properties.iter().map(|property| property.name.as_str());
            let values = || object.properties.iter().find_map(|property| given_twice(&property.value));
            keys.find(|key| !known.insert(*key)).or_else(values)
        }
        _ => None,
    }
}

/// Sets the field at a path from a text: a list gets a further entry, words match in any case, numbers and objects are parsed.
/// [`Document::read`] judges the result. Returns false if the path has a value already, unless this `replaces` it.
pub fn set(kind: &str, fields: &mut Value, path: &str, text: &str, replaces: bool) -> bool {
    let schema = schema();
    let mut types = schema["oneOf"].as_array().into_iter().flatten();
    let mut field = types.find(|schema| schema["properties"][TYPE]["const"] == kind).unwrap_or(&Value::Null);
    let mut place = fields;
    for key in path.split('.') {
        if !place.is_object() && !place.is_null() {
            return false;
        }
        (field, place) = (&field["properties"][key], &mut place[key]);
    }
    let is_list = is_type(field, "array");
    let value = value_of(if is_list { &field["items"] } else { field }, text);
    match place {
        Value::Array(entries) if is_list => entries.push(value),
        place if !place.is_null() && !replaces => return false,
        place if is_list => *place = json!([value]),
        place => *place = value,
    }
    true
}

/// The value that a text has by a schema; the text itself if it has none.
fn value_of(schema: &Value, text: &str) -> Value {
    let word = words(schema).into_iter().find(|word| word.eq_ignore_ascii_case(text.trim())).map(|word| json!(word));
    let is_parsed = is_type(schema, "integer") || is_type(schema, "object");
    word.or_else(|| parsed(text).ok().filter(|_| is_parsed)).unwrap_or_else(|| json!(text))
}

fn is_type(schema: &Value, name: &str) -> bool {
    schema["type"] == name || schema["type"].as_array().is_some_and(|names| names.iter().any(|one| one == name))
}

fn words(schema: &Value) -> Vec<&str> {
    let choices = ["anyOf", "oneOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten();
    let own = schema["enum"].as_array().into_iter().flatten().chain(schema.get("const")).filter_map(Value::as_str);
    own.chain(choices.flat_map(words)).collect()
}

/// Overlays a document: objects key by key, everything else whole.
pub fn merge(base: &mut Value, other: Value) {
    match (base, other) {
        (Value::Object(base), Value::Object(other)) => {
            for (key, value) in other {
                merge(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, other) => *base = other,
    }
}
