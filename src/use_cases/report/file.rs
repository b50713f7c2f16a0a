//! Writes the page to a file, which it replaces atomically.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use empirica_notes::error::{Error, Result, empirica, quote};
use empirica_notes::store::{files, unique};

/// Most symbolic links followed.
const LINKS: usize = 40;

/// Writes the page to `given`, relative to `cwd`, and returns its path. Follows symbolic links, as `>` does, and keeps
/// the permissions of an existing file. Creates no folders.
pub fn write(cwd: &Path, requested: &Path, page: &str) -> Result<PathBuf> {
    let path = cwd.join(requested);
    let refused = || Error::refused(format!("cannot write the page to {}", requested.display()));
    let target = follow_links(&path).map_err(|error| refused().on_path(&path, error))?;
    let existing = fs::metadata(&target).ok();
    let named_as_folder = requested.as_os_str().as_encoded_bytes().ends_with(b"/");
    if named_as_folder || existing.as_ref().is_some_and(Metadata::is_dir) {
        let inside = requested.join("report.html");
        return Err(Error::usage(format!("cannot write the page to {}: it is a folder", requested.display()))
            .provided(requested.to_string_lossy())
            .reason("the page is one file")
            .suggest("Name a file in it.")
            .command(empirica("report").option("--html", inside.to_string_lossy())));
    }
    let folder = target.parent().unwrap_or(cwd);
    if matches!(fs::metadata(folder), Err(error) if error.kind() == ErrorKind::NotFound) {
        return Err(refused()
            .reason(format!("there is no folder {}", folder.display()))
            .suggest("Create it, then run the command again.")
            .command(format!("mkdir -p {}", quote(&folder.to_string_lossy()))));
    }
    let written = match existing {
        None => replace(&target, page, None),
        // a file without write permission is not replaced; a device or a pipe cannot be
        Some(existing) => File::options().write(true).open(&target).and_then(|mut open| match existing.is_file() {
            true => replace(&target, page, Some(existing)),
            false => open.write_all(page.as_bytes()),
        }),
    };
    written.map(|()| path.clone()).map_err(|error| refused().on_path(&path, error))
}

/// Resolves symbolic links of a path whose target may not exist.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..LINKS {
        match fs::read_link(&target) {
            Ok(to) => target = target.parent().unwrap_or(Path::new("/")).join(to),
            Err(_) => return Ok(target),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

fn replace(target: &Path, page: &str, existing: Option<Metadata>) -> io::Result<()> {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let short: String = name.chars().take(40).collect();
    let temporary = target.with_file_name(format!(".{short}.{}", unique()));
    files::replace_prepared(&temporary, target, page.as_bytes(), |temporary| {
        let file = File::open(temporary)?;
        existing.map_or(Ok(()), |existing| file.set_permissions(existing.permissions()))?;
        file.sync_all()
    })
}
