//! The payload of a progress report.

use std::num::NonZeroU64;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::use_cases::handoff::managed::payload::text::{Text, Time};
use empirica_notes::model::Verdict;

/// A worker's report, and the decision about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// The time of writing; by default, now.
    pub timestamp: Option<Time>,
    /// The task: handoffs of one task form a chain.
    pub task_id: Text,
    /// The round of the task; by default, the next.
    pub iteration: Option<NonZeroU64>,
    /// The worker's report.
    pub worker_report: WorkerReport,
    /// The manager's decision.
    pub manager_decision: Option<Verdict>,
    /// The next steps.
    pub continuation_instructions: Option<Text>,
    /// Changes that concern others.
    pub context_updates: Option<ContextUpdates>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkerReport {
    /// The result.
    pub status: Status,
    /// Work done.
    pub accomplished: Option<Vec<Text>>,
    /// The changed files.
    pub files_modified: Option<Vec<ModifiedFile>>,
    /// The tests.
    pub tests: Option<Tests>,
    /// Problems and obstacles.
    pub issues: Option<Vec<Text>>,
    /// Verification done.
    pub validation: Option<Vec<Text>>,
}

empirica_notes::named_enum! {
    pub enum Status {
        Completed = "COMPLETED",
        Partial = "PARTIAL",
        Failed = "FAILED",
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModifiedFile {
    /// The file, relative to the root of the repository.
    pub path: Text,
    /// The change.
    pub description: Option<Text>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tests {
    /// The number of new tests.
    pub added: Option<u64>,
    /// The number of tests that pass.
    pub passing: Option<u64>,
    /// The part of the code that they cover.
    pub coverage: Option<Text>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextUpdates {
    /// New patterns of the code.
    pub new_patterns: Option<Vec<Text>>,
    /// Changes of the structure.
    pub architecture_changes: Option<Vec<Text>>,
    /// New dependencies.
    pub dependencies_added: Option<Vec<Text>>,
}
