//! Checkpoints of all versions as assessments or checkpoints, and the text blocks of cascades.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::use_cases::import::python::convert::draft::{RecordDraft, RefPayloads};
use crate::use_cases::import::python::convert::other::{done, gist};
use crate::use_cases::import::python::convert::read;
use crate::use_cases::import::python::convert::read::{share, text, texts, words};
use empirica_notes::model::{Assessment, Body, Checkpoint, Phase, Trigger, Vector, Vectors};

/// Key for values outside our vectors.
const ODD: &str = "foreign_vectors";
/// Tag of a record with such values.
const ODD_TAG: &str = "odd-vectors";
/// Tag of a record whose vectors come from a nested checkpoint.
const NESTED_TAG: &str = "nested-vectors";

/// A record per entry.
pub fn points(notes: &RefPayloads<'_>) -> Vec<RecordDraft> {
    let mut out = Vec::new();
    for (at, entry) in notes.entries.iter().enumerate() {
        let field = |key| entry.value.get(key).and_then(words);
        let (phase, round) = match notes.family.phase {
            Some((phase, round)) => (Some(phase.to_owned()), Some(round.to_owned())),
            None => (field("phase"), field("round")),
        };
        out.push(notes.draft(at, entry.ms, "point", point(&entry.value, phase.as_deref(), round.as_deref())));
    }
    out
}

/// A record per block `TYPE: {json}` of a text; a text without blocks is kept as it is.
pub fn cascade(notes: &RefPayloads<'_>) -> Vec<RecordDraft> {
    let mut out = Vec::new();
    for (at, entry) in notes.entries.iter().enumerate() {
        let text = entry.value.as_str().unwrap_or_default();
        let blocks: Vec<(&str, Value)> = text.split("\n\n").filter_map(block).collect();
        let mut ms = entry.ms;
        for (number, (kind, value)) in blocks.iter().enumerate() {
            ms = ["timestamp", "created_at", "ts"]
                .iter()
                .find_map(|key| read::moment(value.get(key)?))
                .map_or(ms, |moment| moment.ms);
            let body = match value.get("vectors") {
                Some(Value::Object(_)) => {
                    let round = value.get("round").and_then(words);
                    point(value, Some(kind), round.as_deref())
                }
                _ => done("task", format!("{kind}: {}", gist(value))),
            };
            out.push(notes.draft(at, ms, &format!("block {number}"), body));
        }
        if blocks.is_empty() {
            out.push(notes.draft(at, entry.ms, "text", done("task", text.to_owned())));
        }
    }
    out
}

fn block(text: &str) -> Option<(&str, Value)> {
    let (kind, rest) = text.trim().split_once(':')?;
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == ' ';
    let value = read::json(rest.trim()).filter(Value::is_object)?;
    kind.chars().all(word).then_some((kind.trim(), value))
}

/// The vectors of a payload, and the rest.
#[derive(Default)]
struct ReadVectors {
    valid: Vectors,
    odd: Vec<String>,
    nested: bool,
}

fn take(value: &Value, depth: u8, out: &mut ReadVectors) {
    let Value::Object(map) = value else { return };
    if let Some(inner @ Value::Object(_)) = map.get("vectors").filter(|_| depth < 4) {
        out.nested = true;
        return take(inner, depth + 1, out);
    }
    for (name, value) in map {
        // some versions store a reason with each score
        let number = value.as_f64().or_else(|| value.get("score").and_then(Value::as_f64));
        match (name.parse::<Vector>(), number) {
            (Ok(vector), Some(number)) if out.valid.get(vector).is_none() && out.valid.set(vector, number) => {}
            _ => out.odd.push(format!("{name}={}", words(value).unwrap_or_else(|| "null".to_owned()))),
        }
    }
}

fn phase_of(name: &str) -> Option<Phase> {
    match name {
        "PREFLIGHT" => Some(Phase::Preflight),
        "CHECK" => Some(Phase::Check),
        "ACT" => Some(Phase::Act),
        "POSTFLIGHT" => Some(Phase::Postflight),
        _ => None,
    }
}

/// An assessment if the payload is one and has vectors, otherwise a checkpoint.
fn point(value: &Value, name: Option<&str>, round: Option<&str>) -> Body {
    let has_entries = |key: &&str| value.get(key).and_then(Value::as_object).is_some_and(|map| !map.is_empty());
    let meta = ["meta", "metadata"].iter().find(|key| has_entries(key)).map_or(&Value::Null, |key| &value[*key]);
    let mut taken = ReadVectors::default();
    take(value.get("vectors").unwrap_or(&Value::Null), 0, &mut taken);
    let (mut tags, mut kept) = (Vec::new(), BTreeMap::new());
    let phase = name.and_then(phase_of);
    if let (None, Some(name)) = (phase, name) {
        tags.push(format!("phase:{name}"));
    }
    let number = round.and_then(|round| round.parse::<u32>().ok()).filter(|round| *round > 0);
    if let (None, Some(round)) = (number, round) {
        kept.insert("foreign_round".to_owned(), round.to_owned());
    }
    if !taken.odd.is_empty() {
        tags.push(ODD_TAG.to_owned());
        kept.insert(ODD.to_owned(), taken.odd.join(" "));
    }
    if taken.nested {
        tags.push(NESTED_TAG.to_owned());
    }
    for key in ["decision", "task_summary"] {
        if let Some(value_words) = meta.get(key).and_then(words) {
            kept.insert(key.to_owned(), value_words);
        }
    }
    let gaps = texts(meta.get("gaps"));
    if !gaps.is_empty() {
        kept.insert("gaps".to_owned(), gaps.join("; "));
    }
    let reasoning = text(meta, "reasoning").map(str::to_owned);
    let round = number.unwrap_or(1);
    match phase {
        Some(phase) if phase != Phase::Act && !taken.valid.is_empty() => Body::Assessment(Box::new(Assessment {
            phase,
            round,
            vectors: taken.valid,
            confidence: share(meta.get("confidence")).filter(|_| phase == Phase::Check),
            reasoning,
            task: text(meta, "task").or_else(|| text(meta, "prompt")).map(str::to_owned),
            cycle: meta.get("cycle").and_then(Value::as_u64).and_then(|cycle| u32::try_from(cycle).ok()),
            scope: None,
            tags,
            meta: kept,
        })),
        _ => {
            if let Some(task) = text(meta, "task") {
                kept.insert("task".to_owned(), task.to_owned());
            }
            Body::Checkpoint(Box::new(Checkpoint {
                phase,
                round,
                trigger: if name == Some("PRE_MEMORY_COMPACT") { Trigger::PreCompact } else { Trigger::Manual },
                vectors: taken.valid,
                vectors_from: None,
                vector_sources: BTreeMap::new(),
                compared_with: None,
                said: reasoning,
                tags,
                metadata: kept,
                git_state: None,
                snapshot: None,
            }))
        }
    }
}
