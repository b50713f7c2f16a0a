//! What a transcript of an agent tells: what was done, said and left to do, whichever agent wrote it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many characters a text is read beyond its limit. Secrets are found in whole texts only: they are replaced in what was read,
/// and [`Transcript::cut`] takes the margin away after that.
pub const MARGIN: usize = 1_000;

/// The tool categories that agents' users know.
pub const CATEGORIES: &[&str] =
    &["shell", "read", "write", "edit", "grep", "glob", "search", "fetch", "task", "ask", "mcp"];

/// The agents whose transcripts are understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum Agent {
    /// Claude Code.
    #[serde(rename = "claude-code")]
    ClaudeCode,
    /// Codex CLI.
    #[serde(rename = "codex")]
    Codex,
    /// Gemini CLI.
    #[serde(rename = "gemini")]
    Gemini,
    /// Copilot CLI.
    #[serde(rename = "copilot")]
    Copilot,
    /// Cursor.
    #[serde(rename = "cursor")]
    Cursor,
    /// OpenCode.
    #[serde(rename = "opencode")]
    OpenCode,
}

impl Agent {
    /// All of them, in the order in which they are named.
    pub const ALL: [Agent; 6] =
        [Agent::ClaudeCode, Agent::Codex, Agent::Gemini, Agent::Copilot, Agent::Cursor, Agent::OpenCode];

    /// The word for it: `claude-code`, `codex`, `gemini`, `copilot`, `cursor`, `opencode`.
    pub fn name(self) -> &'static str {
        match self {
            Agent::ClaudeCode => "claude-code",
            Agent::Codex => "codex",
            Agent::Gemini => "gemini",
            Agent::Copilot => "copilot",
            Agent::Cursor => "cursor",
            Agent::OpenCode => "opencode",
        }
    }

    /// The agent of that name; `None` for any other text.
    pub fn parse(name: &str) -> Option<Self> {
        Agent::ALL.into_iter().find(|agent| agent.name() == name)
    }
}

/// The use of tools of one category.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolSummary {
    /// The category.
    pub category: String,
    /// How many calls there were, those that failed among them.
    pub count: u64,
    /// How many of them failed.
    pub errors: u64,
    /// What the first three different calls were about, each on one line of at most 120 characters.
    pub samples: Vec<String>,
}

/// Numbers of tokens. Numbers that are too large stay at the largest there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tokens {
    /// Read anew, without what came from the cache.
    pub input: u64,
    /// Written by the model.
    pub output: u64,
    /// Read from the cache.
    pub cache_read: u64,
    /// Put into the cache.
    pub cache_write: u64,
}

impl Tokens {
    /// Both together.
    pub fn plus(self, other: Tokens) -> Tokens {
        Tokens {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
        }
    }

    /// All four kinds together.
    pub fn sum(self) -> u64 {
        [self.output, self.cache_read, self.cache_write].into_iter().fold(self.input, u64::saturating_add)
    }
}

/// Something the agent had on its list and did not finish.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pending {
    /// What is to be done, as it stands in the list, the first 2,000 characters of it.
    pub text: String,
    /// How far it is, in the agent's own word, such as `pending` or `in_progress`; `pending` where it said none.
    pub status: String,
}

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The user.
    User,
    /// The agent.
    Assistant,
}

/// Something said that both could see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Exchange {
    /// Who said it.
    pub role: Role,
    /// What was said: the first 2,000 characters of it.
    pub text: String,
    /// When, RFC 3339 in UTC; `None` where the transcript does not say.
    pub at: Option<String>,
}

/// What an agent did on behalf of the one whose transcript this is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Subagent {
    /// What it was started for or is called, on one line of at most 120 characters; `None` where that is not known.
    pub name: Option<String>,
    /// Its id in the transcript: data, never a name of a file. `None` where it has none.
    pub id: Option<String>,
    /// The tools it used, most used first.
    pub tools: Vec<ToolSummary>,
    /// The files it modified, relative to the root of the repository.
    pub files_modified: Vec<String>,
    /// What it alone used.
    pub tokens: Tokens,
}

