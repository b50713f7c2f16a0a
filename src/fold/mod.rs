//! Records folded into state: pure rules that the index and the use cases share. No input or output.

pub mod assessment;
pub mod collected;
pub mod facts;
pub mod handoff_report;
pub mod handover_graph;
pub mod journal;
pub mod session_state;
pub mod session_summary;
