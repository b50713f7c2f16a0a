//! Git hooks, and records that follow rewrites.

pub mod followed;
pub mod git_hooks;
pub mod init_hooks;
pub mod moved;
pub mod rewrites;
pub mod trailers;
pub mod unborn;
