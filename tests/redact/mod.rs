//! Secrets and redaction.

pub mod records;
pub mod redact_alone;
pub mod redact_attacks;
pub mod redact_clones;
pub mod redact_search;
pub mod secrets;
pub mod secrets_kept;
pub mod secrets_leave;
