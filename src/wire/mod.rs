//! How records are written down: JSON lines, notes as sets of lines, Markdown as a set of blocks; and how agents write
//! down their own sessions.

pub mod blocks;
pub mod hooks;
pub mod lines;
pub mod portable;
pub mod record;
pub mod transcript;
