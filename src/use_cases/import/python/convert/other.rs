//! Items without an equivalent here (messages, signatures, deletions), stored as actions.

use serde_json::Value;

use crate::use_cases::import::python::convert::draft::{RecordDraft, RefPayloads};
use crate::use_cases::import::python::convert::read::{text, words};
use empirica_notes::model::Body;
use empirica_notes::model::journal::Activity;

/// Keys that summarize a payload, by priority.
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

/// Summary of a payload; the whole payload if it has none.
pub fn gist(value: &Value) -> String {
    let data = value.get("goal_data").unwrap_or(&Value::Null);
    let summary = TELLING.iter().find_map(|key| text(value, key).or_else(|| text(data, key)));
    summary.map(str::to_owned).or_else(|| words(value)).unwrap_or_default()
}

pub fn done(category: &str, text: String) -> Body {
    Body::Activity(Activity {
        category: category.to_owned(),
        text,
        failed: false,
        files: Vec::new(),
        ..Default::default()
    })
}

/// Messages from one agent to another.
pub fn messages(notes: &RefPayloads<'_>) -> Vec<RecordDraft> {
    let message = |value: &Value| {
        let parts: Vec<&str> = ["subject", "body"].iter().filter_map(|key| text(value, key)).collect();
        let to = value.get("to").and_then(|to| text(to, "ai_id")).unwrap_or("all");
        format!("Message to {to}: {}", parts.join(" \u{2014} "))
    };
    let each = notes.entries.iter().enumerate();
    each.map(|(at, entry)| notes.draft(at, entry.ms, "message", done("ask", message(&entry.value)))).collect()
}

/// Signatures of checkpoints. They sign commits of the tool's own notes, so they prove nothing here.
pub fn signatures(notes: &RefPayloads<'_>) -> Vec<RecordDraft> {
    let (phase, round) = notes.family.phase.unwrap_or_default();
    let each = notes.entries.iter().enumerate();
    let text = format!("Signed the checkpoint {phase}/{round}");
    each.map(|(at, entry)| notes.draft(at, entry.ms, "signature", done("task", text.clone()))).collect()
}

/// Deletions; the deleted content is not restored.
pub fn archived(notes: &RefPayloads<'_>) -> Vec<RecordDraft> {
    let each = notes.entries.iter().enumerate();
    let text = |value| format!("Deleted from {}: {}", notes.family.id, gist(value));
    each.map(|(at, entry)| notes.draft(at, entry.ms, "archived", done("edit", text(&entry.value)))).collect()
}
