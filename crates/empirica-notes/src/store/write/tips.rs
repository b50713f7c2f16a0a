//! The last seen or written tips, to detect refs that were set back by others.

use std::collections::BTreeMap;

use crate::git::{Oid, parse_oid};
use crate::store::files::paths::Paths;
use crate::store::files::read_lines;

/// The saved tips.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tips {
    /// The tips of the local and tracking refs, by full name.
    pub refs: BTreeMap<String, Oid>,
    /// The time of the newest id seen, in milliseconds.
    pub newest_ms: u64,
}

impl Tips {
    /// Reads the file; skips lines it cannot parse.
    pub fn load(paths: &Paths) -> Self {
        let mut tips = Tips::default();
        for line in read_lines(&paths.file("tips")) {
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

    /// Writes the file. Derived state: on failure the next command compares again.
    pub fn save(&self, paths: &Paths) {
        let mut text = format!("newest {}\n", self.newest_ms);
        for (name, id) in &self.refs {
            text.push_str(&format!("{name} {id}\n"));
        }
        let _ = paths.replace(&paths.file("tips"), &text);
    }
}
