//! A bounded log of what went wrong in hooks, which never fail and seldom speak.

use std::fs;

use crate::store::Store;
use crate::store::files::read_lines;

/// The size from which on the older half is forgotten, in bytes.
const MOST: u64 = 32 * 1024;

impl Store<'_> {
    /// Writes down what went wrong in a hook. When that fails, too, nothing more is done.
    pub fn trouble(&self, hook: &str, what: &str) {
        let path = self.paths.troubles();
        let what: String = what.chars().map(|c| if c.is_control() { ' ' } else { c }).take(1000).collect();
        let line = format!("{} {hook}: {what}\n", self.now.to_rfc3339_opts(chrono::SecondsFormat::Secs, true));
        let write = || -> std::io::Result<()> {
            if fs::metadata(&path).is_ok_and(|file| file.len() > MOST) {
                let lines = read_lines(&path);
                let kept: String = lines[lines.len() / 2..].iter().map(|line| format!("{line}\n")).collect();
                return self.paths.replace(&path, &(kept + &line));
            }
            self.paths.append(&path, &line)
        };
        let _ = write();
    }

    /// What went wrong in hooks, oldest first, each with its time.
    pub fn troubles(&self) -> Vec<String> {
        read_lines(&self.paths.troubles())
    }
}
