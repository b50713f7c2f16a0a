//! Tasks: their handoffs, the questions of receivers, and where each stands.

pub mod chain;
pub mod claims;
pub mod handoffs;
pub mod questions;
mod replies;
pub mod state;
