//! Rows of JSON of any shape, and what a tool was called with.

pub mod call;
pub mod input;
pub mod lenient;
pub mod patch;
pub mod paths;
pub mod rows;
