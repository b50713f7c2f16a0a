//! Setup: git hooks, agents, user-level files, and the doctor.

pub mod agents;
pub mod deinit;
pub mod demo;
pub mod doctor;
pub mod git_hooks;
pub mod init;
pub mod record;
pub mod settings;
pub mod steps;
pub mod user;
pub mod view;
