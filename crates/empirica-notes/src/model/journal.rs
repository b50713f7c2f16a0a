//! What an agent says along the way: findings, doubts, failures, choices, proof.

use serde::{Deserialize, Serialize};

use crate::model::id::{Id, SessionId};

fn is_empty<T>(list: &[T]) -> bool {
    list.is_empty()
}

/// Something learned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// What was learned.
    pub text: String,
    /// How much it matters, in [0, 1]; absent when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impact: Option<f64>,
    /// What it is for longer memory: pattern, constraint, standard, architecture, stack, preference, strategy, trouble.
    #[serde(default, rename = "as", skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// The record that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub led_from: Option<Id>,
}

/// The words `finding --as` takes (DESIGN §4).
pub const MEMORY: &[&str] =
    &["pattern", "constraint", "standard", "architecture", "stack", "preference", "strategy", "trouble"];

/// An open question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unknown {
    /// The question.
    pub text: String,
    /// The record that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub led_from: Option<Id>,
}

/// The answer to an unknown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Resolve {
    /// The unknown.
    pub of: Id,
    /// Its answer.
    pub text: String,
    /// The sessions, other than the record's own, whose views it changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concerns: Vec<SessionId>,
}

/// An approach that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeadEnd {
    /// What was tried.
    pub approach: String,
    /// Why it failed.
    pub why: String,
    /// The record that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub led_from: Option<Id>,
}

/// Something done wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mistake {
    /// What went wrong.
    pub text: String,
    /// How to prevent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prevention: Option<String>,
    /// The record that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub led_from: Option<Id>,
}

/// A choice, its reason, and what it was chosen over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Decision {
    pub text: String,
    pub why: String,
    /// The alternatives that were rejected.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub alternatives: Vec<String>,
    /// The record that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub led_from: Option<Id>,
}

/// A document or page that was consulted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// A path or a URL.
    pub location: String,
    /// The record that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub led_from: Option<Id>,
}

/// A command that was run to check something, and how it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The command line.
    pub command: String,
    /// Its exit code; 0 passed.
    pub exit: i32,
    /// The files it vouches for, relative to the work tree.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub files: Vec<String>,
    /// The record that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub led_from: Option<Id>,
}

/// The use of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Activity {
    /// One of [`CATEGORIES`].
    pub category: String,
    /// What was done.
    pub text: String,
    /// Whether it failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// The files it touched, relative to the work tree.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub files: Vec<String>,
    /// The record that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub led_from: Option<Id>,
}

pub use empirica_transcripts::model::CATEGORIES;
