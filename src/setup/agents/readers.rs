//! Instruction files, and which agent reads which.

/// A file that agents read instructions from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstructionFile {
    /// Its path from the worktree root.
    pub path: &'static str,
    /// The agent it is for, by its own name; `None` if several agents read it.
    pub ai: Option<&'static str>,
    /// The agent's prefix of MCP tool names; may be empty.
    pub prefix: &'static str,
}

const fn file(path: &'static str, ai: Option<&'static str>, prefix: &'static str) -> InstructionFile {
    InstructionFile { path, ai, prefix }
}

/// The first is the one most agents read.
pub const FILES: [InstructionFile; 8] = [
    file("AGENTS.md", None, ""),
    file("CLAUDE.md", Some("claude-code"), "mcp__empirica__"),
    file("GEMINI.md", Some("gemini"), ""),
    file("QWEN.md", Some("qwen"), ""),
    file("MINIMAX.md", Some("minimax"), ""),
    file("ROVODEV.md", Some("rovodev"), ""),
    file("COPILOT_CLAUDE.md", Some("copilot"), ""),
    file(".github/copilot-instructions.md", Some("copilot"), ""),
];

empirica_notes::words! {
    /// An agent that can be instructed.
    pub enum Reader {
        /// Claude Code.
        ClaudeCode = "claude-code",
        /// Codex CLI.
        Codex = "codex",
        /// Gemini CLI.
        Gemini = "gemini",
        /// Cursor.
        Cursor = "cursor",
        /// OpenCode.
        OpenCode = "opencode",
        /// GitHub Copilot.
        Copilot = "copilot",
        /// Qwen Code.
        Qwen = "qwen",
        /// MiniMax.
        Minimax = "minimax",
        /// Rovo Dev.
        RovoDev = "rovodev",
    }
}

impl Reader {
    /// The file it reads.
    pub fn file(self) -> InstructionFile {
        let path = match self {
            Reader::ClaudeCode => "CLAUDE.md",
            Reader::Codex | Reader::Cursor | Reader::OpenCode => "AGENTS.md",
            Reader::Gemini => "GEMINI.md",
            Reader::Copilot => ".github/copilot-instructions.md",
            Reader::Qwen => "QWEN.md",
            Reader::Minimax => "MINIMAX.md",
            Reader::RovoDev => "ROVODEV.md",
        };
        FILES.into_iter().find(|file| file.path == path).unwrap_or(FILES[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reader_has_a_file_of_the_list_that_is_for_it_or_for_all() {
        use Reader::*;
        for reader in [ClaudeCode, Codex, Gemini, Cursor, OpenCode, Copilot, Qwen, Minimax, RovoDev] {
            let ai = reader.file().ai;
            assert!(ai.is_none_or(|ai| ai == reader.name()), "{reader:?}: {ai:?}");
            assert_eq!(ai.is_none(), matches!(reader, Codex | Cursor | OpenCode), "{reader:?}");
        }
    }
}
