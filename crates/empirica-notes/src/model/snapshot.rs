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

/// Distance to the upstream, in commits; null without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct AheadBehind {
    /// Commits that the upstream has not.
    pub ahead: Option<u64>,
    /// Commits that only the upstream has.
    pub behind: Option<u64>,
}

/// Where the repository stood.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
pub struct GitState {
    /// HEAD, hex; null when unborn.
    pub head_commit: Option<String>,
    /// The branch; null when detached.
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
    /// The newest reasoning; null when none was given.
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
pub struct Thought {
    /// When.
    pub timestamp: String,
    /// The text.
    pub reasoning: String,
}

/// What an assessment decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decided {
    /// `PREFLIGHT`, `CHECK-1`, …
    pub checkpoint: String,
    /// proceed or investigate; null but for checks.
    pub decision: Option<String>,
    /// The confidence it would act with.
    pub confidence: Option<f64>,
}

/// The evidence: what was said along the way. Totals are the project's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
pub struct Breadcrumbs {
    /// What was found.
    pub findings: Findings,
    /// What was asked.
    pub unknowns: Unknowns,
    /// What was tried and failed.
    pub dead_ends: DeadEnds,
    /// What was done wrong.
    pub mistakes: Mistakes,
}

/// Findings; the session's newest come first among the recent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct Findings {
    /// How many the project has.
    pub total: u64,
    /// How many the session has.
    pub session: u64,
    /// The newest, the session's own first.
    pub recent: Vec<FindingSeen>,
}

/// A finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FindingSeen {
    /// Its record.
    pub id: Id,
    /// Its text.
    pub finding: String,
    /// When it was logged.
    pub timestamp: String,
}

/// Unknowns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct Unknowns {
    /// How many the project has.
    pub total: u64,
    /// How many of these are open.
    pub unresolved: u64,
    /// How many of these were answered.
    pub resolved: u64,
    /// How many the session has.
    pub session: u64,
    /// The newest, the session's own first.
    pub recent: Vec<UnknownSeen>,
}

/// An unknown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnknownSeen {
    /// Its record.
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
    /// How many the project has.
    pub total: u64,
    /// How many the session has.
    pub session: u64,
    /// The newest, the session's own first.
    pub recent: Vec<DeadEndSeen>,
}

/// A dead end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeadEndSeen {
    /// Its record.
    pub id: Id,
    /// What was tried.
    pub approach: String,
    /// Why it failed.
    pub why_failed: String,
}

/// Mistakes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct Mistakes {
    /// How many the project has.
    pub total: u64,
    /// How many the session has.
    pub session: u64,
    /// The newest, the session's own first.
    pub recent: Vec<MistakeSeen>,
}

/// A mistake.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MistakeSeen {
    /// Its record.
    pub id: Id,
    /// What was done wrong.
    pub mistake: String,
    /// What prevents it.
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
    /// Done of those not dropped, 2 decimals; null when there is none.
    pub completion_rate: Option<f64>,
    /// The open goal that was worked on last; null when none is open.
    pub current: Option<CurrentGoal>,
}

/// A goal that is worked on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurrentGoal {
    /// Its record.
    pub id: Id,
    /// What is to be reached.
    pub objective: String,
    /// "2/4 subtasks"; null without subtasks.
    pub progress: Option<String>,
}

/// The project's handoffs in force.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct Handoffs {
    /// How many they are.
    pub count: u64,
    /// The newest; null when there is none.
    pub most_recent: Option<HandedOver>,
}

/// A handoff.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HandedOver {
    /// Its record.
    pub handoff_id: Id,
    /// When it was written.
    pub timestamp: String,
    /// Its agent.
    pub from_ai: String,
    /// What it is about.
    pub summary: String,
}

