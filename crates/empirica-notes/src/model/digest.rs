//! The digest: what a session said since it last reported, for the commit that holds the work.

use serde::{Deserialize, Serialize};

use crate::model::handoff::{Assessed, HandoffDeadEnd, HandoffDecision, HandoffEvidence, HandoffMistake, Item};
use crate::model::id::Id;

/// A question with its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The question; empty when it is not known here.
    pub question: String,
    /// The answer.
    pub answer: String,
}

/// A digest. At least one of its lists beside the next steps has something in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Digest {
    /// What the session is about; empty when it has not said.
    pub task: String,
    /// The last record it takes in: the next digest goes on from there.
    pub upto: Id,
    /// What was learned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Item>,
    /// What was decided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<HandoffDecision>,
    /// The last run of each check.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<HandoffEvidence>,
    /// Questions that are still open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknowns: Vec<Item>,
    /// Questions that were answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Reply>,
    /// What was tried and failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dead_ends: Vec<HandoffDeadEnd>,
    /// What was done wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mistakes: Vec<HandoffMistake>,
    /// The session's unfinished goals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_steps: Vec<String>,
    /// How sure the session was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assessments: Vec<Assessed>,
}
