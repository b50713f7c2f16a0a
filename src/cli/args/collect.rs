//! `collect`.

use clap::{Args, ValueEnum};

use super::{Form, Who};
use empirica_transcripts::model::Agent;

/// Log from an agent's transcript: tools, files, todos, decisions, tokens
///
/// Understands the transcripts of Claude Code, Codex CLI, Gemini CLI, Copilot CLI, Cursor and OpenCode, by their content. What is
/// new goes into the session of the transcript: the one that has the agent's own id, else one that is made for it. A
/// transcript that has grown adds only what is new. Secrets are replaced; rows that cannot be read are counted.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("which").required(true).args(["transcript", "latest"])))]
#[allow(missing_docs)]
pub struct Collect {
    /// The transcript: a file, or the folder or database an agent keeps it in
    #[arg(value_name = "TRANSCRIPT")]
    pub transcript: Option<String>,
    /// The newest transcript that was made in this work tree
    #[arg(long)]
    pub latest: bool,
    /// Whose transcript it is [default: as its content tells]
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<AgentWord>,
    /// Show what it tells and store nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub who: Who,
    #[command(flatten)]
    pub form: Form,
}

/// The agents whose transcripts are understood.
#[derive(Debug, Clone, Copy, ValueEnum)]
#[allow(missing_docs)]
pub enum AgentWord {
    ClaudeCode,
    Codex,
    Gemini,
    Copilot,
    Cursor,
    #[value(name = "opencode")]
    OpenCode,
}

impl From<AgentWord> for Agent {
    fn from(word: AgentWord) -> Self {
        match word {
            AgentWord::ClaudeCode => Agent::ClaudeCode,
            AgentWord::Codex => Agent::Codex,
            AgentWord::Gemini => Agent::Gemini,
            AgentWord::Copilot => Agent::Copilot,
            AgentWord::Cursor => Agent::Cursor,
            AgentWord::OpenCode => Agent::OpenCode,
        }
    }
}
