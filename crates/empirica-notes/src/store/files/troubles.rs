//! A bounded log of errors in hooks, which never fail and rarely print.

use std::fs;

use crate::store::Store;
use crate::store::files::read_lines;

/// The size at which the older half is dropped, in bytes.
const MOST: u64 = 32 * 1024;

impl Store<'_> {
    /// Logs an error of a hook; ignores failure to log.
    pub fn trouble(&self, hook: &str, error: &str) {
        let path = self.paths.troubles();
        let error: String = error.chars().map(|c| if c.is_control() { ' ' } else { c }).take(1000).collect();
        let line = format!("{} {hook}: {error}\n", self.now.to_rfc3339_opts(chrono::SecondsFormat::Secs, true));
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

    /// The logged errors, oldest first, each with its time.
    pub fn troubles(&self) -> Vec<String> {
        read_lines(&self.paths.troubles())
    }
}
