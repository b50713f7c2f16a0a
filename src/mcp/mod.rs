//! The MCP server: tools, resources and prompts over the same use cases as the command line; no logic.

mod call_context;
mod prompts;
mod resources;
mod server;
mod tools;

use std::io::{Read, Write};

use rmcp::ServiceExt;

use empirica_notes::env::Env;
use server::Server;
use server::frames::Frames;
pub use tools::{ToolTerms, commands};

/// Serves one client on these streams until its input ends and its requests are answered. Lists all tools with `all`, else
/// the core ones. Returns the exit code: 0, or 1 if the conversation could not start.
pub fn serve(env: &Env, all: bool, input: impl Read + Send + 'static, output: impl Write + Send + 'static) -> u8 {
    // one client: one thread for frames, one for the present call
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build() else {
        return 1;
    };
    let is_ok = runtime.block_on(async {
        match Server::new(env.clone(), all).serve(Frames::new(input, output)).await {
            Ok(running) => running.waiting().await.is_ok(),
            // the client left before its first request
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => true,
            Err(_) => false,
        }
    });
    u8::from(!is_ok)
}

pub fn listed(all: bool) -> Vec<serde_json::Value> {
    tools::listed(all).iter().filter_map(|tool| serde_json::to_value(tool).ok()).collect()
}
