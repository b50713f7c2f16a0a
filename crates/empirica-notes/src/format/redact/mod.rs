//! Redaction of texts: the own texts of a record, and their removal from lines and passages.

mod quote;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::format::record::ENVELOPE;
use crate::format::redact::quote::{Escaping, MARK, OneLine, is_long, without_one};
use crate::format::{blocks, hex, lines, record};
use crate::model::Body;
use crate::model::record::{Redacted, claim_keys};

/// The minimum length of a redacted text, in characters: shorter ones occur in too many others by chance.
const SHORTEST: usize = 6;

/// The SHA-256 of a line, in hex.
pub fn hash(line: &[u8]) -> String {
    hex(&Sha256::digest(line))
}

/// Whether a line is a stub of a redacted record. Textual, like [`lines::id`].
pub fn is_stub(line: &[u8]) -> bool {
    let Some(id) = lines::id(line) else { return false };
    line[after_id(line, id)..].starts_with(b"\",\"kind\":\"redacted\"")
}

/// The offset of the end of the id.
fn after_id(line: &[u8], id: &str) -> usize {
    line.windows(id.len()).position(|part| part == id.as_bytes()).map_or(0, |at| at + id.len())
}

/// The attribution of a redaction.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attribution {
    /// The agent, as claimed.
    pub ai: String,
    /// The time, RFC 3339 UTC.
    pub at: String,
    /// The reason, if given.
    pub reason: Option<String>,
}

/// The stub of a line: its envelope and kind without its texts; for an unreadable line, only its id. `None` for a line
/// without an id. Without `by` it depends on the envelope alone, so that all clones produce the same.
pub fn stub(line: &[u8], by: Option<&Attribution>) -> Option<Vec<u8>> {
    let id = lines::id(line)?;
    let old = object(line).unwrap_or_default();
    let mut new = Map::new();
    for key in ENVELOPE {
        let value = match key {
            "v" => Some(json!(version(line))),
            "id" => Some(json!(id)),
            "kind" => Some(json!("redacted")),
            _ => old.get(key).cloned(),
        };
        new.extend(value.map(|value| (key.to_owned(), value)));
    }
    let was = old.get("kind").and_then(Value::as_str).unwrap_or("unknown").to_owned();
    let body = Redacted {
        was,
        redacted_by: by.map(|by| by.ai.clone()),
        redacted_at: by.map(|by| by.at.clone()),
        reason: by.and_then(|by| by.reason.clone()),
    };
    new.extend(record::body_to_map(&Body::Redacted(body)));
    Some(Value::Object(new).to_string().into_bytes())
}

/// The version in a line with an id.
fn version(line: &[u8]) -> u64 {
    let digits = line.iter().skip(5).take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |n, digit| n.saturating_mul(10).saturating_add(u64::from(digit - b'0')))
}

/// Whether a line with an id can be parsed.
pub fn is_readable(line: &[u8]) -> bool {
    lines::id(line).is_some() && object(line).is_some()
}

/// Parses a line as an object. If it contains values that `serde_json::Value` cannot hold (a number too large, a lone
/// surrogate), only the keys that this program understands.
fn object(line: &[u8]) -> Option<Map<String, Value>> {
    let value = match serde_json::from_slice::<Value>(line) {
        Ok(value) => value,
        Err(_) => serde_json::from_str(&record::encode(&record::decode(line)?)).ok()?,
    };
    let Value::Object(mut object) = value else { return None };
    // keys may be repeated: those at the start of the line count
    if let Some(id) = lines::id(line) {
        object.insert("v".to_owned(), json!(version(line)));
        object.insert("id".to_owned(), json!(id));
    }
    Some(object)
}

/// The keys with the own texts of a record of this kind, without those copied from other records. `None` for an unknown
/// kind: all but the envelope.
fn own_keys(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "session_start" => &["task"],
        "session_end" => &["reason"],
        "resolve" | "subtask" | "answer" | "activity" => &["text"],
        "source" => &["location"],
        "evidence" => &["command"],
        "goal" => &["text", "criteria", "rationale"],
        "goal_done" => &["evidence"],
        "goal_drop" | "retract" => &["why"],
        "assessment" => &["reasoning", "task", "tags", "meta"],
        "checkpoint" => &["said", "tags", "metadata"],
        "transcript" => &["tools", "pending_tasks", "failed_commands", "decisions"],
        "handoff" => &[
            "task",
            "payload",
            "clarifications",
            "missed",
            "left_out",
            "accomplished",
            "findings",
            "unknowns",
            "context",
            "next_steps",
        ],
        "accept" => &["understanding", "instructions", "questions", "gaps", "resolution"],
        "digest" | "attach" | "supersede" | "confirm" | "signature" | "goal_take" | "redacted" => &[],
        kind => return claim_keys(kind),
    })
}

