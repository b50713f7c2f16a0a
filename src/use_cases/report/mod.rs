//! The report: one page about the project.

pub mod attention;
pub mod file;
pub mod gather;
pub mod knowledge;
pub mod page;
pub mod review;
pub mod view;
