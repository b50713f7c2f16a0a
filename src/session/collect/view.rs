//! The answer of `collect`: what a transcript tells.

use serde_json::{Value, json};

use crate::render::answer::Answer;
use crate::render::{format, safe};
use crate::session::collect::CollectOutcome;
use empirica_notes::error::{blank, empirica, text};
use empirica_transcripts::model::{Tokens, ToolSummary};

/// A category with its number and samples, in the words of the session-context document.
pub fn tool_line(tool: &ToolSummary) -> String {
    let failed = if tool.errors > 0 { format!(", {} failed", tool.errors) } else { String::new() };
    let samples: Vec<String> = tool.samples.iter().map(|sample| safe::line(sample)).collect();
    let colon = if samples.is_empty() { "" } else { ": " };
    format!("{} (×{}{failed}){colon}{}", safe::line(&tool.category), tool.count, samples.join(" · "))
}

/// Tokens by kind, in a line.
fn tokens_line(tokens: Tokens) -> String {
    format!(
        "{} in, {} out, {} from the cache, {} into it",
        tokens.input, tokens.output, tokens.cache_read, tokens.cache_write
    )
}

/// The answer of `collect`.
pub fn answer(outcome: &CollectOutcome) -> Answer {
    let told = &outcome.transcript;
    let mut json = json!({
        "agent": told.agent,
        "transcript_id": outcome.id,
        "session_id": outcome.session.as_ref().map(|who| &who.id),
        "ai_id": outcome.session.as_ref().map(|who| &who.ai),
        "new_session": outcome.is_new_session,
        "path": outcome.path.display().to_string(),
        "external_id": told.session_id,
    });
    let more = json!({
        "cwd": told.cwd,
        "branch": told.branch,
        "model": told.model,
        "started_at": told.started_at,
        "ended_at": told.ended_at,
        "task": told.task,
        "summary": told.summary,
        "tool_summaries": told.tools,
        "files_modified": told.files_modified,
        "files_outside": told.files_outside,
        "pending_tasks": told.pending_tasks,
        "decisions": told.decisions,
        "recent_messages": told.messages,
        "tokens": told.tokens,
        "context_tokens": told.context_tokens,
        "subagents": told.subagents,
        "rows": told.rows,
        "skipped_rows": told.skipped_rows,
        "stored": outcome.stored.storage.is_some(),
        "added": outcome.added,
    });
    if let (Value::Object(json), Value::Object(more)) = (&mut json, more) {
        json.extend(more);
    }
    let mut answer = Answer::new(json).text(text(outcome)).paged();
    if told.skipped_rows > 0 {
        let rows = format::count(told.skipped_rows as usize, "row");
        answer = answer.warn([format!("{rows} of the transcript could not be read and were left out")]);
    }
    answer = match (&outcome.added, &outcome.session) {
        (None, _) => answer.say("Nothing is new in it."),
        (Some(_), _) if outcome.stored.storage.is_none() => answer.say("This is a dry run: nothing is stored."),
        (Some(added), who) => {
            let id = who.as_ref().map(|who| who.id.short().to_owned()).unwrap_or_default();
            let made = if outcome.is_new_session { "a session made for it" } else { "the session" };
            let rows = format::count(added.rows as usize, "row");
            let path = outcome.path.display().to_string();
            answer.say(format!("Collected {rows} into {made}, {id}.")).hint(text![
                "hand it over: ",
                empirica("handoff").option("--transcript", path).option("--to", blank("<ai>"))
            ])
        }
    };
    answer.stored(&outcome.stored)
}

fn text(outcome: &CollectOutcome) -> String {
    let told = &outcome.transcript;
    let mut out = format!("Transcript {} of {}\n", safe::line(&outcome.id), told.agent.name());
    let mut row = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            out.push_str(&format!("  {name:<9} {value}\n"));
        }
    };
    row("task", told.task.as_deref().map(safe::line));
    row("folder", told.cwd.as_deref().map(safe::line));
    row("branch", told.branch.as_deref().map(safe::line));
    row("model", told.model.as_deref().map(safe::line));
    let times = told.started_at.as_deref().zip(told.ended_at.as_deref());
    row("time", times.map(|(from, to)| format!("{} to {}", format::date(from), format::date(to))));
    row("tokens", (told.tokens.sum() > 0).then(|| tokens_line(told.tokens)));
    row(
        "rows",
        Some(match told.skipped_rows {
            0 => told.rows.to_string(),
            skipped => format!("{}, {skipped} left out", told.rows),
        }),
    );
    let mut list = |title: &str, entries: Vec<String>| {
        if !entries.is_empty() {
            out.push_str(&format!("\n{title}:\n"));
            entries.iter().for_each(|entry| out.push_str(&format!("  - {entry}\n")));
        }
    };
    list("Tool activity", told.tools.iter().map(tool_line).collect());
    let mut files: Vec<String> = told.files_modified.iter().map(|path| safe::line(path)).collect();
    if told.files_outside > 0 {
        files.push(format!("{} outside the repository", format::count(told.files_outside as usize, "file")));
    }
    list("Files modified", files);
    let task = |pending: &empirica_transcripts::model::Pending| {
        format!("{} ({})", safe::line(&pending.text), safe::line(&pending.status))
    };
    list("Pending tasks", told.pending_tasks.iter().map(task).collect());
    list("Decisions", told.decisions.iter().map(|text| safe::line(text)).collect());
    let subagent = |subagent: &empirica_transcripts::model::Subagent| {
        let name = subagent.name.as_deref().or(subagent.id.as_deref()).unwrap_or("without a name");
        let tools: Vec<String> =
            subagent.tools.iter().map(|tool| format!("{} ×{}", safe::line(&tool.category), tool.count)).collect();
        let files = format::count(subagent.files_modified.len(), "file");
        format!("{}: {}; {files} modified", safe::line(name), tools.join(", "))
    };
    list("Subagents", told.subagents.iter().map(subagent).collect());
    out
}
