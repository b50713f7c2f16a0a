//! Who made a commit of the notes, and out of which.

use gix::bstr::ByteSlice;

use crate::git::Oid;
use crate::git::repository::Repository;

/// A commit as far as it tells who brought what it holds.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct Author {
    pub name: String,
    pub email: String,
    /// When, in seconds since 1970.
    pub seconds: i64,
    /// The same, strict ISO 8601.
    pub date: String,
    pub subject: String,
    /// Its parents, here or not.
    pub parents: Vec<Oid>,
}

/// Reads a commit; `None` when it is not here or no commit that git could have made.
pub fn of(repo: &Repository, commit: Oid) -> Option<Author> {
    let found = repo.gix().find_commit(commit).ok()?;
    let who = found.committer().ok()?;
    let time = who.time().ok()?;
    Some(Author {
        name: who.name.to_str_lossy().trim().to_owned(),
        email: who.email.to_str_lossy().trim().to_owned(),
        seconds: time.seconds,
        date: time.format_or_unix(gix::date::time::format::ISO8601_STRICT),
        subject: repo.subject(commit)?,
        parents: found.parent_ids().map(|id| id.detach()).collect(),
    })
}
