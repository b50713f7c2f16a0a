//! Encodings: records as JSON lines, notes as sets of lines or blocks, exports; redaction of texts.

pub mod blocks;
pub mod lines;
pub mod portable;
pub mod record;
pub mod redact;
