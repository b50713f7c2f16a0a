//! Tasks: their handoffs, the questions of receivers, and where each stands.

pub mod handoffs;
pub mod questions;
pub mod state;
