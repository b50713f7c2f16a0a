//! The streams of the process.

use std::io::{Read, Write};

/// The process's streams.
pub struct Streams {
    /// Standard input.
    pub stdin: Box<dyn Read>,
    /// Standard output: data.
    pub out: Box<dyn Write>,
    /// Standard error: everything else.
    pub err: Box<dyn Write>,
    /// Whether standard output is a terminal.
    pub out_is_terminal: bool,
    /// How many columns that terminal has; `None` when it does not say, and when it is none.
    pub out_width: Option<usize>,
    /// Whether standard error is a terminal.
    pub err_is_terminal: bool,
    /// Whether standard input is a terminal.
    pub in_is_terminal: bool,
}
