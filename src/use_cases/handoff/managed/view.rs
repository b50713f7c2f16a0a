//! Views of managed handoffs: fields as sections and as lines, and the example of a type.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::render::answer::Answer;
use crate::use_cases::handoff::managed::{example_command, payload, without_fields};
use empirica_notes::error::Result;
use empirica_notes::model::Handoff;

fn words(key: &str) -> String {
    key.replace('_', " ")
}

fn title(key: &str) -> String {
    let capital = |word: &str| {
        let mut chars = word.chars();
        chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
    };
    key.split('_').map(capital).collect::<Vec<String>>().join(" ")
}

/// A value on one line. Of an object, only values that are not texts have their keys.
fn line(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(entries) => entries.iter().map(line).collect::<Vec<_>>().join("; "),
        Value::Object(map) => {
            let part = |(key, value): (&String, &Value)| match value {
                Value::String(_) => line(value),
                _ => format!("{} {}", words(key), line(value)),
            };
            map.iter().map(part).collect::<Vec<_>>().join(" — ")
        }
        other => other.to_string(),
    }
}

/// A section of the Markdown: a text, or entries with a name and a text or entries of their own.
fn section(key: &str, value: &Value) -> Value {
    let plain =
        |entries: &[Value]| -> Vec<Value> { entries.iter().map(|entry| json!({"text": line(entry)})).collect() };
    let part = |(key, value): (&String, &Value)| match value {
        Value::Array(entries) => {
            json!({"name": title(key), "entries": entries.iter().map(line).collect::<Vec<_>>()})
        }
        other => json!({"name": title(key), "text": line(other)}),
    };
    match value {
        Value::Array(entries) => json!({"title": title(key), "entries": plain(entries)}),
        Value::Object(map) => json!({"title": title(key), "entries": map.iter().map(part).collect::<Vec<_>>()}),
        other => json!({"title": title(key), "text": line(other)}),
    }
}

/// The payload without its timestamp.
fn fields(handoff: &Handoff) -> impl Iterator<Item = (&String, &Value)> {
    handoff.payload.iter().flatten().filter(|(key, _)| *key != "timestamp")
}

/// The fields of a managed handoff as sections of the Markdown; none for others.
pub fn sections(handoff: &Handoff) -> Vec<Value> {
    // the context of a session has a template of its own
    let is_shown = handoff.kind != empirica_notes::model::handoff::CONTEXT;
    fields(handoff).filter(|_| is_shown).map(|(key, value)| section(key, value)).collect()
}

/// The fields of a managed handoff as lines that begin with their names.
pub fn lines(handoff: &Handoff) -> Vec<String> {
    fn add(name: &str, value: &Value, out: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                map.iter().for_each(|(key, value)| add(&format!("{name}, {}", words(key)), value, out));
            }
            Value::Array(entries) => out.extend(entries.iter().map(|entry| format!("{name}: {}", line(entry)))),
            other => out.push(format!("{name}: {}", line(other))),
        }
    }
    let mut out = Vec::new();
    fields(handoff).for_each(|(key, value)| add(&words(key), value, &mut out));
    out
}

/// The example of a type.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "HandoffExampleView")]
pub struct ExampleView<'a> {
    /// The type.
    #[serde(rename = "type")]
    kind: &'a str,
    /// A document of it that can be handed over as it is.
    example: Value,
}

/// The answer of `handoff --example`.
pub fn example(kind: &str) -> Result<Answer> {
    let Some(example) = payload::example(kind) else {
        return Err(without_fields(kind)
            .suggest("Ask for the example of another type.")
            .command(example_command("progress")));
    };
    let text = format!("{example:#}\n");
    Ok(Answer::new(ExampleView { kind, example }).text(text))
}
