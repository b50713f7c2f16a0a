//! The agent that calls, and its own ids of sessions.

use empirica_notes::model::hash::fnv;
use empirica_secrets::redact_text;

/// A client of the MCP server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    pub name: String,
    /// Its own id of its session, as stored; `None` if it does not tell.
    pub session: Option<String>,
}

/// An agent's own id of a session as stored: unchanged, or hashed if it is blank, longer than 200 bytes, or has a secret.
pub fn stored_id(agent: &str, id: &str) -> String {
    match id.trim().is_empty() || id.len() > 200 || redact_text(id).is_some() {
        true => hashed_id(agent, id.as_bytes()),
        false => id.to_owned(),
    }
}

/// An id in place of one that the agent does not give.
pub fn hashed_id(agent: &str, bytes: &[u8]) -> String {
    format!("{agent}-{:016x}", fnv(bytes))
}
