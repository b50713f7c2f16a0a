//! `init`, `deinit` and `doctor`.

pub mod completions;
pub mod doctor;
mod doctor_agents;
pub mod editors;
pub mod init;
pub mod init_agents;
pub mod init_clone;
mod packages;
mod plugins;
mod versions;
