//! Assessments (how sure an agent is, and when) and checkpoints (where the work stood).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

use crate::model::id::Id;
use crate::model::phase::Phase;
use crate::model::snapshot::{GitState, Snapshot};
use crate::model::vectors::Vectors;

/// How sure the agent is at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Assessment {
    /// Before, during or after the work.
    pub phase: Phase,
    /// Which one of its phase in this session, from 1.
    pub round: u32,
    /// The values given.
    pub vectors: Vectors,
    /// The confidence the agent claims to act with, in [0, 1]; CHECK only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Why it is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// The task as the agent sees it now.
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
    /// Whatever else the agent wants kept.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub meta: BTreeMap<String, String>,
}

/// Why a checkpoint was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[schemars(inline)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// Somebody asked for it.
    #[default]
    Manual,
    /// The context is about to be compacted.
    PreCompact,
    /// The context was compacted.
    PostCompact,
}

/// A path and what happened to it, against HEAD.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
pub struct Changes {
    /// Changed files.
    pub files_modified: Vec<String>,
    /// New files, untracked ones included.
    pub files_added: Vec<String>,
    /// Deleted files.
    pub files_deleted: Vec<String>,
}

/// A commit in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommitLine {
    /// Its id, hex.
    pub commit: String,
    /// The first line of its message.
    pub subject: String,
}

/// A snapshot of where the work stands. Keys that are not as they should be are read as if they were not there, so that
/// the others can be used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Checkpoint {
    /// Where in the workflow; `None` before the first assessment.
    #[serde(default, deserialize_with = "understood")]
    pub phase: Option<Phase>,
    /// Which one of its phase, from 1: of the last assessment of the phase unless it was said.
    pub round: u32,
    /// Why it was taken.
    pub trigger: Trigger,
    /// The values; possibly none.
    #[serde(default, deserialize_with = "understood")]
    pub vectors: Vectors,
    /// The newest assessment, when no vectors were given with the checkpoint.
    #[serde(default, deserialize_with = "understood", skip_serializing_if = "Option::is_none")]
    pub vectors_from: Option<Id>,
    /// The assessment that each vector was taken from, by the vector's name; those given with the checkpoint are not there.
    #[serde(default, deserialize_with = "understood", skip_serializing_if = "BTreeMap::is_empty")]
    pub vector_sources: BTreeMap<String, Id>,
    /// The snapshot before the compaction that it was compared with; of a checkpoint after one.
    #[serde(default, deserialize_with = "understood", skip_serializing_if = "Option::is_none")]
    pub compared_with: Option<Id>,
    /// Why it is so, as the agent says with the checkpoint.
    #[serde(default, deserialize_with = "understood", skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// Labels given with the checkpoint.
    #[serde(default, deserialize_with = "understood", skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Whatever else the agent wants kept.
    #[serde(default, deserialize_with = "understood", skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// The repository; `None` when git could not be asked.
    #[serde(default, deserialize_with = "understood")]
    pub git_state: Option<GitState>,
    /// Everything else that can be lost; `None` for checkpoints of earlier versions.
    #[serde(default, deserialize_with = "understood", skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<Snapshot>,
}

/// A value, or its default where it is something else: another program, or a later version, may have written it.
fn understood<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(from: D) -> Result<T, D::Error> {
    let value = serde_json::Value::deserialize(from)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}
