//! The one JSON document of every command: its keys on success, its keys and exit code on failure, and the stream of
//! each output as text.

use std::collections::BTreeSet;

use clap::CommandFactory;
use git_empirica::cli::Cli;
use serde_json::Value;

use crate::commands::meaning::kept::model;
use crate::commands::output::json_keys::{
    ASSESSED, BOOTSTRAP, COMPACT, CORRECTED, ENTRY, GOAL, HANDOFF, LOG, RESUME, SESSION, WHOLE,
};
use crate::support::harness::{Repo, RunOutput, Sandbox, each};

/// A command that succeeds: arguments, keys (or pointers) of its document, what its text says on standard output and
/// on standard error. `{name}` in an argument is replaced by an ID of the [`World`].
type Row = (&'static [&'static str], &'static [&'static str], &'static str, &'static str);

/// Where a failing command runs.
#[derive(Clone, Copy, Debug)]
enum At {
    World,
    /// A repository without records.
    Fresh,
    /// No repository.
    Nowhere,
}

#[rustfmt::skip]
const WORKS: &[Row] = &[
    (&["session", "start", "--ai", "ada", "--task", "More", "--type", "fix", "--external-id", "x-1"], SESSION, "-", "started"),
    (&["session", "end", "--session", "{spare}"], &["session_id", "ended_at", "duration_seconds"], "ended", "wrote no handoff"),
    (&["session", "list", "--active"], &["sessions", "total_sessions", "/sessions/0/session_id"], "Main work", ""),
    (&["sessions-list", "--active"], &["sessions", "total_sessions"], "Main work", ""),
    (&["session", "show", "{session}"], &["session_id", "ai_id", "started_at", "findings", "assessments", "goals"], "Main work", ""),
    (&["preflight", "-v", "know=0.6"], ASSESSED, "PREFLIGHT", "hint: "),
    (&["preflight", "-v", "know=0.6"], &["recommendation"], "Recommendation: investigate", "hint: "),
    (&["check", "-v", "know=0.7", "--confidence", "0.8"], ASSESSED, "CHECK", "hint: "),
    (&["postflight", "-v", "know=0.9"], ASSESSED, "POSTFLIGHT", "hint: "),
    (&["postflight", "-v", "know=0.9"], &["deltas", "calibration_status", "/handoff/handoff_id", "/handoff/markdown"], "Self-assessment", "hint: "),
    (&["postflight", "-v", "know=0.9", "--no-handoff"], &["deltas", "calibration_status", "handoff"], "Self-assessment", "hint: "),
    (&["preflight", "-v", "know=0.6"], &["auto_generated_goals", "/auto_generated_goals/0/id", "/auto_generated_goals/0/description", "/auto_generated_goals/0/priority", "/auto_generated_goals/0/rationale"], "Suggested goals:", "hint: "),
    (&["check", "-v", "know=0.5"], &["drift_analysis", "/drift_analysis/detected", "/drift_analysis/type", "/drift_analysis/pattern", "/drift_analysis/severity", "/drift_analysis/window_size", "/drift_analysis/assessments_analyzed", "/drift_analysis/vector_deltas/know", "safe_to_proceed", "decision", "recommendation"], "Drift: ", "hint: "),
    (&["drift"], &["session_id", "ai_id", "drift_analysis", "safe_to_proceed", "decision", "recommendation"], "Drift: ", ""),
    (&["checkpoint", "--trigger", "pre_compact"], &["checkpoint_id", "session_id", "phase", "round", "trigger", "vectors", "vectors_from", "git_state"], "", "Checkpoint "),
    (&["checkpoint", "--trigger", "post_compact"], &["trigger", "compaction", "/bootstrap/project", "context", "token_count"], "# After the compaction", ""),
    (&["diff", "{checkpoint}"], &["/a/kind", "/a/id", "/b/kind", "/b/id", "summary", "lost", "gained", "changed", "compared", "vector_deltas", "text_diff"], "assessment ", ""),
    (&["checkpoint-create"], &["checkpoint_id", "type"], "", "Checkpoint "),
    (&["assess-state"], &["type", "timestamp", "reasoning", "breadcrumbs", "goals", "handoffs", "session", "project", "investigation", "reference_docs"], "", "Checkpoint "),
    (&["checkpoint", "list"], &["checkpoints", "total_found", "/checkpoints/0/checkpoint_id"], "PREFLIGHT 1", ""),
    (&["checkpoint", "show", "{checkpoint}"], &["checkpoint_id", "session_id", "vectors"], "PREFLIGHT", ""),
    (&["finding", "F", "--impact", "0.5", "--as", "pattern"], ENTRY, "", "Logged finding"),
    (&["finding-log", "F"], ENTRY, "", "Logged finding"),
    (&["unknown", "U"], ENTRY, "", "Logged unknown"),
    (&["unknown-log", "U", "--led-from", "{finding}"], ENTRY, "", "Logged unknown"),
    (&["resolve", "{unknown}", "A"], ENTRY, "", "Logged resolve"),
    (&["deadend", "D", "--why", "W"], ENTRY, "", "Logged dead end"),
    (&["deadend-log", "D", "--why", "W"], ENTRY, "", "Logged dead end"),
    (&["mistake", "M", "--prevention", "P"], ENTRY, "", "Logged mistake"),
    (&["mistake-log", "M"], ENTRY, "", "Logged mistake"),
    (&["decision", "D", "--why", "W", "--alternative", "A"], ENTRY, "", "Logged decision"),
    (&["source", "docs/x.md"], ENTRY, "", "Logged source"),
    (&["evidence", "cargo test", "--exit", "-1", "--file", "a.rs"], ENTRY, "", "Logged evidence"),
    (&["activity", "shell", "ls", "--file", "a.rs"], ENTRY, "", "Logged activity"),
    (&["confirm", "{finding}"], CORRECTED, "", "Confirmed finding"),
    (&["replace", "{finding}", "N", "--why", "W"], CORRECTED, "", "Replaced finding"),
    (&["retract", "{unknown}", "--why", "W"], CORRECTED, "", "Retracted unknown"),
    (&["undo", "--session", "{spare}"], &["id", "kind", "session_id", "text", "dropped", "degraded_mode", "storage"], "Took back goal", ""),
    (&["goal", "add", "G", "--criterion", "C", "--priority", "high"], GOAL, "", "high"),
    (&["goal", "sub", "{goal}", "S"], GOAL, "", "Reach it"),
    (&["goal", "done", "{goal}", "--evidence", "E"], GOAL, "", "done"),
    (&["goal", "drop", "{other_goal}", "--why", "W"], GOAL, "", "dropped"),
    (&["goal", "take", "{spare}"], GOAL, "", "Take me"),
    (&["goal", "list"], &["goals", "total_found", "/goals/0/id"], "Reach it", ""),
    (&["goal", "show", "{goal}"], &["goal", "/goal/id", "/goal/text", "/goal/session_id"], "Reach it", ""),
    (&["handoff", "--next", "N"], HANDOFF, "# Handoff ", "Stored handoff"),
    (&["handoff", "--dry-run"], HANDOFF, "# Handoff ", "dry run"),
    (&["handoff", "--type", "initialization", "--example"], &["type", "example", "/example/handoff_type", "/example/instructions"], "\"instructions\"", ""),
    (&["handoff", "--type", "initialization", "--task-id", "t", "--to", "bob", "--set", "instructions=I", "--dry-run"], HANDOFF, "## Instructions", "dry run"),
    (&["handoff", "list"], &["handoffs", "total_found", "/handoffs/0/handoff_id", "/handoffs/0/session_id"], "Main work", ""),
    (&["accept", "{handoff}", "--session", "{spare}", "--decision", "REFINE", "--understanding", "U", "--instructions", "I", "--question", "Q", "--gap", "G"], &["accept_id", "id", "kind", "handoff_id", "session_id", "ai_id", "decision", "understanding", "instructions", "questions", "gaps", "resolution", "question_ids", "decision_id", "pattern_id", "degraded_mode", "storage"], "", "accepted, REFINE, 1 question, 1 gap, in session"),
    (&["inbox"], &["ai_id", "waiting", "working", "lost", "total_waiting"], "", "Nothing waits for ada."),
    (&["route", "{handoff}"], &["handoff_id", "task_id", "to", "route", "rounds", "escalated", "rules"], "no receiver: no rule matches", ""),
    (&["route", "--explain"], &["/rules/0/rule", "/rules/0/line", "/rules/0/conditions/0/holds"], "does not match", ""),
    (&["route", "check"], &["rules", "problems"], "1 rule, no problems.", ""),
    (&["show", "{handoff}"], &["acknowledgements", "questions", "git_state", "/git_state/branch"], "# Handoff ", ""),
    (&["handoff", "--validate", "--dry-run"], &["/validation/passed", "/validation/checks/10/name"], "# Handoff ", "Checked: 0 errors"),
    (&["handoff", "--regenerate", "{handoff}"], &["regenerates", "handoff_id"], "**Revises:**", "Stored handoff"),
    (&["handoff", "list", "--unacknowledged"], &["handoffs", "total_found"], "Main work", ""),
    (&["handoff", "--next", "N", "--sign"], &["handoff_id", "signature_id"], "# Handoff ", "Stored handoff"),
    (&["handoff", "sign", "{handoff}"], &["handoff_id", "signature_id", "sha256", "degraded_mode", "storage"], "", "Signed handoff"),
    (&["answer", "{accept}.1", "So"], &["id", "kind", "session_id", "ai_id", "timestamp", "handoff_id", "accept_id", "question_id", "question", "answer", "open_questions", "degraded_mode", "storage"], "", "no question about that handoff is open"),
    (&["session", "start", "--ai", "eve", "--from", "{spare}"], &["session_id", "/from/session_id", "/from/ai_id", "/from/handoff_id", "/from/handoff_written"], "-", "It continues ada's session"),
    (&["collect", "{transcript}"], &["agent", "transcript_id", "session_id", "ai_id", "new_session", "path", "external_id", "cwd", "branch", "model", "started_at", "ended_at", "task", "summary", "tool_summaries", "/tool_summaries/0/errors", "files_modified", "files_outside", "pending_tasks", "/pending_tasks/0/status", "decisions", "recent_messages", "/recent_messages/0/role", "/tokens/cache_read", "context_tokens", "subagents", "rows", "skipped_rows", "stored", "/added/from", "degraded_mode", "storage"], "Transcript c0dex of codex", "Collected 46 rows"),
    (&["collect", "{transcript}", "--dry-run"], &["agent", "session_id", "stored", "added"], "Transcript c0dex of codex", "dry run"),
    (&["handoff", "--transcript", "{transcript}", "--to", "bob"], HANDOFF, "# Session Handoff Context ", "Stored handoff"),
    (&["handoff", "--type", "context", "--to", "bob", "--incremental", "--detail", "summary"], HANDOFF, "Pick up exactly where it left off", "Stored handoff"),
    (&["task", "list"], &["tasks", "total_found", "/tasks/0/task_id", "/tasks/0/status", "/tasks/0/title", "/tasks/0/iteration", "/tasks/0/decision", "/tasks/0/decided_by", "/tasks/0/waits_for", "/tasks/0/open_questions", "/tasks/0/updated_at", "/tasks/0/updated_by"], "the-task: Do it", ""),
    (&["task", "show", "the-task"], &["task_id", "status", "files", "questions", "/questions/0/question_id", "history", "/history/0/kind", "/history/0/payload", "/history/1/acknowledgement", "/history/1/said"], "Task the-task: Do it", "hint: "),
    (&["show", "{handoff}"], WHOLE, "# Handoff ", ""),
    (&["show", "{handoff}", "--format", "json"], WHOLE, "\"key_findings\"", ""),
    (&["show", "{handoff}", "--format", "compact"], COMPACT, "\"calibrated\"", ""),
    (&["show", "{session}"], &["session_id", "findings"], "Main work", ""),
    (&["show", "{session}", "--format", "json"], &["session_id", "findings"], "\"findings\"", ""),
    (&["show", "{session}", "--format", "compact"], COMPACT, "\"calibrated\"", ""),
    (&["show", "HEAD"], &["commit", "subject", "handoffs", "records"], "# Handoff ", ""),
    (&["show", "HEAD", "--format", "json"], &["commit", "subject", "handoffs", "records"], "\"records\"", ""),
    (&["show", "{finding}"], &["kind", "session_id", "text"], "finding", ""),
    (&["show", "{finding}", "--format", "json"], &["kind", "session_id", "text"], "\"text\"", ""),
    (&["resume"], RESUME, "# Session ", ""),
    (&["resume", "--detail", "detailed"], &["/sessions/0/investigation_tools", "/sessions/0/artifacts_created"], "# Session ", ""),
    (&["resume", "--detail", "full"], &["/sessions/0/assessments", "/sessions/0/full_markdown"], "# Session ", ""),
    (&["bootstrap", "--budget", "5000"], BOOTSTRAP, "# Project: ", ""),
    (&["project-bootstrap", "--ai", "ada", "--budget", "5000"], BOOTSTRAP, "You are ada", ""),
    (&["log"], LOG, "commit ", ""),
    (&["log", "--handoffs"], LOG, "commit ", ""),
    (&["log", "--checkpoints"], &["commits", "/commits/0/checkpoints/0/id"], "Checkpoints:", ""),
    (&["log", "--journal"], &["commits", "/commits/0/journal/0/id"], "Journal:", ""),
    (&["query", "--ai", "ada", "--task", "main"], &["reports", "total_found", "/reports/0/epistemic_growth", "/reports/0/task"], "Main work", ""),
    (&["query", "--range", "HEAD", "--type", "epistemic", "--since", "2026-03-01", "--session", "{session}", "--limit", "1"], &["reports", "total_found", "/reports/0/type", "/reports/0/commit"], "HANDOFF   TIME ", ""),
    (&["search", "cache", "cold"], &["query", "plan", "widened", "hits", "total_found", "/hits/0/id", "/hits/0/kind", "/hits/0/session_id", "/hits/0/ai_id", "/hits/0/timestamp", "/hits/0/age", "/hits/0/commit", "/hits/0/score", "/hits/0/text", "/hits/0/why", "/hits/0/passage", "/hits/0/highlights/0/1", "/hits/0/resolved", "/hits/0/answer"], "The cache is cold", ""),
    (&["why", "README.md"], &["path", "lines", "known", "omitted"], "", ""),
    (&["search", "--plan", "caching", "zebra"], &["plan", "widened", "/hits/0/id"], "The cache is cold", "some of them"),
    (&["similar", "main work"], &["about", "/about/kind", "/about/id", "/about/text", "sessions", "total_found", "/sessions/0/session_id", "/sessions/0/ai_id", "/sessions/0/started_at", "/sessions/0/active", "/sessions/0/task", "/sessions/0/commit", "/sessions/0/likeness", "/sessions/0/shared_words", "/sessions/0/handoff_id", "/sessions/0/calibration_status", "/sessions/0/key_findings", "/sessions/0/remaining_unknowns", "/sessions/0/dead_ends"], "shares: main, work", ""),
    (&["checkpoint", "--search", "cache"], &["/semantic_context/query", "/semantic_context/results/0/text", "/semantic_context/relevance_scores/0"], "", "Checkpoint "),
    (&["calibration"], &["sessions", "total_sessions", "overall", "agents", "total_agents", "/sessions/0/calibration_status", "/sessions/0/why", "/overall/brier_score", "/overall/reliability/4/observed", "/overall/trend/direction", "/overall/vectors/0/tendency", "/overall/small_sample", "/agents/0/ai_id"], "self-assessment consistent", ""),
    (&["metrics"], &["ai_id", "since", "until", "by", "exact", "overall", "agents", "total_agents", "periods", "duplicate_pairs", "/overall/resume/text_tokens", "/overall/resume/transcript_tokens", "/overall/first_entry/median_seconds", "/overall/first_try_completeness/value", "/overall/context_relevance/numerator", "/overall/decision_accuracy/denominator", "/agents/0/ai_id", "/periods/0/period"], "first-try completeness", ""),
    (&["metrics", "{handoff}"], &["handoff_id", "session_id", "ai_id", "timestamp", "task", "exact", "/tokens/summary/text", "/tokens/full/json", "transcript_tokens", "first_try_complete", "acknowledgements", "receivers"], "accepted by no other session yet", ""),
    (&["report", "--html", "page.html"], &["file", "bytes", "ai_id", "since", "until", "sessions", "sessions_active", "agents", "handoffs", "findings", "dead_ends", "unknowns_open", "goals_open", "left_out"], "page.html", "Wrote a page"),
    (&["status"], &["branch", "commit", "sessions", "total_sessions", "handoffs", "unflushed", "/waiting/log", "/waiting/user_state", "/waiting/interrupted", "/waiting/since", "/waiting/reason", "/waiting/command", "/waiting/recovery_commands", "unsynced"], "branch main", ""),
    (&["embed"], &["url", "model", "embedded", "total", "dimension"], "computed", "nothing leaves this machine"),
    (&["flush"], &["flushed", "waiting", "degraded_mode"], "written to the notes", ""),
    (&["flush", "--without-damaged"], &["flushed", "waiting", "degraded_mode", "rescued"], "No object of the notes is damaged", ""),
    (&["init"], &["hooks", "hooks_folder", "remote", "dry_run", "changes", "/changes/0/change"], "Set up: hooks, what git log shows", "git empirica deinit"),
    (&["init", "--dry-run"], &["hooks", "hooks_folder", "remote", "dry_run", "changes"], "would add notes.displayRef", "would be made"),
    (&["init", "--agents", "codex"], &["agents", "changes", "/agents/0"], ".codex/hooks.json", "trust in the folder"),
    (&["deinit"], &["dry_run", "changes"], "not set up", "nothing to revert"),
    (&["doctor"], &["set_up", "wrong", "checks", "/checks/0/check", "/checks/0/ok", "/checks/0/what", "/checks/0/commands"], "not set up here", "Nothing is wrong"),
    (&["repair"], &["repairs", "total_found", "applied", "degraded_mode"], "Nothing to repair", ""),
    (&["repair", "--apply", "--to", "HEAD={spare_commit}"], &["/repairs/0/from", "/repairs/0/from_subject", "/repairs/0/to", "/repairs/0/to_subject", "/repairs/0/rule", "/repairs/0/state", "/repairs/0/candidates", "/repairs/0/records/0/id"], "attached ", "are attached"),
    (&["redact", "{finding}", "--dry-run"], &["dry_run", "redacted", "redacted_before", "rewritten", "look_at", "foreign_refs", "epoch", "remotes", "complete", "/redacted/0/id", "/redacted/0/kind"], "would be redacted", "dry run"),
    (&["redact", "{finding}", "--reason", "R"], &["redacted", "rewritten", "epoch", "complete"], ": redacted", "git gc"),
    (&["redact", "--secrets"], &["dry_run", "scrubbed"], "No secret is stored outside records", ""),
    (&["sync", "../world.git"], &["dry_run", "remotes", "/remotes/0/remote", "/remotes/0/first", "/remotes/0/rounds", "/remotes/0/refs/0/ref", "/remotes/0/refs/0/status", "/remotes/0/refs/0/incoming", "/remotes/0/refs/0/outgoing", "/remotes/0/incoming/records", "/remotes/0/outgoing/kinds/0/kind", "/remotes/0/outgoing/kinds/0/count", "/remotes/0/outgoing/handoffs/0/handoff_id", "/remotes/0/outgoing/handoffs/0/task"], "records sent", "publishing there"),
    (&["sync", "../other.git", "--dry-run"], &["dry_run", "remotes"], "to be sent", "dry run"),
    (&["import", "--jsonl", "../all.jsonl"], &["read", "new", "known", "left_out", "kinds", "/kinds/0/kind", "/kinds/0/count", "missing_commits", "secrets", "degraded_mode", "storage"], "1 line read: 1 new, 0 known", ""),
    (&["import", "--dry-run"], &["source", "dry_run", "refs", "originals", "read", "new", "known", "left_out", "kinds", "from", "sessions", "moved", "not_understood", "secrets_replaced", "degraded_mode", "storage"], "There are no notes of the Python tool here", "git fetch origin"),
    (&["instructions", "--agent", "codex"], &["agent", "file", "text"], "keep what you learn", ""),
    (&["instructions", "--write"], &["agent", "dry_run", "changes", "unchanged", "/changes/0/file"], "AGENTS.md", "deinit reverts it"),
    (&["setup", "--dry-run"], &["files", "dry_run"], "git-empirica.1", "Would install"),
    (&["demo"], &["steps", "/steps/0/title", "/steps/0/command", "/steps/0/output"], "git empirica", ""),
];

