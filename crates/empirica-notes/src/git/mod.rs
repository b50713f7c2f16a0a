//! All access to git: the only module that uses gix or runs git.

pub mod history;
pub mod notes;
pub mod objects;
pub mod process;
pub mod refs;
pub mod remotes;
pub mod repository;
pub mod rewrites;

pub use crate::git::notes::NotesTree;
pub use crate::git::refs::{HeadState, RefUpdate, UpdateError};
pub use crate::git::repository::Repository;
pub use crate::git::repository::capabilities::Sharing;

/// The id of an object, of either hash kind.
pub type Oid = gix::ObjectId;

/// Parses a full hexadecimal object id; `None` for anything else.
pub fn parse_oid(hex: &str) -> Option<Oid> {
    Oid::from_hex(hex.as_bytes()).ok()
}
