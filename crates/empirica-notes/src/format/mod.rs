//! Encodings: records as JSON lines, notes as sets of lines or blocks, exports; redaction of texts.

pub mod blocks;
pub mod export;
pub mod lines;
pub mod record;
pub mod redact;

/// Bytes in lower-case hexadecimal.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
