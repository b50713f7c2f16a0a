//! The MCP server.

pub mod mcp_list;
pub mod reliability;
pub mod server;
