//! Findings, unknowns, dead ends, mistakes, assumptions, decisions, sources.
//!
//! An artifact rewritten after HEAD moved becomes one record, from the oldest version; the newest tells its state.

use serde_json::Value;

use crate::use_cases::import::python::convert::draft::{RecordDraft, RefPayloads};
use crate::use_cases::import::python::convert::read::{flag, moment, share, text, texts, words};
use empirica_notes::model::journal::{DeadEnd, Decision, Finding, Mistake, Resolve, Source, Unknown};
use empirica_notes::model::{Body, Id};

/// A reason or text that the payload lacks.
pub const MISSING: &str = "not said";

pub fn artifact(notes: &RefPayloads<'_>) -> Vec<RecordDraft> {
    let (value, ms) = (&notes.entries[0].value, notes.entries[0].ms);
    let main = main_text(notes.family.folder, value).unwrap_or_default();
    let single = |role, body| vec![notes.draft(0, ms, role, body)];
    let mut out = match notes.family.folder {
        "findings" => finding(notes, main),
        "unknowns" => unknown(notes, main),
        "assumptions" => assumption(notes, main),
        "dead_ends" => {
            let why = text(value, "why_failed").unwrap_or(MISSING).to_owned();
            let mut out =
                single("dead_end", Body::DeadEnd(DeadEnd { approach: main.to_owned(), why, ..Default::default() }));
            let (at, newest) = notes.newest();
            if flag(&newest.value, "is_invalidated") {
                let note = format!("No dead end any more: {main}");
                out.push(notes.draft(at, newest.newest.max(ms + 1), "invalidated", led(note, None, &out[0].id)));
            }
            out
        }
        "mistakes" => {
            let why = text(value, "why_wrong").map_or_else(String::new, |why| format!(" (why: {why})"));
            let prevention = text(value, "prevention").map(str::to_owned);
            single("mistake", Body::Mistake(Mistake { text: format!("{main}{why}"), prevention, ..Default::default() }))
        }
        "decisions" => {
            let why = text(value, "rationale").unwrap_or(MISSING).to_owned();
            let alternatives = texts(value.get("alternatives"));
            let text = main.to_owned();
            single("decision", Body::Decision(Decision { text, why, alternatives, ..Default::default() }))
        }
        _ => single("source", Body::Source(Source { location: main.to_owned(), ..Default::default() })),
    };
    out.dedup_by(|a, b| a.id == b.id);
    out
}

/// The keys of the main text of a payload, by priority; empty for folders without one.
fn main_keys(folder: &str) -> &'static [&'static str] {
    match folder {
        "findings" => &["finding"],
        "unknowns" => &["unknown"],
        "assumptions" => &["assumption"],
        "dead_ends" => &["approach"],
        "mistakes" => &["mistake"],
        "decisions" => &["choice"],
        "sources" => &["source_url", "doc_path", "title"],
        "goals" => &["objective"],
        "tasks" => &["description"],
        "messages" => &["body", "subject"],
        _ => &[],
    }
}

/// The main text of a payload, also in a nested object.
pub fn main_text<'v>(folder: &str, value: &'v Value) -> Option<&'v str> {
    let nested = || value.get("finding_data").or_else(|| value.get("goal_data"));
    main_keys(folder).iter().find_map(|key| text(value, key).or_else(|| text(nested()?, key)))
}

/// The reason to refuse a payload: it lacks its main text.
pub fn lacking(folder: &str, value: &Value) -> Option<String> {
    let key = main_keys(folder).first().filter(|_| main_text(folder, value).is_none())?;
    Some(format!("it lacks \"{key}\""))
}