/// Whether records of this kind are composed from others.
fn is_composed(kind: &str) -> bool {
    matches!(kind, "handoff" | "digest" | "checkpoint" | "transcript")
}

/// The texts of redacted records.
#[derive(Debug, Clone, Default)]
pub struct RedactedTexts {
    /// Longest first: one can contain another.
    all: Vec<OwnText>,
}

/// An own text of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OwnText {
    /// With each run of white space replaced by one space.
    text: String,
    /// The record.
    record_id: String,
    /// Whether it is searched for only in composed records.
    only_composed: bool,
}

/// A line after removal of the texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactedLine {
    /// The new line.
    pub line: Vec<u8>,
    /// The redacted records that it quoted.
    pub quoted_ids: BTreeSet<String>,
    /// Whether it became a stub.
    pub is_stub: bool,
}

impl RedactedTexts {
    /// Adds the own texts of a record. No-op for stubs and foreign lines.
    pub fn add(&mut self, line: &[u8]) {
        let Some(id) = lines::id(line).filter(|_| !is_stub(line)) else { return };
        let Some(record) = object(line) else { return };
        let kind = record.get("kind").and_then(Value::as_str).unwrap_or_default();
        let only_composed = is_composed(kind);
        let mut texts = own_texts(kind, &record);
        if only_composed {
            // a single word may be a fixed value, which other records also have
            texts.retain(|text| text.chars().any(|c| !c.is_ascii_alphabetic() && c != '_' && c != '-'));
        }
        self.extend(RedactedTexts {
            all: texts.into_iter().map(|text| OwnText { text, record_id: id.to_owned(), only_composed }).collect(),
        });
    }

    /// Adds all texts of `other`.
    pub fn extend(&mut self, other: RedactedTexts) {
        self.all.extend(other.all);
        self.all.sort_by(|a, b| {
            b.text.len().cmp(&a.text.len()).then_with(|| (&a.text, &a.record_id).cmp(&(&b.text, &b.record_id)))
        });
        self.all.dedup();
    }

    /// Whether any text is from a composed record; other records may then have it as their own.
    pub fn has_composed(&self) -> bool {
        self.all.iter().any(|own| own.only_composed)
    }

    /// The texts of composed records that are also own texts of this line, unless the line is redacted or composed
    /// itself.
    fn repeated(&self, line: &[u8]) -> Vec<String> {
        let Some(id) = lines::id(line).filter(|_| self.has_composed()) else { return Vec::new() };
        let Some(record) = object(line) else { return Vec::new() };
        let kind = record.get("kind").and_then(Value::as_str).unwrap_or_default();
        if is_composed(kind) || kind == "redacted" || self.all.iter().any(|own| own.record_id == id) {
            return Vec::new();
        }
        let is_composed_text = |text: &String| self.all.iter().any(|own| own.only_composed && own.text == *text);
        own_texts(kind, &record).into_iter().filter(is_composed_text).collect()
    }

    /// Whether the line has an own text that would be removed only from composed records.
    pub fn is_own_text_of(&self, line: &[u8]) -> bool {
        !self.repeated(line).is_empty()
    }

    /// Drops the texts for which [`Self::is_own_text_of`] holds: they belong to that record.
    pub fn drop_texts_owned_by(&mut self, line: &[u8]) {
        let repeated = self.repeated(line);
        self.all.retain(|own| !own.only_composed || !repeated.contains(&own.text));
    }

    /// Removes the texts from a note: from each line if `is_lines`, else from blocks and passages. Unchanged, byte for
    /// byte, if it contains none.
    pub fn remove_from_note(&self, is_lines: bool, note: Vec<u8>) -> Vec<u8> {
        if self.is_empty() {
            return note;
        }
        if !is_lines {
            return blocks::with_texts(&note, |text| self.passage(text)).unwrap_or(note);
        }
        let found: Vec<Option<RedactedLine>> = lines::split(&note).map(|line| self.redact_line(line)).collect();
        if found.iter().all(Option::is_none) {
            return note;
        }
        let new = lines::split(&note).zip(&found);
        lines::canonical(new.map(|(line, without)| without.as_ref().map_or(line, |without| without.line.as_slice())))
    }

