//! The answers about checkpoints: as a document, and as text.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::fold::assessment::confidence::overall;
use crate::render::answer::{Answer, EnvelopeView};
use crate::render::format::short_commit;
use crate::render::{format, safe};
use crate::use_cases::checkpoint::save::CheckpointOutcome;
use empirica_notes::model::assessment::Trigger;
use empirica_notes::model::snapshot::{Chain, GitState, RecentCommit, SemanticContext, Snapshot};
use empirica_notes::model::{Body, Checkpoint, Envelope, Id, Phase, Vectors};

/// A checkpoint: the state of the session and everything that can be lost.
#[derive(Serialize, JsonSchema)]
pub struct StoredCheckpointView<'a> {
    /// The checkpoint.
    checkpoint_id: &'a Id,
    /// Always `checkpoint`.
    kind: &'static str,
    /// Always `epistemic_state_snapshot`.
    #[serde(rename = "type")]
    kind_of_snapshot: &'static str,
    #[serde(flatten)]
    envelope: EnvelopeView<'a>,
    /// The phase of the workflow; null before the first assessment.
    phase: Option<Phase>,
    /// The round of the phase, from 1: as given, else that of the last assessment of the phase, else of its last checkpoint, else 1.
    round: u32,
    /// Why it was taken.
    trigger: Trigger,
    /// The vectors: those given, otherwise the newest of the session's assessments.
    vectors: &'a Vectors,
    /// The newest assessment; null if vectors were given with the checkpoint.
    vectors_from: Option<&'a Id>,
    /// The assessment of each vector, except of given ones, and in checkpoints of earlier versions.
    vector_sources: &'a BTreeMap<String, Id>,
    /// After a compaction: the checkpoint before it, for comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    compared_with: Option<&'a Id>,
    /// The agent's reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    said: Option<&'a str>,
    /// Labels.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tags: &'a [String],
    /// Values under the agent's own keys.
    metadata: &'a BTreeMap<String, String>,
    /// The state of the repository; null if git failed. Absent in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    git_state: Option<Option<&'a GitState>>,
    /// Absent in lists, and in checkpoints of earlier versions.
    #[serde(flatten)]
    snapshot: Option<&'a Snapshot>,
    /// With `--search` (`--semantic-query`): results of a search of all records; else null. Absent in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    semantic_context: Option<Option<&'a SemanticContext>>,
    /// Null if only uncertainty is known.
    overall_confidence: Option<f64>,
}

impl<'a> StoredCheckpointView<'a> {
    pub fn whole(envelope: &'a Envelope, checkpoint: &'a Checkpoint) -> Self {
        let snapshot = checkpoint.snapshot.as_ref();
        StoredCheckpointView {
            git_state: Some(checkpoint.git_state.as_ref()),
            snapshot,
            semantic_context: snapshot.map(|snapshot| snapshot.semantic_context.as_ref()),
            ..StoredCheckpointView::brief(envelope, checkpoint)
        }
    }

    /// A checkpoint without `git_state` and `snapshot`: for lists.
    pub fn brief(envelope: &'a Envelope, checkpoint: &'a Checkpoint) -> Self {
        StoredCheckpointView {
            checkpoint_id: &envelope.id,
            kind: "checkpoint",
            kind_of_snapshot: "epistemic_state_snapshot",
            envelope: envelope.into(),
            phase: checkpoint.phase,
            round: checkpoint.round,
            trigger: checkpoint.trigger,
            vectors: &checkpoint.vectors,
            vectors_from: checkpoint.vectors_from.as_ref(),
            vector_sources: &checkpoint.vector_sources,
            compared_with: checkpoint.compared_with.as_ref(),
            said: checkpoint.said.as_deref(),
            tags: &checkpoint.tags,
            metadata: &checkpoint.metadata,
            git_state: None,
            snapshot: None,
            semantic_context: None,
            overall_confidence: overall(&checkpoint.vectors),
        }
    }
}

/// The keys of a record, except a checkpoint's `git_state` and `snapshot`.
pub fn brief_keys(body: &Body) -> Map<String, Value> {
    let keys = empirica_notes::format::record::body_to_map(body);
    keys.into_iter().filter(|(key, _)| !["git_state", "snapshot"].contains(&key.as_str())).collect()
}

