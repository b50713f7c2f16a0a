//! `init`, `deinit` and `doctor`.

pub mod doctor;
pub mod init;
pub mod init_agents;
pub mod init_clone;
