//! `mcp`.

use crate::cli::commands::prelude::*;

/// Serve agents over the Model Context Protocol (stdin, stdout)
///
/// The agent's configuration starts it with git empirica mcp, in the repository. Each call reads the current repository.
/// docs/mcp.md lists the tools, each with its command. Handoffs are resources, empirica://handoff/<id>; hand-over and resume
/// are prompts. The server ends with its input.
#[derive(Debug, Args)]
pub struct Mcp {
    /// The tools to list: core has the 12 everyday ones; the others can still be called
    #[arg(long, value_name = "SET", default_value = "all", action = clap::ArgAction::Set)]
    #[arg(value_parser = one_of([("core", false), ("all", true)]))]
    pub tools: bool,
}

impl Mcp {
    pub fn run(self, context: &Invocation) -> Result<u8> {
        let serve = context.serve.ok_or_else(|| {
            Error::refused("cannot serve MCP clients: this program was built without the feature mcp")
                .suggest("Build the program with its default features, in its source folder.")
                .command("cargo install --locked --path .")
        })?;
        Ok(serve(self.tools))
    }
}
