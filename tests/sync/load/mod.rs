//! Sync under load: remotes that fail, every form of push, teams of agents.

pub mod pushes;
pub mod remotes;
pub mod team;
