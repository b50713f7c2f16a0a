//! Log, search, metrics, report.

pub mod decorations;
pub mod export_markdown;
pub mod frequent;
pub mod git_log;
pub mod log;
pub mod log_many;
pub mod metrics;
pub mod query;
pub mod query_oracle;
pub mod report;
pub mod search;
pub mod similar;
