//! Parses rows of JSON of any form, and the inputs of tools.

pub mod block;
pub mod call;
pub mod exit;
pub mod files;
pub mod input;
pub mod keys;
pub mod lenient;
pub mod patch;
pub mod paths;
pub mod rows;
pub mod sqlite;