pub fn taken(outcome: &CheckpointOutcome) -> Answer {
    let (envelope, c) = (&outcome.envelope, &outcome.checkpoint);
    let branch = c.git_state.as_ref().and_then(|state| state.branch.clone());
    let changes = c.git_state.as_ref().map(|state| &state.uncommitted_changes);
    let changed = changes.map_or(0, |c| c.files_added + c.files_deleted + c.files_modified);
    Answer::new(StoredCheckpointView::whole(envelope, c))
        .text(format!("{}\n", envelope.id.short()))
        .say(format!(
            "Checkpoint {} of session {}{}: {}{}, {} uncommitted.",
            envelope.id.short(),
            outcome.session_id.short(),
            branch.map(|b| format!(" on {}", safe::line(&b))).unwrap_or_default(),
            format::vectors(&c.vectors),
            origin(c),
            format::count(changed as usize, "file")
        ))
        .stored(&outcome.stored)
        .counted()
}

/// The keys of a short answer.
const DONE: [&str; 13] = [
    "checkpoint_id",
    "session_id",
    "timestamp",
    "commit",
    "phase",
    "round",
    "vectors",
    "overall_confidence",
    "degraded_mode",
    "storage",
    "session_started",
    "recovery_commands",
    "token_count",
];

/// As [`taken`], but short: the whole checkpoint is available from `checkpoint show`.
pub fn done(outcome: &CheckpointOutcome) -> Answer {
    let mut answer = taken(outcome);
    answer.json.retain(|key, _| DONE.contains(&key.as_str()));
    answer
}

/// The assessments of the vectors: the newest, and older ones with their vectors.
fn origin(c: &Checkpoint) -> String {
    let mut older: BTreeMap<&Id, Vec<&str>> = BTreeMap::new();
    for (vector, id) in c.vector_sources.iter().filter(|(_, id)| Some(*id) != c.vectors_from.as_ref()) {
        older.entry(id).or_default().push(vector);
    }
    let newest = c.vectors_from.iter().map(|id| format!("of assessment {}", id.short()));
    let older = older.iter().rev().map(|(id, vectors)| format!("{} of {}", vectors.join(", "), id.short()));
    let all: Vec<String> = newest.chain(older).collect();
    if all.is_empty() { String::new() } else { format!(" ({})", all.join("; ")) }
}

pub fn text(envelope: &Envelope, c: &Checkpoint) -> String {
    let session = envelope.session.as_ref().map_or("–", |id| id.as_str());
    let trigger = json!(c.trigger);
    let mut lines = vec![
        format!("checkpoint {}", envelope.id.short()),
        format!("Agent:     {}", safe::line(&envelope.ai)),
        format!("Session:   {session}"),
        format!("Date:      {}", format::date(&envelope.at)),
        format!("Taken:     {}", trigger.as_str().unwrap_or_default().replace('_', " ")),
        format!("Phase:     {} {}{}", c.phase.map_or("none yet", Phase::name), c.round, depth(c)),
        format!("Vectors:   {}{}", format::vectors(&c.vectors), origin(c)),
    ];
    lines.extend(c.said.iter().map(|text| format!("Said:      {}", safe::indented(text, 11))));
    lines.extend(c.metadata.iter().map(|(key, value)| format!("Metadata:  {}={}", safe::line(key), safe::line(value))));
    lines.extend(c.git_state.iter().flat_map(git_lines));
    lines.extend(c.snapshot.iter().flat_map(snapshot_lines));
    lines.join("\n") + "\n"
}

/// Cycle and scope, if known.
fn depth(c: &Checkpoint) -> String {
    let session = c.snapshot.as_ref().map(|snapshot| &snapshot.session);
    let cycle = session.and_then(|session| session.cycle).map(|cycle| format!(", cycle {cycle}"));
    let scope = session.and_then(|session| session.scope_depth).map(|scope| format!(", scope {scope:.2}"));
    cycle.into_iter().chain(scope).collect()
}

