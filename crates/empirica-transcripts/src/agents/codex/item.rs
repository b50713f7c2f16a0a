//! Completed items: what a call did, also one that a script of code mode made.

use serde_json::value::RawValue;

use crate::read::call::{Call, Sample, category_index, line};
use crate::read::exit;
use crate::read::keys::Keys;
use crate::read::lenient::{List, Text, lenient};
use crate::read::paths;
use crate::summary::fold::Fold;
use crate::text::limits::{SAMPLE, line_with_margin};

lenient! {
    Item {
        kind: Text<'a> = "type",
        /// The id of the call, unless a script made it.
        id: Text<'a> = "id",
        status: Text<'a> = "status",
        /// `user_shell` if the user ran the command.
        source: Text<'a> = "source",
        exit: Option<&'a RawValue> = "exit_code",
        changes: Option<&'a RawValue> = "changes",
        server: Text<'a> = "server",
        tool: Text<'a> = "tool",
        query: Text<'a> = "query",
        prompt: Text<'a> = "prompt",
        receivers: List<Text<'a>> = "receiver_thread_ids",
        thread: Text<'a> = "agent_thread_id",
        path: Text<'a> = "agent_path",
    }

    Change {
        moved: Text<'a> = "move_path",
    }
}

/// The thread of a subagent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    pub id: String,
    pub name: Option<String>,
}

impl Item<'_> {
    pub fn has_failed(&self) -> bool {
        matches!(self.status.get(), Some("failed" | "declined")) || exit::has_failed(self.exit) == Some(true)
    }

    /// The call of an item that no row has otherwise; `raw` is the item. `None` if it is no call of the agent.
    pub fn call(&self, raw: &RawValue, fold: &Fold) -> Option<Call> {
        let folder = fold.folder.as_deref();
        let of = |category, sample| Call { category: category_index(category), sample, ..Call::default() };
        Some(match self.kind.get()? {
            "CommandExecution" if self.source.get() != Some("user_shell") => {
                Call::of(&[], "exec_command", Some(raw), folder)
            }
            "FileChange" => {
                let changes =
                    self.changes.and_then(|raw| serde_json::from_str::<Keys>(raw.get()).ok()).unwrap_or_default();
                let mut files: Vec<String> = Vec::new();
                for (path, raw) in changes.entries() {
                    let change = serde_json::from_str::<Change>(raw).unwrap_or_default();
                    let paths = [Some(path), change.moved.get()].into_iter().flatten();
                    files.extend(paths.filter_map(|path| paths::normalized(path, folder)));
                }
                // they come in no order
                files.sort();
                Call { sample: files.first().cloned().map(Sample::Path), files, ..of("edit", None) }
            }
            "McpToolCall" => {
                of("mcp", line(&format!("mcp__{}__{}", self.server.get().unwrap_or_default(), self.tool.get()?)))
            }
            "WebSearch" => of("search", self.query.get().and_then(line)),
            "CollabAgentToolCall" => of("task", line(self.prompt.get().or(self.tool.get())?)),
            _ => return None,
        })
    }

    /// The threads of subagents that it names.
    pub fn threads(&self) -> Vec<Thread> {
        let name = self.path.get().and_then(|path| path.rsplit('/').next()).or(self.prompt.get());
        let ids = self.receivers.0.iter().chain([&self.thread]).filter_map(Text::get);
        let name = name.map(|name| line_with_margin(name, SAMPLE));
        ids.map(|id| Thread { id: id.to_owned(), name: name.clone() }).collect()
    }
}
