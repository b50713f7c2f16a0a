//! All integration tests in one binary: the real program, real git, a hermetic environment.
// a test may read the environment; the program reads it in one place
#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

mod agents;
mod commands;
mod format;
mod hooks;
mod import;
mod layout;
mod mcp;
mod recovery;
mod redact;
mod repository;
mod setup;
mod support;
mod sync;
