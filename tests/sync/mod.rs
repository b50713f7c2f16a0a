//! Notes exchanged with remotes and between clones.

pub mod clones;
pub mod concurrency;
pub mod handing_over;
pub mod interop;
pub mod load;
pub mod portable;
pub mod routed;
pub mod sharing;
pub mod sync_epochs;
pub mod sync_hazards;
pub mod sync_push;
pub mod sync_pushes;
pub mod sync_remotes;
pub mod team;
