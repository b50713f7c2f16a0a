//! Digests: a session's records since its last report, attached to the commit with the work.

use serde::{Deserialize, Serialize};

use crate::model::handoff::{Assessed, HandoffEvidence, Item};
use crate::model::id::Id;
use crate::model::journal::{DeadEnd, Decision, Mistake};

/// A question with its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Reply {
    /// The record of the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Id>,
    /// The question; empty if its record is not stored here.
    pub question: String,
    pub answer: String,
}

/// A digest. At least one of its lists other than the next steps is not empty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Digest {
    /// The session's task; empty if none was given.
    pub task: String,
    /// The last record it covers: the next digest starts after it.
    pub upto: Id,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Item>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Decision>,
    /// The last run of each check.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<HandoffEvidence>,
    /// Open questions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknowns: Vec<Item>,
    /// Answered questions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Reply>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dead_ends: Vec<DeadEnd>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mistakes: Vec<Mistake>,
    /// The session's unfinished goals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_steps: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assessments: Vec<Assessed>,
}
