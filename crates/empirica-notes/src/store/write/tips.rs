//! The tips we last saw or wrote, so that a ref set back behind our back is noticed and united again.

use std::collections::BTreeMap;

use crate::git::{Oid, parse_oid};
use crate::store::files::paths::Paths;
use crate::store::files::read_lines;

/// What is remembered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tips {
    /// The tip of each of our refs and of the tracking refs, by full name.
    pub refs: BTreeMap<String, Oid>,
    /// The time of the newest id we know, in milliseconds.
    pub newest_ms: u64,
}

impl Tips {
    /// Reads the file; what cannot be read is not remembered.
    pub fn load(paths: &Paths) -> Self {
        let mut tips = Tips::default();
        for line in read_lines(&paths.tips()) {
            match line.split_once(' ') {
                Some(("newest", ms)) => tips.newest_ms = ms.parse().unwrap_or(0),
                Some((name, id)) => {
                    if let Some(id) = parse_oid(id) {
                        tips.refs.insert(name.to_owned(), id);
                    }
                }
                None => {}
            }
        }
        tips
    }

    /// Writes the file. Derived state: when that fails, the next command compares once more.
    pub fn save(&self, paths: &Paths) {
        let mut text = format!("newest {}\n", self.newest_ms);
        for (name, id) in &self.refs {
            text.push_str(&format!("{name} {id}\n"));
        }
        let _ = paths.replace(&paths.tips(), &text);
    }
}

/// The time of the newest id remembered, in milliseconds.
pub fn newest_ms(paths: &Paths) -> u64 {
    Tips::load(paths).newest_ms
}
