//! Everything stored as lines, and back.

pub mod export;
pub mod forms;
