//! Texts that are to be gone: which a record says itself, and a line or a passage without them.

mod quote;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::format::redact::quote::{Form, MARK, OneLine, is_long, without_one};
use crate::format::{blocks, lines, record};

/// Texts with fewer characters are looked for nowhere: they stand in too many others by chance.
const SHORTEST: usize = 6;

/// The SHA-256 of a line, in hex.
pub fn hash(line: &[u8]) -> String {
    Sha256::digest(line).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a line is a stub, which stands for a record that is gone. Decided by how it begins, as [`lines::id`] does.
pub fn is_stub(line: &[u8]) -> bool {
    let Some(id) = lines::id(line) else { return false };
    line[after_id(line, id)..].starts_with(b"\",\"kind\":\"redacted\"")
}

/// Where its id ends in a line.
fn after_id(line: &[u8], id: &str) -> usize {
    line.windows(id.len()).position(|part| part == id.as_bytes()).map_or(0, |at| at + id.len())
}

/// The keys of a stub that say when and by whom.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct By {
    /// Who redacted it, as claimed.
    pub ai: String,
    /// When, RFC 3339 UTC.
    pub at: String,
    /// Why; `None` when it was not said.
    pub reason: Option<String>,
}

/// The stub of a line: its envelope and its kind, nothing of what it says; of a line that cannot be read no more than its
/// id. `None` for a line without an id. Without `by` it depends on the envelope alone, so that every clone makes the same.
pub fn stub(line: &[u8], by: Option<&By>) -> Option<Vec<u8>> {
    let id = lines::id(line)?;
    let old = object(line).unwrap_or_default();
    let mut new = Map::new();
    for key in ENVELOPE {
        match (key, old.get(key)) {
            ("v", _) => drop(new.insert("v".to_owned(), json!(version(line)))),
            ("id", _) => drop(new.insert("id".to_owned(), json!(id))),
            ("kind", _) => drop(new.insert("kind".to_owned(), json!("redacted"))),
            (_, Some(value)) => drop(new.insert(key.to_owned(), value.clone())),
            _ => {}
        }
    }
    new.insert("was".to_owned(), old.get("kind").filter(|kind| kind.is_string()).cloned().unwrap_or(json!("unknown")));
    if let Some(by) = by {
        new.insert("redacted_by".to_owned(), json!(by.ai));
        new.insert("redacted_at".to_owned(), json!(by.at));
        if let Some(reason) = &by.reason {
            new.insert("reason".to_owned(), json!(reason));
        }
    }
    Some(Value::Object(new).to_string().into_bytes())
}

/// The version that a line with an id says it is of.
fn version(line: &[u8]) -> u64 {
    let digits = line.iter().skip(5).take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |n, digit| n.saturating_mul(10).saturating_add(u64::from(digit - b'0')))
}

/// Whether a line is an object with an id, as far as this program can tell.
pub fn is_readable(line: &[u8]) -> bool {
    lines::id(line).is_some() && object(line).is_some()
}

/// A line as an object. Of a record that has something JSON cannot hold where this program does not look (a number that is too
/// great, half a character), what this program understands of it.
fn object(line: &[u8]) -> Option<Map<String, Value>> {
    let value = match serde_json::from_slice::<Value>(line) {
        Ok(value) => value,
        Err(_) => serde_json::from_str(&record::encode(&record::decode(line)?)).ok()?,
    };
    let Value::Object(mut object) = value else { return None };
    // a key can stand there twice: how the line begins is what counts
    if let Some(id) = lines::id(line) {
        object.insert("v".to_owned(), json!(version(line)));
        object.insert("id".to_owned(), json!(id));
    }
    Some(object)
}

/// The keys that every record has: they say nothing.
const ENVELOPE: [&str; 8] = ["v", "id", "kind", "session", "ai", "at", "commit", "tree"];

/// The keys that hold what a record of this kind says itself; of what it only draws from others nothing. `None` for a kind
/// that is not known: all but the envelope.
fn own_keys(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "session_start" => &["task"],
        "session_end" => &["reason"],
        "finding" | "unknown" | "resolve" | "subtask" | "answer" | "activity" => &["text"],
        "dead_end" => &["approach", "why"],
        "mistake" => &["text", "prevention"],
        "decision" => &["text", "why", "alternatives"],
        "source" => &["location"],
        "evidence" => &["command"],
        "goal" => &["text", "criteria", "rationale"],
        "goal_done" => &["evidence"],
        "goal_drop" => &["why"],
        "assessment" => &["reasoning", "task", "tags", "meta"],
        "checkpoint" => &["said", "tags", "metadata"],
        "transcript" => &["tools", "pending_tasks", "decisions"],
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
        "digest" | "attach" | "supersede" | "retract" | "signature" | "goal_take" | "redacted" => &[],
        _ => return None,
    })
}