fn git_lines(state: &GitState) -> Vec<String> {
    let branch = state.branch.as_deref().map_or_else(|| "a detached HEAD".to_owned(), safe::line);
    let at = short_commit(state.head_commit.as_deref()).unwrap_or_else(|| "no commit yet".to_owned());
    let distance = match (state.ahead_behind.ahead, state.ahead_behind.behind) {
        (Some(ahead), Some(behind)) => format!(", {ahead} ahead, {behind} behind"),
        _ => String::new(),
    };
    let c = &state.uncommitted_changes;
    let mut lines = vec![
        format!("Git:       {branch} at {at}{distance}"),
        format!(
            "Changes:   {} modified, {} added, {} deleted (+{} −{})",
            c.files_modified, c.files_added, c.files_deleted, c.insertions, c.deletions
        ),
    ];
    let commit = |made: &RecentCommit| {
        format!("Commit:    {} {}", short_commit(Some(&made.hash)).unwrap_or_default(), safe::line(&made.message))
    };
    lines.extend(state.commits_since_last_checkpoint.iter().map(commit));
    lines
}

fn snapshot_lines(s: &Snapshot) -> Vec<String> {
    let crumbs = &s.breadcrumbs;
    let mut lines = Vec::new();
    let mut line = |title: &str, text: String| {
        let title = if title.is_empty() { String::new() } else { format!("{title}:") };
        lines.push(format!("{title:<10} {}", safe::indented(&text, 11)));
    };
    if let Some(latest) = &s.reasoning.latest {
        line("Reasoning", latest.clone());
    }
    let decided = s.reasoning.decision_history.iter().filter_map(|decided| {
        let confidence = decided.confidence.map(|confidence| format!(" ({confidence:.2})")).unwrap_or_default();
        Some(format!("{} {}{confidence}", decided.checkpoint, decided.decision.as_deref()?))
    });
    let decided: Vec<String> = decided.collect();
    if !decided.is_empty() {
        line("Decided", decided.join(", "));
    }
    if !s.reasoning.epistemic_tags.is_empty() {
        line("Tags", s.reasoning.epistemic_tags.join(", "));
    }
    line("Findings", format!("{} of the session, {} in all", crumbs.findings.session, crumbs.findings.total));
    crumbs.findings.recent.iter().for_each(|seen| line("", format!("{} {}", seen.id.short(), seen.finding)));
    line(
        "Unknowns",
        format!(
            "{} of the session; {} of {} open",
            crumbs.unknowns.session, crumbs.unknowns.unresolved, crumbs.unknowns.total
        ),
    );
    for seen in crumbs.unknowns.recent.iter().filter(|seen| !seen.is_resolved) {
        line("", format!("{} {}", seen.id.short(), seen.unknown));
    }
    line("Dead ends", format!("{} of the session, {} in all", crumbs.dead_ends.session, crumbs.dead_ends.total));
    line("Mistakes", format!("{} of the session, {} in all", crumbs.mistakes.session, crumbs.mistakes.total));
    let rate = s.goals.completion_rate.map(|rate| format!(" ({:.0} %)", rate * 100.0)).unwrap_or_default();
    line("Goals", format!("{} open, {} done{rate}", s.goals.active, s.goals.completed));
    if let Some(goal) = &s.goals.current {
        let progress = goal.progress.as_ref().map(|progress| format!(" ({progress})")).unwrap_or_default();
        line("", format!("{} {}{progress}", goal.id.short(), goal.objective));
    }
    line("Handoffs", s.handoffs.count.to_string());
    line("Sessions", format!("{} active of {}", s.project.active_total, s.project.total_sessions));
    line("Agents", s.project.ai_collaborators.join(", "));
    s.investigation.breadcrumb_chains.iter().for_each(|chain| line("Chain", chain_text(chain)));
    s.investigation.exploration_paths.iter().for_each(|path| line("Path", path.clone()));
    s.reference_docs.recent.iter().for_each(|doc| line("Document", doc.path.clone()));
    if let Some(context) = &s.semantic_context {
        line("Searched", safe::line(&context.query));
        for found in &context.results {
            line("", format!("{} {}: {}", found.kind.replace('_', " "), found.id.short(), safe::line(&found.text)));
        }
    }
    lines
}

fn chain_text(chain: &Chain) -> String {
    let links = [&chain.finding, &chain.led_to_unknown, &chain.led_to_finding, &chain.led_to_fix];
    links.into_iter().flatten().map(|text| safe::line(text)).collect::<Vec<_>>().join(" → ")
}
