//! Sessions: begin, resume, bootstrap, collect, goals, names.

pub mod aliases;
pub mod bad_names;
pub mod begin;
pub mod bootstrap;
pub mod bootstrap_budget;
pub mod collect;
pub mod correct;
pub mod goals;
pub mod ids;
pub mod repeated;
pub mod start_budget;
pub mod undo;
