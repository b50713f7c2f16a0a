//! The MCP server: tools, resources and prompts over the same use cases as the command line. No logic of its own.

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
#[doc(hidden)]
pub use server::scan;
pub use tools::{Offered, commands};

/// Serves one client on these streams until its input ends, and what it asked for is answered. With `all`, every tool is listed;
/// else the few that a day's work needs. Returns the exit code: 0, or 1 when the conversation could not begin.
pub fn serve(env: &Env, all: bool, input: impl Read + Send + 'static, output: impl Write + Send + 'static) -> u8 {
    // one client at a time: one thread, and one more for what is at work
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build() else {
        return 1;
    };
    let ended = runtime.block_on(async {
        match Server::new(env.clone(), all).serve(Frames::new(input, output)).await {
            Ok(running) => running.waiting().await.is_ok(),
            // a client that went before it said anything
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => true,
            Err(_) => false,
        }
    });
    u8::from(!ended)
}

/// The tools as they are listed, for the pages that name them.
pub fn listed(all: bool) -> Vec<serde_json::Value> {
    tools::listed(all).iter().filter_map(|tool| serde_json::to_value(tool).ok()).collect()
}
