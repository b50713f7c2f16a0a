//! Records in git notes: appended to a log, flushed to refs by union, read from wherever they are, recovered, redacted and
//! synchronised.
//!
//! [`git`] alone knows gix and runs git. [`model`] has the records, [`mod@format`] writes them down, [`store`] keeps them.
//!
//! Notes are sets of lines, and merging is their union:
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
pub mod store;
