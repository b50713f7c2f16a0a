//! Everything that touches git: the only floor that names gix or spawns git.

pub mod author;
pub mod backend;
mod beside;
pub mod between;
pub mod beyond;
pub mod config;
pub mod content;
pub mod dates;
pub mod difference;
pub mod equivalents;
pub mod foreign;
pub mod head_move;
pub mod history;
mod in_process;
pub mod locks;
pub mod lookup;
mod needs;
pub mod notes;
pub mod objects;
mod open;
mod pack;
mod parameters;
pub mod parent;
mod patches;
pub mod process;
pub mod project;
pub mod promised;
pub mod range;
pub mod reach;
pub mod references;
pub mod remotes;
pub mod repository;
mod rewrites;
pub mod signing;
pub mod sound;
pub mod status;
mod through_git;
pub mod transfer;
pub mod version;
pub mod walk;

pub use backend::{HeadState, RefUpdate, UpdateError};
pub use lookup::Notes;
pub use needs::Sharing;
pub use notes::NotesTree;
pub use repository::Repository;

/// The id of an object, of either hash kind.
pub type Oid = gix::ObjectId;

/// Reads a full hexadecimal object id; anything else is `None`.
pub fn parse_oid(hex: &str) -> Option<Oid> {
    Oid::from_hex(hex.as_bytes()).ok()
}
