//! The MCP server and the protocol of managed handoffs.

pub mod mcp_list;
pub mod protocol;
pub mod protocol_attacks;
pub mod server;
