//! `mcp`.

use crate::cli::commands::prelude::*;

/// Serve agents over the Model Context Protocol (stdin, stdout)
///
/// An agent's own configuration starts it: git empirica mcp, in the repository. Each call works on the repository as it is then.
/// Tools have the names and arguments agents' prompts know, and do what the commands do; docs/mcp.md has the whole table. Handoffs are
/// resources, empirica://handoff/<id>; hand-over and resume are prompts. It ends when its input does.
#[derive(Debug, Args)]
pub struct Mcp {
    /// Which tools to list: core has the 10 that a day's work needs; a call to another one is done all the same
    #[arg(long, value_name = "SET", default_value = "all", action = clap::ArgAction::Set)]
    #[arg(value_parser = one_of([("core", false), ("all", true)]))]
    pub tools: bool,
}

impl Mcp {
    /// Serves one client, and returns the exit code.
    pub fn run(self, context: &Invocation) -> Result<u8> {
        let serve = context.serve.ok_or_else(|| {
            Error::refused("cannot serve MCP clients: this program was built without the feature mcp")
                .suggest("Build the program with its default features, where its source is.")
                .command("cargo install --locked --path .")
        })?;
        Ok(serve(self.tools))
    }
}
