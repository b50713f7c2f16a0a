//! Agents: hooks, instructions, transcripts.

pub mod agents_at_once;
pub mod collect_all;
pub mod guard;
pub mod hook_faults;
pub mod hook_payloads;
pub mod instructions;
pub mod recordings;
pub mod transcripts_hostile;
pub mod trust;
pub mod whose_session;
