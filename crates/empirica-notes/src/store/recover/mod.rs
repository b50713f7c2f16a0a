//! Recovery from refs that were set back, partial clones and damage.

pub mod fetch_missing;
pub mod heal;
pub mod health;
pub mod pruned;
pub mod reconcile;
pub mod rescue;
