//! Tasks: the managed handoffs of a task ID, and their state.

pub mod list;
pub mod view;
