//! Commands of the program, one by one.

pub mod assess;
pub mod code;
pub mod handoff;
pub mod history;
pub mod meaning;
pub mod output;
pub mod review;
pub mod routes;
pub mod session;
