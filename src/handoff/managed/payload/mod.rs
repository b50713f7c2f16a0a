//! Payloads of managed handoffs: validation against the JSON Schema of their type, single values by path, order of keys.

mod strict;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use crate::handoff::managed::formats::{Format, TYPE, named};
pub use crate::handoff::managed::payload::strict::parsed;
use empirica_notes::model::Handoff;

/// The keys of the payload that the record holds beside it.
const TASK_ID: &str = "task_id";
const ITERATION: &str = "iteration";

/// A value that violates the schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Violation {
    /// Keys separated by dots, indexes in brackets; empty for the root.
    pub path: String,
    /// The allowed values, phrased to follow "expected".
    pub expected: String,
    /// The actual value; `None` if missing.
    pub found: Option<String>,
    /// An allowed value as JSON.
    pub example: String,
}

impl Violation {
    fn new(schema: &Value, path: &str, found: Option<String>) -> Self {
        Violation { path: path.to_owned(), expected: expected(schema), found, example: example_of(schema).to_string() }
    }

    /// The violation in one line.
    pub fn line(&self) -> String {
        let path = if self.path.is_empty() { "the whole" } else { &self.path };
        match &self.found {
            None => format!("{path} is missing: expected {}", self.expected),
            Some(found) => format!("{path} is {found}: expected {}", self.expected),
        }
    }
}

/// All violations of a document, in the order of the schema. `handoff_type` is optional.
pub fn violations(format: &Format, document: &Value) -> Vec<Violation> {
    let mut out = Vec::new();
    validate(&format.schema, "", document, &mut out);
    out
}

fn validate(schema: &Value, path: &str, value: &Value, out: &mut Vec<Violation>) {
    match (kind(schema), value) {
        ("array", Value::Array(entries)) => {
            let entries = entries.iter().enumerate();
            entries.for_each(|(at, entry)| validate(&schema["items"], &format!("{path}[{at}]"), entry, out));
        }
        ("object", Value::Object(map)) => validate_fields(schema, path, map, out),
        (kind, value) if !is_allowed(schema, kind, value) => {
            out.push(Violation::new(schema, path, Some(shown(value))));
        }
        _ => {}
    }
}

fn is_allowed(schema: &Value, kind: &str, value: &Value) -> bool {
    match (kind, value) {
        ("const", value) => *value == schema["const"],
        ("enum", value) => words(schema).any(|word| value == word),
        ("integer", Value::Number(number)) => number.as_u64().is_some_and(|number| number >= minimum(schema)),
        ("date-time", Value::String(text)) => chrono::DateTime::parse_from_rfc3339(text).is_ok(),
        ("string", Value::String(text)) => !text.trim().is_empty(),
        _ => false,
    }
}

fn validate_fields(schema: &Value, path: &str, map: &Map<String, Value>, out: &mut Vec<Violation>) {
    let required = schema["required"].as_array();
    for (name, field) in properties(schema) {
        match map.get(name) {
            Some(value) => validate(field, &below(path, name), value, out),
            None if required.is_some_and(|required| required.iter().any(|key| key == name)) => {
                out.push(Violation::new(field, &below(path, name), None));
            }
            None => {}
        }
    }
    for key in map.keys().filter(|key| schema["properties"].get(*key).is_none()) {
        let expected = format!("one of the keys {}", names(schema));
        out.push(unknown_key(schema, &below(path, key), expected));
    }
}

fn unknown_key(schema: &Value, path: &str, expected: String) -> Violation {
    Violation { expected, ..Violation::new(schema, path, Some("an unknown key".to_owned())) }
}

