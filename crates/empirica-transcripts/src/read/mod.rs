//! Parses rows of JSON of any form, and the inputs of tools.

pub mod call;
pub mod input;
pub mod lenient;
pub mod patch;
pub mod paths;
pub mod rows;
