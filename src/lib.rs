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

#[path = "use_cases/assess/mod.rs"]
pub mod assess;
#[path = "use_cases/checkpoint/mod.rs"]
pub mod checkpoint;
#[path = "use_cases/claim/mod.rs"]
pub mod claim;
pub mod cli;
#[path = "use_cases/collect/mod.rs"]
pub mod collect;
pub mod context;
pub mod fold;
#[path = "use_cases/handoff/mod.rs"]
pub mod handoff;
#[path = "use_cases/history/mod.rs"]
pub mod history;
#[path = "use_cases/hooks/mod.rs"]
pub mod hooks;
#[path = "use_cases/import/mod.rs"]
pub mod import;
pub mod index;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod render;
#[path = "use_cases/report/mod.rs"]
pub mod report;
#[path = "use_cases/search/mod.rs"]
pub mod search;
#[path = "use_cases/session/mod.rs"]
pub mod session;
#[path = "use_cases/setup/mod.rs"]
pub mod setup;
#[path = "use_cases/sync/mod.rs"]
pub mod sync;
#[path = "use_cases/task/mod.rs"]
pub mod task;
pub mod text;
