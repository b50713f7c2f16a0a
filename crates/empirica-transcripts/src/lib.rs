//! Transcripts of agents, read in one pass: who wrote one is told by its content, and what it tells is summed up.
//!
//! A row is held at a time, of at most 16 MB; a longer one is read past. What cannot be read is counted, what is of an
//! unexpected shape is absent, and neither is an error. Texts and ids out of a transcript are data: no path is made of them.
//!
//! ```
//! let rows = r#"{"type":"user","sessionId":"s1","cwd":"/repo","uuid":"u1","message":{"role":"user","content":"Mend the parser"}}"#;
//! let transcript = empirica_transcripts::read_from(rows.as_bytes(), None)?;
//! assert_eq!(transcript.agent.name(), "claude-code");
//! assert_eq!(transcript.task.as_deref(), Some("Mend the parser"));
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

pub use crate::error::{Error, Result};
#[cfg(feature = "read")]
pub use crate::read::call::category;
#[cfg(feature = "read")]
pub use crate::reader::{read, read_from, recognise};
