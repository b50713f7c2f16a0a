//! Secrets in stored data and in pushes.

pub mod filter;
pub mod leak;
pub mod own_texts;
pub mod push_scan;
pub mod stored_scan;
