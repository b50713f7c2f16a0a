//! Goals, their subtasks and their status.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::id::{Id, SessionId};

crate::named_enum! {
    /// How urgent a goal is.
    #[derive(PartialOrd, Ord, Default)]
    pub enum Priority {
        High = "high",
        #[default]
        Medium = "medium",
        Low = "low",
    }
}

/// An objective of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Goal {
    /// The objective.
    pub text: String,
    /// Acceptance criteria.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<String>,
    /// Medium if absent.
    #[serde(default)]
    pub priority: Priority,
    /// Why it was set; given for goals that the program proposes.
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
    /// Other sessions whose views it changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concerns: Vec<SessionId>,
}

/// The completion of a goal or subtask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct GoalDone {
    pub of: Id,
    /// Proof that it is finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// Other sessions whose views it changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concerns: Vec<SessionId>,
}

/// The dropping of a goal or subtask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct GoalDrop {
    pub of: Id,
    /// The reason, if given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Other sessions whose views it changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concerns: Vec<SessionId>,
}

/// Open goals of an earlier session, taken over by this record's session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct GoalTake {
    /// The earlier session.
    pub from: SessionId,
    pub of: Vec<Id>,
    /// Other sessions whose views it changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concerns: Vec<SessionId>,
}

crate::named_enum! {
    /// The status of a goal or subtask.
    pub enum GoalStatus {
        Open = "open",
        Done = "done",
        Dropped = "dropped",
    }
}

/// A subtask, folded from its records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct SubtaskState {
    pub id: Id,
    /// The step.
    pub text: String,
    pub status: GoalStatus,
    /// Proof that it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
}

/// A goal, folded from its records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct GoalState {
    pub id: Id,
    /// The objective.
    pub text: String,
    pub status: GoalStatus,
    pub priority: Priority,
    /// Acceptance criteria.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<String>,
    /// Its steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subtasks: Vec<SubtaskState>,
    /// Proof that it is done, or the reason for dropping it.
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
    /// Whether the program proposed it and no agent worked on it. Such goals are not handed over.
    pub fn is_idle_suggestion(&self) -> bool {
        self.vector.is_some() && self.status != GoalStatus::Done && self.subtasks.is_empty()
    }

    /// Such as `2/4 subtasks`; `None` without subtasks. Dropped ones do not count.
    pub fn progress(&self) -> Option<String> {
        self.steps().map(|(done, all)| format!("{done}/{all} subtasks"))
    }

    /// The numbers of subtasks done and of subtasks not dropped; `None` if the latter is 0.
    pub fn steps(&self) -> Option<(u64, u64)> {
        let counted = self.subtasks.iter().filter(|s| s.status != GoalStatus::Dropped);
        let (done, all) =
            counted.fold((0, 0), |(done, all), s| (done + u64::from(s.status == GoalStatus::Done), all + 1));
        (all > 0).then_some((done, all))
    }
}

/// The numbers of goals done and of goals not dropped.
pub fn reached<'a>(goals: impl IntoIterator<Item = &'a GoalState>) -> (usize, usize) {
    goals.into_iter().fold((0, 0), |(done, all), goal| match goal.status {
        GoalStatus::Done => (done + 1, all + 1),
        GoalStatus::Open => (done, all + 1),
        GoalStatus::Dropped => (done, all),
    })
}

/// The share of goals done among those not dropped, in [0, 1], 2 decimals; `None` if there are none.
pub fn completion_rate<'a>(goals: impl IntoIterator<Item = &'a GoalState>) -> Option<f64> {
    let (done, all) = reached(goals);
    (all > 0).then(|| (done as f64 / all as f64 * 100.0).round() / 100.0)
}
