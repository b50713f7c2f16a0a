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
//! | [`use_cases`] | a folder each, with its rules and views; they print nothing |
//! | [`cli`], [`mcp`] | the command line, and the tools of agents; neither imports the other |
#![forbid(unsafe_code)]
// the library serves the program alone: a comment tells what a name does not
#![allow(missing_docs)]

pub mod cli;
pub mod context;
pub mod fold;
pub mod index;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod render;
pub mod text;
pub mod use_cases;
