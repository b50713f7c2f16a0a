//! Writes that die or fail at any step, and damaged storage.

pub mod faults_damage;
pub mod faults_logs;
pub mod faults_rescue;
#[cfg(feature = "fault-injection")]
pub mod faults_walk;
#[cfg(feature = "fault-injection")]
pub mod faults_writes;
pub mod storage;
