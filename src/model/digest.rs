//! The digest: what a session learned, decided and verified since it last reported, for the commit that holds the work.

use serde::{Deserialize, Serialize};

use super::handoff::{Choice, Item, Proof};
use super::id::Id;

/// A digest. At least one of its lists has something in it.
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
    pub decisions: Vec<Choice>,
    /// The last run of each check.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Proof>,
}
