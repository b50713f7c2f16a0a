//! The snapshot of a checkpoint: everything that a compaction of the context can lose, in bounded lists.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::model::assessment::phase::Phase;
use crate::model::id::{Id, SessionId};
use crate::model::vectors::Vectors;

/// Uncommitted changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
pub struct UncommittedChanges {
    /// The number of modified files.
    #[serde(default, deserialize_with = "count")]
    pub files_modified: u64,
    /// The number of new files, including untracked ones.
    #[serde(default, deserialize_with = "count")]
    pub files_added: u64,
    /// The number of deleted files.
    #[serde(default, deserialize_with = "count")]
    pub files_deleted: u64,
    /// Lines added to tracked files.
    #[serde(default)]
    pub insertions: u64,
    /// Lines removed from tracked files.
    #[serde(default)]
    pub deletions: u64,
    /// The files, up to a limit.
    #[serde(default)]
    pub paths: Vec<String>,
    /// The number of files beyond the limit.
    #[serde(default)]
    pub paths_omitted: u64,
}

/// Reads a number, or the length of a list, as earlier versions wrote it; 0 for anything else.
fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Ok(match serde_json::Value::deserialize(deserializer)? {
        serde_json::Value::Array(list) => list.len() as u64,
        other => other.as_u64().unwrap_or(0),
    })
}

/// A commit since the last checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecentCommit {
    /// The commit id, hex.
    #[serde(alias = "commit")]
    pub hash: String,
    /// The first line of its message.
    #[serde(alias = "subject")]
    pub message: String,
    /// The commit date, strict ISO 8601; empty if not recorded.
    #[serde(default)]
    pub timestamp: String,
}

/// Distance to the upstream, in commits; null without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct AheadBehind {
    /// Commits that the upstream has not.
    pub ahead: Option<u64>,
    /// Commits that only the upstream has.
    pub behind: Option<u64>,
}

/// The state of the repository.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
pub struct GitState {
    /// HEAD, hex; null when unborn.
    pub head_commit: Option<String>,
    /// The branch; null when detached.
    pub branch: Option<String>,
    /// Relative to the upstream of the branch.
    #[serde(default)]
    pub ahead_behind: AheadBehind,
    /// Changes against HEAD.
    pub uncommitted_changes: UncommittedChanges,
    /// Whether there are uncommitted changes.
    pub dirty: bool,
    /// The newest commits since the last checkpoint or assessment of the session, newest first.
    pub commits_since_last_checkpoint: Vec<RecentCommit>,
    /// The number of commits, including those not listed.
    #[serde(default)]
    pub commits_total: u64,
}

/// The agent's reasons over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct Reasoning {
    /// The newest reasoning; null without any.
    pub latest: Option<String>,
    /// The newest steps, oldest first.
    pub trajectory: Vec<ReasoningStep>,
    /// The decision of each assessment, oldest first.
    pub decision_history: Vec<AssessmentDecision>,
    /// The tags, without duplicates.
    pub epistemic_tags: Vec<String>,
}

/// A reasoning and its time, RFC 3339 UTC.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReasoningStep {
    /// The time of the record.
    pub timestamp: String,
    /// The text.
    pub reasoning: String,
}

/// The decision of an assessment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AssessmentDecision {
    /// `PREFLIGHT`, `CHECK-1`, …
    pub checkpoint: String,
    /// proceed or investigate; null except for checks.
    pub decision: Option<String>,
    /// The confidence it claims to act with.
    pub confidence: Option<f64>,
}

/// Journal entries. Totals count the whole project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
pub struct Breadcrumbs {
    /// Findings.
    pub findings: Findings,
    /// Open and answered questions.
    pub unknowns: Unknowns,
    /// Approaches that failed.
    pub dead_ends: DeadEnds,
    /// Mistakes.
    pub mistakes: Mistakes,
}

/// Findings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct Findings {
    /// The number in the project.
    pub total: u64,
    /// The number in the session.
    pub session: u64,
    /// The newest, those of the session first.
    pub recent: Vec<FindingSummary>,
}

/// A finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct FindingSummary {
    pub id: Id,
    /// The text.
    pub finding: String,
    /// The time of the record.
    pub timestamp: String,
}

