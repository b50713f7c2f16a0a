//! Checkpoints: where the work stood, and what changed since.

pub mod compare;
pub mod diff;
pub mod save;
pub mod snapshot;
pub mod view;
