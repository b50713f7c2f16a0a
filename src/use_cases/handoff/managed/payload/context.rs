//! The payload of the context of a session.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::use_cases::handoff::managed::payload::text::{Text, Time};

/// The state of a session for its successor; by default, every field comes from the session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Context {
    /// The session.
    pub session_id: Option<Text>,
    /// The agent's program.
    pub source_agent_type: Option<Text>,
    /// The agent.
    pub source_agent_id: Option<Text>,
    /// The program of the receiver.
    pub target_agent_type: Option<Text>,
    /// The receiver.
    pub target_agent_id: Option<Text>,
    /// The subject and its state.
    pub summary: Option<Text>,
    /// The tools used.
    pub tool_summaries: Option<Vec<ToolSummary>>,
    /// The changed files.
    pub files_modified: Option<Vec<Text>>,
    /// The remaining work.
    pub pending_tasks: Option<Vec<Text>>,
    /// Decisions made.
    pub decisions: Option<Vec<Text>>,
    /// The end of the conversation.
    pub recent_messages: Option<Vec<Message>>,
    /// The time of writing.
    pub created_at: Option<Time>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolSummary {
    /// The category of the tools.
    pub category: Text,
    /// The number of uses.
    pub count: u64,
    /// Some of the uses.
    pub samples: Option<Vec<Text>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// The author: `user` or `assistant`.
    pub role: Text,
    /// The text.
    pub content: Text,
    /// The time of the message.
    pub timestamp: Option<Time>,
}
