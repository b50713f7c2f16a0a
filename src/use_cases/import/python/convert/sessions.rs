//! Sessions of the Python tool. It stores none, so they are derived from their records.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::use_cases::import::python::convert::draft::{ConvertedLine, RecordDraft, RefPayloads, TOOL, head};
use crate::use_cases::import::python::convert::{derive, read};
use empirica_notes::model::session::{SessionEnd, SessionStart};
use empirica_notes::model::{Body, SessionId};

/// An unnamed agent. Sorts before other names, so that a version of a record with a name wins.
pub const UNKNOWN: &str = "(unknown)";
/// Worktree and place of all imported sessions, so that none counts as one of this clone.
pub const PLACE: &str = "imported";

struct SessionParts {
    external: Option<String>,
    /// The agent, after the rank of its source and the time.
    ai: Option<(u8, u64, String)>,
    first: (u64, String),
    last: (u64, String),
}

#[derive(Default)]
pub struct Sessions(BTreeMap<SessionId, SessionParts>);

pub fn ai(value: &Value) -> Option<&str> {
    let from = value.get("from").unwrap_or(&Value::Null);
    read::text(value, "ai_id").or_else(|| read::text(value, "ai")).or_else(|| read::text(from, "ai_id"))
}

/// The tool's session ID of a draft.
fn name_of<'d>(notes: &'d RefPayloads<'_>, draft: &'d RecordDraft) -> Option<&'d str> {
    let value = &notes.entries[draft.entry].value;
    let named = || read::text(value, "session_id").or_else(|| read::text(value.get("from")?, "session_id"));
    draft.session.as_deref().or(notes.family.session).or_else(named)
}

/// The session of a draft. Drafts without one share a session per agent; messages have none.
pub fn of(notes: &RefPayloads<'_>, draft: &RecordDraft) -> Option<SessionId> {
    match name_of(notes, draft) {
        Some(name) => Some(derive::session(name)),
        None if notes.family.folder == "messages" => None,
        None => Some(derive::session(&format!("\u{0}{}", ai(&notes.entries[draft.entry].value).unwrap_or(UNKNOWN)))),
    }
}

impl Sessions {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn add(&mut self, notes: &RefPayloads<'_>, draft: &RecordDraft) {
        let Some(id) = of(notes, draft) else { return };
        let entry = &notes.entries[draft.entry];
        let moment = (draft.ms, entry.original.commit.clone());
        let external = name_of(notes, draft).filter(|name| id.as_str() != name.to_ascii_lowercase());
        let parts = self.0.entry(id).or_insert_with(|| SessionParts {
            external: external.map(str::to_owned),
            ai: None,
            first: moment.clone(),
            last: moment.clone(),
        });
        parts.first = parts.first.clone().min(moment.clone());
        parts.last = parts.last.clone().max(moment);
        // goals name the program that set them
        let rank = match notes.family.folder {
            "handoff" => 0,
            "goals" | "tasks" => 2,
            _ => 1,
        };
        let named = ai(&entry.value).map(|ai| (rank, draft.ms, ai.to_owned()));
        parts.ai = match (parts.ai.take(), named) {
            (Some(earlier), Some(named)) => Some(earlier.min(named)),
            (earlier, named) => earlier.or(named),
        };
    }

    pub fn ai(&self, id: &SessionId) -> Option<String> {
        Some(self.0.get(id)?.ai.as_ref()?.2.clone())
    }

    /// The starts and ends of the sessions.
    pub fn lines(&self) -> Vec<ConvertedLine> {
        let mut out = Vec::new();
        for (id, parts) in &self.0 {
            let ai = parts.ai.as_ref().map_or(UNKNOWN, |ai| &ai.2);
            let start = Body::SessionStart(SessionStart {
                task: None,
                kind: None,
                external_id: parts.external.clone(),
                worktree: PLACE.to_owned(),
                place: PLACE.to_owned(),
                from: None,
                from_handoff: None,
            });
            let end = Body::SessionEnd(SessionEnd { reason: Some("imported".to_owned()) });
            for (role, (ms, commit), body) in [("start", &parts.first, start), ("end", &parts.last, end)] {
                let made = derive::id(*ms, &["session", id.as_str(), role]);
                let foreign = json!({"tool": TOOL, "session": parts.external.as_deref().unwrap_or(id.as_str())});
                let head = head(made, *ms, Some(id.clone()), ai.to_owned(), commit);
                out.push(ConvertedLine { envelope: head, body, foreign });
            }
        }
        out
    }
}
