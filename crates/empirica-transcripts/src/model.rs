//! The summary of a transcript, common to all agents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The number of characters read beyond each text's limit. Secrets are detected only in whole texts: they are replaced
/// before [`Transcript::cut`] removes the margin.
pub const MARGIN: usize = 1_000;

/// The tool categories.
pub const CATEGORIES: &[&str] =
    &["shell", "read", "write", "edit", "grep", "glob", "search", "fetch", "task", "ask", "mcp"];

/// Defines the agents: of each its name, the variables that it sets for the programs it runs, and those of them with its
/// own id of the session.
macro_rules! agents {
    ($($agent:ident $name:literal [$($variable:literal),*] [$($session:literal),*])*) => {
        /// The supported agents.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        #[schemars(inline)]
        #[allow(missing_docs)]
        pub enum Agent {
            $(#[serde(rename = $name)] $agent,)*
        }

        impl Agent {
            /// All, in display order.
            pub const ALL: [Agent; [$($name),*].len()] = [$(Agent::$agent),*];

            /// The name: lower-case letters and `-`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Agent::$agent => $name,)*
                }
            }

            /// The variables that it sets for the programs it runs.
            pub fn variables(self) -> &'static [&'static str] {
                match self {
                    $(Agent::$agent => &[$($variable),*],)*
                }
            }

            /// The variables with its own id of the session, the first that is set counts.
            pub fn session_variables(self) -> &'static [&'static str] {
                match self {
                    $(Agent::$agent => &[$($session),*],)*
                }
            }
        }
    };
}

agents! {
    ClaudeCode "claude-code" ["CLAUDECODE"] ["CLAUDE_CODE_SESSION_ID"]
    Codex "codex" ["CODEX_THREAD_ID", "CODEX_SANDBOX", "CODEX_CI"] ["CODEX_SESSION_ID", "CODEX_THREAD_ID"]
    Gemini "gemini" ["GEMINI_CLI"] ["GEMINI_SESSION_ID"]
    Copilot "copilot" ["COPILOT_CLI", "COPILOT_AGENT_SESSION_ID"] ["COPILOT_AGENT_SESSION_ID"]
    Cursor "cursor" ["CURSOR_AGENT"] []
    OpenCode "opencode" ["OPENCODE"] ["OPENCODE_SESSION_ID"]
}

impl Agent {
    /// The agent of that name; `None` for any other text.
    pub fn parse(name: &str) -> Option<Self> {
        Agent::ALL.into_iter().find(|agent| agent.name() == name)
    }

    /// The agent that runs a program with these variables. Agents are often started from the shell of Claude Code or
    /// Cursor, so these two come last.
    pub fn running(is_set: impl Fn(&str) -> bool) -> Option<Self> {
        let hosts = [Agent::ClaudeCode, Agent::Cursor];
        let others = Agent::ALL.into_iter().filter(|agent| !hosts.contains(agent));
        others.chain(hosts).find(|agent| agent.variables().iter().any(|name| is_set(name)))
    }
}

/// The use of tools of one category.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolSummary {
    /// The category.
    pub category: String,
    /// The number of calls, including failed ones.
    pub count: u64,
    /// The number of failed calls.
    pub errors: u64,
    /// The subjects of the first three different calls, each on one line of at most 120 characters.
    pub samples: Vec<String>,
}

/// Numbers of tokens; sums saturate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tokens {
    /// Input, without tokens read from the cache.
    pub input: u64,
    /// Output of the model.
    pub output: u64,
    /// Read from the cache.
    pub cache_read: u64,
    /// Written to the cache.
    pub cache_write: u64,
}

impl Tokens {
    /// The sum of two counts.
    pub fn plus(self, other: Tokens) -> Tokens {
        Tokens {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
        }
    }

    /// The difference of two counts; zero where the other is larger.
    pub fn minus(self, other: Tokens) -> Tokens {
        Tokens {
            input: self.input.saturating_sub(other.input),
            output: self.output.saturating_sub(other.output),
            cache_read: self.cache_read.saturating_sub(other.cache_read),
            cache_write: self.cache_write.saturating_sub(other.cache_write),
        }
    }

    /// The sum of all four kinds.
    pub fn sum(self) -> u64 {
        [self.output, self.cache_read, self.cache_write].into_iter().fold(self.input, u64::saturating_add)
    }
}

/// An unfinished entry of the agent's task list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PendingTask {
    /// The task as listed, at most 2,000 characters.
    pub text: String,
    /// The status in the agent's own word, such as `pending` or `in_progress`; `pending` if it gave none.
    pub status: String,
}

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Role {
    User,
    Assistant,
}

/// A message of the visible conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// The author.
    pub role: Role,
    /// The text, at most 2,000 characters.
    pub text: String,
    /// The time, RFC 3339 UTC; `None` if the transcript has none.
    pub at: Option<String>,
}

/// The activity of a subagent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Subagent {
    /// Its task or name, on one line of at most 120 characters; `None` if unknown.
    pub name: Option<String>,
    /// Its id in the transcript, which is data and never a file name; `None` if it has none.
    pub id: Option<String>,
    /// The tools it used, most used first.
    pub tools: Vec<ToolSummary>,
    /// The files it modified, relative to the root of the repository.
    pub files_modified: Vec<String>,
    /// The tokens it used itself.
    pub tokens: Tokens,
}

