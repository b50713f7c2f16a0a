//! HEAD, refs and reflogs behind one interface: by gix where it can, else by git.

pub mod delete;
pub mod locks;
pub mod refs_cli;
pub mod refs_gix;

use std::path::Path;
use std::time::Instant;

use crate::error::{Error, Result, quote};
use crate::git::Oid;

/// The prefix of all refs of this program.
pub const OURS: &str = "refs/notes/empirica/";

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
    #[error("the time for it was over")]
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

/// Access to HEAD, refs and reflogs.
pub trait Refs {
    /// The state of HEAD in this worktree.
    fn head(&self) -> Result<HeadState>;
    /// The object a ref points to; `None` if it does not exist.
    fn find_ref(&self, name: &str) -> Result<Option<Oid>>;
    /// All refs below `prefix` (which ends in a slash), sorted by name. Skips unreadable ones.
    fn list_refs(&self, prefix: &str) -> Result<Vec<(String, Oid)>>;
    /// The commit of a revision (`HEAD~2`, a branch, a short id); `None` if there is none.
    fn resolve(&self, revision: &str) -> Option<Oid>;
    /// The reflog of HEAD in this worktree, oldest first; `None` without one, or if the backend cannot read it while
    /// HEAD is unborn.
    fn head_log(&self) -> Option<Vec<ReflogLine>>;
    /// The values of a ref by its reflog, newest first, including the present one; empty without one.
    fn values_of(&self, name: &str) -> Vec<Oid>;
    /// The newest line of HEAD's reflog; `None` without one.
    fn last_move(&self) -> Option<ReflogLine>;
    /// Calls `see` for the reflog lines of all worktrees' HEADs and local branches. Skips unreadable ones.
    fn each_reflog_line(&self, see: &mut dyn FnMut(&ReflogLine));
    /// The commits of branches, tags, remote-tracking branches and the worktrees' HEADs. Skips unreadable ones.
    fn tips(&self) -> Vec<Oid>;
    /// Drops cached refs, after another process changed them.
    fn refresh(&self);
}

/// Updates of refs.
pub trait Update {
    /// Updates refs, if all have their expected values. Atomic per ref, not over all: after a kill some may be updated.
    /// A backend that runs git, which can run the user's hooks, terminates it at `deadline`.
    fn update_refs(
        &self,
        updates: &[RefUpdate],
        message: &str,
        who: &Identity,
        deadline: Option<Instant>,
    ) -> Result<(), UpdateError>;
    /// The message of a hook that refuses an update of a ref with this value; `None` if none does, or the backend runs
    /// no hooks.
    fn refused(&self, name: &str, value: Oid) -> Option<String>;
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
    let line = not_packed(&packed)?;
    let path = quote(&packed.to_string_lossy());
    let out = Error::storage(format!("{} is damaged: its line {line} names no ref", packed.display()));
    Some(
        out.reason("git reads no ref as long as it is so")
            .suggest("Restore it; or take the line out, which keeps a copy: what stood in it is gone from there.")
            .command(format!("cp {path} {path}.damaged && sed {line}d {path}.damaged > {path}")),
    )
}

/// The number of the first invalid line in a packed-refs file, from 1; `None` if it is valid or missing.
fn not_packed(file: &Path) -> Option<usize> {
    let bytes = std::fs::read(file).ok()?;
    let is_id = |text: &[u8]| std::str::from_utf8(text).is_ok_and(|text| crate::git::parse_oid(text).is_some());
    let is_right = |line: &[u8]| match line {
        [b'#', ..] => true,
        [b'^', id @ ..] => is_id(id),
        line => match line.iter().position(|byte| *byte == b' ') {
            Some(at) => is_id(&line[..at]) && line[at + 1..].starts_with(b"refs/"),
            None => false,
        },
    };
    let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    if text.is_empty() {
        return None;
    }
    text.split(|byte| *byte == b'\n').position(|line| !is_right(line)).map(|at| at + 1)
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
    let out = Error::storage(format!("the ref {name} cannot be read"));
    let out = if name.starts_with(OURS) && !name.ends_with('/') {
        out.suggest("Remove the broken ref: what is remembered of it comes back with the next command.")
            .command(deletion(&common, name))
    } else {
        let file = quote(&git_dir.join(name).to_string_lossy());
        out.suggest("See what is in it, and what git says about the repository.").command(format!("ls -ld {file}"))
    };
    out.caused_by(error)
}
