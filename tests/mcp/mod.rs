//! The MCP server.

pub mod mcp_list;
pub mod server;
