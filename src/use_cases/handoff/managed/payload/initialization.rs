//! The payload of an initialization.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::use_cases::handoff::managed::payload::text::{Text, Time};

/// A request as instructions for a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Initialization {
    /// The time of writing; by default, now.
    pub timestamp: Option<Time>,
    /// The task: handoffs of one task form a chain.
    pub task_id: Text,
    /// The work to do.
    pub instructions: Text,
    /// Background for the worker.
    pub context: Option<Background>,
    /// Signs that the work is done.
    pub success_criteria: Option<Vec<Text>>,
    /// Further requirements of the work.
    pub quality_gates: Option<Vec<Text>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Background {
    /// The folder of the project.
    pub project_root: Option<Text>,
    /// The files to read.
    pub relevant_files: Option<Vec<Text>>,
    /// Patterns of the code to follow.
    pub patterns: Option<Vec<Text>>,
    /// Limits of the work.
    pub constraints: Option<Vec<Text>>,
}
