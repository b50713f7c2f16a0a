//! How records are written down: JSON lines, notes as sets of lines, Markdown as a set of blocks; how agents write down
//! their own sessions; and blocks in files of others.

pub mod edit;
pub mod hooks;
pub mod marked;
pub mod python;
