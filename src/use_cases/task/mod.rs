//! Tasks: the handoffs of a task ID, their state, where they go, and what waits for whom.

pub mod chain_view;
pub mod inbox;
pub mod list;
pub mod route;
pub mod route_view;
pub mod view;
