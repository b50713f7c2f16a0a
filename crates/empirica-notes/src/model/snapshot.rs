//! The snapshot of a checkpoint: everything that can be lost when a context is compacted, in bounded lists.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::model::id::{Id, SessionId};
use crate::model::phase::Phase;
use crate::model::vectors::Vectors;

/// What is not committed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
pub struct Uncommitted {
    /// How many files were changed.
    #[serde(default, deserialize_with = "count")]
    pub files_modified: u64,
    /// How many files are new, untracked ones included.
    #[serde(default, deserialize_with = "count")]
    pub files_added: u64,
    /// How many files were deleted.
    #[serde(default, deserialize_with = "count")]
    pub files_deleted: u64,
    /// Lines added to tracked files.
    #[serde(default)]
    pub insertions: u64,
    /// Lines removed from tracked files.
    #[serde(default)]
    pub deletions: u64,
    /// The files themselves, as far as there is room.
    #[serde(default)]
    pub paths: Vec<String>,
    /// How many files there was no room for.
    #[serde(default)]
    pub paths_omitted: u64,
}

/// A number; of a list, as earlier versions wrote it, its length.
fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Ok(match serde_json::Value::deserialize(deserializer)? {
        serde_json::Value::Array(list) => list.len() as u64,
        other => other.as_u64().unwrap_or(0),
    })
}

/// A commit made since the last checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommitMade {
    /// Its id, hex.
    #[serde(alias = "commit")]
    pub hash: String,
    /// The first line of its message.
    #[serde(alias = "subject")]
    pub message: String,
    /// When it was committed, strict ISO 8601; empty when that was not written down.
    #[serde(default)]
    pub timestamp: String,
}

/// Distance to the upstream, in commits; `None` without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
#[allow(missing_docs)]
pub struct AheadBehind {
    pub ahead: Option<u64>,
    pub behind: Option<u64>,
}

/// Where the repository stood.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
pub struct GitState {
    /// HEAD, hex; `None` when unborn.
    pub head_commit: Option<String>,
    /// The branch; `None` when detached.
    pub branch: Option<String>,
    /// Commits ahead of and behind the upstream.
    #[serde(default)]
    pub ahead_behind: AheadBehind,
    /// What is not committed.
    pub uncommitted_changes: Uncommitted,
    /// Whether anything is not committed.
    pub dirty: bool,
    /// The newest commits since the last checkpoint or assessment of the session, newest first.
    pub commits_since_last_checkpoint: Vec<CommitMade>,
    /// How many there were.
    #[serde(default)]
    pub commits_total: u64,
}

/// Why the agent thought so, over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct Reasoning {
    /// The newest reasoning; `None` when none was given.
    pub latest: Option<String>,
    /// The newest steps, oldest first.
    pub trajectory: Vec<Thought>,
    /// What was decided at each assessment, oldest first.
    pub decision_history: Vec<Decided>,
    /// The labels given, each once.
    pub epistemic_tags: Vec<String>,
}

/// A reasoning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct Thought {
    pub timestamp: String,
    pub reasoning: String,
}

/// What an assessment decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decided {
    /// `PREFLIGHT`, `CHECK-1`, …
    pub checkpoint: String,
    /// proceed or investigate; `None` but for checks.
    pub decision: Option<String>,
    /// The confidence it would act with.
    pub confidence: Option<f64>,
}

/// The evidence: what was said along the way. Totals are the project's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[allow(missing_docs)]
pub struct Breadcrumbs {
    pub findings: Findings,
    pub unknowns: Unknowns,
    pub dead_ends: DeadEnds,
    pub mistakes: Mistakes,
}

/// Findings; the session's newest come first among the recent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Findings {
    pub total: u64,
    pub session: u64,
    pub recent: Vec<FindingSeen>,
}

/// A finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct FindingSeen {
    pub id: Id,
    pub finding: String,
    pub timestamp: String,
}

/// Unknowns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Unknowns {
    pub total: u64,
    pub unresolved: u64,
    pub resolved: u64,
    pub session: u64,
    pub recent: Vec<UnknownSeen>,
}

/// An unknown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct UnknownSeen {
    pub id: Id,
    pub unknown: String,
    pub is_resolved: bool,
}

/// Dead ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
#[allow(missing_docs)]
pub struct DeadEnds {
    pub total: u64,
    pub session: u64,
    pub recent: Vec<DeadEndSeen>,
}

/// A dead end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct DeadEndSeen {
    pub id: Id,
    pub approach: String,
    pub why_failed: String,
}

/// Mistakes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Mistakes {
    pub total: u64,
    pub session: u64,
    pub recent: Vec<MistakeSeen>,
}

/// A mistake.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct MistakeSeen {
    pub id: Id,
    pub mistake: String,
    pub prevention: Option<String>,
}

/// The session's goals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct Goals {
    /// All, dropped ones included.
    pub total: u64,
    /// Open ones.
    pub active: u64,
    /// Those that are done.
    pub completed: u64,
    /// Done of those not dropped, 2 decimals; `None` when there is none.
    pub completion_rate: Option<f64>,
    /// The open goal that was worked on last; `None` when none is open.
    pub current: Option<CurrentGoal>,
}

/// A goal that is worked on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurrentGoal {
    /// Its record.
    pub id: Id,
    /// What is to be reached.
    pub objective: String,
    /// "2/4 subtasks"; `None` without subtasks.
    pub progress: Option<String>,
}

/// The project's handoffs in force.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Handoffs {
    pub count: u64,
    pub most_recent: Option<HandedOver>,
}