/// Whether a record of this kind is put together from others.
fn is_drawn(kind: &str) -> bool {
    matches!(kind, "handoff" | "digest" | "checkpoint" | "transcript")
}

/// The texts of redacted records.
#[derive(Debug, Clone, Default)]
pub struct Texts {
    /// The longest first: one can stand in another.
    all: Vec<Own>,
}

/// A text that a record says itself.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Own {
    /// On one line: every run of white space is one space.
    text: String,
    /// The record.
    of: String,
    /// Whether it is looked for only in what is put together from others.
    only_drawn: bool,
}

/// A line without the texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Without {
    /// The line.
    pub line: Vec<u8>,
    /// The redacted records that it quoted.
    pub of: BTreeSet<String>,
    /// Whether nothing is left of it: a stub.
    pub is_gone: bool,
}

impl Texts {
    /// Takes in what the record of a line says. Nothing for a stub, and for what is no record.
    pub fn add(&mut self, line: &[u8]) {
        let Some(id) = lines::id(line).filter(|_| !is_stub(line)) else { return };
        let Some(record) = object(line) else { return };
        let kind = record.get("kind").and_then(Value::as_str).unwrap_or_default();
        let only_drawn = is_drawn(kind);
        let mut texts = own_texts(kind, &record);
        if only_drawn {
            // one word of letters may be one of a fixed list, which others have as well
            texts.retain(|text| text.chars().any(|c| !c.is_ascii_alphabetic() && c != '_' && c != '-'));
        }
        self.extend(Texts { all: texts.into_iter().map(|text| Own { text, of: id.to_owned(), only_drawn }).collect() });
    }

    /// Takes in all of another.
    pub fn extend(&mut self, other: Texts) {
        self.all.extend(other.all);
        self.all.sort_by(|a, b| b.text.len().cmp(&a.text.len()).then_with(|| (&a.text, &a.of).cmp(&(&b.text, &b.of))));
        self.all.dedup();
    }

    /// Whether any of it is said by a handoff or its like: others may say it themselves.
    pub fn has_drawn(&self) -> bool {
        self.all.iter().any(|own| own.only_drawn)
    }

    /// What a handoff or its like says and the record of this line says, too, which is none of those that are to be gone, nor
    /// put together itself.
    fn repeated(&self, line: &[u8]) -> Vec<String> {
        let Some(id) = lines::id(line).filter(|_| self.has_drawn()) else { return Vec::new() };
        let Some(record) = object(line) else { return Vec::new() };
        let kind = record.get("kind").and_then(Value::as_str).unwrap_or_default();
        if is_drawn(kind) || kind == "redacted" || self.all.iter().any(|own| own.of == id) {
            return Vec::new();
        }
        let is_said = |text: &String| self.all.iter().any(|own| own.only_drawn && own.text == *text);
        own_texts(kind, &record).into_iter().filter(is_said).collect()
    }

    /// Whether the record of this line says itself what only handoffs and their like are to lose.
    pub fn is_repeated_by(&self, line: &[u8]) -> bool {
        !self.repeated(line).is_empty()
    }

    /// Leaves out what is said so: it is the other record's.
    pub fn leave_to(&mut self, line: &[u8]) {
        let repeated = self.repeated(line);
        self.all.retain(|own| !own.only_drawn || !repeated.contains(&own.text));
    }

