//! The record format, earlier data, schemas, hostile notes and refs, the pages about them.

pub mod attacks;
pub mod earlier_data;
pub mod hiding;
pub mod hostile;
pub mod hostile_notes;
pub mod hostile_refs;
pub mod pages;
pub mod properties;
pub mod schemas;
pub mod specification;