/// A handoff.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct HandedOver {
    pub handoff_id: Id,
    pub timestamp: String,
    pub from_ai: String,
    pub summary: String,
}

/// Where the session stands in the workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct SessionState {
    pub session_id: SessionId,
    pub ai_id: String,
    /// The project, as in [`Project`].
    pub project_id: Option<String>,
    /// What it is about; `None` when nobody said.
    pub task: Option<String>,
    /// When it began, RFC 3339 UTC.
    pub start_time: String,
    /// From then to the checkpoint, in whole minutes.
    pub duration_minutes: u64,
    /// The phase of the checkpoint; `None` before the first assessment.
    pub cascade_phase: Option<Phase>,
    /// Which one of its phase, as the checkpoint has it; `None` in some of earlier versions.
    pub round: Option<u32>,
    /// The iteration of the investigation; `None` when it was never said.
    pub cycle: Option<u32>,
    /// The depth of the scope; `None` when it was never said.
    pub scope_depth: Option<f64>,
    /// How many assessments it made.
    pub assessments_count: u64,
    /// How many checkpoints and assessments it has, without this one.
    pub checkpoints_count: u64,
    /// How many entries its journal has.
    pub journal_count: u64,
    /// The newest checkpoint or assessment before this one; `None` when it is the first.
    pub last_checkpoint: Option<LastCheckpoint>,
}

/// The checkpoint before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct LastCheckpoint {
    pub id: Id,
    pub phase: Option<Phase>,
    pub timestamp: String,
    pub vectors: Vectors,
}

/// What the session is part of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct Project {
    /// The first root commit, hex; `None` when unborn, and in a shallow clone.
    pub project_id: Option<String>,
    /// The name of the repository.
    pub name: String,
    /// Git's own description of it; `None` when nobody wrote one.
    pub description: Option<String>,
    /// Where its remotes are, without passwords.
    pub repos: Vec<String>,
    /// The newest active sessions of all clones.
    pub active_sessions: Vec<ActiveSession>,
    /// How many are active.
    pub active_total: u64,
    /// The agents that worked last.
    pub ai_collaborators: Vec<String>,
    /// How many agents there are.
    pub ai_total: u64,
    /// How many sessions are stored.
    pub total_sessions: u64,
    /// What sessions learn on average.
    pub learning_deltas: LearningDeltas,
}

/// A session somebody works in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct ActiveSession {
    pub session_id: SessionId,
    pub ai_id: String,
}

/// The mean change from PREFLIGHT to POSTFLIGHT, 4 decimals; `None` when no session gives it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
#[allow(missing_docs)]
pub struct LearningDeltas {
    pub know: Option<f64>,
    pub uncertainty: Option<f64>,
}

/// The thread of the inquiry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct Investigation {
    /// As in [`SessionState`].
    pub cycle: Option<u32>,
    /// As in [`SessionState`].
    pub round: Option<u32>,
    /// As in [`SessionState`].
    pub scope_depth: Option<f64>,
    /// What led to what, oldest first.
    pub breadcrumb_chains: Vec<Chain>,
    /// Where it led through, oldest first.
    pub exploration_paths: Vec<String>,
}

/// A finding that led to a question, its answer and what was done about it; `None` where a link is missing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Chain {
    pub finding: Option<String>,
    pub led_to_unknown: Option<String>,
    pub led_to_finding: Option<String>,
    pub led_to_fix: Option<String>,
}

/// What was consulted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct ReferenceDocs {
    /// How many documents the session consulted, each counted once.
    pub loaded_count: u64,
    /// The newest ones, newest first.
    pub recent: Vec<Consulted>,
    /// Snapshots taken before a compaction.
    pub pre_summaries: PreSummaries,
}

/// A document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Consulted {
    /// A path or a URL.
    pub path: String,
    /// `url`, the folder below `docs`, `documentation` or `code`.
    #[serde(rename = "type")]
    pub kind: String,
    /// When it was last logged, RFC 3339 UTC.
    pub accessed: String,
}

/// The session's snapshots before compactions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
#[allow(missing_docs)]
pub struct PreSummaries {
    pub count: u64,
    pub most_recent: Option<PreSummary>,
}

/// A snapshot before a compaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct PreSummary {
    pub id: Id,
    pub timestamp: String,
    pub impact: Option<f64>,
    pub completion: Option<f64>,
}

/// What a search of everything that was said found, beside what the snapshot itself has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct SemanticContext {
    /// The query: as it was given, else made of the task, the goal, and the recent findings and open unknowns.
    pub query: String,
    /// The best matches, best first.
    pub results: Vec<Related>,
    /// How relevant each of them is, in the same order: its BM25 score over that of the first, in (0, 1], 4 decimals.
    pub relevance_scores: Vec<f64>,
}

/// A record that a search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Related {
    /// Its id.
    pub id: Id,
    /// The word of its `kind` key.
    pub kind: String,
    /// Who said it.
    pub ai_id: String,
    /// When, RFC 3339 UTC.
    pub timestamp: String,
    /// The commit it is at home on; `None` for one of an unborn HEAD.
    pub commit: Option<String>,
    /// The part of its text that matches.
    pub text: String,
}

/// Everything around the vectors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct Snapshot {
    pub reasoning: Reasoning,
    pub breadcrumbs: Breadcrumbs,
    pub goals: Goals,
    pub handoffs: Handoffs,
    pub session: SessionState,
    pub project: Project,
    pub investigation: Investigation,
    pub reference_docs: ReferenceDocs,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub semantic_context: Option<SemanticContext>,
}
