//! Git hooks, init, doctor.

pub mod doctor;
pub mod followed;
pub mod git_hooks;
pub mod init;
pub mod init_agents;
pub mod init_clone;
pub mod init_hooks;
pub mod rewrites;
pub mod unborn;
