//! Texts that are to be gone: which a record says itself, and a line or a passage without them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::{blocks, lines, record};

/// What stands in place of a text that is gone.
pub const MARK: &str = "[redacted]";
/// Texts with fewer characters are looked for nowhere: they stand in too many others by chance.
const SHORTEST: usize = 6;
/// Texts with fewer characters are replaced where they stand alone in what is put together from others, not inside of texts.
const INSIDE: usize = 12;
/// The most characters of the beginning of a text that are looked for before an ellipsis.
const CUT: usize = 2000;

/// The SHA-256 of a line, in hex.
pub fn hash(line: &[u8]) -> String {
    Sha256::digest(line).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a line is a stub, which stands for a record that is gone. Decided by how it begins, as [`lines::id`] does.
pub fn is_stub(line: &[u8]) -> bool {
    let Some(id) = lines::id(line) else { return false };
    let Some(at) = line.windows(id.len()).position(|part| part == id.as_bytes()) else { return false };
    line[at + id.len()..].starts_with(b"\",\"kind\":\"redacted\"")
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

/// The stub of a line: its envelope and its kind, nothing of what it says. `None` for a line that is no record. Without
/// `by` it depends on the envelope alone, so that every clone makes the same.
pub fn stub(line: &[u8], by: Option<&By>) -> Option<Vec<u8>> {
    lines::id(line)?;
    let Ok(Value::Object(old)) = serde_json::from_slice::<Value>(line) else { return None };
    let mut new = Map::new();
    for key in ENVELOPE {
        match (key, old.get(key)) {
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
        "digest" | "attach" | "supersede" | "goal_take" | "redacted" => &[],
        _ => return None,
    })
}

/// Whether a record of this kind is put together from others.
fn is_drawn(kind: &str) -> bool {
    matches!(kind, "handoff" | "digest" | "checkpoint" | "transcript")
}

/// The texts of redacted records, by their ids.
#[derive(Debug, Clone, Default)]
pub struct Texts {
    of: BTreeMap<String, Own>,
}

/// What one record says itself.
#[derive(Debug, Clone, Default)]
struct Own {
    /// Each on one line: every run of white space is one space. The longest first.
    texts: Vec<String>,
    /// Whether they are looked for only in what is put together from others.
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
        let Ok(Value::Object(record)) = serde_json::from_slice::<Value>(line) else { return };
        let kind = record.get("kind").and_then(Value::as_str).unwrap_or_default();
        let own = self.of.entry(id.to_owned()).or_default();
        own.only_drawn = is_drawn(kind);
        let keys = own_keys(kind);
        for (key, value) in &record {
            let is_own = keys.map_or(!ENVELOPE.contains(&key.as_str()), |keys| keys.contains(&key.as_str()));
            if is_own {
                gather(value, &mut own.texts);
            }
        }
        if own.only_drawn {
            // one word of letters may be one of a fixed list, which others have as well
            own.texts.retain(|text| text.chars().any(|c| !c.is_ascii_alphabetic() && c != '_' && c != '-'));
        }
        own.texts.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        own.texts.dedup();
    }

    /// Takes in all of another.
    pub fn extend(&mut self, other: Texts) {
        self.of.extend(other.of);
    }

    /// A note without these texts: each line of one of lines, what people wrote in one of blocks. As it is, byte for byte,
    /// when it holds none of them.
    pub fn note(&self, is_lines: bool, note: Vec<u8>) -> Vec<u8> {
        if self.is_empty() {
            return note;
        }
        if !is_lines {
            return blocks::with_passages(&note, |passage| self.passage(passage)).unwrap_or(note);
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
        self.of.values().all(|own| own.texts.is_empty())
    }

    /// A line of a note without these texts; `None` when it holds none of them. A record's own texts are left to it. What
    /// would be no record any more without them is a stub.
    pub fn without(&self, line: &[u8]) -> Option<Without> {
        let id = lines::id(line);
        if is_stub(line) {
            return None;
        }
        let mut of = BTreeSet::new();
        let parsed = id.and_then(|_| serde_json::from_slice::<Value>(line).ok());
        let Some(Value::Object(mut record)) = parsed else {
            let text = self.replaced(&String::from_utf8_lossy(line), id, false, &mut of)?;
            return Some(Without { line: text.into_bytes(), of, is_gone: false });
        };
        let drawn = is_drawn(record.get("kind").and_then(Value::as_str).unwrap_or_default());
        for (_, value) in record.iter_mut().filter(|(key, _)| !ENVELOPE.contains(&key.as_str())) {
            self.walk(value, id, drawn, &mut of);
        }
        if of.is_empty() {
            return None;
        }
        let new = Value::Object(record).to_string().into_bytes();
        let is_gone = record::decode(line).is_some() && record::decode(&new).is_none();
        let line = if is_gone { stub(line, None)? } else { new };
        Some(Without { line, of, is_gone })
    }

    /// A text that people wrote without these texts; `None` when it holds none of them.
    pub fn passage(&self, text: &str) -> Option<String> {
        self.replaced(text, None, true, &mut BTreeSet::new())
    }

    /// The words of the texts that look as if they were no prose: long, with letters and digits. Who holds one of them may
    /// hold a part of the text.
    pub fn telling(&self) -> BTreeSet<String> {
        let texts = self.of.values().flat_map(|own| &own.texts);
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

    fn walk(&self, value: &mut Value, own: Option<&str>, drawn: bool, of: &mut BTreeSet<String>) {
        match value {
            Value::String(text) => {
                if let Some(new) = self.replaced(text, own, drawn, of) {
                    *text = new;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.walk(item, own, drawn, of)),
            Value::Object(map) => map.values_mut().for_each(|value| self.walk(value, own, drawn, of)),
            _ => {}
        }
    }

    fn replaced(&self, text: &str, own: Option<&str>, drawn: bool, of: &mut BTreeSet<String>) -> Option<String> {
        let mut out: Option<String> = None;
        let others = self.of.iter().filter(|(id, said)| Some(id.as_str()) != own && (drawn || !said.only_drawn));
        for (id, said) in others {
            for gone in &said.texts {
                if let Some(new) = without_one(out.as_deref().unwrap_or(text), gone, drawn) {
                    of.insert(id.clone());
                    out = Some(new);
                }
            }
        }
        out
    }
}

/// All strings of a value, each on one line. An object that names the record it comes from says nothing itself.
fn gather(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            let text = OneLine::of(text).text.trim().to_owned();
            if text.chars().count() >= SHORTEST && !text.contains(MARK) {
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

/// A text with every run of white space as one space, and where each of its bytes stands in the original.
struct OneLine {
    text: String,
    /// For each byte, and for the end.
    from: Vec<usize>,
}

impl OneLine {
    fn of(text: &str) -> Self {
        let mut out = OneLine { text: String::with_capacity(text.len()), from: Vec::with_capacity(text.len() + 1) };
        for (at, c) in text.char_indices() {
            match c.is_whitespace() {
                true if out.text.ends_with(' ') => continue,
                true => out.text.push(' '),
                false => out.text.push(c),
            }
            out.from.resize(out.text.len(), at);
        }
        out.from.push(text.len());
        out
    }
}

/// `text` without `gone`, which is on one line: whole, or as it begins before an ellipsis, or a part of it between two.
/// `None` when it holds nothing of it. A short one counts only where it stands alone, if it counts at all.
fn without_one(text: &str, gone: &str, short_counts: bool) -> Option<String> {
    let line = OneLine::of(text);
    let is_long = gone.chars().nth(INSIDE - 1).is_some();
    if !is_long {
        return (short_counts && line.text.trim() == gone).then(|| MARK.to_owned());
    }
    let mut ranges: Vec<(usize, usize)> = line.text.match_indices(gone).map(|(at, _)| (at, at + gone.len())).collect();
    let marks: Vec<usize> = line.text.match_indices('…').map(|(at, _)| at).collect();
    for (n, &mark) in marks.iter().enumerate() {
        let after = mark + '…'.len_utf8();
        if let Some(begins) = begins_before(&line.text[..mark], gone) {
            ranges.push((begins, after));
        }
        // what stands behind an ellipsis, up to the next one
        let end = marks.get(n + 1).copied().unwrap_or(line.text.len());
        let piece = line.text[after..end].trim();
        if piece.chars().nth(INSIDE - 1).is_some() && gone.contains(piece) {
            ranges.push((mark, end));
        }
    }
    if ranges.is_empty() {
        return None;
    }
    ranges.sort_unstable();
    let mut out = String::new();
    let mut done = 0;
    for (from, to) in ranges {
        if from >= done {
            out.push_str(&text[line.from[done]..line.from[from]]);
            out.push_str(MARK);
        }
        done = done.max(to);
    }
    out.push_str(&text[line.from[done]..]);
    Some(out)
}

/// Where in `before` something begins that reaches to its end and is the beginning of `gone`; `None` when that is too short
/// to tell.
fn begins_before(before: &str, gone: &str) -> Option<usize> {
    let before = before.trim_end();
    let ends: Vec<usize> = gone.char_indices().map(|(at, _)| at).skip(INSIDE).take(CUT).collect();
    let begins = |end: usize| before.strip_suffix(gone[..end].trim_end()).map(str::len);
    ends.into_iter().rev().find_map(begins)
}

#[cfg(test)]
mod tests;
