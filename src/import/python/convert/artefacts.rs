//! Findings, unknowns, dead ends, mistakes, assumptions, decisions, sources.
//!
//! An artefact rewritten after HEAD moved becomes one record, from the oldest version; the newest tells its state.

use serde_json::Value;

use crate::import::python::convert::draft::{RecordDraft, RefPayloads};
use crate::import::python::convert::family::Family;
use crate::import::python::convert::read::{flag, moment, share, text, texts, words};
use empirica_notes::model::journal::{DeadEnd, Decision, Finding, Mistake, Resolve, Source, Unknown};
use empirica_notes::model::{Body, Id};

/// The records of an artefact, or why there are none.
pub fn artefact(notes: &RefPayloads<'_>) -> Result<Vec<RecordDraft>, String> {
    let (value, ms) = (&notes.entries[0].value, notes.entries[0].ms);
    let mut out = match notes.family.folder {
        "findings" => {
            let data = value.get("finding_data").unwrap_or(&Value::Null);
            let finding_text = text(value, "finding").or_else(|| text(data, "finding"));
            let finding_text = finding_text.ok_or_else(|| lacks("finding"))?;
            finding(notes, finding_text)
        }
        "unknowns" => unknown(notes, text(value, "unknown").ok_or_else(|| lacks("unknown"))?),
        "assumptions" => assumption(notes, text(value, "assumption").ok_or_else(|| lacks("assumption"))?),
        "dead_ends" => {
            let approach = text(value, "approach").ok_or_else(|| lacks("approach"))?;
            let why = text(value, "why_failed").unwrap_or("not said").to_owned();
            let body = Body::DeadEnd(DeadEnd { approach: approach.to_owned(), why, led_from: None });
            let mut out = vec![notes.draft(0, ms, "dead_end", body)];
            let (at, newest) = notes.newest();
            if flag(&newest.value, "is_invalidated") {
                let note = format!("No dead end any more: {approach}");
                out.push(notes.draft(at, newest.newest.max(ms + 1), "invalidated", led(note, None, &out[0].id)));
            }
            out
        }
        "mistakes" => {
            let mut mistake = text(value, "mistake").ok_or_else(|| lacks("mistake"))?.to_owned();
            if let Some(why) = text(value, "why_wrong") {
                mistake = format!("{mistake} (why: {why})");
            }
            let prevention = text(value, "prevention").map(str::to_owned);
            vec![notes.draft(0, ms, "mistake", Body::Mistake(Mistake { text: mistake, prevention, led_from: None }))]
        }
        "decisions" => {
            let body = Body::Decision(Decision {
                text: text(value, "choice").ok_or_else(|| lacks("choice"))?.to_owned(),
                why: text(value, "rationale").unwrap_or("not said").to_owned(),
                alternatives: texts(value.get("alternatives")),
                led_from: None,
            });
            vec![notes.draft(0, ms, "decision", body)]
        }
        _ => {
            let named = ["source_url", "doc_path", "title"].iter().find_map(|key| text(value, key));
            let location = named.ok_or_else(|| lacks("source_url"))?.to_owned();
            vec![notes.draft(0, ms, "source", Body::Source(Source { location, led_from: None }))]
        }
    };
    out.dedup_by(|a, b| a.id == b.id);
    Ok(out)
}

/// Why a payload lacks the content of its kind of ref; `None` if it has it.
pub fn lacking(family: &Family<'_>, value: &Value) -> Option<String> {
    let within = |key: &str, inner: &str| {
        let inside = value.get(inner).unwrap_or(&Value::Null);
        text(value, key).or_else(|| text(inside, key)).is_none().then(|| lacks(key))
    };
    match family.folder {
        "findings" => within("finding", "finding_data"),
        "unknowns" => within("unknown", ""),
        "assumptions" => within("assumption", ""),
        "dead_ends" => within("approach", ""),
        "mistakes" => within("mistake", ""),
        "decisions" => within("choice", ""),
        "sources" => ["source_url", "doc_path", "title"]
            .iter()
            .all(|key| text(value, key).is_none())
            .then(|| lacks("source_url")),
        "goals" => within("objective", "goal_data"),
        "tasks" => within("description", ""),
        "messages" => ["subject", "body"].iter().all(|key| text(value, key).is_none()).then(|| lacks("body")),
        _ => None,
    }
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

/// Error: the payload lacks its main key.
pub fn lacks(key: &str) -> String {
    format!("it says nothing under \"{key}\"")
}

fn led(text: String, impact: Option<f64>, from: &Id) -> Body {
    Body::Finding(Finding { text, impact, memory: None, led_from: Some(from.clone()) })
}

/// When the artefact was resolved, later than its record.
fn resolved_ms(value: &Value, newest: u64, ms: u64) -> u64 {
    let resolved = ["resolved_at", "resolved_timestamp"].iter().find_map(|key| moment(value.get(key)?));
    resolved.map_or(newest, |moment| moment.ms).max(ms + 1)
}

fn finding(notes: &RefPayloads<'_>, given: &str) -> Vec<RecordDraft> {
    let first = &notes.entries[0];
    let impact = share(first.value.get("impact"));
    let body = Finding { text: given.to_owned(), impact, memory: None, led_from: None };
    let mut out = vec![notes.draft(0, first.ms, "finding", Body::Finding(body))];
    let (at, newest) = notes.newest();
    let value = &newest.value;
    if flag(value, "is_resolved") {
        let kind = text(value, "resolution_kind").map(|kind| format!(" ({kind})")).unwrap_or_default();
        let how = text(value, "resolution").map(|how| format!(": {how}")).unwrap_or_default();
        let note = format!("No longer open or so{kind}: {given}{how}");
        let ms = resolved_ms(value, newest.newest, first.ms);
        out.push(notes.draft(at, ms, "resolved", led(note, share(value.get("impact")), &out[0].id)));
    }
    out
}

fn unknown(notes: &RefPayloads<'_>, given: &str) -> Vec<RecordDraft> {
    let first = &notes.entries[0];
    let body = Body::Unknown(Unknown { text: given.to_owned(), led_from: None });
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
fn assumption(notes: &RefPayloads<'_>, given: &str) -> Vec<RecordDraft> {
    let first = &notes.entries[0];
    let body = Body::Unknown(Unknown { text: format!("Assumption (unverified): {given}"), led_from: None });
    let mut out = vec![notes.draft(0, first.ms, "assumption", body)];
    let (at, newest) = notes.newest();
    let status = newest.value.get("status").and_then(words).unwrap_or_default();
    if !["", "unverified", "open", "pending"].contains(&status.as_str()) {
        let ms = resolved_ms(&newest.value, newest.newest, first.ms);
        let unknown = out[0].id.clone();
        if ["verified", "confirmed", "validated"].contains(&status.as_str()) {
            let note = format!("Assumption, {status}: {given}");
            out.push(notes.draft(at, ms, "verified", led(note, None, &unknown)));
        }
        out.push(resolve(notes, at, ms, &unknown, status));
    }
    out
}
