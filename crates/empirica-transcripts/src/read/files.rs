//! Files around transcripts.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The size limit of small files beside a transcript, in bytes.
const SMALL: u64 = 64 << 10;

/// The entries of a folder, sorted by name; empty if it cannot be read.
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    let read = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut out: Vec<PathBuf> = read.collect();
    out.sort();
    out
}

/// The paths below a folder that match a pattern: `*` stands for any name, `*.x` for any name that ends with `.x`.
pub fn matching(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    pattern.split('/').fold(vec![folder.to_owned()], |found, part| {
        let below = |folder: PathBuf| match part.strip_prefix('*') {
            None => vec![folder.join(part)],
            Some(end) => {
                let is_match = |path: &PathBuf| path.as_os_str().as_encoded_bytes().ends_with(end.as_bytes());
                entries(&folder).into_iter().filter(is_match).collect()
            }
        };
        found.into_iter().flat_map(below).collect()
    })
}

/// The modification time of a regular file; `None` for anything else.
pub fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?.modified().ok()
}

/// The regular files among paths, newest first, with their modification times.
pub fn newest_first(paths: impl Iterator<Item = PathBuf>) -> Vec<(SystemTime, PathBuf)> {
    let mut out: Vec<(SystemTime, PathBuf)> = paths.filter_map(|path| Some((modified(&path)?, path))).collect();
    out.sort_by(|a, b| b.cmp(a));
    out
}

/// The text of a small file; `None` if there is none or it is long.
pub fn small(path: &Path) -> Option<String> {
    let file = std::fs::metadata(path).ok()?;
    (file.is_file() && file.len() <= SMALL).then(|| std::fs::read_to_string(path).ok())?
}

/// A folder as given, and its real path if that differs.
pub fn names(folder: &Path) -> Vec<PathBuf> {
    let mut out = vec![folder.to_owned()];
    out.extend(folder.canonicalize().ok().filter(|real| real != folder));
    out
}

/// The name of the folder `levels` levels above a path.
pub fn ancestor_name(path: &Path, levels: usize) -> Option<&str> {
    path.ancestors().nth(levels)?.file_name()?.to_str()
}
