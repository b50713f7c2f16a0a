//! The repository as the rest of the program sees it: where it is, HEAD, configuration, objects.

pub mod asking;
pub mod author;
pub mod capabilities;
pub mod config;
pub mod objects;
pub mod open;
pub mod project;
pub mod signing;
pub mod status;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use gix::bstr::ByteSlice;

pub use crate::error::quote;
use crate::git::Oid;
use crate::git::refs::refs_cli::CliRefs;
use crate::git::refs::refs_gix::GixRefs;
use crate::git::refs::{HeadState, Identity, OURS, RefUpdate, ReflogLine, Refs, Update, UpdateError};
use crate::git::repository::asking::PartialClone;
use crate::git::repository::capabilities::{Capabilities, Sharing};

use crate::env::Env;
use crate::error::{Error, Result, empirica};

/// Who writes when nobody is configured: name and address.
const FALLBACK: (&str, &str) = ("git-empirica", "git-empirica@localhost");

/// An opened repository.
pub struct Repository {
    inner: gix::Repository,
    refs: Box<dyn Refs>,
    /// What sets refs. Where that is git, objects are kept in memory until git stores them.
    update: Box<dyn Update>,
    pub(crate) needs: Capabilities,
    asking: PartialClone,
    /// The notes that could not be read.
    unreadable: RefCell<BTreeSet<Oid>>,
    /// When git is ended that sets refs.
    deadline: Cell<Option<Instant>>,
    cwd: PathBuf,
}

impl Repository {
    /// Finds and opens the repository as git would, from the environment or upwards from the working folder, with the
    /// settings of `git -c`.
    ///
    /// A repository that git would refuse (another owner, an unknown extension) is refused.
    pub fn discover(env: &Env) -> Result<Self> {
        let mut inner = crate::git::repository::open::open(env)?;
        let cwd = env.cwd.clone();
        let needs = Capabilities::of(&inner, &cwd);
        let in_process = || GixRefs::new(inner.clone());
        let through_git = || CliRefs::new(inner.clone(), cwd.clone());
        let refs: Box<dyn Refs> = if needs.reftable { Box::new(through_git()) } else { Box::new(in_process()) };
        let update: Box<dyn Update> =
            if needs.writes_by_git() { Box::new(through_git()) } else { Box::new(in_process()) };
        if needs.writes_by_git() {
            inner.objects.enable_object_memory();
        }
        Ok(Repository {
            inner,
            refs,
            update,
            needs,
            asking: PartialClone::default(),
            unreadable: RefCell::default(),
            deadline: Cell::default(),
            cwd,
        })
    }

    /// The folder the command was started in.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// The permissions of what this program makes in the git directory.
    pub fn sharing(&self) -> Sharing {
        Sharing::new(self.common_dir(), self.needs.shared)
    }

    /// The git directory that all worktrees share, absolute.
    pub fn common_dir(&self) -> PathBuf {
        self.absolute(self.inner.common_dir())
    }

    /// This worktree's own git directory, absolute.
    pub fn git_dir(&self) -> PathBuf {
        self.absolute(self.inner.git_dir())
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        let joined = self.cwd.join(path);
        joined.canonicalize().unwrap_or(joined)
    }

    /// The root of the work tree; `None` in a bare repository.
    pub fn work_tree(&self) -> Option<PathBuf> {
        self.inner.workdir().map(|path| self.absolute(path))
    }

    /// `main`, or the name of the linked worktree; a bare repository counts as `main`.
    pub fn worktree_name(&self) -> String {
        let (git_dir, common) = (self.git_dir(), self.common_dir());
        match git_dir.file_name() {
            // a linked worktree can be called so, too
            Some(name) if git_dir != common && name == "main" => "worktrees/main".to_owned(),
            Some(name) if git_dir != common => name.to_string_lossy().into_owned(),
            _ => "main".to_owned(),
        }
    }

    /// A file name for the worktree: `main`, or `wt-<name>@<when it was made>`, which no later one of that name has.
    pub fn worktree_key(&self) -> String {
        let name = self.worktree_name().replace('/', "-");
        // written once, when the worktree is made
        let made = std::fs::metadata(self.git_dir().join("commondir")).and_then(|file| file.modified());
        let made = made.ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        made.map_or(name.clone(), |made| format!("wt-{name}@{:x}", made.as_nanos()))
    }

    /// HEAD in this worktree.
    pub fn head(&self) -> Result<HeadState> {
        self.refs.head()
    }

