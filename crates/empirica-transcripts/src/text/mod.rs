//! Texts of a transcript: their limits, and which words state a choice.

pub mod limits;
pub mod words;
