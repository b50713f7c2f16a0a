//! The answer of `collect`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::render::answer::Answer;
use crate::render::{format, safe};
use crate::use_cases::collect::{CollectOutcome, Collection};
use empirica_notes::error::{blank, empirica, text};
use empirica_notes::model::SessionId;
use empirica_notes::model::collected::Collected;
use empirica_transcripts::model::{Agent, Message, PendingTask, Subagent, Tokens, ToolSummary};

/// A category of tools with its number and samples, as in the session-context document.
pub fn tool_line(tool: &ToolSummary) -> String {
    let failed = if tool.errors > 0 { format!(", {} failed", tool.errors) } else { String::new() };
    let samples: Vec<String> = tool.samples.iter().map(|sample| safe::line(sample)).collect();
    let colon = if samples.is_empty() { "" } else { ": " };
    format!("{} (×{}{failed}){colon}{}", safe::line(&tool.category), tool.count, samples.join(" · "))
}

fn tokens_line(tokens: Tokens) -> String {
    format!(
        "{} in, {} out, {} from the cache, {} into it",
        tokens.input, tokens.output, tokens.cache_read, tokens.cache_write
    )
}

/// An agent's transcript.
#[derive(Serialize, JsonSchema)]
pub struct CollectedView<'a> {
    /// Its agent.
    agent: Agent,
    /// Its ID in records.
    transcript_id: &'a str,
    /// Its session; null if nothing is stored and no session has it.
    session_id: Option<&'a SessionId>,
    /// The agent of that session.
    ai_id: Option<&'a str>,
    /// Whether the session was started for it.
    new_session: bool,
    /// Its file or folder.
    path: String,
    /// The agent's own id of its session.
    external_id: Option<&'a str>,
    /// The folder in which the agent was started.
    cwd: Option<&'a str>,
    /// The last branch.
    branch: Option<&'a str>,
    /// The last model.
    model: Option<&'a str>,
    /// The first time in it.
    started_at: Option<&'a str>,
    /// The last time in it.
    ended_at: Option<&'a str>,
    /// The first message of the user.
    task: Option<&'a str>,
    /// The newest summary by the agent.
    summary: Option<&'a str>,
    /// The main agent's use of tools, most used first.
    tool_summaries: &'a [ToolSummary],
    /// The files of successful edits, relative to the root of the repository.
    files_modified: &'a [String],
    /// The number of modified files outside the repository.
    files_outside: u64,
    /// The open entries of the newest todo list or plan.
    pending_tasks: &'a [PendingTask],
    /// The newest 10 commands whose last run failed.
    failed_commands: &'a [String],
    /// The newest 20 decisions.
    decisions: &'a [String],
    /// The last 10 messages.
    recent_messages: &'a [Message],
    /// The tokens of the whole session, each message of the API once.
    tokens: Tokens,
    /// The tokens of the context at the end; null if unknown.
    context_tokens: Option<u64>,
    /// The subagents.
    subagents: &'a [Subagent],
    /// The number of rows read.
    rows: u64,
    /// The number of rows not read: invalid JSON, longer than 16 MB, or an incomplete last row (not stored: it will be complete later).
    skipped_rows: u64,
    /// Whether anything was stored.
    stored: bool,
    /// The new parts; null without any.
    added: Option<&'a Collected>,
}

