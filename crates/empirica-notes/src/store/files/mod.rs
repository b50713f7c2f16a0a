//! Small files of derived state: read leniently, replaced atomically.

pub mod hook_errors;
pub mod paths;

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::fault;
use crate::git::Sharing;

/// The lines of a file; empty if it cannot be read.
pub fn read_lines(path: &Path) -> Vec<String> {
    let text = fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&text).lines().map(str::to_owned).collect()
}

/// A unique part for temporary names: `<process id>-<random hex>`.
pub fn unique() -> String {
    let random = uuid::Uuid::new_v4().simple().to_string();
    format!("{}-{}", std::process::id(), &random[..12])
}

/// Opens a file for appending. In a shared repository, a new one has its permissions before it has its name.
pub fn open_to_append(sharing: &Sharing, path: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.append(true).read(true);
    match (options.open(path), sharing.root_of(path)) {
        (Err(error), Some(root)) if error.kind() == io::ErrorKind::NotFound => create_shared(sharing, root, path)?,
        (Err(error), None) if error.kind() == io::ErrorKind::NotFound => drop(options.create(true)),
        (opened, _) => return opened,
    }
    options.open(path)
}

/// Creates an empty file with its permissions, unless another process does meanwhile.
fn create_shared(sharing: &Sharing, root: &Path, path: &Path) -> io::Result<()> {
    let folder = root.join("empirica");
    sharing.make_folder(&folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder.join(format!(".{name}.{}", unique()));
    let prepared = fs::File::create_new(&temporary).and_then(|_| sharing.apply(&temporary));
    let named = prepared.and_then(|()| fs::hard_link(&temporary, path));
    // a later flush sweeps it
    let _ = fs::remove_file(&temporary);
    match named {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported) => {
            // a file system without hard links
            fs::OpenOptions::new().create(true).append(true).open(path)?;
            sharing.apply(path)
        }
        named => named,
    }
}

/// Replaces a file atomically.
pub fn replace(sharing: &Sharing, path: &Path, content: &str) -> io::Result<()> {
    replace_by_way_of(sharing, path.parent().unwrap_or(Path::new(".")), path, content)
}

/// As [`replace`], with the temporary file in another folder of the same file system.
pub fn replace_by_way_of(sharing: &Sharing, folder: &Path, path: &Path, content: &str) -> io::Result<()> {
    sharing.make_folder(folder)?;
    sharing.make_folder(path.parent().unwrap_or(folder))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder.join(format!(".{name}.{}", unique()));
    let written = replace_prepared(&temporary, path, content.as_bytes(), |temporary| sharing.apply(temporary));
    fault::step("file: replaced");
    written
}

/// Replaces a file by `temporary`, of the same file system, which `prepare` sees before it gets the name.
pub fn replace_prepared(
    temporary: &Path,
    path: &Path,
    content: &[u8],
    prepare: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<()> {
    let written = fault::point("file: to be written")
        .and_then(|()| fs::write(temporary, content))
        .and_then(|()| prepare(temporary))
        .and_then(|()| fault::point("file: to be renamed"))
        .and_then(|()| fs::rename(temporary, path));
    written.inspect_err(|_| {
        // the first error is the one to report
        let _ = fs::remove_file(temporary);
    })
}

/// Removes a file, if it exists.
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Syncs a file and its folder to disk.
pub fn sync(path: &Path) -> io::Result<()> {
    fs::File::open(path)?.sync_all()?;
    fs::File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}

/// The age from which a temporary file is abandoned.
const ABANDONED: Duration = Duration::from_secs(600);

/// Removes abandoned temporary files from a folder.
pub fn sweep(folder: &Path, is_temporary: impl Fn(&str) -> bool) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| is_temporary(&entry.file_name().to_string_lossy())) {
        let age = entry.metadata().and_then(|file| file.modified()).map(|at| at.elapsed().unwrap_or_default());
        if age.is_ok_and(|age| age > ABANDONED) {
            // another process may remove it at the same time
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Removes the temporary files of this file. Only while no process replaces it.
pub fn remove_unfinished(path: &Path) {
    let prefix = format!(".{}.", path.file_name().unwrap_or_default().to_string_lossy());
    let entries = fs::read_dir(path.parent().unwrap_or(path)).into_iter().flatten().flatten();
    let name = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    for entry in entries.filter(|entry| name(entry).starts_with(&prefix) && is_temporary(&name(entry))) {
        // the next call tries again
        let _ = fs::remove_file(entry.path());
    }
}

/// Whether a name is that of a temporary file of [`replace`].
pub fn is_temporary(name: &str) -> bool {
    let parts = name.strip_prefix('.').and_then(|name| name.rsplit_once('.'));
    // 0.1.0 wrote no random part
    let is_unique = |id: &str| {
        let (process, random) = id.split_once('-').unwrap_or((id, "0"));
        let is_hex = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        process.parse::<u32>().is_ok() && is_hex(random)
    };
    parts.is_some_and(|(name, id)| !name.is_empty() && is_unique(id))
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn temporary_names_are_unique_across_processes_with_one_pid() {
        let (one, other) = (unique(), unique());
        assert_ne!(one, other);
        assert!(one.starts_with(&format!("{}-", std::process::id())), "{one}");
    }

    #[test]
    fn only_abandoned_files_are_swept() {
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
        make(&format!(".tips.{}", unique()), true);
        sweep(folder.path(), is_temporary);
        let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        let mut expected: Vec<_> = kept.iter().map(|(name, _)| std::ffi::OsString::from(name)).collect();
        left.sort();
        expected.sort();
        assert_eq!(left, expected);
    }
}
