//! Keeps what AI agents learned, doubted, tried and decided inside the repository, as git notes.
//!
//! The crates below: `empirica_notes` (records in git notes, and git), `empirica_transcripts`, `empirica_secrets`.
//! Imports only go down; a test holds that:
//!
//! | modules | |
//! |---|---|
//! | [`text`] | words, similarity, shortening, tokens, width |
//! | [`fold`] | records folded into state; pure |
//! | [`index`] | the query index over all notes, in SQLite; derived, disposable |
//! | [`context`] | repository, store and session of a command; names of sessions and records |
//! | [`render`] | answers, safe text, templates, budgets |
//! | [`session`], [`checkpoint`], [`handoff`], [`task`], [`assess`], [`claim`], [`history`], [`report`], [`sync`], [`hooks`], [`setup`], [`import`] | the use cases, each with its rules and views; they print nothing |
//! | [`cli`], [`mcp`] | the command line, and the tools of agents; neither imports the other |
#![forbid(unsafe_code)]

pub mod assess;
pub mod checkpoint;
pub mod claim;
pub mod cli;
pub mod context;
pub mod fold;
pub mod handoff;
pub mod history;
pub mod hooks;
pub mod import;
pub mod index;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod render;
pub mod report;
pub mod session;
pub mod setup;
pub mod sync;
pub mod task;
pub mod text;
