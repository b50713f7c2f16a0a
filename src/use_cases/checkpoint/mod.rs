//! Checkpoints: snapshots of a session, and their comparison.

pub mod compare;
pub mod diff;
pub mod save;
pub mod snapshot;
pub mod view;
