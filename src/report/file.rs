//! Where the page goes: a file that is replaced whole, so that who has it open sees the old page or the new one.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use empirica_notes::error::{Error, Result, empirica, quote};

/// How many links lead to a file at most.
const LINKS: usize = 40;

/// Writes the page to `given`, which is relative to `cwd`; returns where that is. A link is followed, as `>` does, and the
/// permissions of a file that is there stay. Folders are not made.
pub fn write(cwd: &Path, given: &Path, page: &str) -> Result<PathBuf> {
    let path = cwd.join(given);
    let refused = |error: io::Error| {
        Error::refused(format!("the page cannot be written to {}", given.display())).on_path(&path, error)
    };
    let target = followed(&path).map_err(refused)?;
    let there = fs::metadata(&target);
    let named_as_folder = given.as_os_str().as_encoded_bytes().ends_with(b"/");
    if named_as_folder || there.as_ref().is_ok_and(Metadata::is_dir) {
        let inside = given.join("report.html");
        return Err(Error::usage(format!("{} is a folder", given.display()))
            .provided(given.to_string_lossy())
            .reason("the page is one file")
            .suggest("Name a file in it.")
            .command(empirica("report").option("--html", inside.to_string_lossy())));
    }
    let folder = target.parent().unwrap_or(cwd);
    if matches!(fs::metadata(folder), Err(error) if error.kind() == ErrorKind::NotFound) {
        return Err(Error::refused(format!("the page cannot be written to {}", given.display()))
            .reason(format!("there is no folder {}", folder.display()))
            .suggest("Make it, then run the command again.")
            .command(format!("mkdir -p {}", quote(&folder.to_string_lossy()))));
    }
    match there {
        // a device or a pipe cannot be replaced, only written to
        Ok(there) if !there.is_file() => {
            File::options().write(true).open(&target).and_then(|mut file| file.write_all(page.as_bytes()))
        }
        there => replace(&target, page, there.ok()),
    }
    .map_err(refused)?;
    Ok(path)
}

/// Where links lead in the end, whether there is anything or not.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..LINKS {
        match fs::read_link(&target) {
            Ok(to) => target = target.parent().unwrap_or(Path::new("/")).join(to),
            Err(_) => return Ok(target),
        }
    }
    Err(io::Error::other("too many links"))
}

fn replace(target: &Path, page: &str, there: Option<Metadata>) -> io::Result<()> {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let short: String = name.chars().take(40).collect();
    let temporary = target.with_file_name(format!(".{short}.{}", empirica_notes::store::unique()));
    let write = || {
        // what may not be written to is not replaced either
        if there.is_some() {
            File::options().write(true).open(target)?;
        }
        // one that is there is none of ours
        let mut file = File::create_new(&temporary)?;
        file.write_all(page.as_bytes())?;
        if let Some(there) = &there {
            file.set_permissions(there.permissions())?;
        }
        file.sync_all()?;
        fs::rename(&temporary, target)
    };
    write().inspect_err(|error| {
        if error.kind() != ErrorKind::AlreadyExists {
            // the error that matters is the first one
            let _ = fs::remove_file(&temporary);
        }
    })
}
