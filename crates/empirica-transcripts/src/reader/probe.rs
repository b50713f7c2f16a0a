//! Detects the agent of a row by its keys.

use serde_json::value::RawValue;

use crate::model::Agent;
use crate::read::lenient::{Text, lenient, repaired};

/// The result of probing a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guess {
    /// Invalid JSON.
    Unreadable,
    /// Possible for several agents, or none.
    Unknown,
    /// A row of this agent.
    Agent(Agent),
}

lenient! {
    /// The keys that distinguish agents.
    Row {
        kind: Text<'a> = "type",
        role: Text<'a> = "role",
        payload: Option<&'a RawValue> = "payload",
        data: Option<&'a RawValue> = "data",
        message: Option<&'a RawValue> = "message",
        content: Option<&'a RawValue> = "content",
        tool_calls: Option<&'a RawValue> = "toolCalls",
        id: Text<'a> = "id",
        uuid: Text<'a> = "uuid",
        parent: Option<&'a RawValue> = "parentUuid",
        session: Text<'a> = "sessionId",
        leaf: Text<'a> = "leafUuid",
        project: Text<'a> = "projectHash",
        set: Option<&'a RawValue> = "$set",
        rewind: Text<'a> = "$rewindTo",
    }
}

const CODEX: [&str; 5] = ["session_meta", "turn_context", "response_item", "event_msg", "compacted"];
const CLAUDE: [&str; 4] = ["user", "assistant", "system", "progress"];
const GEMINI: [&str; 5] = ["user", "gemini", "info", "error", "warning"];

/// Detects the agent of a row.
pub fn guess(row: &[u8]) -> Guess {
    let text = String::from_utf8_lossy(row);
    match serde_json::from_str::<Row>(&text) {
        Ok(row) => guess_parsed(&row),
        Err(_) => match repaired(&text).as_deref().map(serde_json::from_str::<Row>) {
            Some(Ok(row)) => guess_parsed(&row),
            _ => Guess::Unreadable,
        },
    }
}

fn guess_parsed(row: &Row) -> Guess {
    let object = |raw: Option<&RawValue>| raw.is_some_and(|raw| raw.get().starts_with('{'));
    let kind = row.kind.get().unwrap_or_default();
    let is = |agent| Guess::Agent(agent);
    if row.project.get().is_some() || row.rewind.get().is_some() || object(row.set) || kind == "gemini" {
        return is(Agent::Gemini);
    }
    if object(row.payload) && CODEX.contains(&kind) {
        return is(Agent::Codex);
    }
    let event = ["session.", "user.", "assistant.", "tool.", "subagent.", "hook.", "system."];
    if object(row.data) && event.iter().any(|start| kind.starts_with(start)) {
        return is(Agent::Copilot);
    }
    let identified = row.uuid.get().is_some() || row.session.get().is_some() || row.parent.is_some();
    if CLAUDE.contains(&kind) && identified && (row.message.is_some() || kind == "system" || kind == "progress") {
        return is(Agent::ClaudeCode);
    }
    if CLAUDE.contains(&kind) && object(row.message) || kind == "summary" && row.leaf.get().is_some() {
        return is(Agent::ClaudeCode);
    }
    if kind.is_empty() && matches!(row.role.get(), Some("user" | "assistant")) && object(row.message) {
        return is(Agent::Cursor);
    }
    if GEMINI.contains(&kind)
        && row.content.is_some()
        && row.message.is_none()
        && row.uuid.get().is_none()
        && row.id.get().is_some()
    {
        return is(Agent::Gemini);
    }
    Guess::Unknown
}
