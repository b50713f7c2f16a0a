//! Acknowledgements of handoffs, and answers to their questions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::id::{Id, SessionId};

crate::named_enum! {
    /// The receiver's decision about the task.
    pub enum Verdict {
        /// It is done.
        Complete = "COMPLETE",
        /// It continues as handed over.
        Continue = "CONTINUE",
        /// A person must decide.
        Escalate = "ESCALATE",
        /// The handoff must be improved first.
        Refine = "REFINE",
    }
}

/// A session's acknowledgement of a handoff. A handoff can have several, from several sessions. One with a receiver is claimed by the
/// first acknowledgement of a session of that agent; others comment on it, unless they take it over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Accept {
    /// The handoff.
    pub of: Id,
    /// The acknowledgement of another session that it takes the handoff over from, or the handoff itself if nobody has it and it is for
    /// another agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takes_over: Option<Id>,
    /// The acknowledgement of another session that it leaves the handoff to: that one reached the remote first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yields_to: Option<Id>,
    /// Whether the session ended, and gives up what it claimed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub released: bool,
    /// The handoff's session if it is not the record's own: its views also show the acknowledgement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concerns: Vec<SessionId>,
    /// The task in the receiver's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub understanding: Option<String>,
    /// The receiver's decision; absent if none was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Verdict>,
    /// Next steps, for the assigner of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The receiver's questions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<String>,
    /// Information missing from the handoff.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<String>,
    /// A person's resolution of an escalation; the task continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<String>,
}

/// The answer to a question of an acknowledgement. The newest answer to a question counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// The acknowledgement.
    pub of: Id,
    /// The question's number, from 1.
    pub question: u32,
    /// The answer.
    pub text: String,
    /// Other sessions whose views it changes: those of the question and of the handoff.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concerns: Vec<SessionId>,
}

impl Accept {
    /// An acknowledgement that says nothing.
    pub fn new(of: Id) -> Self {
        Accept {
            of,
            takes_over: None,
            yields_to: None,
            released: false,
            concerns: Vec::new(),
            understanding: None,
            decision: None,
            instructions: None,
            questions: Vec::new(),
            gaps: Vec::new(),
            resolution: None,
        }
    }

    /// Whether it has no questions and no gaps.
    pub fn is_clear(&self) -> bool {
        self.questions.is_empty() && self.gaps.is_empty()
    }
}
