//! A session: when an agent began and ended, and on what.

use serde::{Deserialize, Serialize};

use crate::model::id::{Id, SessionId};

/// An agent begins to work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionStart {
    /// What it is going to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// What sort of work it is, in the user's words.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The id the agent's own tool knows the session by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// The worktree it runs in: `main` or the linked worktree's name.
    pub worktree: String,
    /// Which worktree of which clone on which machine, as an opaque hash: the current session is found again through it.
    pub place: String,
    /// The session it continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<SessionId>,
    /// The handoff it continues from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_handoff: Option<Id>,
}

/// A session is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionEnd {
    /// Why, when said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A session as it stands now, folded from its records.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// The record it began with: sessions are ordered by it.
    pub began: Id,
    /// Who works.
    pub ai: String,
    /// When it began, RFC 3339 UTC. For a session whose start is not stored here, its first record's time.
    pub started_at: String,
    /// When it ended; `None` while it is active.
    pub ended_at: Option<String>,
    /// What it set out to do.
    pub task: Option<String>,
    /// What sort of work it is.
    pub kind: Option<String>,
    /// The id the agent's own tool knows it by.
    pub external_id: Option<String>,
    /// HEAD when it began, hex.
    pub commit: Option<String>,
    /// The worktree it began in.
    pub worktree: Option<String>,
    /// Which worktree of which clone it began in.
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
