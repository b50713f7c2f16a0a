//! Import from the Python tool.

pub mod import_again;
pub mod import_python;
pub mod import_shapes;
