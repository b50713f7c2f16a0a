//! HEAD, refs and reflogs behind one interface: by gix where it can, else by git.

pub mod delete;
pub mod locks;
mod ref_files;
pub mod refs_cli;
pub mod refs_gix;

use std::path::Path;
use std::time::Instant;

use crate::error::{Error, Result, quote};
use crate::git::Oid;

/// The prefix of all refs of this program.
pub const PREFIX: &str = "refs/notes/empirica/";

/// Errors of a ref update.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    /// The ref no longer has the expected value, or is locked: read it again and retry.
    #[error("the ref moved or is locked")]
    Contended(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A retry would not help.
    #[error("the ref cannot be updated")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Git was terminated at the deadline.
    #[error("the time limit was reached")]
    TimedOut,
}

/// The state of HEAD.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HeadState {
    /// The branch; `None` when detached.
    pub branch: Option<String>,
    /// The commit; `None` when unborn.
    pub commit: Option<Oid>,
    /// The commit's tree; `None` when unborn.
    pub tree: Option<Oid>,
}

/// An update of a ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefUpdate {
    /// The full name.
    pub name: String,
    /// The new value.
    pub new: Oid,
    /// The required old value; `None` if it must not exist.
    pub expected: Option<Oid>,
}

/// The author of a notes commit.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct Identity {
    pub name: String,
    pub email: String,
}

impl Identity {
    /// With the current time in UTC (local time would read the zone files).
    pub(crate) fn signature(&self) -> gix::actor::Signature {
        gix::actor::Signature {
            name: self.name.as_str().into(),
            email: self.email.as_str().into(),
            time: gix::date::Time::now_utc(),
        }
    }
}

/// A line of a reflog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReflogLine {
    /// Whether it is from a HEAD, not a branch.
    pub is_head: bool,
    /// The old value; all zeros if there was none or it is unknown.
    pub old: Oid,
    /// The new value.
    pub new: Oid,
    /// The reflog message.
    pub message: Vec<u8>,
}

/// A backend for HEAD, refs and reflogs; the methods of [`Repository`](crate::git::Repository) tell what each returns.
pub(crate) trait Refs {
    fn head(&self) -> Result<HeadState>;
    fn find_ref(&self, name: &str) -> Result<Option<Oid>>;
    /// Skips unreadable refs.
    fn list_refs(&self, prefix: &str) -> Result<Vec<(String, Oid)>>;
    fn resolve(&self, revision: &str) -> Option<Oid>;
    /// The reflog of HEAD in this worktree, oldest first; `None` without one, or if the backend cannot read it while
    /// HEAD is unborn.
    fn head_log(&self) -> Option<Vec<ReflogLine>>;
    fn reflog_values(&self, name: &str) -> Vec<Oid>;
    fn last_move(&self) -> Option<ReflogLine>;
    fn each_reflog_line(&self, see: &mut dyn FnMut(&ReflogLine));
    fn tips(&self) -> Vec<Oid>;
    /// Drops cached refs, after another process changed them.
    fn refresh(&self) {}
    /// Atomic per ref, not over all: after a kill some may be updated. A backend that runs git, which can run the user's
    /// hooks, terminates it at `deadline`.
    fn update_refs(
        &self,
        updates: &[RefUpdate],
        message: &str,
        identity: &Identity,
        deadline: Option<Instant>,
    ) -> Result<(), UpdateError>;
    /// The message of a hook that refuses an update of a ref with this value; `None` if none does.
    fn refused(&self, _name: &str, _value: Oid) -> Option<String> {
        None
    }
}

/// The command that removes a ref: git does not delete a ref file that it cannot parse.
pub fn deletion(common: &Path, name: &str) -> String {
    let file = common.join(name);
    let is_valid = std::fs::read_to_string(&file).is_ok_and(|text| crate::git::parse_oid(text.trim()).is_some());
    if is_valid || !file.exists() {
        format!("git update-ref -d {}", quote(name))
    } else {
        format!("rm -f {}", quote(&file.to_string_lossy()))
    }
}

/// The error of an unparsable packed-refs file; `None` if it is valid or missing.
pub fn damaged_packed_refs(common: &Path) -> Option<Error> {
    let packed = common.join("packed-refs");
    let line = invalid_line(&packed)?;
    let path = quote(&packed.to_string_lossy());
    let out = Error::storage(format!("cannot read the refs in {}: its line {line} names none", packed.display()));
    Some(
        out.reason("git reads no ref from a damaged file")
            .suggest("Restore it, or remove the line; the command keeps a copy.")
            .command(format!("cp {path} {path}.damaged && sed {line}d {path}.damaged > {path}")),
    )
}

/// The number of the first invalid line in a packed-refs file, from 1; `None` if it is valid or missing.
fn invalid_line(file: &Path) -> Option<usize> {
    let bytes = std::fs::read(file).ok()?;
    let is_id = |text: &[u8]| std::str::from_utf8(text).is_ok_and(|text| crate::git::parse_oid(text).is_some());
    let is_valid = |line: &[u8]| match line {
        [b'#', ..] => true,
        [b'^', id @ ..] => is_id(id),
        line => {
            let (id, name) = line.split_at(line.iter().position(|byte| *byte == b' ').unwrap_or(line.len()));
            is_id(id) && name.starts_with(b" refs/")
        }
    };
    let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    let invalid = text.split(|byte| *byte == b'\n').position(|line| !is_valid(line));
    invalid.filter(|_| !text.is_empty()).map(|at| at + 1)
}

/// The error of an unreadable ref. A ref of this program may be removed: the next command restores its saved content.
pub(crate) fn broken_ref(
    git_dir: &Path,
    common: &Path,
    name: &str,
    error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> Error {
    let common = common.canonicalize().unwrap_or_else(|_| common.to_owned());
    if let Some(damaged) = damaged_packed_refs(&common) {
        return damaged.caused_by(error);
    }
    let out = Error::storage(format!("cannot read the ref {name}"));
    let out = if name.starts_with(PREFIX) && !name.ends_with('/') {
        out.suggest("Remove the broken ref: the next command restores its saved content.")
            .command(deletion(&common, name))
    } else {
        let file = quote(&git_dir.join(name).to_string_lossy());
        out.suggest("Check its content, and what git reports about the repository.").command(format!("ls -ld {file}"))
    };
    out.caused_by(error)
}
