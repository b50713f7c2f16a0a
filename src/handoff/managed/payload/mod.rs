//! Managed handoffs held against the schemas of their formats: errors, single values, the order of keys.

mod strict;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use crate::handoff::managed::formats::{Format, TYPE, named};
pub use crate::handoff::managed::payload::strict::parsed;
use empirica_notes::model::Handoff;

/// The keys that a record has beside the payload.
const TASK: &str = "task_id";
const ROUND: &str = "iteration";

/// Something that is not as the format wants it.
#[derive(Debug, Clone, PartialEq)]
pub struct Wrong {
    /// Where: keys with dots between them, places in lists in brackets, counted from 0; empty for the whole.
    pub path: String,
    /// What should be there, as it goes on after "expected".
    pub expected: String,
    /// What is there; `None` for what is missing.
    pub found: Option<String>,
    /// What could be there, as JSON.
    pub example: String,
}

impl Wrong {
    fn new(schema: &Value, path: &str, found: Option<String>) -> Self {
        Wrong { path: path.to_owned(), expected: expected(schema), found, example: example_of(schema).to_string() }
    }

    /// The same in one line.
    pub fn line(&self) -> String {
        let path = if self.path.is_empty() { "the whole" } else { &self.path };
        match &self.found {
            None => format!("{path} is missing: expected {}", self.expected),
            Some(found) => format!("{path} is {found}: expected {}", self.expected),
        }
    }
}

/// Everything that is wrong with a document, in the order of the format; empty if it can be stored. `handoff_type` may be left out.
pub fn wrongs(format: &Format, given: &Value) -> Vec<Wrong> {
    let mut out = Vec::new();
    look(&format.schema, "", given, &mut out);
    out
}

fn look(schema: &Value, path: &str, value: &Value, out: &mut Vec<Wrong>) {
    match (kind(schema), value) {
        ("array", Value::Array(entries)) => {
            let entries = entries.iter().enumerate();
            entries.for_each(|(at, entry)| look(&schema["items"], &format!("{path}[{at}]"), entry, out));
        }
        ("object", Value::Object(map)) => look_at_fields(schema, path, map, out),
        (kind, value) if !fits(schema, kind, value) => out.push(Wrong::new(schema, path, Some(shown(value)))),
        _ => {}
    }
}

fn fits(schema: &Value, kind: &str, value: &Value) -> bool {
    match (kind, value) {
        ("const", value) => *value == schema["const"],
        ("enum", value) => words(schema).any(|word| value == word),
        ("integer", Value::Number(number)) => number.as_u64().is_some_and(|number| number >= least(schema)),
        ("date-time", Value::String(text)) => chrono::DateTime::parse_from_rfc3339(text).is_ok(),
        ("string", Value::String(text)) => !text.trim().is_empty(),
        _ => false,
    }
}

fn look_at_fields(schema: &Value, path: &str, map: &Map<String, Value>, out: &mut Vec<Wrong>) {
    let needed = schema["required"].as_array();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        match map.get(name) {
            Some(value) => look(field, &below(path, name), value, out),
            None if needed.is_some_and(|needed| needed.iter().any(|needed| needed == name)) => {
                out.push(Wrong::new(field, &below(path, name), None));
            }
            None => {}
        }
    }
    for key in map.keys().filter(|key| schema["properties"].get(*key).is_none()) {
        let expected = format!("one of the keys {}", names(schema));
        let unknown = Some("no key of the format".to_owned());
        out.push(Wrong { expected, ..Wrong::new(schema, &below(path, key), unknown) });
    }
}

