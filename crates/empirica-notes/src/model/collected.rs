//! What a collection added to what was known of an agent's transcript.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use empirica_transcripts::model::{Pending, Subagent, Tokens, ToolSummary};

fn is_none(count: &u64) -> bool {
    *count == 0
}

/// What was new in a transcript when it was collected. All of a transcript's collections together tell what it tells.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Collected {
    /// The agent that wrote the transcript.
    pub agent: String,
    /// The transcript: the agent's own id of its session, or what stands for it.
    pub transcript: String,
    /// Where the collection before ended, in bytes; 0 for the first.
    pub from: u64,
    /// Where this one ends, in bytes.
    pub to: u64,
    /// How many rows were added.
    #[serde(default)]
    pub rows: u64,
    /// How many rows were added that could not be read.
    #[serde(default, skip_serializing_if = "is_none")]
    pub skipped_rows: u64,
    /// The branch now, when it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The model now, when it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// When the transcript begins, RFC 3339 UTC; with the first collection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// When it ends so far, RFC 3339 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// The use of tools that was added, by category; samples only while there are fewer than three.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSummary>,
    /// The files that were not known to be modified, relative to the root of the repository, those of subagents as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// How many modified files outside the repository were added.
    #[serde(default, skip_serializing_if = "is_none")]
    pub files_outside: u64,
    /// What is left to do now, when that changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_tasks: Option<Vec<Pending>>,
    /// The decisions that were added.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<String>,
    /// The tokens that were added.
    #[serde(default)]
    pub tokens: Tokens,
    /// What the context holds now, in tokens, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// The subagents of which something changed, as they are now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subagents: Vec<NumberedSubagent>,
}

/// A subagent with its place in the order of appearance, from 0.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NumberedSubagent {
    /// Its place.
    pub at: u64,
    /// What it did so far.
    #[serde(flatten)]
    pub subagent: Subagent,
}
