//! A commit as a log shows it, and one listed but not yet parsed.

use gix::bstr::ByteSlice;

use crate::error::Result;
use crate::git::Oid;
use crate::git::history::trailer;
use crate::git::objects::unreadable;
use crate::model::SessionId;

/// A commit as a log shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Commit {
    pub id: Oid,
    /// The abbreviated id; empty if not requested.
    pub short: String,
    /// The ids of the parents of a merge, abbreviated.
    pub parents: Vec<String>,
    pub author: String,
    pub email: String,
    /// The author's date, strict ISO 8601.
    pub date: String,
    /// The author's date in the format of `log.date`.
    pub shown_date: String,
    pub subject: String,
    pub message: String,
}

/// A commit of a listing.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Listed {
    pub id: Oid,
    pub(crate) info: CommitInfo,
}

/// The data of a listed commit.
#[derive(Debug)]
pub(crate) enum CommitInfo {
    /// From `git log`.
    Parsed(Commit),
    /// The raw object, and the abbreviated ids of it and of the parents of a merge.
    Raw { content: Vec<u8>, short: String, parents: Vec<String> },
}

impl Listed {
    /// The sessions that its message names.
    pub fn sessions(&self) -> Vec<SessionId> {
        match &self.info {
            CommitInfo::Parsed(commit) => trailer::sessions(&commit.message),
            // nearly no commit has one
            CommitInfo::Raw { content, .. } if content.find(trailer::WORD).is_none() => Vec::new(),
            CommitInfo::Raw { content, .. } => trailer::sessions(&content.to_str_lossy()),
        }
    }

    /// Parses the commit. Needs no repository, so another thread can do it.
    pub fn read(&self) -> Result<Commit> {
        match &self.info {
            CommitInfo::Parsed(commit) => Ok(commit.clone()),
            CommitInfo::Raw { content, short, parents } => parse(self.id, content, short, parents),
        }
    }
}

fn parse(id: Oid, content: &[u8], short: &str, parents: &[String]) -> Result<Commit> {
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
