//! Stores objects through git, as one pack that git unpacks, so that it applies the repository's file modes, ownership
//! and fsync settings.

use std::io::{ErrorKind, Write};

use gix::objs::Kind;
use gix::odb::memory::Storage;
use gix::zlib::Compression;
use gix::zlib::stream::deflate;

use crate::error::{Error, Result};
use crate::git::process::{git, message, run};
use crate::git::repository::Repository;

/// Stores objects as loose objects, all or none; no-op if empty.
pub(crate) fn store(repo: &Repository, objects: &Storage) -> Result<()> {
    if objects.is_empty() {
        return Ok(());
    }
    let pack = packed(repo, objects).map_err(|error| repo.unwritable(error))?;
    let output = run(git(repo.cwd()).args(["unpack-objects", "-q"]), pack)?;
    if output.status.success() {
        return Ok(());
    }
    let text = message(&output.stderr);
    // git's exit code does not tell causes apart
    if text.contains("No space left on device") {
        let full = std::io::Error::new(ErrorKind::StorageFull, text);
        return Err(Error::storage("cannot write the object store").on_path(&repo.objects(), full));
    }
    Err(repo.unwritable(gix::Error::from_error(std::io::Error::other(text))))
}

/// A pack of undeltified objects, as in gitformat-pack(5).
fn packed(repo: &Repository, objects: &Storage) -> gix::error::Result<Vec<u8>> {
    let count = u32::try_from(objects.len()).map_err(gix::Error::from_error)?;
    let mut out = Vec::from(*b"PACK\0\0\0\x02");
    out.extend(count.to_be_bytes());
    for (kind, content) in objects.values() {
        begin(&mut out, *kind, content.len());
        let mut deflated = deflate::Write::new(out, Compression::BEST_SPEED);
        deflated.write_all(content).and_then(|()| deflated.flush()).map_err(gix::Error::from_error)?;
        out = deflated.into_inner();
    }
    let mut hasher = gix::hash::hasher(repo.gix().object_hash());
    hasher.update(&out);
    out.extend_from_slice(hasher.try_finalize()?.as_slice());
    Ok(out)
}

/// Writes kind and size: three bits and four in the first byte, seven in each that follows.
fn begin(out: &mut Vec<u8>, kind: Kind, size: usize) {
    let number = match kind {
        Kind::Commit => 1,
        Kind::Tree => 2,
        Kind::Blob => 3,
        Kind::Tag => 4,
    };
    let (mut byte, mut rest) = (number << 4 | (size & 0x0f) as u8, size >> 4);
    while rest > 0 {
        out.push(byte | 0x80);
        (byte, rest) = ((rest & 0x7f) as u8, rest >> 7);
    }
    out.push(byte);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_takes_as_many_bytes_as_it_needs() {
        let begun = |kind, size| {
            let mut out = Vec::new();
            begin(&mut out, kind, size);
            out
        };
        assert_eq!(begun(Kind::Blob, 15), [0x3f]);
        assert_eq!(begun(Kind::Commit, 16), [0x90, 0x01]);
        assert_eq!(begun(Kind::Tree, 0x7ff), [0xaf, 0x7f]);
        assert_eq!(begun(Kind::Tree, 0x800), [0xa0, 0x80, 0x01]);
    }
}
