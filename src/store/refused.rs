//! Servers that refused notes: remembered for a day, so that not every push asks them again.

use chrono::{DateTime, Utc};

use super::Store;
use super::files::{read_lines, replace};

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
            Some(words) => drop(replace(&path, &format!("{}\n{}\n", self.now.to_rfc3339(), words.replace('\n', " ")))),
            None => drop(std::fs::remove_file(&path)),
        }
    }
}