/// A command that fails, where, and its exit code.
#[rustfmt::skip]
const FAILS: &[(&[&str], At, i32)] = &[
    (&["session", "start"], At::Nowhere, 128),
    (&["session", "end"], At::Fresh, 1),
    (&["session", "list"], At::Nowhere, 128),
    (&["session", "show", "ffffffff"], At::World, 1),
    (&["preflight", "-v", "know=0.5", "--session", "nobody"], At::Fresh, 1),
    (&["preflight", "-v", "know=1.5"], At::World, 2),
    (&["assess-state", "--session", "nobody"], At::Fresh, 1),
    (&["checkpoint-create", "-v", "know=2"], At::World, 2),
    (&["sessions-list"], At::Nowhere, 128),
    (&["diff", "zzzz"], At::World, 1),
    (&["diff"], At::Fresh, 1),
    (&["drift"], At::Fresh, 1),
    (&["drift", "--window", "1"], At::World, 2),
    (&["check", "-v", "know=0.5", "--session", "nobody"], At::Fresh, 1),
    (&["check", "-v", "know=0.5", "--confidence", "2"], At::World, 2),
    (&["postflight", "-v", "know=0.5", "--session", "nobody"], At::Fresh, 1),
    (&["postflight"], At::World, 2),
    (&["checkpoint", "--session", "nobody"], At::Fresh, 1),
    (&["checkpoint", "--round", "0"], At::World, 2),
    (&["checkpoint", "list", "--session", "ffffffff"], At::World, 1),
    (&["checkpoint", "show", "ffffffff"], At::World, 1),
    (&["finding", "F", "--session", "nobody"], At::Fresh, 1),
    (&["finding-log", " "], At::World, 2),
    (&["unknown", "U", "--session", "nobody"], At::Fresh, 1),
    (&["unknown-log", ""], At::World, 2),
    (&["resolve", "ffffffff", "A"], At::World, 1),
    (&["resolve", "{finding}", "A"], At::World, 1),
    (&["deadend", "D"], At::World, 2),
    (&["deadend-log", "D", "--why", "W", "--session", "nobody"], At::Fresh, 1),
    (&["mistake", "M", "--session", "nobody"], At::Fresh, 1),
    (&["mistake-log", "M", "--prevention", ""], At::World, 2),
    (&["decision", "D", "--why", "W", "--session", "nobody"], At::Fresh, 1),
    (&["source", " "], At::World, 2),
    (&["evidence", "true", "--exit", "no"], At::World, 2),
    (&["activity", "shel", "ls"], At::World, 2),
    (&["undo"], At::Fresh, 1),
    (&["confirm", "ffffffff"], At::World, 1),
    (&["replace", "ffffffff", "N"], At::World, 1),
    (&["retract", "{goal}", "--why", "W"], At::World, 1),
    (&["goal", "add", "G", "--session", "nobody"], At::Fresh, 1),
    (&["goal", "sub", "ffffffff", "S"], At::World, 1),
    (&["goal", "done", "ffffffff"], At::World, 1),
    (&["goal", "drop", "{finding}"], At::World, 1),
    (&["goal", "take", "ffffffff"], At::World, 1),
    (&["goal", "list", "--session", "nobody"], At::World, 1),
    (&["goal", "show", "ffffffff"], At::World, 1),
    (&["handoff"], At::Fresh, 1),
    (&["handoff", "--next", " "], At::World, 2),
    (&["handoff", "--type", "epistemic", "--example"], At::World, 2),
    (&["handoff", "--type", "progress"], At::World, 2),
    (&["handoff", "--dry-run"], At::Fresh, 1),
    (&["handoff", "list", "--session", "nobody"], At::World, 1),
    (&["handoff", "sign", "ffffffff"], At::World, 1),
    (&["handoff", "--sign", "--dry-run"], At::World, 2),
    (&["show", "{finding}", "--verify"], At::World, 1),
    (&["accept", "ffffffff"], At::World, 1),
    (&["accept", "{handoff}", "--decision", "MAYBE"], At::World, 2),
    (&["accept", "{handoff}", "--resolution", "R"], At::World, 1),
    (&["answer", "{accept}.2", "So"], At::World, 1),
    (&["answer", "{accept}", ""], At::World, 2),
    (&["inbox"], At::Nowhere, 128),
    (&["route"], At::Fresh, 1),
    (&["route", "ffffffff"], At::World, 1),
    (&["route", "check"], At::Fresh, 1),
    (&["task", "list"], At::Nowhere, 128),
    (&["task", "show", "none"], At::World, 1),
    (&["collect", "no such file"], At::World, 1),
    (&["collect"], At::World, 2),
    (&["collect", "--latest"], At::Fresh, 1),
    (&["session", "start", "--from", "nobody"], At::World, 1),
    (&["handoff", "--type", "context", "--incremental"], At::World, 2),
    (&["handoff", "--regenerate", "{finding}"], At::World, 1),
    (&["metrics", "ffffffff"], At::World, 1),
    (&["metrics", "--by", "year"], At::World, 2),
    (&["report"], At::World, 2),
    (&["report", "--html", "no/such/page.html"], At::Fresh, 1),
    (&["report", "--html", "page.html"], At::Nowhere, 128),
    (&["show"], At::Fresh, 1),
    (&["show", "no-such-thing"], At::World, 1),
    (&["show", "{finding}", "--format", "compact"], At::World, 2),
    (&["resume", "--last", "6"], At::World, 2),
    (&["resume", "--session", "nobody"], At::World, 1),
    (&["bootstrap", "--budget", "99"], At::World, 2),
    (&["bootstrap", "--session", "nobody"], At::World, 1),
    (&["project-bootstrap"], At::Nowhere, 128),
    (&["log", "no-such-revision"], At::World, 1),
    (&["query", "--task", "("], At::World, 2),
    (&["query", "--since", "2026-13-45"], At::World, 2),
    (&["query", "--range", "no-such-revision"], At::World, 1),
    (&["query", "--session", "nobody"], At::World, 1),
    (&["search"], At::World, 2),
    (&["why", "nowhere"], At::World, 2),
    (&["search", "kind:findng"], At::World, 2),
    (&["search", "x session:nobody"], At::World, 1),
    (&["similar"], At::World, 2),
    (&["similar", "01234567"], At::World, 1),
    (&["checkpoint", "--search", "x", "--session", "nobody"], At::Fresh, 1),
    (&["calibration", "--session", "ffffffff"], At::World, 1),
    (&["status"], At::Nowhere, 128),
    (&["embed"], At::World, 1),
    (&["embed", "--all"], At::World, 2),
    (&["flush"], At::Nowhere, 128),
    (&["init"], At::Nowhere, 128),
    (&["init", "--agents", "nobody"], At::World, 2),
    (&["deinit", "--dry-run"], At::Nowhere, 128),
    (&["doctor"], At::Nowhere, 128),
    (&["repair"], At::Nowhere, 128),
    (&["repair", "--to", "HEAD"], At::World, 2),
    (&["repair", "--to", "ffffffff=HEAD"], At::World, 1),
    (&["repair", "--to", "HEAD=no-such-revision"], At::World, 1),
    (&["redact", "deadbeef"], At::World, 1),
    (&["redact"], At::World, 2),
    (&["redact", "deadbeef", "--secrets"], At::World, 2),
    (&["sync"], At::World, 1),
    (&["sync", "no-such-remote"], At::World, 1),
    (&["import"], At::Nowhere, 128),
    (&["import", "--dry-run", "--jsonl", "x"], At::World, 2),
    (&["import", "--jsonl", "no such file"], At::Fresh, 2),
    (&["import", "--jsonl", "../all.jsonl"], At::Nowhere, 128),
    (&["instructions"], At::Nowhere, 128),
    (&["instructions", "--dry-run"], At::World, 2),
    (&["setup", "--no-such-flag"], At::World, 2),
    (&["demo", "surplus"], At::World, 2),
];