/// The summary of a transcript. All texts are data by others, unescaped. The limits apply after [`Transcript::cut`];
/// before, texts can have [`MARGIN`] more characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Transcript {
    /// The agent that wrote it.
    pub agent: Agent,
    /// The agent's own id of the session, which is data and never a file name.
    pub session_id: Option<String>,
    /// The agent's own id of the session it was forked from. What was copied from there counts only there: except for
    /// the pending tasks, everything here was added after the fork.
    pub parent: Option<String>,
    /// The number of compactions of its context that no event told; only of Gemini CLI.
    #[serde(default)]
    pub compactions: u64,
    /// The folder the agent was started in, as written.
    pub cwd: Option<String>,
    /// The last branch named.
    pub branch: Option<String>,
    /// The commit at the start.
    pub commit: Option<String>,
    /// The last model of the main agent.
    pub model: Option<String>,
    /// The earliest time in it, RFC 3339 UTC. Invalid times do not count.
    pub started_at: Option<String>,
    /// The latest time in it, likewise.
    pub ended_at: Option<String>,
    /// The agent's newest summary of the conversation, at most 20,000 characters.
    pub summary: Option<String>,
    /// The user's first message, at most 2,000 characters.
    pub task: Option<String>,
    /// The main agent's tool use, most used first, then in the order of the categories.
    pub tools: Vec<ToolSummary>,
    /// The files modified by the main agent, relative to the root of the repository, without duplicates, in the order
    /// of their first modification. [`Transcript::all_files_modified`] includes those of subagents.
    pub files_modified: Vec<String>,
    /// The number of modified files outside the repository, including those of subagents.
    pub files_outside: u64,
    /// The unfinished entries of the main agent's newest task list or plan, at most 1,000.
    pub pending_tasks: Vec<PendingTask>,
    /// The newest 20 decisions, oldest first, without duplicates, each on one line of at most 300 characters: the
    /// user's answers to questions (`question → answer`), and sentences of the main agent that state a choice.
    pub decisions: Vec<String>,
    /// The newest 10 commands whose last run failed, oldest first, each on one line of at most 120 characters.
    pub failed_commands: Vec<String>,
    /// The last 10 messages, oldest first.
    pub messages: Vec<Message>,
    /// The tokens of the whole session, including subagents; each API message counts once.
    pub tokens: Tokens,
    /// The context size of the main agent's last API message; `None` if unknown.
    pub context_tokens: Option<u64>,
    /// The subagents in order of appearance: the first 200, then the sum of all others, named `others`.
    pub subagents: Vec<Subagent>,
    /// The number of rows read, including those of subagents' files, without blank lines.
    pub rows: u64,
    /// The number of rows that could not be read: invalid JSON, longer than 16 MB, or torn. Not included in `rows`.
    pub skipped_rows: u64,
    /// Whether the last row was torn. It is included in `skipped_rows` until the agent has completed it. A torn end of
    /// a subagent's file is not counted at all.
    pub torn: bool,
    /// A position that grows with the transcript, in bytes: the end of its last complete row, plus those of subagents'
    /// files. For a database, the length of the data read.
    pub size: u64,
}

impl Transcript {
    /// An empty summary.
    pub fn new(agent: Agent) -> Self {
        Transcript {
            agent,
            session_id: None,
            parent: None,
            compactions: 0,
            cwd: None,
            branch: None,
            commit: None,
            model: None,
            started_at: None,
            ended_at: None,
            summary: None,
            task: None,
            tools: Vec::new(),
            files_modified: Vec::new(),
            files_outside: 0,
            pending_tasks: Vec::new(),
            decisions: Vec::new(),
            failed_commands: Vec::new(),
            messages: Vec::new(),
            tokens: Tokens::default(),
            context_tokens: None,
            subagents: Vec::new(),
            rows: 0,
            skipped_rows: 0,
            torn: false,
            size: 0,
        }
    }

    /// The files modified by the main agent, then by subagents, without duplicates.
    pub fn all_files_modified(&self) -> Vec<&str> {
        let subagents = self.subagents.iter().flat_map(|subagent| &subagent.files_modified);
        let mut seen = std::collections::HashSet::new();
        self.files_modified.iter().chain(subagents).map(String::as_str).filter(|path| seen.insert(*path)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_found_by_its_name_and_is_serialized_by_it() {
        for agent in Agent::ALL {
            assert_eq!(Agent::parse(agent.name()), Some(agent));
            assert_eq!(serde_json::to_value(agent).unwrap(), agent.name());
        }
        assert_eq!(Agent::parse("Codex"), None);
    }

    #[test]
    fn an_agent_started_from_the_shell_of_another_is_the_one_that_runs() {
        let running = |names: &[&str]| Agent::running(|name| names.contains(&name));
        assert_eq!(running(&["CLAUDECODE", "CURSOR_AGENT", "CODEX_CI"]), Some(Agent::Codex));
        assert_eq!(running(&["CURSOR_AGENT", "CLAUDECODE"]), Some(Agent::ClaudeCode));
        assert_eq!(running(&["HOME"]), None);
    }

    #[test]
    fn tokens_saturate() {
        let most = Tokens { input: u64::MAX, output: u64::MAX, ..Default::default() };
        assert_eq!((most.plus(most), most.sum()), (most, u64::MAX));
    }
}
