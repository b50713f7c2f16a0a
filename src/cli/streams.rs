//! The streams of the process.

use std::io::{Read, Write};

/// The standard streams; answers go to `out`, messages to `err`.
pub struct Streams {
    pub stdin: Box<dyn Read>,
    pub out: Box<dyn Write>,
    pub err: Box<dyn Write>,
    pub out_is_terminal: bool,
    /// Columns of the terminal; `None` if unknown.
    pub out_width: Option<usize>,
    pub err_is_terminal: bool,
    pub in_is_terminal: bool,
}
