//! Objects: blobs, trees, packs, partial clones, damage.

pub mod blobs;
pub mod content;
pub mod integrity;
pub mod pack;
pub mod partial_clone;
pub mod unpushed;

use crate::error::{Error, empirica};
use crate::git::Oid;

pub(crate) fn unreadable(id: Oid, error: gix::Error) -> Error {
    Error::storage(format!("the object {id} cannot be read"))
        .suggest("See what is missing or damaged, and how it comes back: another clone may have it.")
        .command(empirica("doctor"))
        .caused_by(error)
}
