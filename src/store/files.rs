//! Small files of derived state: read leniently, replaced whole.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use crate::fault;

/// The lines of a file; empty when it is not there or cannot be read.
pub fn read_lines(path: &Path) -> Vec<String> {
    let text = fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&text).lines().map(str::to_owned).collect()
}

/// Adds lines to a file, which is made when it is not there.
pub fn append(path: &Path, text: &str) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    fault::point("file: to be appended to")?;
    fs::OpenOptions::new().create(true).append(true).open(path)?.write_all(text.as_bytes())
}

/// Replaces a file by a new one, so that a reader sees the old or the new content.
pub fn replace(path: &Path, content: &str) -> io::Result<()> {
    replace_by_way_of(path.parent().unwrap_or(Path::new(".")), path, content)
}

/// The same; what is not finished lies in another folder of the same file system meanwhile.
pub fn replace_by_way_of(folder: &Path, path: &Path, content: &str) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::create_dir_all(path.parent().unwrap_or(folder))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder.join(format!(".{name}.{}", std::process::id()));
    let written = fault::point("file: to be written")
        .and_then(|()| fs::write(&temporary, content))
        .and_then(|()| fault::point("file: to be renamed"))
        .and_then(|()| fs::rename(&temporary, path));
    fault::step("file: replaced");
    written.inspect_err(|_| {
        // the error that matters is the first one
        let _ = fs::remove_file(&temporary);
    })
}

/// A file that was not finished in this time never will be.
const ABANDONED: Duration = Duration::from_secs(600);

/// Removes from a folder what processes left that died while they replaced a file there.
pub fn sweep(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| is_temporary(&entry.file_name().to_string_lossy())) {
        let age = entry.metadata().and_then(|file| file.modified()).map(|at| at.elapsed().unwrap_or_default());
        if age.is_ok_and(|age| age > ABANDONED) {
            // another one may do the same
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Removes what processes left that died while they replaced this file. For who knows that nobody replaces it now.
pub fn remove_unfinished(path: &Path) {
    let begin = format!(".{}.", path.file_name().unwrap_or_default().to_string_lossy());
    let entries = fs::read_dir(path.parent().unwrap_or(path)).into_iter().flatten().flatten();
    let name = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    for entry in entries.filter(|entry| name(entry).starts_with(&begin) && is_temporary(&name(entry))) {
        // the next one tries again
        let _ = fs::remove_file(entry.path());
    }
}

/// Whether a name is one that [`replace`] gives to what is not finished.
fn is_temporary(name: &str) -> bool {
    let parts = name.strip_prefix('.').and_then(|name| name.rsplit_once('.'));
    parts.is_some_and(|(name, id)| !name.is_empty() && !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn only_what_was_abandoned_is_swept() {
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str, old: bool| {
            let file = fs::File::create(folder.path().join(name)).unwrap();
            if old {
                file.set_modified(SystemTime::now() - 2 * ABANDONED).unwrap();
            }
        };
        let kept = [(".tips.12", false), ("tips", true), (".tips", true), ("tips.12", true), (".tips.x1", true)];
        kept.iter().for_each(|(name, old)| make(name, *old));
        make(".tips.7", true);
        make(".probe.8", true);
        sweep(folder.path());
        let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        let mut wanted: Vec<_> = kept.iter().map(|(name, _)| std::ffi::OsString::from(name)).collect();
        left.sort();
        wanted.sort();
        assert_eq!(left, wanted);
    }
}
