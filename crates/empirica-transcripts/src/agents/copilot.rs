//! Events of Copilot CLI.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use rusqlite::Row;
use serde_json::value::RawValue;

use crate::agents::format::{Format, Match, NamedRepository, Reader, RowFormat, Sessions};
use crate::model::{Agent, Role, Tokens};
use crate::read::call::{Call, Entry, TODO, Todos};
use crate::read::exit;
use crate::read::files::small;
use crate::read::keys::Keys;
use crate::read::lenient::{Count, Flag, List, Text, lenient};
use crate::read::sqlite;
use crate::summary::fold::{Fold, Owner};
use crate::text::words;

pub(crate) static FORMAT: Format = Format {
    agent: Agent::Copilot,
    tools: &[
        ("read_bash", "shell"),
        ("write_bash", "shell"),
        ("stop_bash", "shell"),
        ("list_bash", "shell"),
        ("task", "task"),
        ("read_agent", "task"),
        ("write_agent", "task"),
        ("list_agents", "task"),
        ("ask_user", "ask"),
        ("sql", TODO),
    ],
    data: (Some("COPILOT_HOME"), ".copilot"),
    sessions: Sessions::Rows(RowFormat {
        files: &["session-state/*/events.jsonl"],
        matches: |row| {
            let kinds = ["session.", "user.", "assistant.", "tool.", "subagent.", "hook.", "system."];
            let is_known = row.text("type").is_some_and(|kind| kinds.iter().any(|start| kind.starts_with(start)));
            Match::of(is_known && row.has_object("data"))
        },
        reader: || Box::<Copilot>::default(),
        folder_by_path: |path, _| workspace_folder(path),
        folder_in_row: |row, _| row.object("data").object("context").text("cwd"),
        repository_in_row: |row| {
            let data = row.object("data");
            let context = data.object("context");
            NamedRepository {
                root: context.text("gitRoot"),
                commit: context.text("headCommit"),
                remote: context.text("repository"),
            }
        },
    }),
};

/// The folder of a session, from `workspace.yaml` beside its events.
fn workspace_folder(path: &Path) -> Option<String> {
    let text = small(&path.with_file_name("workspace.yaml"))?;
    let value = text.lines().find_map(|line| line.strip_prefix("cwd:"))?.trim();
    let quoted = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    Some(quoted.unwrap_or(value).to_owned()).filter(|value| !value.is_empty())
}

lenient! {
    Context {
        cwd: Text<'a> = "cwd",
        root: Text<'a> = "gitRoot",
        branch: Text<'a> = "branch",
        commit: Text<'a> = "headCommit",
    }

    /// A call of a tool.
    Request {
        id: Text<'a> = "toolCallId",
        name: Text<'a> = "name",
        arguments: Option<&'a RawValue> = "arguments",
    }

    /// The tokens of an API message; `input` includes those read from and written to the cache.
    Usage {
        id: Text<'a> = "apiCallId",
        input: Count = "inputTokens",
        output: Count = "outputTokens",
        cache_read: Count = "cacheReadTokens",
        cache_write: Count = "cacheWriteTokens",
    }

    /// The use of one model.
    Metrics {
        usage: Usage<'a> = "usage",
    }

    Exit {
        code: Option<&'a RawValue> = "exitCode",
    }

    Outcome {
        content: Text<'a> = "content",
    }

    /// The content of an event.
    Data {
        session: Text<'a> = "sessionId",
        model: Text<'a> = "selectedModel",
        new_model: Text<'a> = "newModel",
        context: Context<'a> = "context",
        content: Text<'a> = "content",
        requests: List<Request<'a>> = "toolRequests",
        call: Text<'a> = "toolCallId",
        tool: Text<'a> = "toolName",
        arguments: Option<&'a RawValue> = "arguments",
        success: Flag = "success",
        parent: Text<'a> = "parentToolCallId",
        summary: Text<'a> = "summaryContent",
        source: Text<'a> = "source",
        usage: Usage<'a> = "usage",
        models: Option<&'a RawValue> = "modelMetrics",
        exit: Exit<'a> = "shellExecution",
        result: Outcome<'a> = "result",
        agent: Text<'a> = "agentDisplayName",
        description: Text<'a> = "agentDescription",
    }

    Event {
        kind: Text<'a> = "type",
        timestamp: Text<'a> = "timestamp",
        id: Text<'a> = "id",
        agent: Text<'a> = "agentId",
        data: Data<'a> = "data",
    }
}

#[derive(Debug, Default)]
pub struct Copilot {
    seen: HashSet<u64>,
    /// Whether each API message has its tokens.
    has_usage: bool,
    /// The subagents by the ids of the calls that started them.
    agents: HashMap<u64, Owner>,
}

