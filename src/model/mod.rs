//! Plain data of the program: the files of agents, and the types of managed handoffs; records are those of `empirica_notes`.

pub mod agent_files;
pub mod formats;
pub mod readers;
