//! A bounded log of errors in hooks, which never fail and rarely print.

use crate::store::HookErrors;
use crate::store::files::read_lines;

const FILE: &str = "hook-errors";
/// The limit of lines.
const MOST: usize = 128;

impl HookErrors<'_> {
    /// Logs an error; ignores failure to log.
    pub fn add(&self, hook: &str, error: &str) {
        let error: String = error.chars().map(|c| if c.is_control() { ' ' } else { c }).take(1000).collect();
        let line = format!("{} {hook}: {error}\n", self.store.now.to_rfc3339_opts(chrono::SecondsFormat::Secs, true));
        let _ = self.store.paths.append_bounded(&self.store.paths.file(FILE), &line, MOST);
    }

    /// The logged errors, oldest first, each with its time.
    pub fn list(&self) -> Vec<String> {
        read_lines(&self.store.paths.file(FILE))
    }
}
