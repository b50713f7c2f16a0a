//! `instructions`.

use clap::{Args, ValueEnum};

use super::Form;
use crate::setup::agents::readers::Reader;

/// Print instructions for an agent, or keep them in the files agents read
///
/// With --write the text is kept in a marked block of AGENTS.md, CLAUDE.md, GEMINI.md, QWEN.md, MINIMAX.md, ROVODEV.md,
/// COPILOT_CLAUDE.md and .github/copilot-instructions.md: of those that are there, else AGENTS.md is made. Nothing outside
/// of the block is changed; what stands in it is replaced. deinit takes the blocks out again.
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Instructions {
    /// The agent: its words, and with --write its file only, which is made when it is not there
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<ReaderWord>,
    /// Write the block into the files instead of printing the text
    #[arg(long)]
    pub write: bool,
    /// Show which files --write would change and change none
    #[arg(long, requires = "write")]
    pub dry_run: bool,
    #[command(flatten)]
    pub form: Form,
}

/// The agents that can be instructed.
#[derive(Debug, Clone, Copy, ValueEnum)]
#[allow(missing_docs)]
pub enum ReaderWord {
    ClaudeCode,
    Codex,
    Gemini,
    Cursor,
    #[value(name = "opencode")]
    OpenCode,
    Copilot,
    Qwen,
    Minimax,
    #[value(name = "rovodev")]
    RovoDev,
}

impl From<ReaderWord> for Reader {
    fn from(word: ReaderWord) -> Self {
        match word {
            ReaderWord::ClaudeCode => Reader::ClaudeCode,
            ReaderWord::Codex => Reader::Codex,
            ReaderWord::Gemini => Reader::Gemini,
            ReaderWord::Cursor => Reader::Cursor,
            ReaderWord::OpenCode => Reader::OpenCode,
            ReaderWord::Copilot => Reader::Copilot,
            ReaderWord::Qwen => Reader::Qwen,
            ReaderWord::Minimax => Reader::Minimax,
            ReaderWord::RovoDev => Reader::RovoDev,
        }
    }
}