    /// The id of the empty tree, where the records of an unborn HEAD lie.
    pub fn empty_tree(&self) -> Oid {
        Oid::empty_tree(self.inner.object_hash())
    }

    /// The number of hex digits of an object id here.
    pub fn hex_len(&self) -> usize {
        self.inner.object_hash().len_in_hex()
    }

    /// The last value of a configuration key; `None` when it is not set.
    pub fn config(&self, key: &str) -> Option<String> {
        let value = self.inner.config_snapshot().string(key)?;
        Some(value.to_str_lossy().into_owned())
    }

    /// All values of a configuration key, in their order; empty when it is not set.
    pub fn config_all(&self, key: &str) -> Vec<String> {
        let values = self.inner.config_snapshot().plumbing().strings(key).unwrap_or_default();
        values.iter().map(|value| value.to_str_lossy().into_owned()).collect()
    }

    /// A configuration key as a path, with `~` expanded.
    pub fn config_path(&self, key: &str) -> Option<PathBuf> {
        self.inner.config_snapshot().trusted_path(key).ok().flatten()
    }

    /// A boolean configuration key; `None` when it is not set or no boolean.
    pub fn config_bool(&self, key: &str) -> Option<bool> {
        self.inner.config_snapshot().boolean(key)
    }

    /// Who writes notes commits: the configured committer, else a fallback that names this program.
    pub fn identity(&self) -> Identity {
        let configured = self.inner.committer().and_then(|who| who.ok());
        match configured {
            Some(who) => {
                Identity { name: who.name.to_str_lossy().into_owned(), email: who.email.to_str_lossy().into_owned() }
            }
            None => Identity { name: FALLBACK.0.to_owned(), email: FALLBACK.1.to_owned() },
        }
    }

    /// The object a ref points to; `None` when there is no such ref.
    pub fn find_ref(&self, name: &str) -> Result<Option<Oid>> {
        self.refs.find_ref(name)
    }

    /// All refs below `prefix` (which ends in a slash), sorted by name.
    pub fn list_refs(&self, prefix: &str) -> Result<Vec<(String, Oid)>> {
        self.refs.list_refs(prefix)
    }

    /// Whether the object is here. Never fetches.
    pub fn has_object(&self, id: Oid) -> bool {
        self.inner.has_object(id)
    }

    /// Whether the object is here and a commit. Never fetches.
    pub fn is_commit(&self, id: Oid) -> bool {
        self.inner.has_object(id) && self.inner.find_commit(id).is_ok()
    }

    /// Whether the history here ends where it was cut off.
    pub fn is_shallow(&self) -> bool {
        self.inner.is_shallow().unwrap_or(false)
    }

    /// The notes that [`Self::note`] could not read.
    pub fn unreadable(&self) -> Vec<Oid> {
        self.unreadable.borrow().iter().copied().collect()
    }

    /// The error of a ref that names a commit which is not here, or cannot be read.
    pub fn lost_tip(&self, name: &str, tip: Oid) -> Error {
        let out = Error::storage(format!("the ref {name} names {tip}, which is not here, or is damaged"))
            .reason("the object was removed, damaged or never came; the ref cannot be written while it stands");
        if name.starts_with(&format!("{OURS}remotes/")) {
            return out
                .suggest("Remove the ref: the next fetch brings it, and what the remote has.")
                .command(crate::git::refs::deletion(&self.common_dir(), name));
        }
        out.suggest("Have the notes written anew from what is left of them here, and sync to get what others have; doctor names damaged files.")
            .command(empirica("flush").flag("--without-damaged"))
    }

    /// From now on ends git at `deadline` where it sets refs: hooks of the user's, or the disk, can make it slow.
    pub fn end_by(&self, deadline: Instant) {
        self.deadline.set(Some(deadline));
    }

    /// Whether that deadline is over; never without one.
    pub fn is_late(&self) -> bool {
        self.deadline.get().is_some_and(|deadline| Instant::now() >= deadline)
    }
    /// Sets refs, each if it still has the value it is expected to have, or none. The objects are stored before that.
    pub fn update_refs(&self, updates: &[RefUpdate], message: &str, who: &Identity) -> Result<(), UpdateError> {
        self.store_objects().map_err(|error| UpdateError::Failed(error.into()))?;
        crate::fault::point("refs: to be moved").map_err(|error| UpdateError::Failed(error.into()))?;
        let outcome = self.update.update_refs(updates, message, who, self.deadline.get());
        crate::fault::step("refs: moved");
        self.refs.refresh();
        outcome
    }

