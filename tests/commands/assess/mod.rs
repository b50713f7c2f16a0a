//! Assessments, gates, drift, calibration, snapshots and their comparison.

pub mod calibration;
pub mod calibration_clones;
pub mod diff;
pub mod gates;
pub mod snapshot;
pub mod vectors_compared;
pub mod workflow;
pub mod workflow_attacks;
pub mod workflow_forms;