fn below(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// The keyword that tells most about what a schema allows.
fn kind(schema: &Value) -> &str {
    let keyword = ["const", "enum"].into_iter().find(|keyword| schema.get(keyword).is_some());
    keyword.or_else(|| schema["format"].as_str()).or_else(|| schema["type"].as_str()).unwrap_or_default()
}

fn words(schema: &Value) -> impl Iterator<Item = &str> {
    schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn least(schema: &Value) -> u64 {
    schema["minimum"].as_u64().unwrap_or_default()
}

/// The fields of an object, without the type.
fn fields(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema["properties"].as_object().into_iter().flatten().filter(|(name, _)| *name != TYPE)
}

fn names(schema: &Value) -> String {
    fields(schema).map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
}

/// What a schema allows, as it goes on after "expected".
fn expected(schema: &Value) -> String {
    match kind(schema) {
        "const" => schema["const"].to_string(),
        "enum" => words(schema).collect::<Vec<_>>().join(" or "),
        "integer" => format!("a whole number, {} or more", least(schema)),
        "date-time" => "a moment as in 2024-01-01T12:00:00Z".to_owned(),
        "array" if kind(&schema["items"]) == "object" => "a list of objects".to_owned(),
        "array" => "a list of texts".to_owned(),
        "object" => format!("an object with {}", names(schema)),
        _ => "a text that is not blank".to_owned(),
    }
}

/// A value that a schema allows, without the fields that are filled in.
fn example_of(schema: &Value) -> Value {
    match kind(schema) {
        "const" => schema["const"].clone(),
        "array" => json!([example_of(&schema["items"])]),
        "object" => {
            let properties = schema["properties"].as_object().into_iter().flatten();
            let asked = properties.filter(|(_, field)| field.get("x-filled-in").is_none());
            asked.map(|(name, field)| (name.clone(), example_of(field))).collect()
        }
        _ => schema["examples"][0].clone(),
    }
}

/// A handoff of the format with everything that a sender can give; it can be stored as it is.
pub fn example(format: &Format) -> Value {
    example_of(&format.schema)
}

/// A value as an error quotes it: whole when it is short.
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

/// Puts a value that was given as a text where its path says, in the order it comes: an entry of a list is added to those
/// that are there. Words go by their letters, whatever their case. An object is given as JSON. What comes out can still be
/// wrong: [`wrongs`] tells.
pub fn put(format: &Format, payload: &mut Value, path: &str, text: &str) -> Result<(), Wrong> {
    let mut schema = &format.schema;
    let mut gone = String::new();
    for key in path.split('.') {
        let field = fields(schema).find(|(name, _)| *name == key);
        let Some((_, field)) = field else { return Err(no_key(&gone, schema, path)) };
        gone = below(&gone, key);
        schema = field;
    }
    let value = match kind(schema) {
        "array" => json!([read(&schema["items"], path, text)?]),
        _ => read(schema, path, text)?,
    };
    let mut place = &mut *payload;
    for key in path.split('.') {
        // what is of another kind stays to be told of
        if !place.is_object() && !place.is_null() {
            return Ok(());
        }
        place = &mut place[key];
    }
    match (place, value) {
        (Value::Array(there), Value::Array(entries)) => there.extend(entries),
        (place, value) if place.is_null() => *place = value,
        (place, _) => {
            let found = format!("given twice: {} and \"{text}\"", shown(place));
            let expected = format!("{}, once", expected(schema));
            return Err(Wrong { expected, ..Wrong::new(schema, path, Some(found)) });
        }
    }
    Ok(())
}

/// What a document says, and what another says in its place: objects key by key, everything else whole.
pub fn merged(base: &Value, other: &Value) -> Value {
    match (base, other) {
        (Value::Object(base), Value::Object(other)) => {
            let mut out = base.clone();
            for (key, value) in other {
                let known = out.get(key).cloned().unwrap_or(Value::Null);
                out.insert(key.clone(), merged(&known, value));
            }
            Value::Object(out)
        }
        _ => other.clone(),
    }
}

/// Takes out what stands at a path and is no list, so that another value can be put there.
pub fn make_room(payload: &mut Value, path: &str) {
    let (above, key) = path.rsplit_once('.').unwrap_or(("", path));
    let mut place = Some(payload);
    for key in above.split('.').filter(|key| !key.is_empty()) {
        place = place.and_then(|place| place.get_mut(key));
    }
    if let Some(Value::Object(map)) = place
        && !map.get(key).is_some_and(Value::is_array)
    {
        map.shift_remove(key);
    }
}

fn no_key(gone: &str, schema: &Value, path: &str) -> Wrong {
    let expected = match kind(schema) {
        "object" => format!("{} with one of {}", if gone.is_empty() { "a key" } else { gone }, names(schema)),
        _ => format!("{gone}, which is {}", expected(schema)),
    };
    Wrong { expected, ..Wrong::new(schema, path, Some("no key of the format".to_owned())) }
}

fn read(schema: &Value, path: &str, text: &str) -> Result<Value, Wrong> {
    let found = match kind(schema) {
        "enum" => words(schema).find(|word| word.eq_ignore_ascii_case(text.trim())).map(|word| json!(word)),
        "integer" => text.trim().parse::<u64>().ok().map(|number| json!(number)),
        "object" => parsed(text).ok().filter(Value::is_object),
        _ => Some(json!(text)),
    };
    found.ok_or_else(|| Wrong::new(schema, path, Some(shown(&json!(text)))))
}

/// What is given in the order of the format, `handoff_type` first.
pub fn ordered(format: &Format, given: &Value) -> Map<String, Value> {
    let mut out = Map::new();
    out.insert(TYPE.to_owned(), json!(format.name));
    if let Value::Object(fields) = in_order(&format.schema, given) {
        out.extend(fields);
    }
    out
}

fn in_order(schema: &Value, given: &Value) -> Value {
    match (kind(schema), given) {
        ("object", Value::Object(map)) => {
            let known =
                fields(schema).filter_map(|(name, field)| Some((name.clone(), in_order(field, map.get(name)?))));
            known.collect()
        }
        ("array", Value::Array(entries)) => entries.iter().map(|entry| in_order(&schema["items"], entry)).collect(),
        _ => given.clone(),
    }
}

/// Puts what is given, and nothing is wrong with, into a handoff.
pub fn put_in(format: &Format, given: &Value, handoff: &mut Handoff) {
    let mut payload = ordered(format, given);
    payload.shift_remove(TYPE);
    handoff.kind = format.name.to_owned();
    handoff.task_id = payload.shift_remove(TASK).and_then(|id| Some(id.as_str()?.to_owned()));
    handoff.iteration = payload.shift_remove(ROUND).and_then(|round| round.as_u64());
    handoff.payload = Some(payload);
}

/// A managed handoff as its format has it, written at `at` unless it says when; `None` for one that is not managed.
pub fn document(handoff: &Handoff, at: &str) -> Option<Map<String, Value>> {
    let format = named(&handoff.kind)?;
    let mut all = handoff.payload.clone()?;
    all.entry("timestamp").or_insert_with(|| json!(at));
    all.extend(handoff.task_id.iter().map(|id| (TASK.to_owned(), json!(id))));
    all.extend(handoff.iteration.iter().map(|round| (ROUND.to_owned(), json!(round))));
    Some(ordered(format, &Value::Object(all)))
}
