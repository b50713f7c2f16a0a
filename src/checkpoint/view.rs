//! The answers about checkpoints: the snapshot as the seed's schema has it, and as people read it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::checkpoint;
use crate::fold::assessment::confidence::overall;
use crate::history::show::short_commit;
use crate::render::answer::Answer;
use crate::render::{format, safe};
use empirica_notes::model::snapshot::{Chain, GitState, Snapshot};
use empirica_notes::model::{Body, Checkpoint, Envelope, Id, Phase};

/// What the seed calls a snapshot.
const TYPE: &str = "epistemic_state_snapshot";

/// A checkpoint as JSON: the seed's keys beside ours.
pub fn json_of(head: &Envelope, checkpoint: &Checkpoint) -> Map<String, Value> {
    let json = json!({
        "checkpoint_id": head.id,
        "kind": "checkpoint",
        "type": TYPE,
        "session_id": head.session,
        "ai_id": head.ai,
        "timestamp": head.at,
        "commit": head.commit,
    });
    let Value::Object(mut json) = json else { return Map::new() };
    json.extend(empirica_notes::format::record::body_to_map(&Body::Checkpoint(Box::new(checkpoint.clone()))));
    // the seed has its parts beside the vectors; in the record, one of them would have the name of a key of the envelope
    if let Some(Value::Object(snapshot)) = json.shift_remove("snapshot") {
        json.extend(snapshot);
        json.entry("semantic_context").or_insert(Value::Null);
    }
    for (key, absent) in [("vectors_from", Value::Null), ("vector_sources", json!({})), ("metadata", json!({}))] {
        json.entry(key).or_insert(absent);
    }
    json.insert("overall_confidence".to_owned(), json!(overall(&checkpoint.vectors)));
    json
}

/// A checkpoint without what only the whole has: for lists.
fn brief(checkpoint: &Checkpoint) -> Checkpoint {
    Checkpoint { snapshot: None, git_state: None, ..checkpoint.clone() }
}

/// The keys of a record's kind; of a checkpoint without snapshot and state of the repository.
pub fn brief_keys(body: &Body) -> Map<String, Value> {
    let keys = match body {
        Body::Checkpoint(checkpoint) => {
            empirica_notes::format::record::body_to_map(&Body::Checkpoint(Box::new(brief(checkpoint))))
        }
        other => empirica_notes::format::record::body_to_map(other),
    };
    keys.into_iter().filter(|(key, _)| key != "git_state").collect()
}

/// The same as JSON with its envelope.
pub fn brief_json(head: &Envelope, checkpoint: &Checkpoint) -> Map<String, Value> {
    let mut json = json_of(head, &brief(checkpoint));
    json.shift_remove("git_state");
    json
}

/// The answer of `checkpoint`.
pub fn taken(outcome: &checkpoint::save::CheckpointOutcome) -> Answer {
    let (head, c) = (&outcome.head, &outcome.checkpoint);
    let branch = c.git_state.as_ref().and_then(|state| state.branch.clone());
    let changes = c.git_state.as_ref().map(|state| &state.uncommitted_changes);
    let changed = changes.map_or(0, |c| c.files_added + c.files_deleted + c.files_modified);
    Answer::new(Value::Object(json_of(head, c)))
        .text(format!("{}\n", head.id.short()))
        .say(format!(
            "Checkpoint {} of session {}{}: {}{}, {} uncommitted.",
            head.id.short(),
            outcome.session_id.short(),
            branch.map(|b| format!(" on {}", safe::line(&b))).unwrap_or_default(),
            format::vectors(&c.vectors),
            origin(c),
            format::count(changed as usize, "file")
        ))
        .stored(&outcome.stored)
        .counted()
}

/// The keys of it that tell a tool that it is done; the whole is what a checkpoint is loaded for.
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

/// The same, short.
pub fn done(outcome: &checkpoint::save::CheckpointOutcome) -> Answer {
    let mut answer = taken(outcome);
    answer.json.retain(|key, _| DONE.contains(&key.as_str()));
    answer
}

/// The assessments that the vectors are from: the newest, and older ones with what was last given there.
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

/// A checkpoint as people read it.
pub fn text(head: &Envelope, c: &Checkpoint) -> String {
    let session = head.session.as_ref().map_or("–", |id| id.as_str());
    let trigger = json!(c.trigger);
    let mut lines = vec![
        format!("checkpoint {}", head.id.short()),
        format!("Agent:     {}", safe::line(&head.ai)),
        format!("Session:   {session}"),
        format!("Date:      {}", format::date(&head.at)),
        format!("Taken:     {}", trigger.as_str().unwrap_or_default().replace('_', " ")),
        format!("Phase:     {} {}{}", c.phase.map_or("none yet", Phase::name), c.round, depth(c)),
    ];
    lines.push(format!("Vectors:   {}{}", format::vectors(&c.vectors), origin(c)));
    if let Some(said) = &c.said {
        lines.push(format!("Said:      {}", safe::indented(said, 11)));
    }
    lines.extend(c.metadata.iter().map(|(key, value)| format!("Metadata:  {}={}", safe::line(key), safe::line(value))));
    if let Some(state) = &c.git_state {
        lines.extend(git_lines(state));
    }
    if let Some(snapshot) = &c.snapshot {
        lines.extend(snapshot_lines(snapshot));
    }
    lines.join("\n") + "\n"
}

/// The iteration and the scope, where they are known.
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
    let commit = |made: &empirica_notes::model::snapshot::CommitMade| {
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
