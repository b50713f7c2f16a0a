//! The answer of `collect`: what a transcript tells.

use schemars::JsonSchema;
use serde::Serialize;

use crate::collect::CollectOutcome;
use crate::render::answer::Answer;
use crate::render::{format, safe};
use empirica_notes::error::{blank, empirica, text};
use empirica_notes::model::SessionId;
use empirica_notes::model::collected::Collected;
use empirica_transcripts::model::{Agent, Exchange, Pending, Subagent, Tokens, ToolSummary};

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

/// An agent's transcript.
#[derive(Serialize, JsonSchema)]
pub struct CollectedView<'a> {
    /// Who wrote it.
    agent: Agent,
    /// The id that stands for it in records.
    transcript_id: &'a str,
    /// The session it is of; null when nothing is stored and no session has it.
    session_id: Option<&'a SessionId>,
    /// The agent of that session.
    ai_id: Option<&'a str>,
    /// Whether the session was made for it.
    new_session: bool,
    /// Where it was read.
    path: String,
    /// The agent's own id of its session.
    external_id: Option<&'a str>,
    /// The folder the agent was started in.
    cwd: Option<&'a str>,
    /// The branch that was named last.
    branch: Option<&'a str>,
    /// The model that was used last.
    model: Option<&'a str>,
    /// The first time in it.
    started_at: Option<&'a str>,
    /// The last time in it.
    ended_at: Option<&'a str>,
    /// The first thing the user said.
    task: Option<&'a str>,
    /// The newest summary that the agent made.
    summary: Option<&'a str>,
    /// The main agent's use of tools, most used first.
    tool_summaries: &'a [ToolSummary],
    /// The files of successful edits, relative to the root of the repository.
    files_modified: &'a [String],
    /// How many files outside the repository were modified.
    files_outside: u64,
    /// What is left of the newest todo list or plan.
    pending_tasks: &'a [Pending],
    /// The newest 20 choices.
    decisions: &'a [String],
    /// The last 10 messages.
    recent_messages: &'a [Exchange],
    /// The tokens of the whole session, each message of the API once.
    tokens: Tokens,
    /// How many tokens the context held at the end; null where that is not known.
    context_tokens: Option<u64>,
    /// The subagents.
    subagents: &'a [Subagent],
    /// How many rows were read.
    rows: u64,
    /// How many rows could not be read: no JSON, longer than 16 MB, or a last one that is torn (not stored: it will be whole later).
    skipped_rows: u64,
    /// Whether something was stored.
    stored: bool,
    /// What was new; null when nothing was.
    added: Option<&'a Collected>,
}

/// The answer of `collect`.
pub fn answer(outcome: &CollectOutcome) -> Answer {
    let told = &outcome.transcript;
    let mut answer = Answer::new(CollectedView {
        agent: told.agent,
        transcript_id: &outcome.id,
        session_id: outcome.session.as_ref().map(|who| &who.id),
        ai_id: outcome.session.as_ref().map(|who| who.ai.as_str()),
        new_session: outcome.is_new_session,
        path: outcome.path.display().to_string(),
        external_id: told.session_id.as_deref(),
        cwd: told.cwd.as_deref(),
        branch: told.branch.as_deref(),
        model: told.model.as_deref(),
        started_at: told.started_at.as_deref(),
        ended_at: told.ended_at.as_deref(),
        task: told.task.as_deref(),
        summary: told.summary.as_deref(),
        tool_summaries: &told.tools,
        files_modified: &told.files_modified,
        files_outside: told.files_outside,
        pending_tasks: &told.pending_tasks,
        decisions: &told.decisions,
        recent_messages: &told.messages,
        tokens: told.tokens,
        context_tokens: told.context_tokens,
        subagents: &told.subagents,
        rows: told.rows,
        skipped_rows: told.skipped_rows,
        stored: outcome.stored.storage.is_some(),
        added: outcome.added.as_ref(),
    });
    answer = answer.text(text(outcome)).paged();
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
    let task = |pending: &Pending| format!("{} ({})", safe::line(&pending.text), safe::line(&pending.status));
    list("Pending tasks", told.pending_tasks.iter().map(task).collect());
    list("Decisions", told.decisions.iter().map(|text| safe::line(text)).collect());
    let subagent = |subagent: &Subagent| {
        let name = subagent.name.as_deref().or(subagent.id.as_deref()).unwrap_or("without a name");
        let tools: Vec<String> =
            subagent.tools.iter().map(|tool| format!("{} ×{}", safe::line(&tool.category), tool.count)).collect();
        let files = format::count(subagent.files_modified.len(), "file");
        format!("{}: {}; {files} modified", safe::line(name), tools.join(", "))
    };
    list("Subagents", told.subagents.iter().map(subagent).collect());
    out
}
