//! Sessions: start, end and the state folded from both.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::id::{Id, SessionId};

/// The start of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct SessionStart {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The sort of work, in the user's words.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The agent's own id of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// `main` or the linked worktree's name.
    pub worktree: String,
    /// An opaque hash of machine, clone and worktree, by which the current session is found.
    pub place: String,
    /// The session it continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<SessionId>,
    /// The handoff it continues from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_handoff: Option<Id>,
}

/// The end of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionEnd {
    /// The reason, if given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A session, folded from its records.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Session {
    /// The session.
    #[serde(rename = "session_id")]
    pub id: SessionId,
    /// Its first record, which orders sessions.
    #[serde(skip)]
    pub began: Id,
    /// Its agent.
    #[serde(rename = "ai_id")]
    pub ai: String,
    /// When it began, RFC 3339 UTC; the time of its first record if its start is not stored here.
    pub started_at: String,
    /// When it ended, RFC 3339 UTC; `None` while it is active.
    pub ended_at: Option<String>,
    /// Its task.
    pub task: Option<String>,
    /// The sort of work, in the user's words.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// The agent's own id of the session.
    pub external_id: Option<String>,
    /// HEAD when it began.
    pub commit: Option<String>,
    /// The worktree it began in: `main` or the linked worktree's name.
    pub worktree: Option<String>,
    /// As [`SessionStart::place`].
    #[serde(skip)]
    pub place: Option<String>,
    /// The session it continues.
    pub from: Option<SessionId>,
    /// The handoff it continues from.
    pub from_handoff: Option<Id>,
}

impl Session {
    /// Whether it has not ended.
    pub fn is_active(&self) -> bool {
        self.ended_at.is_none()
    }
}
