//! Sessions: begin, end, list, resume, status.

pub mod compaction;
pub mod lifecycle;
pub mod project_overview;
pub mod resume;
pub mod status;
pub mod take_up;
pub mod unattended;
pub mod view;
