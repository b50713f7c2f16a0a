//! Small files of derived state: read leniently, replaced whole.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// The lines of a file; empty when it is not there or cannot be read.
pub fn read_lines(path: &Path) -> Vec<String> {
    let text = fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&text).lines().map(str::to_owned).collect()
}

/// Adds lines to a file, which is made when it is not there.
pub fn append(path: &Path, text: &str) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    fs::OpenOptions::new().create(true).append(true).open(path)?.write_all(text.as_bytes())
}

/// Replaces a file by a new one, so that a reader sees the old or the new content.
pub fn replace(path: &Path, content: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder.join(format!(".{name}.{}", std::process::id()));
    fs::write(&temporary, content).and_then(|()| fs::rename(&temporary, path)).inspect_err(|_| {
        // the error that matters is the first one
        let _ = fs::remove_file(&temporary);
    })
}
