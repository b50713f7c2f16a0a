//! Tasks: the managed handoffs of a task ID, and their state.

pub mod acceptance;
pub mod handoffs;
pub mod list;
pub mod questions;
pub mod state;
pub mod view;
