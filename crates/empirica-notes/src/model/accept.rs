//! The acknowledgement: what the receiver of a handoff understood, decided and misses; and the answers to its questions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::id::{Id, SessionId};

/// What the receiver decides about the task (DESIGN §4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// It is done.
    Complete,
    /// It goes on as handed over.
    Continue,
    /// Somebody else must decide.
    Escalate,
    /// What was handed over must be made better first.
    Refine,
}

impl Verdict {
    /// The word used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Complete => "COMPLETE",
            Verdict::Continue => "CONTINUE",
            Verdict::Escalate => "ESCALATE",
            Verdict::Refine => "REFINE",
        }
    }

    /// The verdict of that word; `None` for another.
    pub fn parse(word: &str) -> Option<Self> {
        let all = [Verdict::Complete, Verdict::Continue, Verdict::Escalate, Verdict::Refine];
        all.into_iter().find(|verdict| verdict.name() == word)
    }
}

/// A session took up a handoff. One handoff can be acknowledged several times, by several sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Accept {
    /// The handoff.
    pub of: Id,
    /// The handoff's session, when it is another than the record's own: its views show the acknowledgement, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concerns: Vec<SessionId>,
    /// The task in the receiver's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub understanding: Option<String>,
    /// What the receiver decides; absent when it decides nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Verdict>,
    /// What is to be done next, for who gave the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// What the receiver has to ask.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<String>,
    /// What the handoff should have said and did not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<String>,
    /// How a person resolved what was escalated: the task goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<String>,
}

/// The answer to a question of an acknowledgement. Of several to one question the newest counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// The acknowledgement.
    pub of: Id,
    /// Which of its questions, from 1.
    pub question: u32,
    /// The answer.
    pub text: String,
    /// The sessions, other than the record's own, whose views it changes: that which asks, and that which handed over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concerns: Vec<SessionId>,
}

impl Accept {
    /// Whether nothing had to be asked and nothing was missed.
    pub fn is_clear(&self) -> bool {
        self.questions.is_empty() && self.gaps.is_empty()
    }
}
