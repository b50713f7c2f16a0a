//! Handoffs: content, checks, formats, signatures, later state.

pub mod arrival;
pub mod arrival_shown;
pub mod checks;
pub mod contexts;
pub mod continuity;
pub mod examples;
pub mod managed;
pub mod managed_attacks;
pub mod protocol;
pub mod protocol_attacks;
pub mod substance;
pub mod trust;
