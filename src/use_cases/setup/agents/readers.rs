//! Instruction files, and which agent reads which.

use empirica_transcripts::model::Agent;

use crate::use_cases::setup::agents::entries;

/// The file that most agents read.
const COMMON: &str = "AGENTS.md";

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

/// An agent that can be instructed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reader {
    name: &'static str,
    /// The files it reads; the first is the one to create.
    files: &'static [&'static str],
    prefix: &'static str,
}

/// Readers without hooks and transcripts.
const OTHERS: [Reader; 3] = [
    Reader { name: "qwen", files: &["QWEN.md"], prefix: "" },
    Reader { name: "minimax", files: &["MINIMAX.md"], prefix: "" },
    Reader { name: "rovodev", files: &["ROVODEV.md"], prefix: "" },
];

impl Reader {
    pub fn all() -> [Reader; Agent::ALL.len() + OTHERS.len()] {
        std::array::from_fn(|index| match Agent::ALL.get(index) {
            Some(agent) => {
                let entry = entries::entry(*agent);
                Reader { name: agent.name(), files: entry.instructions, prefix: entry.tool_prefix }
            }
            None => OTHERS[index - Agent::ALL.len()],
        })
    }

    pub fn name(self) -> &'static str {
        self.name
    }

    /// The file to create for it.
    pub fn file(self) -> InstructionFile {
        self.at(self.files[0])
    }

    fn at(self, path: &'static str) -> InstructionFile {
        let is_own = path != COMMON;
        InstructionFile { path, ai: is_own.then_some(self.name), prefix: if is_own { self.prefix } else { "" } }
    }
}

/// All files, each once; the first is the one most agents read.
pub fn files() -> Vec<InstructionFile> {
    let mut out = vec![InstructionFile { path: COMMON, ai: None, prefix: "" }];
    for file in Reader::all().into_iter().flat_map(|reader| reader.files.iter().map(move |path| reader.at(path))) {
        if !out.contains(&file) {
            out.push(file);
        }
    }
    out
}