/// Unknowns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct Unknowns {
    /// The number in the project.
    pub total: u64,
    /// The open ones of these.
    pub unresolved: u64,
    /// The answered ones of these.
    pub resolved: u64,
    /// The number in the session.
    pub session: u64,
    /// The newest, those of the session first.
    pub recent: Vec<UnknownSummary>,
}

/// An unknown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct UnknownSummary {
    pub id: Id,
    /// The question.
    pub unknown: String,
    /// Whether it was answered.
    pub is_resolved: bool,
}

/// Dead ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct DeadEnds {
    /// The number in the project.
    pub total: u64,
    /// The number in the session.
    pub session: u64,
    /// The newest, those of the session first.
    pub recent: Vec<DeadEndSummary>,
}

/// A dead end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct DeadEndSummary {
    pub id: Id,
    /// The approach.
    pub approach: String,
    /// The cause of the failure.
    pub why_failed: String,
}

/// Mistakes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct Mistakes {
    /// The number in the project.
    pub total: u64,
    /// The number in the session.
    pub session: u64,
    /// The newest, those of the session first.
    pub recent: Vec<MistakeSummary>,
}

/// A mistake.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct MistakeSummary {
    pub id: Id,
    /// The mistake.
    pub mistake: String,
    /// How to prevent it.
    pub prevention: Option<String>,
}

/// The session's goals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct Goals {
    /// All, including dropped ones.
    pub total: u64,
    /// The number of open goals.
    pub active: u64,
    /// The number of goals done.
    pub completed: u64,
    /// The share of goals done among those not dropped, 2 decimals; null without any.
    pub completion_rate: Option<f64>,
    /// The open goal that was worked on last; null when none is open.
    pub current: Option<CurrentGoal>,
}

/// A goal in progress.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct CurrentGoal {
    pub id: Id,
    /// The objective.
    pub objective: String,
    /// "2/4 subtasks"; null without subtasks.
    pub progress: Option<String>,
}

/// The project's handoffs that are not superseded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct Handoffs {
    /// The number of handoffs.
    pub count: u64,
    /// The newest; null without one.
    pub most_recent: Option<HandoffSummary>,
}

/// A handoff.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct HandoffSummary {
    pub handoff_id: Id,
    /// The time of the record.
    pub timestamp: String,
    /// The agent.
    pub from_ai: String,
    /// The task.
    pub summary: String,
}

/// The state of the session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct SessionState {
    pub session_id: SessionId,
    /// The agent.
    pub ai_id: String,
    /// The first root commit, hex; null when unborn, and in a shallow clone.
    pub project_id: Option<String>,
    /// The task; null if none was given.
    pub task: Option<String>,
    /// The start, RFC 3339 UTC.
    pub start_time: String,
    /// From the start to the checkpoint, in whole minutes.
    pub duration_minutes: u64,
    /// The phase of the checkpoint; null before the first assessment.
    pub cascade_phase: Option<Phase>,
    /// The number within the phase, as in the checkpoint; null in some of earlier versions.
    pub round: Option<u32>,
    /// The iteration of the investigation; null if never given.
    pub cycle: Option<u32>,
    /// The depth of the scope; null if never given.
    pub scope_depth: Option<f64>,
    /// The number of its assessments.
    pub assessments_count: u64,
    /// The number of its checkpoints and assessments, without this one.
    pub checkpoints_count: u64,
    /// The number of its journal entries.
    pub journal_count: u64,
    /// The newest checkpoint or assessment before this one; null when it is the first.
    pub last_checkpoint: Option<LastCheckpoint>,
}

/// The previous checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct LastCheckpoint {
    pub id: Id,
    /// Its phase; null before the first assessment.
    pub phase: Option<Phase>,
    /// The time of the record.
    pub timestamp: String,
    /// The values.
    pub vectors: Vectors,
}

