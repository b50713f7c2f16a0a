//! A commit as a log shows it, and one that is still to be read.

use gix::bstr::ByteSlice;

use crate::error::Result;
use crate::git::Oid;
use crate::git::objects::unreadable;

/// A commit as a log shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Commit {
    pub id: Oid,
    /// The abbreviated id; empty when it was not asked for.
    pub short: String,
    /// The ids of the parents of a merge, abbreviated.
    pub parents: Vec<String>,
    pub author: String,
    pub email: String,
    /// The author's date, strict ISO 8601.
    pub date: String,
    /// The author's date as the user's `log.date` wants it.
    pub shown_date: String,
    pub subject: String,
    pub message: String,
}

/// A commit that a history came to.
#[derive(Debug)]
pub struct Listed {
    /// Itself.
    pub id: Oid,
    pub(crate) what: CommitInfo,
}

/// What is known of a commit.
#[derive(Debug)]
pub(crate) enum CommitInfo {
    /// All of it.
    Told(Commit),
    /// What the object store holds, and what only the repository knows of it: ids in short form.
    Content { content: Vec<u8>, short: String, parents: Vec<String> },
}

impl Listed {
    /// The commit as it is shown. No repository is needed: another thread can do it.
    pub fn read(&self) -> Result<Commit> {
        match &self.what {
            CommitInfo::Told(commit) => Ok(commit.clone()),
            CommitInfo::Content { content, short, parents } => read(self.id, content, short, parents),
        }
    }
}

/// A commit out of what the object store holds; the short ids are known.
pub(crate) fn read(id: Oid, content: &[u8], short: &str, parents: &[String]) -> Result<Commit> {
    let broken = |error| unreadable(id, error);
    let commit = gix::objs::CommitRef::from_bytes(content, id.kind()).map_err(broken)?;
    let author = commit.author().map_err(broken)?;
    let time = author.time().map_err(broken)?;
    Ok(Commit {
        id,
        short: short.to_owned(),
        parents: parents.to_vec(),
        author: author.name.to_str_lossy().into_owned(),
        email: author.email.to_str_lossy().into_owned(),
        date: time.format_or_unix(gix::date::time::format::ISO8601_STRICT),
        shown_date: time.format_or_unix(gix::date::time::format::DEFAULT),
        subject: commit.message().summary().to_str_lossy().into_owned(),
        message: commit.message.to_str_lossy().into_owned(),
    })
}