/// Where the session stands in the workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionState {
    /// The session.
    pub session_id: SessionId,
    /// Its agent.
    pub ai_id: String,
    /// The first root commit, hex; null when unborn, and in a shallow clone.
    pub project_id: Option<String>,
    /// What it is about; null when nobody said.
    pub task: Option<String>,
    /// When it began, RFC 3339 UTC.
    pub start_time: String,
    /// From then to the checkpoint, in whole minutes.
    pub duration_minutes: u64,
    /// The phase of the checkpoint; null before the first assessment.
    pub cascade_phase: Option<Phase>,
    /// Which one of its phase, as the checkpoint has it; null in some of earlier versions.
    pub round: Option<u32>,
    /// The iteration of the investigation; null when it was never said.
    pub cycle: Option<u32>,
    /// The depth of the scope; null when it was never said.
    pub scope_depth: Option<f64>,
    /// How many assessments it made.
    pub assessments_count: u64,
    /// How many checkpoints and assessments it has, without this one.
    pub checkpoints_count: u64,
    /// How many entries its journal has.
    pub journal_count: u64,
    /// The newest checkpoint or assessment before this one; null when it is the first.
    pub last_checkpoint: Option<LastCheckpoint>,
}

/// The checkpoint before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LastCheckpoint {
    /// Its record.
    pub id: Id,
    /// Its phase; null before the first assessment.
    pub phase: Option<Phase>,
    /// When it was taken.
    pub timestamp: String,
    /// Its values.
    pub vectors: Vectors,
}

/// What the session is part of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct Project {
    /// The first root commit, hex; null when unborn, and in a shallow clone.
    pub project_id: Option<String>,
    /// The name of the repository.
    pub name: String,
    /// Git's own description of it; null when nobody wrote one.
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
pub struct ActiveSession {
    /// The session.
    pub session_id: SessionId,
    /// Its agent.
    pub ai_id: String,
}

/// The mean change from PREFLIGHT to POSTFLIGHT, 4 decimals; null when no session gives it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct LearningDeltas {
    /// Of `know`.
    pub know: Option<f64>,
    /// Of `uncertainty`.
    pub uncertainty: Option<f64>,
}

/// The thread of the inquiry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct Investigation {
    /// The iteration, as in `session`.
    pub cycle: Option<u32>,
    /// The round, as in `session`.
    pub round: Option<u32>,
    /// The depth of the scope, as in `session`.
    pub scope_depth: Option<f64>,
    /// What led to what, oldest first.
    pub breadcrumb_chains: Vec<Chain>,
    /// Where it led through, oldest first.
    pub exploration_paths: Vec<String>,
}

/// A finding that led to a question, its answer and what was done about it; null where a link is missing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default)]
pub struct Chain {
    /// What was found.
    pub finding: Option<String>,
    /// The question it led to.
    pub led_to_unknown: Option<String>,
    /// The answer to that.
    pub led_to_finding: Option<String>,
    /// What was done about it: a decision, a goal that was done, or an activity that wrote or edited.
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
pub struct PreSummaries {
    /// How many they are.
    pub count: u64,
    /// The newest; null when there is none.
    pub most_recent: Option<PreSummary>,
}

/// A snapshot before a compaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PreSummary {
    /// Its record.
    pub id: Id,
    /// When it was taken.
    pub timestamp: String,
    /// Its value of `impact`.
    pub impact: Option<f64>,
    /// Its value of `completion`.
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
    /// The commit it is at home on; null for one of an unborn HEAD.
    pub commit: Option<String>,
    /// The part of its text that matches.
    pub text: String,
}

/// Everything around the vectors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Snapshot {
    /// Why the agent thought so.
    pub reasoning: Reasoning,
    /// What was logged.
    pub breadcrumbs: Breadcrumbs,
    /// The goals of the session.
    pub goals: Goals,
    /// The handoffs in force of the project.
    pub handoffs: Handoffs,
    /// Where the session stands.
    pub session: SessionState,
    /// What the session is part of.
    pub project: Project,
    /// The thread of the inquiry.
    pub investigation: Investigation,
    /// The documents that were consulted.
    pub reference_docs: ReferenceDocs,
    /// With `--search`: what a search of all records found; else null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub semantic_context: Option<SemanticContext>,
}
