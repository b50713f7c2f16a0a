//! Sessions: begin, end, list, resume, status.

pub mod bootstrap;
pub mod compaction;
pub mod lifecycle;
pub mod resume;
pub mod status;
pub mod view;