/// A repository with some of everything.
struct World<'p> {
    repo: Repo<'p>,
    names: Vec<(&'static str, String)>,
}

fn id(json: &Value, key: &str) -> String {
    json[key].as_str().unwrap_or_else(|| panic!("no {key}: {json}")).to_owned()
}

impl<'p> World<'p> {
    /// What a command needs that would change the others.
    fn prepare(&self, given: &[&str]) {
        if given[0] == "embed" {
            let folder = self.repo.path.join(".git/model");
            model(&folder, 1.0);
            self.repo.git(["config", "empirica.embed.model", folder.to_str().expect("text")]).ok();
        }
    }

    fn new(place: &'p Sandbox, name: &str) -> Self {
        let repo = place.repo(name);
        let rules = "agents = [\"eve\", \"bob\"]\n[[route]]\nfrom = \"eve\"\nto = \"bob\"\n";
        repo.commit(".empirica/routes.toml", rules, "Add rules");
        let spare = repo.start("ada", "Spare work");
        repo.json(["goal", "add", "Take me"]);
        let session = repo.start("ada", "Main work");
        let checkpoint = id(&repo.json(["preflight", "-v", "know=0.5,uncertainty=0.5"]), "checkpoint_id");
        let finding = id(&repo.json(["finding", "The cache is cold"]), "id");
        let unknown = id(&repo.json(["unknown", "Which port?"]), "id");
        let goal = id(&repo.json(["goal", "add", "Reach it"]), "id");
        let other_goal = id(&repo.json(["goal", "add", "Leave it"]), "id");
        repo.json(["postflight", "-v", "know=0.8,uncertainty=0.3", "--no-handoff"]);
        let task = ["handoff", "--type", "initialization", "--task-id", "the-task", "--set", "instructions=Do it"];
        let task = id(&repo.json(task), "handoff_id");
        let accept = id(&repo.json(["accept", &task, "--session", &spare, "--question", "How?"]), "accept_id");
        let handoff = id(&repo.json(["handoff", "--context", "Mind the gap"]), "handoff_id");
        let spare_commit = repo.git_out(["commit-tree", "HEAD^{tree}", "-m", "Spare"]);
        let line = format!("{{\"commit\":\"{}\",\"shelf\":\"journal\",\"line\":\"Reviewed\"}}\n", repo.head());
        std::fs::write(place.path().join("all.jsonl"), line).expect("a file");
        let gpg = "#!/bin/sh\ncat >/dev/null\necho '[GNUPG:] SIG_CREATED ' >&2\necho '-----BEGIN PGP SIGNATURE-----'\n";
        crate::setup::init::script(&place.path().join("gpg"), gpg);
        repo.git(["config", "gpg.program", &place.path().join("gpg").to_string_lossy()]).ok();
        // a fresh remote for each
        repo.git(["init", "-q", "--bare", "../world.git"]).ok();
        repo.git(["init", "-q", "--bare", "../other.git"]).ok();
        let names = vec![
            ("spare_commit", spare_commit),
            ("spare", spare),
            ("session", session),
            ("checkpoint", checkpoint),
            ("finding", finding),
            ("unknown", unknown),
            ("goal", goal),
            ("other_goal", other_goal),
            ("handoff", handoff),
            ("accept", accept),
            ("transcript", crate::commands::session::collect::fixture("codex/rollout.jsonl")),
        ];
        World { repo, names }
    }

