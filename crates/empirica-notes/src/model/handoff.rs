//! The handoff report: a record that stands alone, holding everything its views need.

use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Deserializer};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::model::assessment::CommitLine;
use crate::model::goal::GoalState;
use crate::model::id::Id;
use crate::model::phase::Phase;
use crate::model::vectors::Vectors;

/// The type of such a handoff.
pub const CONTEXT: &str = "context";

/// A text with the record it comes from; `id` is `None` when it was given with the handoff itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Item {
    /// The record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Id>,
    /// The text.
    pub text: String,
}

/// An approach that failed and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HandoffDeadEnd {
    /// What was tried.
    pub approach: String,
    /// Why it failed.
    pub why: String,
}

/// A choice, its reason and the rejected alternatives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HandoffDecision {
    /// What was decided.
    pub text: String,
    /// Why.
    pub why: String,
    /// What it was chosen over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<String>,
}

/// Something done wrong and how to prevent it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HandoffMistake {
    /// What went wrong.
    pub text: String,
    /// How to prevent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prevention: Option<String>,
}

/// A check that was run: the last run of each command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HandoffEvidence {
    /// The command line.
    pub command: String,
    /// Its exit code; 0 passed.
    pub exit: i32,
    /// The files it vouches for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// How often it was run in the session.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub runs: u32,
}

fn one() -> u32 {
    1
}

fn is_one(n: &u32) -> bool {
    *n == 1
}

/// A doubt that was settled: what was filled, and from what to what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gap {
    /// Which gap.
    pub gap: String,
    /// What was known before.
    pub before: String,
    /// What is known now.
    pub after: String,
    /// By how much; null when it is not a matter of a vector.
    pub confidence_change: Option<f64>,
}

/// One vector's way through the session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trajectory {
    /// The vector's name, or `overall_confidence`.
    pub vector: String,
    /// At PREFLIGHT; `None` when it was not given.
    pub before: Option<f64>,
    /// At POSTFLIGHT; `None` when it was not given.
    pub after: Option<f64>,
    /// after − before, rounded to 4 decimals; `None` unless both are known.
    pub delta: Option<f64>,
    /// In a word: improved, declined, reduced, increased, unchanged, not assessed, or the self-assessment.
    pub status: String,
}

/// An assessment as the handoff quotes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Assessed {
    /// The assessment.
    pub id: Id,
    /// When in the workflow.
    pub phase: Phase,
    /// Which one of its phase, from 1.
    pub round: u32,
    /// When, RFC 3339 UTC.
    pub at: String,
    /// Its values.
    pub vectors: Vectors,
    /// The confidence it claims to act with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Why it is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
}

/// A file of the handoff that was not committed when it was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Uncommitted {
    /// Relative to the root of the work tree.
    pub path: String,
    /// Its content then: the id of its bytes as a blob, without git's filters, hex; `None` when it was not recorded (too
    /// large, a folder, one too many) or there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// Whether it was deleted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
}

/// The state of git a handoff was made in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct MadeIn {
    /// HEAD, hex; `None` when unborn.
    pub commit: Option<String>,
    /// The branch; `None` when detached.
    pub branch: Option<String>,
    /// Commits that the upstream has not; `None` without an upstream.
    pub ahead: Option<u64>,
    /// Commits of the upstream that are not here; `None` without one.
    pub behind: Option<u64>,
    /// How many files were changed and not committed.
    pub modified: u64,
    /// How many were new and not committed; a new folder counts once.
    pub added: u64,
    /// How many were deleted and that not committed.
    pub deleted: u64,
}

/// A question of a receiver that a handoff written anew takes up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clarification {
    /// The question.
    pub question: String,
    /// Who asked.
    pub asked_by: String,
    /// The answer; `None` while nobody gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// What a receiver missed in the handoff that this one is written anew for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Missed {
    /// What should have been said.
    pub gap: String,
    /// Who missed it.
    pub reported_by: String,
}

/// Something that was said before and bears on the task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Relevant {
    /// The record.
    pub id: Id,
    /// Its kind, in the word of its `kind` key.
    pub kind: String,
    /// Who said it.
    pub ai: String,
    /// What was said.
    pub text: String,
    /// Why, of what has a reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What it is for the task: `decided`, `worked`, `failed` (a known failure: to be avoided), `open` or `known`.
    pub sign: String,
    /// The paths and words it has in common with the task, at most 5.
    pub shared: Vec<String>,
}

/// How often a tool category was used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolUse {
    /// The category.
    pub tool: String,
    /// How often it was used.
    pub count: u32,
}