/// Whether a payload is marked as resolved, invalidated or similar.
pub fn is_settled(value: &Value) -> bool {
    let data = value.get("goal_data").unwrap_or(&Value::Null);
    let flags = ["is_resolved", "resolved", "is_invalidated", "is_completed", "archived"];
    let is_open = |status: &str| ["", "unverified", "open", "pending", "active", "in_progress"].contains(&status);
    let is_marked = |value: &Value| {
        let status = value.get("status").and_then(words).unwrap_or_default();
        flags.iter().any(|key| flag(value, key))
            || !is_open(&status)
            || value.get("completed_timestamp").is_some_and(|t| !t.is_null())
    };
    is_marked(value) || is_marked(data)
}

fn led(text: String, impact: Option<f64>, from: &Id) -> Body {
    Body::Finding(Finding { text, impact, memory: None, led_from: Some(from.clone()), ..Default::default() })
}

/// When the artifact was resolved, later than its record.
fn resolved_ms(value: &Value, newest: u64, ms: u64) -> u64 {
    let resolved = ["resolved_at", "resolved_timestamp"].iter().find_map(|key| moment(value.get(key)?));
    resolved.map_or(newest, |moment| moment.ms).max(ms + 1)
}

fn finding(notes: &RefPayloads<'_>, main: &str) -> Vec<RecordDraft> {
    let first = &notes.entries[0];
    let impact = share(first.value.get("impact"));
    let body = Finding { text: main.to_owned(), impact, memory: None, ..Default::default() };
    let mut out = vec![notes.draft(0, first.ms, "finding", Body::Finding(body))];
    let (at, newest) = notes.newest();
    let value = &newest.value;
    if flag(value, "is_resolved") {
        let kind = text(value, "resolution_kind").map(|kind| format!(" ({kind})")).unwrap_or_default();
        let how = text(value, "resolution").map(|how| format!(": {how}")).unwrap_or_default();
        let note = format!("No longer open or so{kind}: {main}{how}");
        let ms = resolved_ms(value, newest.newest, first.ms);
        out.push(notes.draft(at, ms, "resolved", led(note, share(value.get("impact")), &out[0].id)));
    }
    out
}

fn unknown(notes: &RefPayloads<'_>, main: &str) -> Vec<RecordDraft> {
    let first = &notes.entries[0];
    let body = Body::Unknown(Unknown { text: main.to_owned(), ..Default::default() });
    let mut out = vec![notes.draft(0, first.ms, "unknown", body)];
    let (at, newest) = notes.newest();
    let value = &newest.value;
    if flag(value, "resolved") || flag(value, "is_resolved") {
        let by = ["resolved_by", "resolution"].iter().find_map(|key| text(value, key)).unwrap_or("resolved");
        out.push(resolve(notes, at, resolved_ms(value, newest.newest, first.ms), &out[0].id, by.to_owned()));
    }
    out
}

fn resolve(notes: &RefPayloads<'_>, at: usize, ms: u64, of: &Id, text: String) -> RecordDraft {
    let body = Body::Resolve(Resolve { of: of.clone(), text, concerns: Vec::new() });
    notes.draft(at, ms, "resolve", body)
}

/// An unverified assumption as an unknown; once verified, its result, and a finding if it holds.
fn assumption(notes: &RefPayloads<'_>, main: &str) -> Vec<RecordDraft> {
    let first = &notes.entries[0];
    let body = Body::Unknown(Unknown { text: format!("Assumption (unverified): {main}"), ..Default::default() });
    let mut out = vec![notes.draft(0, first.ms, "assumption", body)];
    let (at, newest) = notes.newest();
    let status = newest.value.get("status").and_then(words).unwrap_or_default();
    if !["", "unverified", "open", "pending"].contains(&status.as_str()) {
        let ms = resolved_ms(&newest.value, newest.newest, first.ms);
        let unknown = out[0].id.clone();
        if ["verified", "confirmed", "validated"].contains(&status.as_str()) {
            let note = format!("Assumption, {status}: {main}");
            out.push(notes.draft(at, ms, "verified", led(note, None, &unknown)));
        }
        out.push(resolve(notes, at, ms, &unknown, status));
    }
    out
}
