//! Converts the Python tool's notes to records. A pure function of its input, so all clones derive the same records.

mod artifacts;
mod assess;
mod derive;
pub mod draft;
mod family;
mod goals;
mod handoff;
mod other;
mod read;
mod sessions;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

pub use crate::use_cases::import::python::convert::derive::id as derived_id;
pub use crate::use_cases::import::python::convert::family::{PREFIXES, is_ours};
pub use crate::use_cases::import::python::convert::read::rfc3339;
pub use crate::use_cases::import::python::convert::sessions::{PLACE, UNKNOWN};

use crate::use_cases::import::python::convert::draft::{
    ConvertedLine, KnownGoals, Original, ParsedPayload, RecordDraft, RefPayloads, TOOL, head,
};
use crate::use_cases::import::python::convert::family::{PythonRef, family};
use crate::use_cases::import::python::convert::sessions::Sessions;
use empirica_notes::model::{Body, Envelope, Id};

/// A payload that cannot be converted, and why.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[schemars(rename = "NotUnderstood")]
pub struct Unreadable {
    /// The full name of the ref.
    #[serde(rename = "ref")]
    pub name: String,
    /// The reason, a sentence that does not quote the content.
    pub reason: String,
}

#[derive(Debug, Default)]
pub struct Converted {
    /// Derived records with their payloads.
    pub lines: Vec<ConvertedLine>,
    pub refused: Vec<Unreadable>,
    /// Number of converted originals, by ref folder.
    pub from: BTreeMap<String, usize>,
    /// Number of sessions they belong to.
    pub sessions: usize,
}

/// Converts originals, in any order.
pub fn convert(originals: &[Original]) -> Converted {
    let mut by_ref: BTreeMap<&str, Vec<&Original>> = BTreeMap::new();
    for original in originals {
        by_ref.entry(&original.name).or_default().push(original);
    }
    let (mut out, mut made, mut goals) = (Converted::default(), Vec::new(), KnownGoals::new());
    // by name, goals precede tasks
    for (name, originals) in by_ref {
        let found = match family(name) {
            Ok(found) => found,
            Err(reason) => {
                out.refused.push(Unreadable { name: name.to_owned(), reason });
                continue;
            }
        };
        let mut entries = Vec::new();
        for original in originals {
            match entry(original, &found) {
                Ok(entry) => entries.push(entry),
                Err(reason) => {
                    let reason = format!("{reason} (the note of {})", original.commit.get(..8).unwrap_or_default());
                    out.refused.push(Unreadable { name: name.to_owned(), reason });
                }
            }
        }
        // at the same time, resolved versions follow unresolved ones
        let order = |entry: &ParsedPayload<'_>| (entry.newest, artifacts::is_settled(&entry.value), entry.ms);
        entries.sort_by(|a, b| order(a).cmp(&order(b)).then_with(|| a.original.commit.cmp(&b.original.commit)));
        if entries.is_empty() {
            continue;
        }
        let notes = RefPayloads { name, family: found, entries };
        *out.from.entry(notes.family.folder.to_owned()).or_default() += notes.entries.len();
        let drafts = drafts(&notes, &mut goals);
        made.push((notes, drafts));
    }
    let mut sessions = Sessions::default();
    for (notes, drafts) in &made {
        drafts.iter().for_each(|draft| sessions.add(notes, draft));
    }
    out.sessions = sessions.len();
    for (notes, drafts) in made {
        let mut seen = vec![false; notes.entries.len()];
        for draft in drafts {
            let first = !std::mem::replace(&mut seen[draft.entry], true);
            out.lines.push(line(&notes, draft, first, &sessions));
        }
    }
    out.lines.extend(sessions.lines());
    out.lines.sort_by(|a, b| (&a.envelope.id, &a.envelope.commit).cmp(&(&b.envelope.id, &b.envelope.commit)));
    out.refused.sort();
    out
}

/// How much later than the ref a time may be, in milliseconds.
const AHEAD_MS: u64 = 366 * 24 * 60 * 60 * 1000;

