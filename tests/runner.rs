//! All integration tests in one binary: the real program, real git, a hermetic environment.
// a test may read the environment; the program reads it in one place
#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

mod aliases;
mod bad_input;
mod bad_names;
mod concurrency;
mod continuity;
mod doctor;
mod durable;
mod floors;
mod followed;
mod format;
mod gates;
mod guide;
mod harness;
mod healing;
mod hooks;
mod hostile;
mod init;
mod init_hooks;
mod interop;
mod json;
mod kills;
mod log;
mod manual;
mod properties;
mod regressions;
mod repair;
mod repair_choices;
mod rewrites;
mod secrets;
mod snapshot;
mod snapshots;
mod states;
mod sync;
mod sync_epochs;
mod sync_hazards;
mod sync_push;
mod sync_pushes;
mod sync_remotes;

mod team;
mod tokens;
mod unborn;
mod workflow;
mod workflow_forms;