pub fn answer(outcome: &CollectOutcome) -> Answer {
    let Collection { transcript, added, .. } = &outcome.collection;
    let (session, is_stored) = (outcome.session(), outcome.is_stored());
    let path = outcome.collection.path.display().to_string();
    let is_new_session = outcome.collection.is_new_session && is_stored;
    let mut answer = Answer::new(CollectedView {
        agent: transcript.agent,
        transcript_id: &outcome.collection.id,
        session_id: session.map(|session| &session.id),
        ai_id: session.map(|session| session.ai.as_str()),
        new_session: is_new_session,
        path: path.clone(),
        external_id: transcript.session_id.as_deref(),
        cwd: transcript.cwd.as_deref(),
        branch: transcript.branch.as_deref(),
        model: transcript.model.as_deref(),
        started_at: transcript.started_at.as_deref(),
        ended_at: transcript.ended_at.as_deref(),
        task: transcript.task.as_deref(),
        summary: transcript.summary.as_deref(),
        tool_summaries: &transcript.tools,
        files_modified: &transcript.files_modified,
        files_outside: transcript.files_outside,
        pending_tasks: &transcript.pending_tasks,
        failed_commands: &transcript.failed_commands,
        decisions: &transcript.decisions,
        recent_messages: &transcript.messages,
        tokens: transcript.tokens,
        context_tokens: transcript.context_tokens,
        subagents: &transcript.subagents,
        rows: transcript.rows,
        skipped_rows: transcript.skipped_rows,
        stored: is_stored,
        added: added.as_ref(),
    });
    answer = answer.text(text(&outcome.collection)).paged();
    if transcript.skipped_rows > 0 {
        let rows = format::count(transcript.skipped_rows as usize, "row");
        answer = answer.warn([format!("{rows} of the transcript could not be read and were left out")]);
    }
    answer = match added {
        None => answer.say("Nothing is new in it."),
        Some(_) if !is_stored => answer.say("This is a dry run: nothing is stored."),
        Some(added) => {
            let place = if is_new_session { "a new session" } else { "the session" };
            let rows = format::count(added.rows as usize, "row");
            answer.say(format!("Collected {rows} into {place}, {}.", outcome.collection.session.id.short())).hint(
                text!["hand it over: ", empirica("handoff").option("--transcript", path).option("--to", blank("<ai>"))],
            )
        }
    };
    answer.stored(&outcome.stored)
}

fn text(Collection { id, transcript, .. }: &Collection) -> String {
    let mut out = format!("Transcript {} of {}\n", safe::line(id), transcript.agent.name());
    let mut row = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            out.push_str(&format!("  {name:<9} {value}\n"));
        }
    };
    row("task", transcript.task.as_deref().map(safe::line));
    row("folder", transcript.cwd.as_deref().map(safe::line));
    row("branch", transcript.branch.as_deref().map(safe::line));
    row("model", transcript.model.as_deref().map(safe::line));
    let times = transcript.started_at.as_deref().zip(transcript.ended_at.as_deref());
    row("time", times.map(|(from, to)| format!("{} to {}", format::date(from), format::date(to))));
    row("tokens", (transcript.tokens.sum() > 0).then(|| tokens_line(transcript.tokens)));
    row(
        "rows",
        Some(match transcript.skipped_rows {
            0 => transcript.rows.to_string(),
            skipped => format!("{}, {skipped} left out", transcript.rows),
        }),
    );
    let mut list = |title: &str, entries: Vec<String>| {
        if !entries.is_empty() {
            out.push_str(&format!("\n{title}:\n"));
            entries.iter().for_each(|entry| out.push_str(&format!("  - {entry}\n")));
        }
    };
    list("Tool activity", transcript.tools.iter().map(tool_line).collect());
    let mut files: Vec<String> = transcript.files_modified.iter().map(|path| safe::line(path)).collect();
    if transcript.files_outside > 0 {
        files.push(format!("{} outside the repository", format::count(transcript.files_outside as usize, "file")));
    }
    list("Files modified", files);
    let task = |pending: &PendingTask| format!("{} ({})", safe::line(&pending.text), safe::line(&pending.status));
    list("Pending tasks", transcript.pending_tasks.iter().map(task).collect());
    list("Failed commands", transcript.failed_commands.iter().map(|text| safe::line(text)).collect());
    list("Decisions", transcript.decisions.iter().map(|text| safe::line(text)).collect());
    let subagent = |subagent: &Subagent| {
        let name = subagent.name.as_deref().or(subagent.id.as_deref()).unwrap_or("without a name");
        let tools: Vec<String> =
            subagent.tools.iter().map(|tool| format!("{} ×{}", safe::line(&tool.category), tool.count)).collect();
        let files = format::count(subagent.files_modified.len(), "file");
        format!("{}: {}; {files} modified", safe::line(name), tools.join(", "))
    };
    list("Subagents", transcript.subagents.iter().map(subagent).collect());
    out
}
