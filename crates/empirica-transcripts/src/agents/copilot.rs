//! Events of Copilot CLI.

use std::path::Path;

use serde_json::value::RawValue;

use crate::agents::format::{Format, Match, Reader, RowFormat, Sessions};
use crate::model::{Agent, Role, Tokens};
use crate::read::call::Call;
use crate::read::files::small;
use crate::read::lenient::{Count, Flag, List, Text, lenient};
use crate::summary::fold::Fold;
use crate::text::words;

pub(crate) static FORMAT: Format = Format {
    agent: Agent::Copilot,
    tools: &[],
    data: (None, ".copilot"),
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
        input: Count = "inputTokens",
        output: Count = "outputTokens",
        cache_read: Count = "cacheReadTokens",
        cache_write: Count = "cacheWriteTokens",
    }

    Event {
        kind: Text<'a> = "type",
        timestamp: Text<'a> = "timestamp",
        id: Text<'a> = "id",
        data: Data<'a> = "data",
    }
}

#[derive(Debug, Default)]
pub struct Copilot {
    seen: std::collections::HashSet<u64>,
}

fn add_call(id: Option<&str>, name: &str, arguments: Option<&RawValue>, fold: &mut Fold) {
    fold.add_call(None, id, Call::of(FORMAT.tools, name, arguments, fold.folder.as_deref()));
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
        match event.kind.get() {
            Some("session.start" | "session.resume") => {
                fold.set_cwd(data.context.cwd.get());
                data.context.root.set(&mut fold.own_root);
                data.session.set(&mut fold.out.session_id);
                data.model.set(&mut fold.out.model);
                data.context.branch.set(&mut fold.out.branch);
                data.context.commit.set_first(&mut fold.out.commit);
            }
            Some("session.model_change") => data.new_model.set(&mut fold.out.model),
            Some("session.compaction_complete") => fold.set_summary(data.summary.get().unwrap_or_default()),
            Some("user.message") => {
                let own = data.content.get().and_then(words::user_text);
                fold.add_message(Role::User, own.unwrap_or_default(), at);
            }
            Some("assistant.message") => {
                if data.parent.get().is_none() {
                    fold.add_message(Role::Assistant, data.content.get().unwrap_or_default(), at);
                }
                for request in &data.requests.0 {
                    add_call(request.id.get(), request.name.get().unwrap_or_default(), request.arguments, fold);
                }
            }
            Some("tool.execution_start") => {
                // without an id it would be counted twice
                if let Some(id) = data.call.get() {
                    add_call(Some(id), data.tool.get().unwrap_or_default(), data.arguments, fold);
                }
            }
            Some("tool.execution_complete") => {
                if let Some(id) = data.call.get() {
                    fold.end_call(id, data.success.is_false());
                }
            }
            Some("assistant.usage") => {
                let tokens = Tokens {
                    input: data.input.get(),
                    output: data.output.get(),
                    cache_read: data.cache_read.get(),
                    cache_write: data.cache_write.get(),
                };
                fold.add_usage(None, None, tokens);
            }
            _ => {}
        }
        true
    }
}