    /// Whether there are no texts.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Removes the texts from a line; `None` if it contains none. A record keeps its own texts. A record that could not
    /// be decoded without them becomes a stub.
    pub fn redact_line(&self, line: &[u8]) -> Option<RedactedLine> {
        let id = lines::id(line);
        if self.is_empty() || is_stub(line) {
            return None;
        }
        let mut quoted_ids = BTreeSet::new();
        let record = match serde_json::from_slice::<Value>(line) {
            Ok(Value::Object(_)) if id.is_some() => object(line)?,
            // foreign JSON: its texts may be escaped
            Ok(mut other @ (Value::Object(_) | Value::Array(_))) => {
                self.find_repeated(line, &other, None, &mut quoted_ids);
                self.walk(&mut other, None, false, &mut quoted_ids);
                let mut new = other.to_string();
                if lines::id(new.as_bytes()).is_some() {
                    // by repeated keys; it was no record, and becomes none
                    new.insert(0, ' ');
                }
                let line = new.into_bytes();
                return (!quoted_ids.is_empty()).then_some(RedactedLine { line, quoted_ids, is_stub: false });
            }
            _ => {
                // keep the beginning, which holds the id
                let end = id.map_or(0, |id| after_id(line, id));
                let plain =
                    self.replaced(&String::from_utf8_lossy(&line[end..]), id, false, Escaping::None, &mut quoted_ids);
                let plain = plain.map(|text| [&line[..end], text.as_bytes()].concat());
                match object(plain.as_deref().unwrap_or(line)).filter(|record| self.is_in(record, id)) {
                    Some(record) => record,
                    None => return plain.map(|line| RedactedLine { line, quoted_ids, is_stub: false }),
                }
            }
        };
        let mut record = Value::Object(record);
        self.find_repeated(line, &record, id, &mut quoted_ids);
        if let Value::Object(record) = &mut record {
            self.walk_record(record, id, &mut quoted_ids);
        }
        if quoted_ids.is_empty() {
            return None;
        }
        let new = record.to_string().into_bytes();
        let is_stub = record::decode(line).is_some() && record::decode(&new).is_none();
        let line = if is_stub { stub(line, None)? } else { new };
        Some(RedactedLine { line, quoted_ids, is_stub })
    }

    /// Removes the texts from a passage of Markdown; `None` if it contains none.
    pub fn passage(&self, text: &str) -> Option<String> {
        self.replaced(text, None, true, Escaping::Markdown, &mut BTreeSet::new())
    }

    /// Words of the texts that are not prose: 8 or more characters, with letters and digits. An object that contains
    /// one may contain part of a text.
    pub fn distinctive_words(&self) -> BTreeSet<String> {
        let texts = self.all.iter().map(|own| &own.text);
        let is_separator = |c: char| c.is_whitespace() || "\"'`=,;()[]{}<>".contains(c);
        let words = texts.flat_map(|text| text.split(is_separator));
        let words = words.map(|word| word.trim_matches(['.', ':', '!', '?', '…']));
        let is_token = |word: &&str| {
            let (mut letters, mut digits) = (false, false);
            word.chars().for_each(|c| (letters, digits) = (letters | c.is_alphabetic(), digits | c.is_ascii_digit()));
            word.chars().count() >= 8 && letters && digits && *word != MARK
        };
        words.filter(is_token).map(str::to_owned).collect()
    }

    /// Whether a record contains one of the texts.
    fn is_in(&self, record: &Map<String, Value>, id: Option<&str>) -> bool {
        let mut quoted_ids = BTreeSet::new();
        self.walk_record(&mut record.clone(), id, &mut quoted_ids);
        !quoted_ids.is_empty()
    }

    /// Adds the records whose texts are only in values of repeated keys, all but the last of which `parsed` lacks.
    fn find_repeated(&self, line: &[u8], parsed: &Value, own: Option<&str>, quoted_ids: &mut BTreeSet<String>) {
        let (raw, parsed) = (String::from_utf8_lossy(line), parsed.to_string());
        if raw.len() == parsed.len() {
            return;
        }
        let found = |text: &str| {
            let mut found = BTreeSet::new();
            self.replaced(text, own, false, Escaping::None, &mut found);
            found
        };
        quoted_ids.extend(&found(&raw) - &found(&parsed));
    }