fn below(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// The most specific keyword of a schema.
fn kind(schema: &Value) -> &str {
    let keyword = ["const", "enum"].into_iter().find(|keyword| schema.get(keyword).is_some());
    keyword.or_else(|| schema["format"].as_str()).or_else(|| schema["type"].as_str()).unwrap_or_default()
}

fn words(schema: &Value) -> impl Iterator<Item = &str> {
    schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn minimum(schema: &Value) -> u64 {
    schema["minimum"].as_u64().unwrap_or_default()
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema["properties"].as_object().into_iter().flatten()
}

/// Properties without `handoff_type`.
fn fields(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    properties(schema).filter(|(name, _)| *name != TYPE)
}

fn names(schema: &Value) -> String {
    fields(schema).map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
}

/// The allowed values, phrased to follow "expected".
fn expected(schema: &Value) -> String {
    match kind(schema) {
        "const" => schema["const"].to_string(),
        "enum" => words(schema).collect::<Vec<_>>().join(" or "),
        "integer" => format!("a whole number, {} or more", minimum(schema)),
        "date-time" => "a time such as 2024-01-01T12:00:00Z".to_owned(),
        "array" if kind(&schema["items"]) == "object" => "a list of objects".to_owned(),
        "array" => "a list of texts".to_owned(),
        "object" => format!("an object with {}", names(schema)),
        _ => "a text that is not blank".to_owned(),
    }
}

/// An allowed value, without fields that are filled in.
fn example_of(schema: &Value) -> Value {
    match kind(schema) {
        "const" => schema["const"].clone(),
        "array" => json!([example_of(&schema["items"])]),
        "object" => {
            let input = properties(schema).filter(|(_, field)| field.get("x-filled-in").is_none());
            input.map(|(name, field)| (name.clone(), example_of(field))).collect()
        }
        _ => schema["examples"][0].clone(),
    }
}

/// A valid handoff of the format with every field that a sender can set.
pub fn example(format: &Format) -> Value {
    example_of(&format.schema)
}

/// A value as quoted in an error; long ones are cut.
fn shown(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::String(text) if text.trim().is_empty() => "blank".to_owned(),
        other => {
            let text = other.to_string();
            match text.char_indices().nth(60) {
                Some((at, _)) => format!("{}…", &text[..at]),
                None => text,
            }
        }
    }
}

/// Sets the field at a path from a text: a list gets a further entry, words of an enum match in any case, an object is parsed
/// as JSON. A field that has a value is a violation unless it `replaces` that. The result may still have [`violations`].
pub fn set(format: &Format, payload: &mut Value, path: &str, text: &str, replaces: bool) -> Result<(), Violation> {
    let mut schema = &format.schema;
    let mut parent = String::new();
    for key in path.split('.') {
        let Some((_, field)) = fields(schema).find(|(name, _)| *name == key) else {
            let expected = match (kind(schema), parent.is_empty()) {
                ("object", true) => format!("a key with one of {}", names(schema)),
                ("object", false) => format!("{parent} with one of {}", names(schema)),
                _ => format!("{parent}, which is {}", expected(schema)),
            };
            return Err(unknown_key(schema, path, expected));
        };
        parent = below(&parent, key);
        schema = field;
    }
    let value = match kind(schema) {
        "array" => json!([read(&schema["items"], path, text)?]),
        _ => read(schema, path, text)?,
    };
    let mut place = &mut *payload;
    for key in path.split('.') {
        // a parent of another type is left for `violations`
        if !place.is_object() && !place.is_null() {
            return Ok(());
        }
        place = &mut place[key];
    }
    match (place, value) {
        (Value::Array(present), Value::Array(entries)) => present.extend(entries),
        (place, value) if replaces || place.is_null() => *place = value,
        (place, _) => {
            let found = format!("given twice: {} and \"{text}\"", shown(place));
            let expected = format!("{}, once", expected(schema));
            return Err(Violation { expected, ..Violation::new(schema, path, Some(found)) });
        }
    }
    Ok(())
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

fn read(schema: &Value, path: &str, text: &str) -> Result<Value, Violation> {
    let value = match kind(schema) {
        "enum" => words(schema).find(|word| word.eq_ignore_ascii_case(text.trim())).map(|word| json!(word)),
        "integer" => text.trim().parse::<u64>().ok().map(|number| json!(number)),
        "object" => parsed(text).ok().filter(Value::is_object),
        _ => Some(json!(text)),
    };
    value.ok_or_else(|| Violation::new(schema, path, Some(shown(&json!(text)))))
}

/// The fields in the order of the schema, without `handoff_type`.
pub fn ordered(format: &Format, document: &Value) -> Map<String, Value> {
    match in_order(&format.schema, document) {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn with_type(format: &Format, document: &Value) -> Map<String, Value> {
    let handoff_type = (TYPE.to_owned(), json!(format.name));
    std::iter::once(handoff_type).chain(ordered(format, document)).collect()
}

fn in_order(schema: &Value, value: &Value) -> Value {
    match (kind(schema), value) {
        ("object", Value::Object(map)) => {
            let present = |(name, field): (&String, &Value)| Some((name.clone(), in_order(field, map.get(name)?)));
            fields(schema).filter_map(present).collect()
        }
        ("array", Value::Array(entries)) => entries.iter().map(|entry| in_order(&schema["items"], entry)).collect(),
        _ => value.clone(),
    }
}

/// Puts a valid document into a handoff.
pub fn put_in(format: &Format, document: &Value, handoff: &mut Handoff) {
    let mut payload = ordered(format, document);
    handoff.kind = format.name.to_owned();
    handoff.task_id = payload.shift_remove(TASK_ID).and_then(|id| Some(id.as_str()?.to_owned()));
    handoff.iteration = payload.shift_remove(ITERATION).and_then(|round| round.as_u64());
    handoff.payload = Some(payload);
}

/// The document of a managed handoff, with `at` as its timestamp unless it has one; `None` if it is not managed.
pub fn document(handoff: &Handoff, at: &str) -> Option<Map<String, Value>> {
    let format = named(&handoff.kind)?;
    let mut all = handoff.payload.clone()?;
    all.entry("timestamp").or_insert_with(|| json!(at));
    all.extend(handoff.task_id.iter().map(|id| (TASK_ID.to_owned(), json!(id))));
    all.extend(handoff.iteration.iter().map(|round| (ITERATION.to_owned(), json!(round))));
    Some(with_type(format, &Value::Object(all)))
}
