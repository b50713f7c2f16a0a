//! Collections: the increments read from an agent's transcript.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::id::SessionId;
use empirica_transcripts::model::{PendingTask, Subagent, Tokens, ToolSummary};

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The new part of a transcript. A transcript's collections together cover the whole of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Collected {
    /// The agent that wrote the transcript.
    pub agent: String,
    /// The transcript: the agent's own id of its session, or a substitute for it.
    pub transcript: String,
    /// The task: the first line of the user's first message; only in the first collection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The session that the transcript was forked from; only in the first collection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<SessionId>,
    /// The number of compactions added that no event told.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub compactions: u64,
    /// The start offset, in bytes: the end of the previous collection, or 0.
    pub from: u64,
    /// The end offset, in bytes.
    pub to: u64,
    /// The number of rows added.
    #[serde(default)]
    pub rows: u64,
    /// The number of added rows that could not be read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skipped_rows: u64,
    /// The branch, if it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The model, if it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The transcript's first time, RFC 3339 UTC; only in the first collection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// The transcript's last time so far, RFC 3339 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// Tool use added, by category; with samples only while a category has fewer than three.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSummary>,
    /// Newly modified files, relative to the root of the repository, including those of subagents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The number of newly modified files outside the repository.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub files_outside: u64,
    /// The pending tasks, if they changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_tasks: Option<Vec<PendingTask>>,
    /// The commands whose last run failed, if they changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_commands: Option<Vec<String>>,
    /// Decisions added.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<String>,
    /// Tokens added.
    #[serde(default)]
    pub tokens: Tokens,
    /// The present size of the context, in tokens, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// The present state of each subagent that changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subagents: Vec<NumberedSubagent>,
}

/// A subagent and its place in the order of appearance.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct NumberedSubagent {
    /// The place, from 0.
    pub at: u64,
    #[serde(flatten)]
    pub subagent: Subagent,
}
