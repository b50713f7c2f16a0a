//! Keeps what AI agents learned, doubted, tried and decided inside the repository, as git notes.
//!
//! The floors, from the ground up; imports only go down, and a test holds that:
//!
//! | floor | tells |
//! |---|---|
//! | [`error`], [`mod@env`], [`fault`] | what can go wrong; what the process was given; what goes wrong on demand, in tests |
//! | [`model`] | plain data: vectors, records, sessions, handoffs |
//! | [`epistemics`] | pure rules over the model |
//! | [`git`] | the only floor that names gix or spawns git |
//! | [`wire`] | JSON lines ↔ model |
//! | [`store`] | records in notes: log, append, read, merge, heal |
//! | [`index`] | what is asked of all records, answered by SQLite; derived, disposable |
//! | [`ops`] | one use case per file; prints nothing |
//! | [`view`] | outcome → terminal, JSON, template |
//! | [`cli`], [`mcp`] | the two faces: the command line, and the tools of agents; neither knows the other |
#![forbid(unsafe_code)]

pub mod cli;
pub mod epistemics;
pub mod index;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod model;
pub mod ops;
pub mod view;
pub mod wire;
