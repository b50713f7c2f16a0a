//! Records in git notes: appended to a log, flushed to refs by union, read from the log and every ref, recovered,
//! redacted and synchronized.
//!
//! Only [`git`] uses gix and runs git. [`model`] defines records, [`mod@format`] encodes them, [`store`] stores them.
//!
//! Notes are sets of lines, merged by union:
//!
//! ```
//! use empirica_notes::format::lines::union;
//!
//! let ours = union(b"one\n", b"two\n");
//! assert_eq!(union(&ours, b"two\nthree\n"), union(b"three\none\n", b"two\n"));
//! ```
#![forbid(unsafe_code)]

pub mod env;
pub mod error;
pub mod fault;
pub mod format;
pub mod git;
pub mod model;
mod named_enum;
pub mod store;
