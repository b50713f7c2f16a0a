//! History: log, search, show, metrics.

pub mod log;
pub mod metrics;
pub mod search;
pub mod show;
