//! Secrets in stored data and in pushes.

pub mod filter;
pub mod handoff_texts;
pub mod leak;
pub mod push_scan;
pub mod stored_scan;
