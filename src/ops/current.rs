//! The sessions that are active in this worktree: derived from the records, kept in a small file.

use serde::{Deserialize, Serialize};

use super::context::Context;
use crate::epistemics::journal::sessions;
use crate::error::Result;
use crate::model::{SessionId, Shelf};

/// An active session of this worktree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Active {
    /// The session.
    pub id: SessionId,
    /// Its agent.
    pub ai: String,
    /// The id the agent's own tool knows it by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
}

/// The active sessions of this worktree, oldest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Current {
    /// The sessions.
    pub active: Vec<Active>,
}

impl Current {
    /// Reads the file; without one, finds the sessions in the records that this clone and worktree began.
    pub fn load(context: &Context<'_>) -> Result<Self> {
        let path = context.store.paths().current();
        if let Ok(text) = std::fs::read_to_string(&path) {
            let active = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
            return Ok(Current { active });
        }
        let scan = context.store.scan(Shelf::Journal)?;
        let paths = context.store.paths();
        let mut found: Vec<_> = sessions(scan.records())
            .into_values()
            .filter(|s| s.is_active() && s.place.as_deref() == Some(paths.place()))
            .filter(|s| s.worktree.as_deref() == Some(paths.worktree()))
            .collect();
        found.sort_by(|a, b| (&a.started_at, &a.began).cmp(&(&b.started_at, &b.began)));
        let current = Current {
            active: found.into_iter().map(|s| Active { id: s.id, ai: s.ai, external_id: s.external_id }).collect(),
        };
        if !current.active.is_empty() {
            current.save(context);
        }
        Ok(current)
    }

    /// Writes the file. Derived: when that fails the records are asked again.
    pub fn save(&self, context: &Context<'_>) {
        let lines = self.active.iter().filter_map(|session| serde_json::to_string(session).ok());
        let text: String = lines.map(|line| line + "\n").collect();
        if context.store.replace_derived(&context.store.paths().current(), &text).is_err() {
            let _ = std::fs::remove_file(context.store.paths().current());
        }
    }
}
