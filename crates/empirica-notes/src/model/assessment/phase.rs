//! The phases of the workflow.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A phase of the workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "UPPERCASE")]
pub enum Phase {
    /// Before the work.
    Preflight,
    /// Before acting: may I?
    Check,
    /// While acting; checkpoints only.
    Act,
    /// After the work.
    Postflight,
}

impl Phase {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Preflight => "PREFLIGHT",
            Phase::Check => "CHECK",
            Phase::Act => "ACT",
            Phase::Postflight => "POSTFLIGHT",
        }
    }
}
