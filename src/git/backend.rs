//! Refs and object writing behind one interface, so that a repository gix cannot write to gets another backend.

use std::path::Path;

use gix::bstr::ByteSlice;
use gix::refs::transaction::{LogChange, PreviousValue, RefEdit, RefLog};
use gix::refs::{FullName, Target};

use super::Oid;
use crate::error::{Error, Result, quote};

/// Why a ref was not updated.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    /// The ref no longer has the expected value, or its lock is held: read again and retry.
    #[error("the ref moved or is locked")]
    Contended(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// It will not work by retrying.
    #[error("the ref cannot be updated")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
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
pub struct Identity {
    /// The name.
    pub name: String,
    /// The address.
    pub email: String,
}

/// What the notes need of a repository beyond reading objects, which gix does everywhere.
pub trait Backend {
    /// The present state of HEAD in this worktree.
    fn head(&self) -> Result<HeadState>;
    /// The object a ref points to; `None` when there is no such ref.
    fn find_ref(&self, name: &str) -> Result<Option<Oid>>;
    /// All refs below `prefix` (which ends in a slash), sorted by name.
    fn list_refs(&self, prefix: &str) -> Result<Vec<(String, Oid)>>;
    /// Sets refs, each if it still has the value it is expected to have; none is set when one has not. Atomic for each
    /// ref, not for all of them: a process that is killed meanwhile can leave some set.
    fn update_refs(&self, updates: &[RefUpdate], message: &str, who: &Identity) -> Result<(), UpdateError>;
    /// Stores an object and returns its id.
    fn write_object(&self, kind: gix::objs::Kind, bytes: &[u8]) -> gix::error::Result<Oid>;
}

/// The files backend, in process.
pub struct GixBackend {
    repo: gix::Repository,
}

impl GixBackend {
    /// A backend over an opened repository.
    pub fn new(repo: gix::Repository) -> Self {
        GixBackend { repo }
    }
}

/// The command that removes a ref: git deletes none whose file it does not understand.
pub fn deletion(common: &Path, name: &str) -> String {
    let file = common.join(name);
    let understood = std::fs::read_to_string(&file).is_ok_and(|text| super::parse_oid(text.trim()).is_some());
    if understood || !file.exists() {
        format!("git update-ref -d {}", quote(name))
    } else {
        format!("rm -f {}", quote(&file.to_string_lossy()))
    }
}

/// An error of a ref. One of our own may go: what it held and we remember comes back with the next command.
fn broken_ref(repo: &gix::Repository, name: &str, error: gix::Error) -> Error {
    let out = Error::storage(format!("the ref {name} cannot be read"));
    let common = repo.common_dir();
    let common = common.canonicalize().unwrap_or_else(|_| common.to_owned());
    let out = if name.starts_with("refs/notes/empirica/") && !name.ends_with('/') {
        out.suggest("Remove the broken ref: what is remembered of it comes back with the next command.")
            .command(deletion(&common, name))
    } else {
        let file = quote(&repo.git_dir().join(name).to_string_lossy());
        out.suggest("See what is in it, and what git says about the repository.").command(format!("ls -ld {file}"))
    };
    out.caused_by(error)
}

impl Backend for GixBackend {
    fn head(&self) -> Result<HeadState> {
        let read = || -> gix::error::Result<HeadState> {
            let head = self.repo.head()?;
            let branch = head
                .referent_name()
                .and_then(|name| name.as_bstr().strip_prefix(b"refs/heads/"))
                .map(|name| name.to_str_lossy().into_owned());
            let commit = head.try_into_peeled_id()?.map(|id| id.detach());
            let tree = match commit {
                Some(id) => Some(self.repo.find_commit(id)?.tree_id()?.detach()),
                None => None,
            };
            Ok(HeadState { branch, commit, tree })
        };
        read().map_err(|error| broken_ref(&self.repo, "HEAD", error))
    }

    fn find_ref(&self, name: &str) -> Result<Option<Oid>> {
        let found = self.repo.try_find_reference(name).map_err(|error| broken_ref(&self.repo, name, error))?;
        let id = found.map(|mut reference| reference.peel_to_id().map(|id| id.detach())).transpose();
        id.map_err(|error| broken_ref(&self.repo, name, error))
    }

    fn list_refs(&self, prefix: &str) -> Result<Vec<(String, Oid)>> {
        let read = || -> gix::error::Result<Vec<(String, Oid)>> {
            let platform = self.repo.references()?;
            let mut out = Vec::new();
            for reference in platform.prefixed(prefix)? {
                let Ok(mut reference) = reference else { continue };
                let name = reference.name().as_bstr().to_str_lossy().into_owned();
                if let Ok(id) = reference.peel_to_id() {
                    out.push((name, id.detach()));
                }
            }
            Ok(out)
        };
        read().map_err(|error| broken_ref(&self.repo, prefix, error))
    }

    fn update_refs(&self, updates: &[RefUpdate], message: &str, who: &Identity) -> Result<(), UpdateError> {
        let mut edits = Vec::new();
        for update in updates {
            let name = FullName::try_from(update.name.as_str()).map_err(|error| UpdateError::Failed(error.into()))?;
            let previous = match update.expected {
                Some(id) => PreviousValue::MustExistAndMatch(Target::Object(id)),
                None => PreviousValue::MustNotExist,
            };
            let log = LogChange { mode: RefLog::AndReference, force_create_reflog: false, message: message.into() };
            edits.push(RefEdit::update_with_log(name, update.new, previous, log));
        }
        let mut time = gix::date::parse::TimeBuf::default();
        let signature = signature(who);
        let outcome = self.repo.edit_references_as(edits, Some(signature.to_ref(&mut time)));
        outcome.map(|_| ()).map_err(|error| {
            // a vanished ref under MustExistAndMatch is classed as not found: it moved, too
            if error.is_conflict() || error.is_retryable() || error.is_not_found() {
                UpdateError::Contended(error.into())
            } else {
                UpdateError::Failed(error.into())
            }
        })
    }

    fn write_object(&self, kind: gix::objs::Kind, bytes: &[u8]) -> gix::error::Result<Oid> {
        gix::objs::Write::write_buf(&self.repo, kind, bytes)
    }
}

/// The signature of `who`, now, UTC (local time would read the zone files at each start).
pub(super) fn signature(who: &Identity) -> gix::actor::Signature {
    gix::actor::Signature {
        name: who.name.as_str().into(),
        email: who.email.as_str().into(),
        time: gix::date::Time::now_utc(),
    }
}
