//! The payload of an escalation.

use std::num::NonZeroU64;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::use_cases::handoff::managed::payload::text::{Text, Time};

/// A problem that needs a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Escalation {
    /// The time of writing; by default, now.
    pub timestamp: Option<Time>,
    /// The task: handoffs of one task form a chain.
    pub task_id: Text,
    /// The problem.
    pub escalation_details: EscalationDetails,
    /// The rounds of the task; by default, from its handoffs.
    pub complete_history: Option<Vec<Round>>,
    /// The state of the work.
    pub current_state: Option<CurrentState>,
    /// The work that follows a resolution.
    pub resume_instructions: Option<Text>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EscalationDetails {
    /// The subject.
    pub category: Category,
    /// The severity.
    pub severity: Severity,
    /// The urgency.
    pub urgency: Option<Urgency>,
    /// The obstacle.
    pub blocker_type: Option<BlockerType>,
    /// The problem, for people.
    pub description: Text,
    /// The consequences.
    pub impact: Option<Text>,
    /// The advised action of a person.
    pub recommendation: Text,
}

empirica_notes::named_enum! {
    pub enum Category {
        Technical = "technical",
        Configuration = "configuration",
        Architectural = "architectural",
        Resource = "resource",
        Security = "security",
    }
}

empirica_notes::named_enum! {
    pub enum Severity {
        Medium = "medium",
        High = "high",
        Critical = "critical",
    }
}

empirica_notes::named_enum! {
    pub enum Urgency {
        Low = "low",
        Medium = "medium",
        High = "high",
        Immediate = "immediate",
    }
}

empirica_notes::named_enum! {
    pub enum BlockerType {
        Skill = "skill",
        Access = "access",
        Design = "design",
        Environment = "environment",
        Dependency = "dependency",
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Round {
    /// The number of the round.
    pub iteration: NonZeroU64,
    /// The instructions of the manager.
    pub manager_instructions: Option<Text>,
    /// The report of the worker.
    pub worker_report: Option<Text>,
    /// The decision.
    pub outcome: Option<Text>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CurrentState {
    /// The changed files; by default, from the handoffs of the task.
    pub files_modified: Option<Vec<Text>>,
    /// The state of the project.
    pub project_status: Option<Text>,
    /// The installed dependencies.
    pub dependencies: Option<Text>,
    /// The configuration.
    pub configuration: Option<Text>,
}
