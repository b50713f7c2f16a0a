//! The path of an entry in a file, and errors of editing.

use serde::{Deserialize, Serialize};

/// Why a text cannot be edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditError {
    Syntax {
        /// From 1; 0 if unknown.
        line: usize,
        /// Without a final stop.
        what: String,
    },
    /// Another value is in the place of the entry.
    Shape {
        /// The dotted keys that lead there; empty for the whole document.
        at: String,
        /// The expected value: `an object` or `a list`.
        expected: &'static str,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryPath {
    /// The keys that lead to the value, or to its list.
    pub path: Vec<String>,
    pub list: bool,
}

impl EntryPath {
    pub fn key(path: &[&str]) -> Self {
        EntryPath { path: path.iter().map(|key| (*key).to_owned()).collect(), list: false }
    }

    pub fn list(path: &[&str]) -> Self {
        EntryPath { list: true, ..EntryPath::key(path) }
    }
}
