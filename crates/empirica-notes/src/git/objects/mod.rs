//! Objects: blobs, trees, packs, what a partial clone lacks, damage.

pub mod blobs;
pub mod content;
pub mod integrity;
pub mod pack;
pub mod partial_clone;
pub mod unpushed;
