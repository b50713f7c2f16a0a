//! The handoff: a self-contained record, with everything its views need.

pub mod accept;
pub mod corrected;
pub mod digest;
pub mod substance;
pub mod superseded;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::model::assessment::phase::Phase;
use crate::model::assessment::{CommitLine, or_default};
use crate::model::goal::GoalState;
use crate::model::id::Id;
use crate::model::journal::{DeadEnd, Decision, Mistake};
use crate::model::vectors::Vectors;

/// The type of a handoff whose payload is composed from the session's records.
pub const CONTEXT: &str = "context";

/// A text and the record it comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Item {
    /// The record; `None` if the text was given with the handoff itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Id>,
    /// The text.
    pub text: String,
}

/// The last run of a check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HandoffEvidence {
    /// The command line.
    pub command: String,
    /// The exit code; 0 passed.
    pub exit: i32,
    /// The files it covers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The number of runs in the session.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub runs: u32,
}

fn one() -> u32 {
    1
}

fn is_one(n: &u32) -> bool {
    *n == 1
}

/// An uncertainty that the session resolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gap {
    /// The subject.
    pub gap: String,
    /// The knowledge before.
    pub before: String,
    /// The knowledge after.
    pub after: String,
    /// The change of the vector; null if it is not a vector.
    pub confidence_change: Option<f64>,
}

/// The change in one vector over the session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trajectory {
    /// The vector's name, or `overall_confidence`.
    pub vector: String,
    /// At PREFLIGHT; `None` if not given.
    pub before: Option<f64>,
    /// At POSTFLIGHT; `None` if not given.
    pub after: Option<f64>,
    /// after − before, rounded to 4 decimals; `None` unless both are given.
    pub delta: Option<f64>,
    /// improved, declined, reduced, increased, unchanged, not assessed, or the self-assessment.
    pub status: String,
}

/// An assessment quoted in a handoff.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct Assessed {
    pub id: Id,
    /// The phase of the workflow.
    pub phase: Phase,
    /// Its number within the phase, from 1.
    pub round: u32,
    /// The time, RFC 3339 UTC.
    pub at: String,
    /// Values given, each 0 to 1.
    pub vectors: Vectors,
    /// The confidence it claims to act with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// The agent's reasons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
}

/// A file of the handoff with uncommitted changes at the time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UncommittedFile {
    /// Relative to the root of the work tree.
    pub path: String,
    /// The blob id of its content then, hex, without git's filters; `None` if it was deleted or not recorded (too
    /// large, a folder, or beyond the limit).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// Whether it was deleted; `blob` is then `None`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
}

/// The state of the repository when the handoff was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct RepositoryState {
    /// HEAD, hex; `None` when unborn.
    pub commit: Option<String>,
    /// The branch; `None` when detached.
    pub branch: Option<String>,
    /// Commits missing from the upstream; `None` without an upstream.
    pub ahead: Option<u64>,
    /// Commits of the upstream missing here; `None` without an upstream.
    pub behind: Option<u64>,
    /// The number of modified uncommitted files.
    pub modified: u64,
    /// The number of new uncommitted files; a new folder counts once.
    pub added: u64,
    /// The number of uncommitted deletions.
    pub deleted: u64,
}

/// A receiver's question, included in a revised handoff.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clarification {
    /// The question to the sender.
    pub question: String,
    /// The agent with the question.
    pub asked_by: String,
    /// The answer; `None` while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// A gap that a receiver reported in the original of a revised handoff.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReportedGap {
    /// The missing information.
    pub gap: String,
    /// The agent that reported it.
    pub reported_by: String,
}

/// An earlier record relevant to the task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct Relevant {
    pub id: Id,
    /// The value of its `kind` key.
    pub kind: String,
    /// The agent that logged it.
    pub ai: String,
    /// The text.
    pub text: String,
    /// Its reason, for kinds that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Its relation to the task: `decided`, `worked`, `failed` (to be avoided), `open` or `known`.
    pub sign: String,
    /// The paths and words it shares with the task, at most 5.
    pub shared: Vec<String>,
}

/// The use of one tool category.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolUse {
    /// The category.
    pub tool: String,
    /// The number of uses.
    pub count: u32,
}