/// The self-assessment of a session: whether know and uncertainty moved together (DESIGN §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[schemars(inline)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Calibration {
    WellCalibrated,
    Overconfident,
    Underconfident,
    #[default]
    NotAssessable,
}

impl Calibration {
    /// The word used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Calibration::WellCalibrated => "well_calibrated",
            Calibration::Overconfident => "overconfident",
            Calibration::Underconfident => "underconfident",
            Calibration::NotAssessable => "not_assessable",
        }
    }

    /// The word shown: calibration is what a forecast is held against its outcome for.
    pub fn word(self) -> &'static str {
        match self {
            Calibration::WellCalibrated => "consistent",
            Calibration::Overconfident => "overconfident",
            Calibration::Underconfident => "underconfident",
            Calibration::NotAssessable => "not assessable",
        }
    }

    /// The same among other words of a line.
    pub fn phrase(self) -> String {
        match self {
            Calibration::NotAssessable => "no self-assessment".to_owned(),
            other => format!("self-assessment {}", other.word()),
        }
    }
}

/// A value of another kind than expected is none: what else the handoff says is not lost with it.
fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Option<T>, D::Error> {
    Ok(T::deserialize(Value::deserialize(deserializer)?).ok())
}

/// A flag of another kind than expected is not set.
fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(lenient(deserializer)?.unwrap_or_default())
}

/// What a session hands over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct Handoff {
    /// `epistemic`, or the name of a managed type, which comes with a payload.
    #[serde(rename = "type")]
    pub kind: String,
    /// The agent it is for; `None` for whoever comes.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The task whose chain it belongs to.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Which round of the task this is, 1 or more.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u64>,
    /// What its format has besides (see docs/schema): without the type, the task and the round.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub payload: Option<Map<String, Value>>,
    /// The handoff that this one is, written anew with what its receivers asked.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub regenerates: Option<Id>,
    /// What they asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clarifications: Vec<Clarification>,
    /// What they missed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<Missed>,
    /// What was said before and bears on the task, the most relevant first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub relevant: Vec<Relevant>,
    /// What was left out so that it fits its size, a text each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// The handoff since which it tells what changed; `None` when it tells everything.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub since: Option<Id>,
    /// The state of git then; `None` when git could not be asked.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub git: Option<MadeIn>,
    /// Whether a hook made it, not the agent.
    #[serde(deserialize_with = "flag", skip_serializing_if = "std::ops::Not::not")]
    pub automatic: bool,
    /// What was to be done.
    pub task: String,
    /// When the session began, RFC 3339 UTC.
    pub started_at: String,
    /// From then to the handoff, in seconds.
    pub duration_seconds: u64,
    /// `active` or `ended` when the handoff was written.
    pub session_status: String,
    /// Every vector given before or after, then overall confidence.
    pub trajectory: Vec<Trajectory>,
    /// Whether confidence and doubt moved together.
    pub calibration_status: Calibration,
    /// What was done, in the agent's words.
    pub accomplished: Vec<String>,
    /// The commits made since the session began, newest first.
    pub commits: Vec<CommitLine>,
    /// What was learned.
    pub findings: Vec<Item>,
    /// Doubts that were settled.
    pub gaps_filled: Vec<Gap>,
    /// What is still unknown.
    pub unknowns: Vec<Item>,
    /// What was tried and failed.
    pub dead_ends: Vec<HandoffDeadEnd>,
    /// What was done wrong.
    pub mistakes: Vec<HandoffMistake>,
    /// What was decided.
    pub decisions: Vec<HandoffDecision>,
    /// What was checked.
    pub evidence: Vec<HandoffEvidence>,
    /// The session's goals.
    pub goals: Vec<GoalState>,
    /// Tool categories, most used first.
    pub tools: Vec<ToolUse>,
    /// What was consulted.
    pub sources: Vec<String>,
    /// What the next session must know.
    pub context: String,
    /// The agent's own next steps.
    pub next_steps: Vec<String>,
    /// Advice that came with an imported handoff; earlier versions wrote sentences of the seed.
    pub recommendations: Vec<String>,
    /// Files made or changed.
    pub artifacts: Vec<String>,
    /// Those of them that the agent named itself: a newer handoff of the session keeps them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub named_artifacts: Vec<String>,
    /// Those artifacts and files of the evidence that were not committed then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uncommitted: Vec<Uncommitted>,
    /// The assessments of the session, oldest first.
    pub assessments: Vec<Assessed>,
}