    /// A repository of its own in the same state: no row may live on what another one left.
    fn copy(&self, name: &str) -> Self {
        World { repo: self.repo.copied(name), names: self.names.clone() }
    }

    fn arguments(&self, given: &[&str]) -> Vec<String> {
        let named = |word: &&str| {
            self.names.iter().fold((*word).to_owned(), |word, (name, id)| word.replace(&format!("{{{name}}}"), id))
        };
        given.iter().map(named).collect()
    }
}

/// Exactly one document: an object on one line, and nothing beside it.
#[track_caller]
fn one_document(ran: &RunOutput) -> Value {
    let json = ran.json();
    assert!(json.is_object(), "{json}");
    assert_eq!(ran.out.matches('\n').count(), 1, "{:?}", ran.out);
    assert!(ran.out.ends_with('\n'), "{:?}", ran.out);
    json
}

fn has(json: &Value, key: &str) -> bool {
    if key.starts_with('/') { json.pointer(key).is_some() } else { json.get(key).is_some() }
}

#[test]
fn every_command_answers_with_one_document_and_its_keys() {
    let place = Sandbox::new();
    let first = World::new(&place, "world");
    for (at, (given, keys, ..)) in WORKS.iter().enumerate() {
        let world = first.copy(&format!("w{at}"));
        world.prepare(given);
        let mut arguments = world.arguments(given);
        arguments.push("--json".into());
        let ran = world.repo.run(&arguments).ok();
        let json = one_document(&ran);
        assert_eq!(json["ok"], true, "{arguments:?}: {json}");
        for key in *keys {
            assert!(has(&json, key), "{arguments:?}: {key} is missing: {json}");
        }
        assert!(!ran.err.contains("hint:"), "{arguments:?}: a program asked: {}", ran.err);
    }
}