crate::named_enum! {
    /// Whether know and uncertainty moved consistently over the session.
    #[derive(Default)]
    pub enum Calibration {
        WellCalibrated = "well_calibrated",
        Overconfident = "overconfident",
        Underconfident = "underconfident",
        #[default]
        NotAssessable = "not_assessable",
    }
}

impl Calibration {
    /// The displayed word. Not "calibrated", which would mean a comparison of forecasts with outcomes.
    pub fn word(self) -> &'static str {
        match self {
            Calibration::WellCalibrated => "consistent",
            Calibration::Overconfident => "overconfident",
            Calibration::Underconfident => "underconfident",
            Calibration::NotAssessable => "not assessable",
        }
    }

    /// The word as part of a line.
    pub fn phrase(self) -> String {
        match self {
            Calibration::NotAssessable => "no self-assessment".to_owned(),
            other => format!("self-assessment {}", other.word()),
        }
    }
}

/// The rule that named the receiver of a handoff.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Route {
    /// Its name.
    pub rule: String,
    /// Whether the task went round as often as the rule allows: it is escalated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub escalated: bool,
    /// The agent that gets the handoff when a person has resolved the escalation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then: Option<String>,
    /// How much the receiver gets when it accepts: `summary`, `detailed` or `full`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Of that at most so many tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<u32>,
}

/// A session's handoff.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Handoff {
    /// `epistemic`, or a managed type, which has a payload.
    #[serde(rename = "type")]
    pub kind: String,
    /// The agent it is for; `None` for any.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The task that it belongs to.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The rule that named the receiver; `None` if the agent did, or nobody.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub route: Option<Route>,
    /// The handoff of that task which the session took up.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub continues: Option<Id>,
    /// The round of the task, from 1.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u64>,
    /// The other keys of a managed type (see docs/reference/schema/handoff-document.json), without type, task and round.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub payload: Option<Map<String, Value>>,
    /// The handoff that this one revises, to answer its receivers' questions.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub regenerates: Option<Id>,
    /// The receivers' questions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clarifications: Vec<Clarification>,
    /// The receivers' gaps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<ReportedGap>,
    /// Earlier records relevant to the task, most relevant first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub relevant: Vec<Relevant>,
    /// A text for each part that was left out to keep within the size limit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// The handoff it is a difference to; `None` for a full handoff.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub since: Option<Id>,
    /// The state of the repository; `None` if git failed.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub git: Option<RepositoryState>,
    /// Whether a hook made it, not the agent.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "std::ops::Not::not")]
    pub automatic: bool,
    pub task: String,
    /// The start of the session, RFC 3339 UTC.
    pub started_at: String,
    /// From the start to the handoff, in seconds.
    pub duration_seconds: u64,
    /// `active` or `ended`, at the time of the handoff.
    pub session_status: String,
    /// Each vector given at PREFLIGHT or POSTFLIGHT, then the overall confidence.
    pub trajectory: Vec<Trajectory>,
    pub calibration_status: Calibration,
    /// Work done, in the agent's words.
    pub accomplished: Vec<String>,
    /// The commits made since the session began, newest first.
    pub commits: Vec<CommitLine>,
    pub findings: Vec<Item>,
    /// Uncertainties resolved.
    pub gaps_filled: Vec<Gap>,
    /// Open questions.
    pub unknowns: Vec<Item>,
    pub dead_ends: Vec<DeadEnd>,
    pub mistakes: Vec<Mistake>,
    pub decisions: Vec<Decision>,
    pub evidence: Vec<HandoffEvidence>,
    pub goals: Vec<GoalState>,
    /// Tool categories, most used first.
    pub tools: Vec<ToolUse>,
    pub sources: Vec<String>,
    /// Background for the next session.
    pub context: String,
    pub next_steps: Vec<String>,
    /// Advice from an imported handoff; earlier versions also generated sentences here.
    pub recommendations: Vec<String>,
    /// Files created or changed.
    pub artifacts: Vec<String>,
    /// The artifacts named by the agent, which newer handoffs of the session keep.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub named_artifacts: Vec<String>,
    /// The artifacts and files of the evidence with uncommitted changes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uncommitted: Vec<UncommittedFile>,
    /// Oldest first.
    pub assessments: Vec<Assessed>,
}
