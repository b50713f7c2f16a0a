//! Agents: hooks, instructions, transcripts.

pub mod agents;
pub mod agents_at_once;
pub mod instructions;
pub mod transcripts_hostile;
