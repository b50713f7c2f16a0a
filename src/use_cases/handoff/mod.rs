//! Handoffs: build, check, write, show, accept, and changes since.

pub mod arrival;
pub mod build;
pub mod check;
pub mod list;
pub mod managed;
pub mod note;
pub mod pack;
pub mod receive;
pub mod sign;
pub mod view;
pub mod write;
