//! Damage, faults, kills, repair: no record is lost.

pub mod clone_id;
pub mod durable;
pub mod faults;
pub mod healing;
pub mod kills;
pub mod regressions;
pub mod reliability;
pub mod remedies;
pub mod repair;
pub mod repair_choices;