fn entry<'o>(original: &'o Original, family: &PythonRef<'_>) -> Result<ParsedPayload<'o>, String> {
    let text = std::str::from_utf8(&original.content).map_err(|_| "it is not UTF-8".to_owned())?;
    let text = text.trim_end_matches('\n');
    let value = match family.is_text() {
        true if !text.trim().is_empty() => Value::from(text),
        true => return Err("it is empty".to_owned()),
        false => match read::json(text) {
            Some(value @ Value::Object(_)) => value,
            Some(_) => return Err("it is not a JSON object".to_owned()),
            None => return Err("it is not valid JSON".to_owned()),
        },
    };
    if let Some(reason) = artifacts::lacking(family.folder, &value) {
        return Err(reason);
    }
    let strict = family.is_text() || serde_json::from_str::<Value>(text).is_ok() && read::is_kept_whole(text, &value);
    let kept = if strict { value.clone() } else { Value::from(text) };
    let named = ["created_at", "timestamp", "ts", "signed_at"].iter().find_map(|key| read::moment(value.get(key)?));
    let tip = u64::try_from(original.seconds).unwrap_or(0).saturating_mul(1000);
    // times far after the ref was written are wrong
    let is_past = |ms: &u64| tip == 0 || *ms <= tip.saturating_add(AHEAD_MS);
    let named = named.filter(|moment| is_past(&moment.ms));
    let newest = times(&value).into_iter().filter(is_past).chain(named.map(|moment| moment.ms)).max();
    let (ms, clock) = match (named, newest) {
        (Some(moment), _) => (moment.ms, moment.naive.then_some("naive")),
        (None, Some(newest)) => (newest, None),
        (None, None) => (tip, Some("missing")),
    };
    Ok(ParsedPayload { original, value, kept, ms, newest: newest.unwrap_or(ms), clock })
}

/// Times at which the state of the item changed.
fn times(value: &Value) -> Vec<u64> {
    let keys =
        ["resolved_at", "resolved_timestamp", "completed_timestamp", "completed_at", "archived_at", "state_updated_at"];
    let data = value.get("goal_data").unwrap_or(&Value::Null);
    let own = keys.iter().flat_map(|key| [value.get(key), data.get(key)]).flatten();
    let lineage = value.get("lineage").and_then(Value::as_array).into_iter().flatten();
    let lineage = lineage.filter_map(|step| step.get("timestamp"));
    own.chain(lineage).filter_map(read::moment).map(|moment| moment.ms).collect()
}

/// The records of a ref. Each entry is stored in at least one.
fn drafts(notes: &RefPayloads<'_>, goals: &mut KnownGoals) -> Vec<RecordDraft> {
    let mut out = match notes.family.folder {
        "session" | "checkpoints" => assess::points(notes),
        "cascades" => assess::cascade(notes),
        "handoff" => handoff::handoffs(notes),
        "goals" => goals::goal(notes, goals),
        "tasks" => goals::tasks(notes, goals),
        "messages" => other::messages(notes),
        "signatures" => other::signatures(notes),
        "archive" => other::archived(notes),
        _ => artifacts::artifact(notes),
    };
    // no duplicates: the oldest entry counts
    let mut seen = std::collections::HashSet::new();
    out.retain(|draft| seen.insert(draft.id.clone()));
    let begun = out.first().map(|draft| draft.ms);
    for (at, entry) in notes.entries.iter().enumerate() {
        if out.iter().all(|draft| draft.entry != at) {
            let ms = if entry.clock == Some("missing") { begun.unwrap_or(entry.newest) } else { entry.newest };
            let (id, body) = placeholder_body(notes.name, ms, &entry.kept);
            out.push(RecordDraft { id, ms, entry: at, body, session: None });
        }
    }
    out
}

/// A placeholder that stores the payload of a rewritten entry without new content.
fn placeholder_body(name: &str, ms: u64, kept: &Value) -> (Id, Body) {
    let folder = family(name).map_or("notes", |family| family.folder);
    let id = derive::id(ms, &[name, "again", &kept.to_string()]);
    (id, other::done("edit", format!("Wrote again in {folder}: {}", other::gist(kept))))
}

/// The record that stores the payload of `line` if its record is already here with another payload; `None` if it has
/// none.
pub fn placeholder(line: &ConvertedLine) -> Option<ConvertedLine> {
    let name = line.foreign.get("ref")?.as_str()?;
    let (id, body) = placeholder_body(name, line.envelope.id.ms(), line.foreign.get("original")?);
    Some(ConvertedLine { envelope: Envelope { id, ..line.envelope.clone() }, body, foreign: line.foreign.clone() })
}

/// The record of a draft. The first draft of an entry stores its payload.
fn line(notes: &RefPayloads<'_>, draft: RecordDraft, first: bool, sessions: &Sessions) -> ConvertedLine {
    let entry = &notes.entries[draft.entry];
    let mut foreign = json!({"tool": TOOL, "ref": notes.name, "commit": entry.original.commit});
    if let Some(clock) = entry.clock {
        foreign["time"] = json!(clock);
    }
    if first {
        foreign["original"] = entry.kept.clone();
    }
    let session = sessions::of(notes, &draft);
    let ai = sessions::ai(&entry.value).map(str::to_owned);
    let ai = ai.or_else(|| sessions.ai(session.as_ref()?)).unwrap_or_else(|| sessions::UNKNOWN.to_owned());
    let envelope = head(draft.id, draft.ms, session, ai, &entry.original.commit);
    ConvertedLine { envelope, body: draft.body, foreign }
}