/// A transcript, summed up. All texts are data as somebody else wrote them: nothing in them is escaped. The limits that are named
/// hold after [`Transcript::cut`]; before, texts can have [`MARGIN`] characters more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Transcript {
    /// Who wrote it.
    pub agent: Agent,
    /// The agent's own id of the session: data, never a name of a file.
    pub session_id: Option<String>,
    /// The folder the agent was started in, as it stands there.
    pub cwd: Option<String>,
    /// The branch that was named last.
    pub branch: Option<String>,
    /// The commit the session began on.
    pub commit: Option<String>,
    /// The model the main agent used last.
    pub model: Option<String>,
    /// The earliest time in it, RFC 3339 in UTC. Times that cannot be read do not count.
    pub started_at: Option<String>,
    /// The latest time in it, as above.
    pub ended_at: Option<String>,
    /// The newest summary of the conversation that the agent made, the first 20,000 characters of it.
    pub summary: Option<String>,
    /// The first thing the user really said, the first 2,000 characters of it.
    pub task: Option<String>,
    /// The main agent's use of tools, most used first, then in the order of the categories.
    pub tools: Vec<ToolSummary>,
    /// The files the main agent modified, relative to the root of the repository, each once, in the order of their first
    /// modification. Subagents have their own; [`Transcript::all_files_modified`] has those of all.
    pub files_modified: Vec<String>,
    /// How many files outside the repository were modified, by subagents, too; they are not named.
    pub files_outside: u64,
    /// What is left of the newest list of tasks or plan of the main agent, at most 1,000 entries.
    pub pending_tasks: Vec<Pending>,
    /// The newest 20 choices, oldest first, each once and on one line of at most 300 characters: what the user answered when
    /// asked (`question → answer`), and sentences of the main agent that state a choice.
    pub decisions: Vec<String>,
    /// The last 10 messages, oldest first.
    pub messages: Vec<Exchange>,
    /// What the whole session used, subagents included, each message of the API once.
    pub tokens: Tokens,
    /// What the main agent's last message of the API had in its context; `None` where that is not known.
    pub context_tokens: Option<u64>,
    /// Who worked on behalf of the main agent, in order of appearance: the first 200, and what all others did is added up in a last
    /// one named `others`.
    pub subagents: Vec<Subagent>,
    /// How many rows were read, of subagents' own files, too; empty lines are none.
    pub rows: u64,
    /// How many rows could not be read: no JSON, longer than 16 MB, or torn. They are not among `rows`.
    pub skipped_rows: u64,
    /// Whether the last row was torn: it is one of `skipped_rows`, and will be none when the agent has written the rest of it. A torn
    /// end of a subagent's own file is not counted at all.
    pub torn: bool,
    /// A position that grows with the transcript, in bytes: the end of its last whole row, and those of subagents' own files added
    /// to it. Of a database, the length of what was read.
    pub size: u64,
}

impl Transcript {
    /// Nothing yet, by that agent.
    pub fn new(agent: Agent) -> Self {
        Transcript {
            agent,
            session_id: None,
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

    /// The files that the main agent and then its subagents modified, each once.
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
    fn an_agent_is_found_by_its_name_and_is_serialised_by_it() {
        for agent in Agent::ALL {
            assert_eq!(Agent::parse(agent.name()), Some(agent));
            assert_eq!(serde_json::to_value(agent).unwrap(), agent.name());
        }
        assert_eq!(Agent::parse("Codex"), None);
    }

    #[test]
    fn tokens_saturate() {
        let most = Tokens { input: u64::MAX, output: u64::MAX, ..Default::default() };
        assert_eq!((most.plus(most), most.sum()), (most, u64::MAX));
    }
}