#[test]
fn text_has_data_on_standard_output_and_the_rest_on_standard_error() {
    let place = Sandbox::new();
    let first = World::new(&place, "world");
    for (at, (given, _, out, err)) in WORKS.iter().enumerate().step_by(each(2)) {
        let world = first.copy(&format!("w{at}"));
        world.prepare(given);
        let arguments = world.arguments(given);
        let ran = world.repo.run(&arguments).ok();
        assert!(ran.out.contains(out), "{arguments:?}: {out:?} is not on standard output:\n{}", ran.out);
        assert!(ran.err.contains(err), "{arguments:?}: {err:?} is not on standard error:\n{}", ran.err);
        assert!(!ran.out.is_empty(), "{arguments:?}: no data");
        let aside = |line: &&str| ["hint:", "warning:", "error:"].iter().any(|word| line.starts_with(word));
        assert_eq!(ran.out.lines().find(aside), None, "{arguments:?}");
        let data = ["# Handoff ", "commit ", "# Session ", "{"];
        let is_data = |line: &&str| data.iter().any(|word| line.starts_with(word));
        assert_eq!(ran.err.lines().find(is_data), None, "{arguments:?}");
    }
}

#[test]
fn a_journal_command_prints_the_short_id_alone() {
    let place = Sandbox::new();
    let world = World::new(&place, "a");
    let handoff = world.arguments(&["{handoff}"]).remove(0);
    for given in
        [&["finding", "F"][..], &["source", "x"], &["goal", "add", "G"], &["checkpoint"], &["accept", &handoff]]
    {
        let ran = world.repo.run(given).ok();
        let id = ran.out.trim_end_matches('\n');
        assert!(id.len() == 8 && id.chars().all(|c| c.is_ascii_hexdigit()), "{given:?}: {:?}", ran.out);
        assert_eq!(world.repo.run(["show", id]).code, 0, "what it printed can be shown");
    }
}

