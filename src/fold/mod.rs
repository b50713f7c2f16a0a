//! Pure folds of records into state, shared by the index and the use cases.

pub mod assessment;
pub mod collected;
pub mod facts;
pub mod handoff_report;
pub mod handover_graph;
pub mod journal;
pub mod route;
pub mod session_records;
pub mod session_summary;
pub mod task;
pub mod urgency;
