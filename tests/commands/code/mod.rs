//! Claims about code: their anchors.

pub mod anchors;
pub mod anchors_given;
pub mod anchors_kinds;
pub mod hostile;
pub mod why;
