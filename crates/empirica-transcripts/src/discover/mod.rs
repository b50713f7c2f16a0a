//! Whose a transcript is, and where transcripts lie.

pub mod find;
pub(crate) mod folder;
pub(crate) mod probe;
