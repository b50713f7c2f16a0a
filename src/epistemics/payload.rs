//! What a managed handoff says, held against its format: what is wrong with it, a single value of it, its order.

mod shape;
mod strict;

use serde_json::{Map, Value, json};

use self::shape::example_of;
pub use self::shape::{example, schema};
pub use self::strict::parsed;
use crate::model::Handoff;
use crate::model::formats::{Field, Format, Given, Shape, TYPE, named};

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
    /// The same in one line.
    pub fn line(&self) -> String {
        let path = if self.path.is_empty() { "the whole" } else { &self.path };
        match &self.found {
            None => format!("{path} is missing: expected {}", self.expected),
            Some(found) => format!("{path} is {found}: expected {}", self.expected),
        }
    }
}

/// Everything that is wrong with what is given, in the order of the format; empty when it can be stored. A key the format
/// has not is wrong; `handoff_type` may be left out.
pub fn wrongs(format: &Format, given: &Value) -> Vec<Wrong> {
    let mut out = Vec::new();
    if let Some(kind) = given.get(TYPE).filter(|kind| *kind != format.name) {
        out.push(Wrong {
            path: TYPE.to_owned(),
            expected: format!("\"{}\"", format.name),
            found: Some(shown(kind)),
            example: json!(format.name).to_string(),
        });
    }
    let mut rest = given.clone();
    if let Some(map) = rest.as_object_mut() {
        map.shift_remove(TYPE);
    }
    look(&Shape::Fields(format.fields), "", "", &rest, &mut out);
    out
}

fn look(shape: &Shape, path: &str, example: &str, value: &Value, out: &mut Vec<Wrong>) {
    let fits = match (shape, value) {
        (Shape::Text, Value::String(text)) => !text.trim().is_empty(),
        (Shape::Word(words), Value::String(text)) => words.contains(&text.as_str()),
        (Shape::Count(least), Value::Number(number)) => number.as_u64().is_some_and(|number| number >= *least),
        (Shape::Time, Value::String(text)) => chrono::DateTime::parse_from_rfc3339(text).is_ok(),
        (Shape::List(of), Value::Array(entries)) => {
            let at = |(at, entry): (usize, &Value)| look(of, &format!("{path}[{at}]"), example, entry, out);
            entries.iter().enumerate().for_each(at);
            true
        }
        (Shape::Fields(fields), Value::Object(map)) => {
            look_at_fields(fields, path, map, out);
            true
        }
        _ => false,
    };
    if !fits {
        out.push(Wrong {
            path: path.to_owned(),
            expected: expected(shape),
            found: Some(shown(value)),
            example: example_of(shape, example).to_string(),
        });
    }
}

fn look_at_fields(fields: &'static [Field], path: &str, map: &Map<String, Value>, out: &mut Vec<Wrong>) {
    for field in fields {
        match map.get(field.name) {
            Some(value) => look(&field.shape, &below(path, field.name), field.example, value, out),
            None if field.given == Given::Always => out.push(Wrong {
                path: below(path, field.name),
                expected: expected(&field.shape),
                found: None,
                example: example_of(&field.shape, field.example).to_string(),
            }),
            None => {}
        }
    }
    for key in map.keys().filter(|key| fields.iter().all(|field| field.name != *key)) {
        out.push(Wrong {
            path: below(path, key),
            expected: format!("one of the keys {}", names(fields)),
            found: Some("no key of the format".to_owned()),
            example: example_of(&Shape::Fields(fields), "").to_string(),
        });
    }
}

fn below(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn names(fields: &[Field]) -> String {
    fields.iter().map(|field| field.name).collect::<Vec<_>>().join(", ")
}

/// What a shape wants, as it goes on after "expected".
fn expected(shape: &Shape) -> String {
    match shape {
        Shape::Text => "a text that is not blank".to_owned(),
        Shape::Word(words) => words.join(" or "),
        Shape::Count(least) => format!("a whole number, {least} or more"),
        Shape::Time => "a moment as in 2024-01-01T12:00:00Z".to_owned(),
        Shape::List(of) => match of {
            Shape::Fields(_) => "a list of objects".to_owned(),
            _ => "a list of texts".to_owned(),
        },
        Shape::Fields(fields) => format!("an object with {}", names(fields)),
    }
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
    let (mut shape, mut example) = (Shape::Fields(format.fields), "");
    let mut gone = String::new();
    for key in path.split('.') {
        let field = match shape {
            Shape::Fields(fields) => fields.iter().find(|field| field.name == key),
            _ => None,
        };
        let Some(field) = field else { return Err(no_key(&gone, &shape, path, example)) };
        gone = below(&gone, key);
        (shape, example) = (field.shape, field.example);
    }
    let value = match shape {
        Shape::List(of) => json!([read(of, path, example, text)?]),
        shape => read(&shape, path, example, text)?,
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
            return Err(Wrong {
                path: path.to_owned(),
                expected: format!("{}, once", expected(&shape)),
                found: Some(format!("given twice: {} and \"{text}\"", shown(place))),
                example: example_of(&shape, example).to_string(),
            });
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

fn no_key(gone: &str, shape: &Shape, path: &str, example: &str) -> Wrong {
    let expected = match shape {
        Shape::Fields(fields) => {
            format!("{} with one of {}", if gone.is_empty() { "a key" } else { gone }, names(fields))
        }
        shape => format!("{gone}, which is {}", expected(shape)),
    };
    let found = Some("no key of the format".to_owned());
    Wrong { path: path.to_owned(), expected, found, example: example_of(shape, example).to_string() }
}

fn read(shape: &Shape, path: &str, example: &str, text: &str) -> Result<Value, Wrong> {
    let found = match shape {
        Shape::Text | Shape::Time => Some(json!(text)),
        Shape::Word(words) => words.iter().find(|word| word.eq_ignore_ascii_case(text.trim())).map(|word| json!(word)),
        Shape::Count(_) => text.trim().parse::<u64>().ok().map(|number| json!(number)),
        Shape::Fields(_) => parsed(text).ok().filter(Value::is_object),
        Shape::List(_) => parsed(text).ok().filter(Value::is_array),
    };
    found.ok_or_else(|| Wrong {
        path: path.to_owned(),
        expected: expected(shape),
        found: Some(shown(&json!(text))),
        example: example_of(shape, example).to_string(),
    })
}

/// What is given in the order of the format, `handoff_type` first.
pub fn ordered(format: &Format, given: &Value) -> Map<String, Value> {
    let mut out = Map::new();
    out.insert(TYPE.to_owned(), json!(format.name));
    if let Value::Object(fields) = in_order(&Shape::Fields(format.fields), given) {
        out.extend(fields);
    }
    out
}

fn in_order(shape: &Shape, given: &Value) -> Value {
    match (shape, given) {
        (Shape::Fields(fields), Value::Object(map)) => {
            let known = fields
                .iter()
                .filter_map(|field| Some((field.name.to_owned(), in_order(&field.shape, map.get(field.name)?))));
            known.collect()
        }
        (Shape::List(of), Value::Array(entries)) => entries.iter().map(|entry| in_order(of, entry)).collect(),
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

#[cfg(test)]
mod tests;
