//! The position of an entry in a file, and why a file cannot be edited.

use serde::{Deserialize, Serialize};

/// Why a text cannot be edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditError {
    /// It is not what it should be: what, and in which line, counted from 1.
    Syntax {
        /// The line; 0 when it is not known.
        line: usize,
        /// What is wrong there, without a final stop.
        what: String,
    },
    /// Another value is in the place of the entry.
    Shape {
        /// The keys that lead there, with dots between them; empty for the whole document.
        at: String,
        /// What it should be: `an object` or `a list`.
        wanted: &'static str,
    },
}

/// Where an entry is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryPath {
    /// The keys that lead there. Of a list, those that lead to the list.
    pub path: Vec<String>,
    /// Whether it is one of a list.
    pub list: bool,
}

impl EntryPath {
    /// The value of a key.
    pub fn key(path: &[&str]) -> Self {
        EntryPath { path: path.iter().map(|key| (*key).to_owned()).collect(), list: false }
    }

    /// One of a list.
    pub fn list(path: &[&str]) -> Self {
        EntryPath { list: true, ..EntryPath::key(path) }
    }
}
