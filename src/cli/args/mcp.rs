//! `mcp`.

use clap::{Args, ValueEnum};

/// Serve agents over the Model Context Protocol (stdin, stdout)
///
/// An agent's own configuration starts it: git empirica mcp, in the repository. Each call works on the repository as it is then.
/// Tools have the names and arguments agents' prompts know, and do what the commands do; docs/mcp.md has the whole table. Handoffs are
/// resources, empirica://handoff/<id>; hand-over and resume are prompts. It ends when its input does.
#[derive(Debug, Args)]
#[allow(missing_docs)]
pub struct Mcp {
    /// Which tools to list: core has the 10 that a day's work needs; a call to another one is done all the same
    #[arg(long, value_name = "SET", default_value = "all")]
    pub tools: ToolsWord,
}

/// Sets of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum ToolsWord {
    Core,
    All,
}