impl Copilot {
    /// The subagent of an event, named by the call that started it, or by its own id.
    fn owner(&mut self, event: &Event, fold: &mut Fold) -> Owner {
        let started = event.kind.get() == Some("subagent.started");
        let call = event.data.parent.get().or(event.data.call.get().filter(|_| started));
        let agent = event.agent.get();
        let numbers: Vec<u64> = call.into_iter().chain(agent).map(|id| fold.hash(id)).collect();
        if numbers.is_empty() {
            return None;
        }
        let known = numbers.iter().find_map(|number| self.agents.get(number).copied());
        let owner = known.unwrap_or_else(|| fold.add_subagent(agent.or(call)));
        self.agents.extend(numbers.into_iter().map(|number| (number, owner)));
        owner
    }
}

fn add_call(owner: Owner, id: Option<&str>, name: &str, arguments: Option<&RawValue>, fold: &mut Fold) {
    fold.add_call(owner, id, Call::of(FORMAT.tools, name, arguments, fold.folder.as_deref()));
}

/// Whether a call failed; a command that ended with an error is successful to the agent.
fn has_failed(data: &Data) -> bool {
    let in_text = || data.result.content.get().is_some_and(|text| exit::in_copilot(text).is_some());
    data.success.is_false() || exit::has_failed(data.exit.code).unwrap_or_else(in_text)
}

fn tokens(usage: &Usage) -> Tokens {
    let (read, write) = (usage.cache_read.get(), usage.cache_write.get());
    let input = usage.input.get().saturating_sub(read).saturating_sub(write);
    Tokens { input, output: usage.output.get(), cache_read: read, cache_write: write }
}

/// The entries of the table of tasks in the database beside the events.
fn todos(path: &Path) -> rusqlite::Result<Vec<Entry>> {
    let db = sqlite::open(path)?;
    let query = "SELECT coalesce(CAST(title AS TEXT), ''), coalesce(CAST(status AS TEXT), '') FROM todos ORDER BY rowid LIMIT 1000";
    let mut rows = db.prepare(query)?;
    let entry = |row: &Row| Ok(Entry { id: None, text: row.get(0)?, status: row.get(1)? });
    rows.query_map([], entry)?.collect()
}

impl Reader for Copilot {
    fn row(&mut self, text: &str, fold: &mut Fold) -> bool {
        let Ok(event) = serde_json::from_str::<Event>(text) else { return false };
        if let Some(id) = event.id.get()
            && !self.seen.insert(fold.hash(id))
        {
            return true;
        }
        let (data, at) = (&event.data, event.timestamp.get());
        fold.add_time(at);
        let owner = self.owner(&event, fold);
        match event.kind.get() {
            Some("session.start" | "session.resume") => {
                fold.set_cwd(data.context.cwd.get());
                data.context.root.set(&mut fold.own_root);
                data.session.set(&mut fold.out.session_id);
                data.model.set(&mut fold.out.model);
                data.context.branch.set(&mut fold.out.branch);
                data.context.commit.set_first(&mut fold.out.commit);
            }
            Some("session.model_change") if owner.is_none() => data.new_model.set(&mut fold.out.model),
            Some("subagent.started") => {
                if let Some(name) = data.description.get().or(data.agent.get()) {
                    fold.name(owner, name);
                }
            }
            Some("session.compaction_complete") => fold.set_summary(data.summary.get().unwrap_or_default()),
            // others are injected, or a task for a subagent
            Some("user.message") if owner.is_none() && data.source.get().is_none_or(|source| source == "user") => {
                let own = data.content.get().and_then(words::user_text);
                fold.add_message(Role::User, own.unwrap_or_default(), at);
            }
            Some("assistant.message") => {
                if owner.is_none() {
                    fold.add_message(Role::Assistant, data.content.get().unwrap_or_default(), at);
                }
                for request in &data.requests.0 {
                    add_call(owner, request.id.get(), request.name.get().unwrap_or_default(), request.arguments, fold);
                }
            }
            Some("tool.execution_start") => {
                // without an id it would be counted twice
                if let Some(id) = data.call.get() {
                    add_call(owner, Some(id), data.tool.get().unwrap_or_default(), data.arguments, fold);
                }
            }
            Some("tool.execution_complete") => {
                if let Some(id) = data.call.get() {
                    fold.end_call(id, has_failed(data));
                }
            }
            Some("session.usage_record") => {
                self.has_usage = true;
                fold.add_usage(owner, data.usage.id.get(), tokens(&data.usage));
            }
            // versions without records of usage tell the sum, by model
            Some("session.shutdown") if !self.has_usage => {
                let models =
                    data.models.and_then(|raw| serde_json::from_str::<Keys>(raw.get()).ok()).unwrap_or_default();
                let of = |(_, raw): (&str, &str)| {
                    serde_json::from_str::<Metrics>(raw).map(|model| tokens(&model.usage)).ok()
                };
                fold.set_usage(None, models.entries().filter_map(of).fold(Tokens::default(), Tokens::plus));
            }
            _ => {}
        }
        true
    }

    fn read_adjacent(&mut self, path: &Path, fold: &mut Fold) {
        if let Ok(entries) = todos(&path.with_file_name("session.db")) {
            fold.update_todos(Todos { entries, merge: false });
        }
    }
}
