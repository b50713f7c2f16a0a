//! HEAD, refs and reflogs behind one interface: in process where gix can, through git where only git can.

pub mod delete;
pub mod locks;
pub mod refs_cli;
pub mod refs_gix;

use std::path::Path;
use std::time::Instant;

use crate::error::{Error, Result, quote};
use crate::git::Oid;

/// Where all refs of this program are.
pub const OURS: &str = "refs/notes/empirica/";

/// Why a ref was not updated.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    /// The ref no longer has the expected value, or its lock is held: read again and retry.
    #[error("the ref moved or is locked")]
    Contended(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// It will not work by retrying.
    #[error("the ref cannot be updated")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The time for it was over: git was ended.
    #[error("the time for it was over")]
    TimedOut,
}

/// HEAD at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HeadState {
    /// The branch; `None` when detached.
    pub branch: Option<String>,
    /// The commit; `None` when unborn.
    pub commit: Option<Oid>,
    /// The commit's tree; `None` when unborn.
    pub tree: Option<Oid>,
}

/// A ref to be set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefUpdate {
    /// Its full name.
    pub name: String,
    /// The value it gets.
    pub new: Oid,
    /// The value it must have; `None`: it must not exist.
    pub expected: Option<Oid>,
}

/// Who wrote a notes commit.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct Identity {
    pub name: String,
    pub email: String,
}

/// A line of a reflog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReflogLine {
    /// Whether it is of a HEAD, not of a branch.
    pub is_head: bool,
    /// The value before; all zeros when there was none, or it is not known.
    pub old: Oid,
    /// The value since.
    pub new: Oid,
    /// What git said about it.
    pub message: Vec<u8>,
}

/// HEAD, refs and reflogs as they are now.
pub trait Refs {
    /// The present state of HEAD in this worktree.
    fn head(&self) -> Result<HeadState>;
    /// The object a ref points to; `None` when there is no such ref.
    fn find_ref(&self, name: &str) -> Result<Option<Oid>>;
    /// All refs below `prefix` (which ends in a slash), sorted by name. Those that cannot be read are left out.
    fn list_refs(&self, prefix: &str) -> Result<Vec<(String, Oid)>>;
    /// The commit that a revision (`HEAD~2`, a branch, a short id) names; `None` when it names none.
    fn resolve(&self, revision: &str) -> Option<Oid>;
    /// The reflog of HEAD in this worktree, oldest first; `None` where there is none, or it is not to be had while HEAD is
    /// unborn.
    fn head_log(&self) -> Option<Vec<ReflogLine>>;
    /// The values that a ref had, newest first, its present one among them, as its reflog has them; empty without one.
    fn values_of(&self, name: &str) -> Vec<Oid>;
    /// The newest line of HEAD's reflog; `None` without one.
    fn last_move(&self) -> Option<ReflogLine>;
    /// The lines of the reflogs of every worktree's HEAD and of every local branch. Lines that cannot be read are left out.
    fn each_reflog_line(&self, see: &mut dyn FnMut(&ReflogLine));
    /// The commits that branches, tags and remote-tracking branches name, and the HEADs of the worktrees. Those that cannot be
    /// read are left out.
    fn tips(&self) -> Vec<Oid>;
    /// Forgets what is remembered of refs: another process changed them.
    fn refresh(&self);
}

/// Changing refs.
pub trait Update {
    /// Sets refs, each if it still has the value it is expected to have; none is set when one has not. Atomic for each
    /// ref, not for all of them: a process that is killed meanwhile can leave some set. Who runs a program for it, which can
    /// run hooks of the user's, ends it at `deadline`.
    fn update_refs(
        &self,
        updates: &[RefUpdate],
        message: &str,
        who: &Identity,
        deadline: Option<Instant>,
    ) -> Result<(), UpdateError>;
    /// Why a hook refuses a change of a ref that has this value; `None` when none does, or none is asked.
    fn refused(&self, name: &str, value: Oid) -> Option<String>;
}

/// The command that removes a ref: git deletes none whose file it does not understand.
pub fn deletion(common: &Path, name: &str) -> String {
    let file = common.join(name);
    let understood = std::fs::read_to_string(&file).is_ok_and(|text| crate::git::parse_oid(text.trim()).is_some());
    if understood || !file.exists() {
        format!("git update-ref -d {}", quote(name))
    } else {
        format!("rm -f {}", quote(&file.to_string_lossy()))
    }
}

/// The error of a packed-refs file that git cannot read; `None` when it can, and without the file.
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

/// The first line of a packed-refs file that is none, from 1; `None` when all are, and without the file.
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

/// An error of a ref. One of our own may go: what it held and we remember comes back with the next command.
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
