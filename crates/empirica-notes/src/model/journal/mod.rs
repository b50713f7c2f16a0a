//! Journal entries: findings, questions, failures, decisions, evidence.

pub mod anchor;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::id::{Id, SessionId};
use crate::model::journal::anchor::Anchor;

/// Holds until the text of an anchor changes.
pub const UNTIL_CHANGED: &str = "changed";

/// The texts of a key: one, none or one, or a list.
pub(crate) trait ClaimTexts {
    fn texts(&self) -> &[String];
}

impl ClaimTexts for String {
    fn texts(&self) -> &[String] {
        std::slice::from_ref(self)
    }
}

impl ClaimTexts for Option<String> {
    fn texts(&self) -> &[String] {
        self.as_slice()
    }
}

impl ClaimTexts for Vec<String> {
    fn texts(&self) -> &[String] {
        self
    }
}

/// A finding.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The finding.
    pub text: String,
    /// The importance, in [0, 1]; absent if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impact: Option<f64>,
    /// The kind of long-term memory, one of [`MEMORY`].
    #[serde(default, rename = "as", skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// Until when it holds: RFC 3339 UTC, or [`UNTIL_CHANGED`]; absent if that is not limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The places in the code that it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub anchors: Vec<Anchor>,
    /// The record that it follows from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub led_from: Option<Id>,
}

/// The values of `finding --as`.
pub const MEMORY: &[&str] =
    &["pattern", "constraint", "standard", "architecture", "stack", "preference", "strategy", "trouble"];

/// An open question.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Unknown {
    /// The question.
    pub text: String,
    /// Whether the work must not be merged before it is answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blocking: bool,
    /// Until when it holds: RFC 3339 UTC, or [`UNTIL_CHANGED`]; absent if that is not limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The places in the code that it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub anchors: Vec<Anchor>,
    /// The record that it follows from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub led_from: Option<Id>,
}

/// The answer to an unknown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Resolve {
    /// The unknown.
    pub of: Id,
    /// The answer.
    pub text: String,
    /// Other sessions whose views it changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concerns: Vec<SessionId>,
}

/// An approach that failed and why.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeadEnd {
    /// In a handoff or digest the record; `None` if the text was given with the handoff itself, and in the record.
    #[serde(default, rename = "claim_id", skip_serializing_if = "Option::is_none")]
    pub id: Option<Id>,
    /// The approach.
    pub approach: String,
    /// The cause of the failure.
    pub why: String,
    /// Until when it holds: RFC 3339 UTC, or [`UNTIL_CHANGED`]; absent if that is not limited; a handoff leaves it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub until: Option<String>,
    /// The places in the code that it is about; a handoff leaves them out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub anchors: Vec<Anchor>,
    /// The record that it follows from; a handoff leaves it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub led_from: Option<Id>,
}

/// A mistake and how to prevent it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mistake {
    /// In a handoff or digest the record; `None` if the text was given with the handoff itself, and in the record.
    #[serde(default, rename = "claim_id", skip_serializing_if = "Option::is_none")]
    pub id: Option<Id>,
    /// The mistake.
    pub text: String,
    /// How to prevent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prevention: Option<String>,
    /// Until when it holds: RFC 3339 UTC, or [`UNTIL_CHANGED`]; absent if that is not limited; a handoff leaves it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub until: Option<String>,
    /// The places in the code that it is about; a handoff leaves them out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub anchors: Vec<Anchor>,
    /// The record that it follows from; a handoff leaves it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub led_from: Option<Id>,
}

/// A decision.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// In a handoff or digest the record; `None` if the text was given with the handoff itself, and in the record.
    #[serde(default, rename = "claim_id", skip_serializing_if = "Option::is_none")]
    pub id: Option<Id>,
    /// The decision.
    pub text: String,
    /// The reason.
    pub why: String,
    /// Rejected alternatives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<String>,
    /// Until when it holds: RFC 3339 UTC, or [`UNTIL_CHANGED`]; absent if that is not limited; a handoff leaves it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub until: Option<String>,
    /// The places in the code that it is about; a handoff leaves them out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub anchors: Vec<Anchor>,
    /// The record that it follows from; a handoff leaves it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub led_from: Option<Id>,
}

/// The claims that handoffs and digests quote, without what they leave out.
macro_rules! quoted {
    ($($claim:ident)*) => {
        $(impl $claim {
            /// The claim as a handoff quotes it.
            pub fn quoted(&self) -> Self {
                Self { until: None, anchors: Vec::new(), led_from: None, ..self.clone() }
            }
        })*
    };
}

quoted! { DeadEnd Mistake Decision }

/// A document or page consulted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// A path or a URL.
    pub location: String,
    /// Until when it holds: RFC 3339 UTC, or [`UNTIL_CHANGED`]; absent if that is not limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The places in the code that it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub anchors: Vec<Anchor>,
    /// The record that it follows from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub led_from: Option<Id>,
}

/// A command run as a check, and its result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The command line.
    pub command: String,
    /// The exit code; 0 passed.
    pub exit: i32,
    /// The files it covers, relative to the work tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The record that it follows from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub led_from: Option<Id>,
}

/// The use of a tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Activity {
    /// One of [`CATEGORIES`].
    pub category: String,
    /// A description.
    pub text: String,
    /// Whether it failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// The files it touched, relative to the work tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The record that it follows from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub led_from: Option<Id>,
}

pub use empirica_transcripts::model::CATEGORIES;
