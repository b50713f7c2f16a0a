//! Texts of a transcript: length limits, and sentences that state a decision.

pub mod limits;
pub mod words;
