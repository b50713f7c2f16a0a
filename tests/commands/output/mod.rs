//! Help, manual pages, JSON documents, values, tokens, width.

pub mod bad_input;
pub mod guide;
pub mod help;
pub mod json;
pub mod json_keys;
pub mod manual;
pub mod reference;
pub mod snapshots;
pub mod tokens;
pub mod values;
pub mod width;
