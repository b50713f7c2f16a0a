//! What is gathered from the rows, and its limits.

pub mod answers;
pub mod fold;
