//! Goals, their subtasks and what became of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::id::{Id, SessionId};

/// How urgent a goal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, Default)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Priority {
    High,
    #[default]
    Medium,
    Low,
}

impl Priority {
    /// The word used in arguments and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Priority::High => "high",
            Priority::Medium => "medium",
            Priority::Low => "low",
        }
    }
}

/// Something to be reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Goal {
    /// What is to be reached.
    pub text: String,
    /// How one knows that it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<String>,
    /// How urgent it is.
    #[serde(default)]
    pub priority: Priority,
    /// Why it was set; given for goals the program proposes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
    /// The vector whose weakness the program proposed it for; absent for goals agents set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector: Option<String>,
}

/// A step towards a goal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct Subtask {
    pub of: Id,
    pub text: String,
    /// The sessions, other than the record's own, whose views it changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concerns: Vec<SessionId>,
}

/// A goal or a subtask was finished.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GoalDone {
    /// The goal or subtask.
    pub of: Id,
    /// What shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// The sessions, other than the record's own, whose views it changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concerns: Vec<SessionId>,
}

/// A goal or a subtask was given up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GoalDrop {
    /// The goal or subtask.
    pub of: Id,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The sessions, other than the record's own, whose views it changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concerns: Vec<SessionId>,
}

/// Open goals of an earlier session were taken over by the session of this record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GoalTake {
    /// The session they came from.
    pub from: SessionId,
    /// The goals.
    pub of: Vec<Id>,
    /// The sessions, other than the record's own, whose views it changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concerns: Vec<SessionId>,
}

/// Where a goal or subtask stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum GoalStatus {
    Open,
    Done,
    Dropped,
}

impl GoalStatus {
    /// The word shown.
    pub fn name(self) -> &'static str {
        match self {
            GoalStatus::Open => "open",
            GoalStatus::Done => "done",
            GoalStatus::Dropped => "dropped",
        }
    }
}

/// A subtask as it stands now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubtaskState {
    /// The subtask's record.
    pub id: Id,
    /// The step.
    pub text: String,
    /// Where it stands.
    pub status: GoalStatus,
    /// What shows that it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
}

/// A goal as it stands now, folded from its records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GoalState {
    /// The goal's record.
    pub id: Id,
    /// What is to be reached.
    pub text: String,
    /// Where it stands.
    pub status: GoalStatus,
    /// How urgent it is.
    pub priority: Priority,
    /// How one knows that it is reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<String>,
    /// Its steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subtasks: Vec<SubtaskState>,
    /// What shows that it is done, or why it was dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// Why it was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
    /// The vector whose weakness the program proposed it for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector: Option<String>,
}

impl GoalState {
    /// Whether it was suggested and nobody went about it: nothing that a session hands over.
    pub fn is_idle_suggestion(&self) -> bool {
        self.vector.is_some() && self.status != GoalStatus::Done && self.subtasks.is_empty()
    }

    /// "2/4 subtasks"; `None` without subtasks. Dropped ones do not count.
    pub fn progress(&self) -> Option<String> {
        self.steps().map(|(done, all)| format!("{done}/{all} subtasks"))
    }

    /// Steps done, of all that were not dropped; `None` without steps.
    pub fn steps(&self) -> Option<(u64, u64)> {
        let counted = self.subtasks.iter().filter(|s| s.status != GoalStatus::Dropped);
        let (done, all) =
            counted.fold((0, 0), |(done, all), s| (done + u64::from(s.status == GoalStatus::Done), all + 1));
        (all > 0).then_some((done, all))
    }
}

/// How many of these goals are done, of how many that were not dropped.
pub fn reached<'a>(goals: impl IntoIterator<Item = &'a GoalState>) -> (usize, usize) {
    goals.into_iter().fold((0, 0), |(done, all), goal| match goal.status {
        GoalStatus::Done => (done + 1, all + 1),
        GoalStatus::Open => (done, all + 1),
        GoalStatus::Dropped => (done, all),
    })
}

/// The share of goals that are done among those not dropped, in [0, 1], 2 decimals; `None` when there is none.
pub fn completion_rate<'a>(goals: impl IntoIterator<Item = &'a GoalState>) -> Option<f64> {
    let (done, all) = reached(goals);
    (all > 0).then(|| (done as f64 / all as f64 * 100.0).round() / 100.0)
}
