//! The MCP server and the protocol of managed handoffs.

pub mod mcp;
pub mod mcp_list;
pub mod protocol;
pub mod protocol_attacks;
