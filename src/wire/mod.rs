//! How records are written down: JSON lines, notes as sets of lines, Markdown as a set of blocks.

pub mod blocks;
pub mod lines;
pub mod portable;
pub mod record;
