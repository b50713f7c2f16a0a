//! Assessments (an agent's confidence at a moment) and checkpoints (the state of the work).

pub mod phase;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::model::assessment::phase::Phase;
use crate::model::id::Id;
use crate::model::snapshot::{GitState, Snapshot};
use crate::model::vectors::Vectors;

/// The agent's confidence at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Assessment {
    /// The phase of the workflow.
    pub phase: Phase,
    /// Its number among the session's assessments of this phase, from 1.
    pub round: u32,
    /// The given values.
    pub vectors: Vectors,
    /// The confidence the agent claims to act with, in [0, 1]; CHECK only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// The agent's reasons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// The task in the agent's present words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The iteration of the investigation, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycle: Option<u32>,
    /// The depth of the scope, in [0, 1].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<f64>,
    /// Labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The agent's own keys and values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub meta: BTreeMap<String, String>,
}

/// Why a checkpoint was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[schemars(inline)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// The user or agent requested it.
    #[default]
    Manual,
    /// The context is about to be compacted.
    PreCompact,
    /// The context was compacted.
    PostCompact,
}

/// Changed paths, against HEAD.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[allow(missing_docs)]
pub struct Changes {
    pub files_modified: Vec<String>,
    /// New files, including untracked ones.
    pub files_added: Vec<String>,
    pub files_deleted: Vec<String>,
}

/// A commit in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct CommitLine {
    pub commit: String,
    /// The first line of its message.
    pub subject: String,
}

/// A snapshot of the state of the work. Keys whose values have an unexpected form are read as absent, so that the
/// others stay usable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Checkpoint {
    /// The phase of the workflow; `None` before the first assessment.
    #[serde(default, deserialize_with = "or_default")]
    pub phase: Option<Phase>,
    /// Its number within the phase, from 1: as given, else that of the phase's last assessment.
    pub round: u32,
    /// The reason for taking it.
    pub trigger: Trigger,
    /// The values; can be empty.
    #[serde(default, deserialize_with = "or_default")]
    pub vectors: Vectors,
    /// The newest assessment, if no vectors were given with the checkpoint.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub vectors_from: Option<Id>,
    /// For each vector not given with the checkpoint, the assessment it was taken from, by the vector's name.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub vector_sources: BTreeMap<String, Id>,
    /// For a checkpoint after a compaction: the snapshot before it, which this one was compared with.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub compared_with: Option<Id>,
    /// The agent's reasons, given with the checkpoint.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// Labels given with the checkpoint.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The agent's own keys and values.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// The state of the repository; `None` if git failed.
    #[serde(default, deserialize_with = "or_default")]
    pub git_state: Option<GitState>,
    /// Everything else that a compaction can lose; `None` in checkpoints of earlier versions.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<Snapshot>,
}

/// Reads a value, or the default if it has another form: other programs and later versions also write records.
pub(crate) fn or_default<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(from: D) -> Result<T, D::Error> {
    Ok(serde_json::from_str(Box::<RawValue>::deserialize(from)?.get()).unwrap_or_default())
}