    /// Forgets what is remembered of refs: another process changed them.
    pub fn refresh(&self) {
        self.refs.refresh();
    }

    /// Whether what is written must have reached the disk before it counts as written (`core.fsync`).
    pub fn is_durable(&self) -> bool {
        self.needs.durable
    }

    /// Why a `reference-transaction` hook refuses a change of a ref that has this value, in git's words. Nothing is changed.
    pub fn hook_refuses(&self, name: &str, value: Oid) -> Option<String> {
        self.needs.hook.then(|| self.update.refused(name, value)).flatten()
    }

    /// Resolves a revision (`HEAD~2`, a branch, a short id) to a commit; `None` when it names none.
    pub fn resolve_commit(&self, revision: &str) -> Option<Oid> {
        self.refs.resolve(revision)
    }

    /// The values that a ref had, newest first, its present one among them, as its reflog has them; empty without one.
    pub fn values_of(&self, name: &str) -> Vec<Oid> {
        self.refs.values_of(name)
    }

    /// The newest line of HEAD's reflog in this worktree; `None` without one.
    pub fn last_move(&self) -> Option<ReflogLine> {
        self.refs.last_move()
    }

    /// The lines of the reflogs of every worktree's HEAD and of every local branch that can be read.
    pub fn each_reflog_line(&self, see: &mut dyn FnMut(&ReflogLine)) {
        self.refs.each_reflog_line(see);
    }

    /// The commits that branches, tags, remote-tracking branches and the worktrees' HEADs name and that are here.
    pub fn tips(&self) -> Vec<Oid> {
        let mut out = self.refs.tips();
        out.retain(|id| self.is_commit(*id));
        out
    }

    /// The first line of a commit's message; `None` when the commit is not here.
    pub fn subject(&self, commit: Oid) -> Option<String> {
        let commit = self.inner.find_commit(commit).ok()?;
        let message = commit.message().ok()?;
        Some(message.summary().to_str_lossy().into_owned())
    }

    /// The first parent of a commit; `None` for a root, and when the commit is not here.
    pub fn first_parent(&self, commit: Oid) -> Option<Oid> {
        Some(self.inner.find_commit(commit).ok()?.parent_ids().next()?.detach())
    }

    /// When a commit was made (the committer's date, strict ISO 8601); `None` when it is not here.
    pub fn committed(&self, commit: Oid) -> Option<String> {
        let time = self.inner.find_commit(commit).ok()?.committer().ok()?.time().ok()?;
        Some(time.format_or_unix(gix::date::time::format::ISO8601_STRICT))
    }

    /// How many entries HEAD's reflog has in this worktree; 0 without one.
    pub fn reflog_len(&self) -> usize {
        self.refs.head_log().map_or(0, |lines| lines.len())
    }

    /// The first commit this worktree made on the unborn branch it was on when HEAD's reflog had `entries` entries.
    /// Without a reflog, the root of HEAD's first-parent line, if it was made at or after `not_before` (seconds since
    /// 1970). `None` while there is none, or when the branch was left unborn.
    pub fn first_commit_after(&self, entries: usize, not_before: i64) -> Option<Oid> {
        if let Some(lines) = self.refs.head_log() {
            let mut born = false;
            let mut found = None;
            for line in lines.iter().skip(entries) {
                born |= line.old.is_null();
                match found {
                    // amended at once, it is the amended one that stays
                    Some(_) if line.message.starts_with_str("commit (amend)") => found = Some(line.new),
                    Some(_) => break,
                    None if born && line.message.starts_with_str("commit") => found = Some(line.new),
                    // the unborn branch was left behind
                    None if !born || line.message.starts_with_str("checkout:") => break,
                    None => {}
                }
            }
            return found;
        }
        let mut id = self.head().ok()?.commit?;
        while let Some(parent) = self.inner.find_commit(id).ok()?.parent_ids().next() {
            id = parent.detach();
        }
        let time = self.inner.find_commit(id).ok()?.time().ok()?;
        (time.seconds >= not_before).then_some(id)
    }

    /// The kind of hash that names objects here.
    pub(crate) fn hash_kind(&self) -> gix::hash::Kind {
        self.inner.object_hash()
    }

    /// gix's own repository, for the other files of this floor.
    pub(crate) fn gix(&self) -> &gix::Repository {
        &self.inner
    }
}
