//! Builds the summary from rows.

pub mod answers;
pub mod fold;
