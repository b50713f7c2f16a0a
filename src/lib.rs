//! Keeps what AI agents learned, doubted, tried and decided inside the repository, as git notes.
//!
//! The crates below: `empirica_notes` (records in git notes, and git), `empirica_transcripts`, `empirica_secrets`.
//! Imports only go down, and no files import each other in a circle; a test holds both:
//!
//! | modules | |
//! |---|---|
//! | [`text`] | words, similarity, passages, shortening, tokens, width |
//! | [`fold`] | records folded into state; pure |
//! | [`index`] | the query index over all notes, in SQLite; derived, disposable |
//! | [`context`] | repository, store and session of a command; names; the records of a session, handoffs in force, tasks |
//! | [`render`] | answers, safe text, templates, budgets |
//! | [`collect`], [`sync`], [`setup`], [`handoff`], [`task`], [`search`], [`checkpoint`], [`session`], [`history`], [`assess`], [`claim`], [`report`], [`import`], [`hooks`] | the use cases from the lowest up, each with its rules and views; they print nothing |
//! | [`cli`], [`mcp`] | the command line, and the tools of agents; neither imports the other |
#![forbid(unsafe_code)]
// the library serves the program alone: a comment tells what a name does not
#![allow(missing_docs)]

pub mod assess;
pub mod checkpoint;
pub mod claim;
pub mod cli;
pub mod collect;
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
pub mod search;
pub mod session;
pub mod setup;
pub mod sync;
pub mod task;
pub mod text;
