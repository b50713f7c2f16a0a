//! Servers that refused notes within a day, and tips held back from servers, so that not every push contacts them.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::git::{Oid, parse_oid};
use crate::store::ServerState;
use crate::store::files::read_lines;

/// The lifetime of a refusal, in seconds.
const A_DAY: i64 = 24 * 60 * 60;

impl ServerState<'_> {
    /// The message with which it refused notes less than a day ago; `None` if it did not.
    pub fn refusal(&self) -> Option<String> {
        let lines = read_lines(&self.store.paths.refused(self.url));
        let [when, message] = lines.as_slice() else { return None };
        let when = DateTime::parse_from_rfc3339(when).ok()?.with_timezone(&Utc);
        let age = (self.store.now - when).num_seconds();
        (0..A_DAY).contains(&age).then(|| message.clone())
    }

    /// Records that it refused notes with this message, or with `None` that it accepts them.
    pub fn set_refusal(&self, message: Option<&str>) {
        let path = self.store.paths.refused(self.url);
        match message {
            // on failure the next push contacts it again
            Some(message) => {
                let text = format!("{}\n{}\n", self.store.now.to_rfc3339(), message.replace('\n', " "));
                drop(self.store.paths.replace(&path, &text));
            }
            None => drop(std::fs::remove_file(&path)),
        }
    }

    /// The tips held back from it because of their contents, by ref.
    pub fn held_back(&self) -> BTreeMap<String, Oid> {
        let pair = |line: &String| {
            let (name, tip) = line.split_once(' ')?;
            Some((name.to_owned(), parse_oid(tip)?))
        };
        read_lines(&self.store.paths.held(self.url)).iter().filter_map(pair).collect()
    }

    /// Records the tips held back; empty if none are any more.
    pub fn set_held_back(&self, tips: &BTreeMap<String, Oid>) {
        let path = self.store.paths.held(self.url);
        let text: String = tips.iter().map(|(name, tip)| format!("{name} {tip}\n")).collect();
        // on failure the next push contacts it again
        let _ = if tips.is_empty() { std::fs::remove_file(&path) } else { self.store.paths.replace(&path, &text) };
    }
}