#[test]
fn every_failure_is_one_document_with_all_keys_and_the_right_exit_code() {
    let place = Sandbox::new();
    let world = World::new(&place, "world");
    let fresh = place.repo("fresh");
    std::fs::create_dir(place.path().join("nowhere")).expect("a folder");
    let nowhere = place.at("nowhere");
    for (given, at, code) in FAILS {
        let repo = match at {
            At::World => &world.repo,
            At::Fresh => &fresh,
            At::Nowhere => &nowhere,
        };
        let arguments = world.arguments(given);
        let mut as_json = arguments.clone();
        as_json.push("--json".into());
        let ran = repo.run(&as_json);
        assert_eq!(ran.code, *code, "{as_json:?} {at:?}: {} {}", ran.out, ran.err);
        let json = one_document(&ran);
        assert_eq!(json["ok"], false, "{as_json:?}");
        for key in ["error", "reason", "suggestion"] {
            assert!(json[key].is_string(), "{as_json:?}: {key}: {json}");
        }
        for key in ["alternatives", "recovery_commands"] {
            assert!(json[key].is_array(), "{as_json:?}: {key}: {json}");
        }
        assert_eq!(ran.err, "", "{as_json:?}: the document says it all");
        let ran = repo.run(&arguments).code(*code);
        assert_eq!(ran.out, "", "{arguments:?}: an error is no data");
        assert!(ran.err.starts_with("error: "), "{arguments:?}: {}", ran.err);
    }
    assert_eq!(fresh.lines("journal").len(), 0, "a refused command stores nothing");
}

