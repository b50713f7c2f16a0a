//! Servers that refused notes, for a day, and what we hold back from them: so that not every push asks them again.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::git::{Oid, parse_oid};
use crate::store::Store;
use crate::store::files::read_lines;

/// How long a refusal is remembered, in seconds.
const A_DAY: i64 = 24 * 60 * 60;

impl Store<'_> {
    /// What the server at `url` said when it refused notes less than a day ago; `None` when it did not.
    pub fn refused(&self, url: &str) -> Option<String> {
        let lines = read_lines(&self.paths.refused(url));
        let [when, words] = lines.as_slice() else { return None };
        let when = DateTime::parse_from_rfc3339(when).ok()?.with_timezone(&Utc);
        let age = (self.now - when).num_seconds();
        (0..A_DAY).contains(&age).then(|| words.clone())
    }

    /// Remembers that the server at `url` refused notes, or (`None`) that it takes them.
    pub fn remember_refusal(&self, url: &str, words: Option<&str>) {
        let path = self.paths.refused(url);
        match words {
            // when it cannot be remembered, the next push asks once more
            Some(words) => {
                let text = format!("{}\n{}\n", self.now.to_rfc3339(), words.replace('\n', " "));
                drop(self.paths.replace(&path, &text));
            }
            None => drop(std::fs::remove_file(&path)),
        }
    }

    /// The tips that were held back from the server at `url` because something in them may not leave, by ref.
    pub fn held_back(&self, url: &str) -> BTreeMap<String, Oid> {
        let pair = |line: &String| {
            let (name, tip) = line.split_once(' ')?;
            Some((name.to_owned(), parse_oid(tip)?))
        };
        read_lines(&self.paths.held(url)).iter().filter_map(pair).collect()
    }

    /// Remembers them; none, when nothing is held back any more.
    pub fn remember_held_back(&self, url: &str, tips: &BTreeMap<String, Oid>) {
        let path = self.paths.held(url);
        let text: String = tips.iter().map(|(name, tip)| format!("{name} {tip}\n")).collect();
        // when it cannot be remembered, the next push asks once more
        let _ = if tips.is_empty() { std::fs::remove_file(&path) } else { self.paths.replace(&path, &text) };
    }
}
