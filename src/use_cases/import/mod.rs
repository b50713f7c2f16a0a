//! Export and import: lines, Markdown, and the Python tool's notes.

pub mod lines;
pub mod markdown;
pub mod python;
pub mod view;