/// The names by which every command that does something can be called, those that promise no document left out.
fn commands(command: &clap::Command, path: &str, out: &mut BTreeSet<String>) {
    for sub in command.get_subcommands() {
        for name in std::iter::once(sub.get_name()).chain(sub.get_all_aliases()) {
            let path = format!("{path} {name}").trim().to_owned();
            if name == sub.get_name() {
                commands(sub, &path, out);
            }
            let bare = !sub.has_subcommands() || !sub.is_subcommand_required_set();
            if bare && !["completions", "export", "hook", "mcp"].contains(&path.as_str()) {
                out.insert(path);
            }
        }
    }
}

/// The command that arguments call.
fn called(arguments: &[&str]) -> String {
    let mut command = Cli::command();
    let mut path = Vec::new();
    for word in arguments {
        let Some(sub) = command.find_subcommand(word) else { break };
        path.push(*word);
        command = sub.clone();
    }
    path.join(" ")
}

#[test]
fn every_command_of_the_parser_is_in_both_tables() {
    let mut known = BTreeSet::new();
    commands(&Cli::command(), "", &mut known);
    assert!(known.contains("goal take") && known.contains("assess-state") && known.contains("checkpoint"), "{known:?}");
    let works: BTreeSet<String> = WORKS.iter().map(|row| called(row.0)).collect();
    let fails: BTreeSet<String> = FAILS.iter().map(|row| called(row.0)).collect();
    assert_eq!(known.difference(&works).collect::<Vec<_>>(), Vec::<&String>::new(), "no success is tested");
    assert_eq!(known.difference(&fails).collect::<Vec<_>>(), Vec::<&String>::new(), "no failure is tested");
}
