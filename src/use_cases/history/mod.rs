//! History: log, search, show, metrics.

pub mod log;
pub mod metrics;
pub mod record_line;
pub mod show;
