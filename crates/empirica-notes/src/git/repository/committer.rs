//! The committer and parents of a notes commit.

use gix::bstr::ByteSlice;

use crate::git::Oid;
use crate::git::repository::Repository;

/// The data of a commit that identifies the author of its content.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct CommitterInfo {
    pub name: String,
    pub email: String,
    /// The commit date, in seconds since 1970.
    pub seconds: i64,
    /// The commit date, strict ISO 8601.
    pub date: String,
    pub subject: String,
    /// The parents, which may be missing.
    pub parents: Vec<Oid>,
}

/// Reads a commit; `None` if it is missing or malformed.
pub fn read(repo: &Repository, commit: Oid) -> Option<CommitterInfo> {
    repo.check_size(&commit).ok()?;
    let found = repo.gix().find_commit(commit).ok()?;
    let committer = found.committer().ok()?;
    let time = committer.time().ok()?;
    Some(CommitterInfo {
        name: committer.name.to_str_lossy().trim().to_owned(),
        email: committer.email.to_str_lossy().trim().to_owned(),
        seconds: time.seconds,
        date: time.format_or_unix(gix::date::time::format::ISO8601_STRICT),
        subject: repo.subject(commit)?,
        parents: found.parent_ids().map(|id| id.detach()).collect(),
    })
}