    fn walk_record(&self, record: &mut Map<String, Value>, id: Option<&str>, quoted_ids: &mut BTreeSet<String>) {
        let composed = is_composed(record.get("kind").and_then(Value::as_str).unwrap_or_default());
        for (_, value) in record.iter_mut().filter(|(key, _)| is_text(key)) {
            self.walk(value, id, composed, quoted_ids);
        }
    }

    fn walk(&self, value: &mut Value, own: Option<&str>, composed: bool, quoted_ids: &mut BTreeSet<String>) {
        match value {
            Value::String(text) => {
                if let Some(new) = self.replaced(text, own, composed, Escaping::None, quoted_ids) {
                    *text = new;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.walk(item, own, composed, quoted_ids)),
            Value::Object(map) => {
                let texts = map.iter_mut().filter(|(key, _)| is_text(key));
                texts.for_each(|(_, value)| self.walk(value, own, composed, quoted_ids));
            }
            _ => {}
        }
    }

    fn replaced(
        &self,
        text: &str,
        own: Option<&str>,
        composed: bool,
        escaping: Escaping,
        quoted_ids: &mut BTreeSet<String>,
    ) -> Option<String> {
        let mut out: Option<String> = None;
        let searched = self
            .all
            .iter()
            .filter(|redacted| Some(redacted.record_id.as_str()) != own && (composed || !redacted.only_composed));
        for redacted in searched {
            let without = |text: &str| without_one(text, &redacted.text, composed, escaping);
            // a text that went with another's is quoted all the same: clones that know only one of the records agree
            let is_quoted = out.is_some() && without(text).is_some();
            let new = without(out.as_deref().unwrap_or(text));
            if is_quoted || new.is_some() {
                quoted_ids.insert(redacted.record_id.clone());
            }
            out = new.or(out);
        }
        out
    }
}

/// The own texts of a record, each on one line.
fn own_texts(kind: &str, record: &Map<String, Value>) -> Vec<String> {
    let keys = own_keys(kind);
    let mut out = Vec::new();
    for (key, value) in record {
        if keys.map_or(!ENVELOPE.contains(&key.as_str()), |keys| keys.contains(&key.as_str())) {
            gather(value, &mut out);
        }
    }
    out
}

/// Whether a key holds text, rather than a name, an id or a fixed value.
fn is_text(key: &str) -> bool {
    !ENVELOPE.contains(&key) && !NAMES.contains(&key) && !STRUCTURE.contains(&key)
}

/// Keys whose values give a record its structure.
const STRUCTURE: [&str; 41] = [
    "as",
    "until",
    "blob",
    "led_from",
    "regenerates",
    "since",
    "type",
    "phase",
    "vector",
    "vectors",
    "calibration_status",
    "session_status",
    "trigger",
    "branch",
    "hash",
    "head_commit",
    "vectors_from",
    "vector_sources",
    "compared_with",
    "timestamp",
    "started_at",
    "start_time",
    "ended_at",
    "session_id",
    "project_id",
    "handoff_id",
    "ai_id",
    "from_ai",
    "cascade_phase",
    "checkpoint",
    "of",
    "by",
    "from",
    "to",
    "worktree",
    "place",
    "agent",
    "model",
    "transcript",
    "was",
    "external_id",
];

/// All strings of a value, each on one line, except in objects with the id of the record they are copied from.
fn gather(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            let text = OneLine::of(text, Escaping::None).text.trim().to_owned();
            if text.contains(MARK) {
                // the rest after an earlier redaction
                let pieces = text.split(MARK).map(str::trim).filter(|piece| is_long(piece));
                out.extend(pieces.map(str::to_owned));
            }
            if text.chars().count() >= SHORTEST && text != MARK {
                out.push(text);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, out)),
        Value::Object(map) if map.get("id").is_some_and(Value::is_string) => {}
        Value::Object(map) => {
            let texts = map.iter().filter(|(key, _)| !NAMES.contains(&key.as_str()));
            texts.for_each(|(_, value)| gather(value, out));
        }
        _ => {}
    }
}

/// Keys inside of values that hold a name or a fixed value.
const NAMES: [&str; 9] =
    ["asked_by", "reported_by", "kind", "sign", "status", "category", "priority", "severity", "tool"];
