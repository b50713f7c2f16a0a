//! The answers about single records: assessments, checkpoints, and whatever else has an id.

use serde_json::{Value, json};

use crate::checkpoint;
use crate::fold::assessment::confidence::overall;
use crate::render::answer::Answer;
use crate::render::{format, safe};
use empirica_notes::model::{Body, Phase, Record};

/// A record as JSON. A checkpoint or assessment goes by `checkpoint_id` and has its overall confidence; of a checkpoint the
/// snapshot is left out.
pub fn point_json(record: &Record) -> Value {
    if let Body::Checkpoint(checkpoint) = &record.body {
        return Value::Object(checkpoint::view::brief_json(&record.head, checkpoint));
    }
    let head = &record.head;
    let vectors = match &record.body {
        Body::Assessment(a) => Some(&a.vectors),
        _ => None,
    };
    let mut json = json!({});
    json[if vectors.is_some() { "checkpoint_id" } else { "id" }] = json!(head.id);
    let envelope = json!({
        "kind": record.body.kind(), "session_id": head.session, "ai_id": head.ai, "timestamp": head.at,
        "commit": head.commit,
    });
    if let (Value::Object(json), Value::Object(envelope)) = (&mut json, envelope) {
        json.extend(envelope);
        json.extend(empirica_notes::format::record::body_to_map(&record.body));
        if let Some(vectors) = vectors {
            json.insert("overall_confidence".to_owned(), json!(overall(vectors)));
        }
    }
    json
}

/// What a checkpoint or assessment is, in a word or two.
pub fn point_name(record: &Record) -> String {
    match &record.body {
        Body::Assessment(a) => format!("{} {}", a.phase.name(), a.round),
        Body::Checkpoint(c) => format!("checkpoint {} {}", c.phase.map_or("–", Phase::name), c.round),
        other => other.kind().to_owned(),
    }
}

/// A record that is no checkpoint.
fn any(record: &Record, warnings: Vec<String>) -> Answer {
    let head = &record.head;
    let mut text = format!(
        "{} {}\nId:      {}\nAgent:   {}\nSession: {}\nDate:    {}\nCommit:  {}\n",
        record.body.kind().replace('_', " "),
        head.id.short(),
        head.id,
        safe::line(&head.ai),
        head.session.as_ref().map_or("–", |id| id.as_str()),
        format::date(&head.at),
        head.commit.as_deref().unwrap_or("none yet"),
    );
    for (key, value) in empirica_notes::format::record::body_to_map(&record.body) {
        let shown = match &value {
            Value::String(text) => safe::indented(text, 4),
            Value::Object(map) if map.values().all(Value::is_number) => {
                let pairs: Vec<String> = map.iter().map(|(name, value)| format!("{name} {value}")).collect();
                safe::indented(&pairs.join(", "), 4)
            }
            Value::Null => "–".to_owned(),
            other => safe::indented(&other.to_string(), 4),
        };
        text.push_str(&format!("{key}: {shown}\n"));
    }
    Answer::new(point_json(record)).text(text).warn(warnings).paged()
}

/// The answer of `checkpoint list`.
pub fn points(records: &[Record], warnings: Vec<String>) -> Answer {
    let line = |record: &Record| {
        format!(
            "{} {} {:<22} {:<12} {}\n",
            record.head.id.short(),
            format::date(&record.head.at),
            point_name(record),
            safe::line(&record.head.ai),
            format::said(record)
        )
    };
    let rows: Vec<Value> = records.iter().map(point_json).collect();
    let answer = Answer::new(json!({"checkpoints": rows, "total_found": rows.len()}))
        .text(records.iter().map(line).collect::<String>())
        .warn(warnings)
        .paged();
    if records.is_empty() { answer.say("No checkpoint is stored here.") } else { answer }
}

/// The answer of `checkpoint show`, and of `show` for a record that is no handoff.
pub fn shown(record: &Record, warnings: Vec<String>) -> Answer {
    match &record.body {
        Body::Checkpoint(checkpoint) => Answer::new(Value::Object(checkpoint::view::json_of(&record.head, checkpoint)))
            .text(checkpoint::view::text(&record.head, checkpoint))
            .warn(warnings)
            .paged(),
        _ => any(record, warnings),
    }
}
