//! The payload of an error recovery.

use std::num::NonZeroU64;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::use_cases::handoff::managed::payload::text::{Text, Time};

/// An obstacle, and the next attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorRecovery {
    /// The time of writing; by default, now.
    pub timestamp: Option<Time>,
    /// The task: handoffs of one task form a chain.
    pub task_id: Text,
    /// The round of the task; by default, the next.
    pub iteration: Option<NonZeroU64>,
    /// The error.
    pub error_report: ErrorReport,
    /// The next attempt.
    pub recovery_instructions: Option<RecoveryInstructions>,
    /// The number of this attempt; by default, the next.
    pub retry_count: Option<NonZeroU64>,
    /// The limit of attempts; by default, that of the last attempt, else 3.
    pub max_retries: Option<NonZeroU64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorReport {
    /// The origin of the error.
    pub error_type: ErrorType,
    /// The severity.
    pub severity: ErrorSeverity,
    /// The symptom.
    pub description: Text,
    /// The work that failed.
    pub context: Option<Text>,
    /// Solutions tried.
    pub attempted_solutions: Option<Vec<Text>>,
    /// The messages of the error.
    pub error_messages: Option<Vec<Text>>,
    /// The files concerned.
    pub affected_files: Option<Vec<Text>>,
}

empirica_notes::named_enum! {
    pub enum ErrorType {
        Implementation = "implementation",
        Configuration = "configuration",
        Dependency = "dependency",
        Integration = "integration",
    }
}

empirica_notes::named_enum! {
    pub enum ErrorSeverity {
        Low = "low",
        Medium = "medium",
        High = "high",
        Critical = "critical",
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecoveryInstructions {
    /// The approach.
    pub strategy: Option<Text>,
    /// The steps in order.
    pub steps: Option<Vec<Text>>,
    /// Other approaches.
    pub alternatives: Option<Vec<Text>>,
    /// Signs of success.
    pub success_indicators: Option<Vec<Text>>,
    /// The condition for an escalation.
    pub escalation_trigger: Option<Text>,
}