/// The project of the session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct Project {
    /// The first root commit, hex; null when unborn, and in a shallow clone.
    pub project_id: Option<String>,
    /// The name of the repository.
    pub name: String,
    /// Git's description of the repository; null without one.
    pub description: Option<String>,
    /// The URLs of its remotes, without passwords.
    pub repos: Vec<String>,
    /// The newest active sessions of all clones.
    pub active_sessions: Vec<ActiveSession>,
    /// The number of active sessions.
    pub active_total: u64,
    /// The agents whose sessions began last.
    pub ai_collaborators: Vec<String>,
    /// The number of agents.
    pub ai_total: u64,
    /// The number of sessions.
    pub total_sessions: u64,
    /// The mean changes over a session.
    pub learning_deltas: LearningDeltas,
}

/// An active session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct ActiveSession {
    pub session_id: SessionId,
    /// The agent.
    pub ai_id: String,
}

/// The mean change from PREFLIGHT to POSTFLIGHT, 4 decimals; null when no session gives it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct LearningDeltas {
    /// The change of `know`.
    pub know: Option<f64>,
    /// The change of `uncertainty`.
    pub uncertainty: Option<f64>,
}

/// The course of the investigation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct Investigation {
    /// The iteration, as in `session`.
    pub cycle: Option<u32>,
    /// The round, as in `session`.
    pub round: Option<u32>,
    /// The depth of the scope, as in `session`.
    pub scope_depth: Option<f64>,
    /// Chains of findings and questions, oldest first.
    pub breadcrumb_chains: Vec<Chain>,
    /// The paths explored, oldest first.
    pub exploration_paths: Vec<String>,
}

/// A finding that led to a question, its answer and the reaction; null where a link is missing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct Chain {
    /// The finding.
    pub finding: Option<String>,
    /// The question it led to.
    pub led_to_unknown: Option<String>,
    /// The answer to that.
    pub led_to_finding: Option<String>,
    /// The reaction: a decision, a goal done, or an activity that wrote or edited.
    pub led_to_fix: Option<String>,
}

/// Documents consulted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct ReferenceDocs {
    /// The number of distinct documents the session consulted.
    pub loaded_count: u64,
    /// The newest, newest first.
    pub recent: Vec<ConsultedDocument>,
    /// Snapshots taken before a compaction.
    pub pre_summaries: PreSummaries,
}

/// A document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConsultedDocument {
    /// A path or a URL.
    pub path: String,
    /// `url`, the folder below `docs`, `documentation` or `code`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The time of its last record, RFC 3339 UTC.
    pub accessed: String,
}

/// The session's snapshots before compactions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct PreSummaries {
    /// The number of snapshots.
    pub count: u64,
    /// The newest; null without one.
    pub most_recent: Option<PreSummary>,
}

/// A snapshot before a compaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct PreSummary {
    pub id: Id,
    /// The time of the record.
    pub timestamp: String,
    /// The value of `impact`.
    pub impact: Option<f64>,
    /// The value of `completion`.
    pub completion: Option<f64>,
}

/// Search results from all records, without those that the snapshot itself contains.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct SemanticContext {
    /// The query: as given, else built from the task, the goal, the recent findings and the open unknowns.
    pub query: String,
    /// The best matches, best first.
    pub results: Vec<SearchResult>,
    /// The relevance of each result: its BM25 score over that of the first, in (0, 1], 4 decimals.
    pub relevance_scores: Vec<f64>,
}

/// A search result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct SearchResult {
    pub id: Id,
    /// The value of its `kind` key.
    pub kind: String,
    /// The agent that logged it.
    pub ai_id: String,
    /// The time of the record, RFC 3339 UTC.
    pub timestamp: String,
    /// The commit it is attached to; null if made on an unborn HEAD.
    pub commit: Option<String>,
    /// The part of its text that matches.
    pub text: String,
}

/// The state of the session and project at a checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Snapshot {
    /// The agent's reasons.
    pub reasoning: Reasoning,
    /// Journal entries.
    pub breadcrumbs: Breadcrumbs,
    /// The goals of the session.
    pub goals: Goals,
    /// The project's handoffs that are not superseded.
    pub handoffs: Handoffs,
    /// The state of the session.
    pub session: SessionState,
    /// The project of the session.
    pub project: Project,
    /// The course of the investigation.
    pub investigation: Investigation,
    /// The documents consulted.
    pub reference_docs: ReferenceDocs,
    /// Search results; only with `--search`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub semantic_context: Option<SemanticContext>,
}
