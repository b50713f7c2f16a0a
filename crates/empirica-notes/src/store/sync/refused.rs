//! Servers that refused notes within a day, and tips held back from servers, so that not every push asks again.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::git::{Oid, parse_oid};
use crate::store::Store;
use crate::store::files::read_lines;

/// The lifetime of a refusal, in seconds.
const A_DAY: i64 = 24 * 60 * 60;

impl Store<'_> {
    /// The message with which the server at `url` refused notes less than a day ago; `None` if it did not.
    pub fn refused(&self, url: &str) -> Option<String> {
        let lines = read_lines(&self.paths.refused(url));
        let [when, message] = lines.as_slice() else { return None };
        let when = DateTime::parse_from_rfc3339(when).ok()?.with_timezone(&Utc);
        let age = (self.now - when).num_seconds();
        (0..A_DAY).contains(&age).then(|| message.clone())
    }

    /// Records that the server at `url` refused notes with this message, or with `None` that it accepts them.
    pub fn remember_refusal(&self, url: &str, message: Option<&str>) {
        let path = self.paths.refused(url);
        match message {
            // on failure the next push asks again
            Some(message) => {
                let text = format!("{}\n{}\n", self.now.to_rfc3339(), message.replace('\n', " "));
                drop(self.paths.replace(&path, &text));
            }
            None => drop(std::fs::remove_file(&path)),
        }
    }

    /// The tips held back from the server at `url` because of their contents, by ref.
    pub fn held_back(&self, url: &str) -> BTreeMap<String, Oid> {
        let pair = |line: &String| {
            let (name, tip) = line.split_once(' ')?;
            Some((name.to_owned(), parse_oid(tip)?))
        };
        read_lines(&self.paths.held(url)).iter().filter_map(pair).collect()
    }

    /// Records the tips held back; empty if none are any more.
    pub fn remember_held_back(&self, url: &str, tips: &BTreeMap<String, Oid>) {
        let path = self.paths.held(url);
        let text: String = tips.iter().map(|(name, tip)| format!("{name} {tip}\n")).collect();
        // on failure the next push asks again
        let _ = if tips.is_empty() { std::fs::remove_file(&path) } else { self.paths.replace(&path, &text) };
    }
}
