//! Records as lines of JSON, notes as sets of lines or blocks, exports, redaction of one text.

pub mod blocks;
pub mod lines;
pub mod portable;
pub mod record;
pub mod redact;
