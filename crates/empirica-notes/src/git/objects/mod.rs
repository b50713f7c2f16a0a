//! Objects: blobs, trees, packs, partial clones, damage.

pub mod blobs;
pub mod content;
pub(crate) mod delta_bases;
pub mod integrity;
pub(crate) mod limits;
pub mod pack;
pub mod partial_clone;
pub mod pattern;
pub mod present;
pub mod unpushed;

use crate::error::{Error, empirica};
use crate::git::Oid;

pub(crate) fn unreadable(id: Oid, error: gix::Error) -> Error {
    Error::storage(format!("cannot read the object {id}"))
        .suggest("Check what is missing or damaged; another clone may have it.")
        .command(empirica("doctor"))
        .caused_by(error)
}

/// Lists who committed the notes last.
pub(crate) const COMMITTERS: &str =
    "git for-each-ref --format='%(refname) %(committername) %(committerdate)' refs/notes/empirica/";
