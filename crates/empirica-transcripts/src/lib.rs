//! Reads transcripts of AI coding agents in one pass: detects the agent by content and summarizes the session.
//!
//! [`read`] takes a file, folder or database, [`read_from`] a stream; [`find::latest`] finds the newest transcript of a
//! work tree, [`find::all`] those of a repository.
//!
//! One row is in memory at a time, of at most 16 MB; longer ones are skipped. Unreadable rows are counted, values of an
//! unexpected form count as absent, and neither is an error. Texts and ids are data: no path is made from them.
//!
//! ```
//! let rows = r#"{"type":"user","sessionId":"s1","cwd":"/repo","uuid":"u1","message":{"role":"user","content":"Fix the parser"}}"#;
//! let transcript = empirica_transcripts::read_from(rows.as_bytes(), None)?;
//! assert_eq!(transcript.agent.name(), "claude-code");
//! assert_eq!(transcript.task.as_deref(), Some("Fix the parser"));
//! # Ok::<(), empirica_transcripts::Error>(())
//! ```
#![forbid(unsafe_code)]

#[cfg(feature = "read")]
mod agents;
mod error;
#[cfg(feature = "read")]
pub mod find;
pub mod model;
#[cfg(feature = "read")]
mod read;
#[cfg(feature = "read")]
mod reader;
#[cfg(feature = "read")]
mod summary;
#[cfg(test)]
#[cfg(feature = "read")]
mod tests;
#[cfg(feature = "read")]
mod text;

#[cfg(feature = "read")]
pub use crate::agents::claude::is_unchanged;
#[cfg(feature = "read")]
pub use crate::agents::codex::exit_code;
#[cfg(feature = "read")]
pub use crate::agents::{category, files_of};
pub use crate::error::{Error, Result};
#[cfg(feature = "read")]
pub use crate::read::exit::exit_line;
#[cfg(feature = "read")]
pub use crate::reader::{detect, read, read_from};