    /// A note without these texts: each line of one of lines, what people wrote in one of blocks. As it is, byte for byte,
    /// when it holds none of them.
    pub fn note(&self, is_lines: bool, note: Vec<u8>) -> Vec<u8> {
        if self.is_empty() {
            return note;
        }
        if !is_lines {
            return blocks::with_texts(&note, |text| self.passage(text)).unwrap_or(note);
        }
        let found: Vec<Option<Without>> = lines::split(&note).map(|line| self.without(line)).collect();
        if found.iter().all(Option::is_none) {
            return note;
        }
        let new = lines::split(&note).zip(&found);
        lines::canonical(new.map(|(line, without)| without.as_ref().map_or(line, |without| without.line.as_slice())))
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// A line of a note without these texts; `None` when it holds none of them. A record's own texts are left to it. What
    /// would be no record any more without them is a stub.
    pub fn without(&self, line: &[u8]) -> Option<Without> {
        let id = lines::id(line);
        if self.is_empty() || is_stub(line) {
            return None;
        }
        let mut of = BTreeSet::new();
        let mut record = match serde_json::from_slice::<Value>(line) {
            Ok(Value::Object(_)) if id.is_some() => object(line)?,
            // JSON of others: its texts may be escaped
            Ok(mut other @ (Value::Object(_) | Value::Array(_))) => {
                self.walk(&mut other, None, false, &mut of);
                return (!of.is_empty()).then(|| Without { line: other.to_string().into_bytes(), of, is_gone: false });
            }
            _ => {
                // what makes it a line of that id stays
                let end = id.map_or(0, |id| after_id(line, id));
                let plain = self.replaced(&String::from_utf8_lossy(&line[end..]), id, false, Form::Plain, &mut of);
                let plain = plain.map(|text| [&line[..end], text.as_bytes()].concat());
                match object(plain.as_deref().unwrap_or(line)).filter(|record| self.is_in(record, id)) {
                    Some(record) => record,
                    None => return plain.map(|line| Without { line, of, is_gone: false }),
                }
            }
        };
        self.walk_record(&mut record, id, &mut of);
        if of.is_empty() {
            return None;
        }
        let new = Value::Object(record).to_string().into_bytes();
        let is_gone = record::decode(line).is_some() && record::decode(&new).is_none();
        let line = if is_gone { stub(line, None)? } else { new };
        Some(Without { line, of, is_gone })
    }

    /// A text that people wrote, in Markdown, without these texts; `None` when it holds none of them.
    pub fn passage(&self, text: &str) -> Option<String> {
        self.replaced(text, None, true, Form::Markdown, &mut BTreeSet::new())
    }

    /// The words of the texts that look as if they were no prose: long, with letters and digits. Who holds one of them may
    /// hold a part of the text.
    pub fn telling(&self) -> BTreeSet<String> {
        let texts = self.all.iter().map(|own| &own.text);
        let apart = |c: char| c.is_whitespace() || "\"'`=,;()[]{}<>".contains(c);
        let words = texts.flat_map(|text| text.split(apart));
        let words = words.map(|word| word.trim_matches(['.', ':', '!', '?', '…']));
        let is_telling = |word: &&str| {
            let (mut letters, mut digits) = (false, false);
            word.chars().for_each(|c| (letters, digits) = (letters | c.is_alphabetic(), digits | c.is_ascii_digit()));
            word.chars().count() >= 8 && letters && digits && *word != MARK
        };
        words.filter(is_telling).map(str::to_owned).collect()
    }

    /// Whether a record quotes one of these texts.
    fn is_in(&self, record: &Map<String, Value>, id: Option<&str>) -> bool {
        let mut of = BTreeSet::new();
        self.walk_record(&mut record.clone(), id, &mut of);
        !of.is_empty()
    }

    fn walk_record(&self, record: &mut Map<String, Value>, id: Option<&str>, of: &mut BTreeSet<String>) {
        let drawn = is_drawn(record.get("kind").and_then(Value::as_str).unwrap_or_default());
        for (_, value) in record.iter_mut().filter(|(key, _)| is_said(key)) {
            self.walk(value, id, drawn, of);
        }
    }

    fn walk(&self, value: &mut Value, own: Option<&str>, drawn: bool, of: &mut BTreeSet<String>) {
        match value {
            Value::String(text) => {
                if let Some(new) = self.replaced(text, own, drawn, Form::Plain, of) {
                    *text = new;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.walk(item, own, drawn, of)),
            Value::Object(map) => {
                let said = map.iter_mut().filter(|(key, _)| is_said(key));
                said.for_each(|(_, value)| self.walk(value, own, drawn, of));
            }
            _ => {}
        }
    }

    fn replaced(
        &self,
        text: &str,
        own: Option<&str>,
        drawn: bool,
        form: Form,
        of: &mut BTreeSet<String>,
    ) -> Option<String> {
        let mut out: Option<String> = None;
        let others = self.all.iter().filter(|said| Some(said.of.as_str()) != own && (drawn || !said.only_drawn));
        for said in others {
            if let Some(new) = without_one(out.as_deref().unwrap_or(text), &said.text, drawn, form) {
                of.insert(said.of.clone());
                out = Some(new);
            }
        }
        out
    }
}

/// What a record says itself, each text on one line.
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

/// Whether a key holds what somebody said, and not a word, a name or an id that gives a record its structure.
fn is_said(key: &str) -> bool {
    !ENVELOPE.contains(&key) && !NAMES.contains(&key) && !STRUCTURE.contains(&key)
}

/// Keys whose values give a record its structure.
const STRUCTURE: [&str; 39] = [
    "as",
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

/// All strings of a value, each on one line. An object that names the record it comes from says nothing itself.
fn gather(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            let text = OneLine::of(text, Form::Plain).text.trim().to_owned();
            if text.contains(MARK) {
                // what was left when something else was redacted
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
            let said = map.iter().filter(|(key, _)| !NAMES.contains(&key.as_str()));
            said.for_each(|(_, value)| gather(value, out));
        }
        _ => {}
    }
}

/// Keys inside of values that hold a name or a word of a fixed list.
const NAMES: [&str; 9] =
    ["asked_by", "reported_by", "kind", "sign", "status", "category", "priority", "severity", "tool"];
