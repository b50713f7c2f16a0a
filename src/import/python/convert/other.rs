//! What has no kind of its own here: messages, signatures, what was deleted. It is kept as something that was done.

use serde_json::Value;

use crate::import::python::convert::artefacts::lacks;
use crate::import::python::convert::draft::{RecordDraft, RefPayloads};
use crate::import::python::convert::read::{text, words};
use empirica_notes::model::Body;
use empirica_notes::model::journal::Activity;

/// The keys under which payloads say what they are about.
const TELLING: [&str; 14] = [
    "finding",
    "unknown",
    "approach",
    "mistake",
    "assumption",
    "choice",
    "title",
    "description",
    "objective",
    "subject",
    "task",
    "text",
    "content",
    "summary",
];

/// What a payload is about, in its own words; else all of it.
pub fn gist(value: &Value) -> String {
    let data = value.get("goal_data").unwrap_or(&Value::Null);
    let told = TELLING.iter().find_map(|key| text(value, key).or_else(|| text(data, key)));
    told.map(str::to_owned).or_else(|| words(value)).unwrap_or_default()
}

/// Something that was done.
pub fn done(category: &str, text: String) -> Body {
    Body::Activity(Activity { category: category.to_owned(), text, failed: false, files: Vec::new(), led_from: None })
}

/// Messages from one agent to another.
pub fn messages(notes: &RefPayloads<'_>) -> Result<Vec<RecordDraft>, String> {
    let mut out = Vec::new();
    for (at, entry) in notes.entries.iter().enumerate() {
        let value = &entry.value;
        let parts: Vec<&str> = ["subject", "body"].iter().filter_map(|key| text(value, key)).collect();
        if parts.is_empty() {
            return Err(lacks("body"));
        }
        let to = value.get("to").and_then(|to| text(to, "ai_id")).unwrap_or("all");
        let said = format!("Message to {to}: {}", parts.join(" \u{2014} "));
        out.push(notes.draft(at, entry.ms, "message", done("ask", said)));
    }
    Ok(out)
}

/// Signatures of checkpoints. What they sign is a commit of the other tool's notes, so nothing here is vouched for.
pub fn signatures(notes: &RefPayloads<'_>) -> Vec<RecordDraft> {
    let (phase, round) = notes.family.phase.unwrap_or_default();
    let each = notes.entries.iter().enumerate();
    let said = format!("Signed the checkpoint {phase}/{round}");
    each.map(|(at, entry)| notes.draft(at, entry.ms, "signature", done("task", said.clone()))).collect()
}

/// What was deleted there is not said anew here.
pub fn archived(notes: &RefPayloads<'_>) -> Vec<RecordDraft> {
    let each = notes.entries.iter().enumerate();
    let said = |value| format!("Deleted from {}: {}", notes.family.id, gist(value));
    each.map(|(at, entry)| notes.draft(at, entry.ms, "archived", done("edit", said(&entry.value)))).collect()
}
