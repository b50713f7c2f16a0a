//! The repository: its folders, HEAD, configuration and objects.

pub mod capabilities;
pub mod committer;
pub mod config;
pub mod objects;
pub mod open;
pub mod project;
pub mod signing;
pub mod status;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::Instant;

use gix::bstr::ByteSlice;

use crate::env::Env;
use crate::error::{Error, Result, empirica};
use crate::git::Oid;
use crate::git::refs::refs_cli::CliRefs;
use crate::git::refs::refs_gix::GixRefs;
use crate::git::refs::{HeadState, Identity, PREFIX, RefUpdate, ReflogLine, Refs, UpdateError};
use crate::git::repository::capabilities::{Capabilities, Sharing};

/// The committer if none is configured: name and address.
const FALLBACK: (&str, &str) = ("git-empirica", "git-empirica@localhost");

/// An opened repository.
pub struct Repository {
    inner: gix::Repository,
    refs: Box<dyn Refs>,
    /// The backend for ref updates. If that is git, objects are kept in memory until git stores them.
    update: Box<dyn Refs>,
    pub(crate) capabilities: Capabilities,
    /// Whether this is a partial clone, determined once: trees are read often.
    pub(crate) is_partial: OnceCell<bool>,
    /// Whether fetching missing objects is forbidden, as in a hook.
    pub(crate) is_offline: Cell<bool>,
    /// Whether missing trees were requested already.
    pub(crate) has_requested_trees: Cell<bool>,
    /// The trees of commits that were looked up: of the tips of notes, again and again.
    commit_trees: RefCell<HashMap<Oid, Oid>>,
    /// The first trees that were read.
    first_trees: RefCell<HashMap<Oid, Vec<u8>>>,
    /// The configuration as git lists it, once it was asked.
    pub(crate) config_listing: RefCell<Option<Vec<u8>>>,
    /// The notes that could not be read.
    unreadable: RefCell<BTreeSet<Oid>>,
    /// The time at which git is terminated in a ref update.
    deadline: Cell<Option<Instant>>,
    cwd: PathBuf,
    /// The commit that stands for HEAD, without a work tree; `None` for the repository as it is.
    viewed: Option<Oid>,
}

impl Repository {
    /// Finds and opens the repository as git would, from the environment or upwards from the working folder, with the
    /// settings of `git -c`.
    ///
    /// Refuses repositories that git would refuse (another owner, an unknown extension).
    pub fn discover(env: &Env) -> Result<Self> {
        let mut inner = crate::git::repository::open::open(env)?;
        let cwd = env.cwd.clone();
        let capabilities = Capabilities::of(&inner, &cwd);
        let backend = |by_git: bool| -> Box<dyn Refs> {
            if by_git {
                Box::new(CliRefs::new(inner.clone(), cwd.clone()))
            } else {
                Box::new(GixRefs::new(inner.clone()))
            }
        };
        let (refs, update) = (backend(capabilities.reftable), backend(capabilities.writes_by_git()));
        if capabilities.writes_by_git() {
            inner.objects.enable_object_memory();
        }
        Ok(Repository {
            inner,
            refs,
            update,
            capabilities,
            is_partial: OnceCell::new(),
            is_offline: Cell::default(),
            has_requested_trees: Cell::default(),
            commit_trees: RefCell::default(),
            first_trees: RefCell::default(),
            config_listing: RefCell::default(),
            unreadable: RefCell::default(),
            deadline: Cell::default(),
            cwd,
            viewed: None,
        })
    }

    /// The same as a bare repository whose HEAD is detached at this commit: HEAD, reachability and files are those of the commit,
    /// whatever is checked out.
    pub fn at(self, commit: Oid) -> Self {
        Repository { viewed: Some(commit), ..self }
    }

    /// Whether it is seen [at](Self::at) a commit.
    pub fn is_view(&self) -> bool {
        self.viewed.is_some()
    }

    /// The working folder at start.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// The permissions of files that this program creates in the git directory.
    pub fn sharing(&self) -> Sharing {
        Sharing::new(self.common_dir(), self.capabilities.shared)
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

    /// The root of the work tree; `None` in a bare repository, and in one seen [at](Self::at) a commit.
    pub fn work_tree(&self) -> Option<PathBuf> {
        self.inner.workdir().filter(|_| !self.is_view()).map(|path| self.absolute(path))
    }

    /// The folder from which git takes paths as they are in trees.
    pub(crate) fn root(&self) -> PathBuf {
        self.inner.workdir().map_or_else(|| self.cwd.clone(), |path| self.absolute(path))
    }

    /// The roots of all work trees by name, absolute, the main one first; also of linked ones that were removed without
    /// git.
    pub fn work_trees(&self) -> Vec<(String, PathBuf)> {
        let main = self.inner.main_repo().ok().and_then(|main| Some(self.absolute(main.workdir()?)));
        let linked = self.inner.worktrees().unwrap_or_default().into_iter();
        let linked = linked.filter_map(|linked| {
            Some((linked.id().ok()?.to_str_lossy().into_owned(), self.absolute(&linked.base().ok()?)))
        });
        main.into_iter().map(|main| ("main".to_owned(), main)).chain(linked).collect()
    }

    /// `main`, or the name of the linked worktree; a bare repository counts as `main`.
    pub fn worktree_name(&self) -> String {
        let (git_dir, common) = (self.git_dir(), self.common_dir());
        match git_dir.file_name() {
            // a linked worktree can have that name, too
            Some(name) if git_dir != common && name == "main" => "worktrees/main".to_owned(),
            Some(name) if git_dir != common => name.to_string_lossy().into_owned(),
            _ => "main".to_owned(),
        }
    }

    /// A file name for the worktree: `main`, or `wt-<name>@<creation time>`, which differs from later ones of that
    /// name.
    pub fn worktree_key(&self) -> String {
        let name = self.worktree_name().replace('/', "-");
        // written once, when the worktree is created
        let made = std::fs::metadata(self.git_dir().join("commondir")).and_then(|file| file.modified());
        let made = made.ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        made.map_or(name.clone(), |made| format!("wt-{name}@{:x}", made.as_nanos()))
    }

    /// HEAD in this worktree.
    pub fn head(&self) -> Result<HeadState> {
        match self.viewed {
            Some(commit) => Ok(HeadState { branch: None, commit: Some(commit), tree: Some(self.tree_of(commit)?) }),
            None => self.refs.head(),
        }
    }

    /// HEAD as git's commands take it.
    pub(crate) fn head_revision(&self) -> String {
        self.viewed.map_or_else(|| "HEAD".to_owned(), |commit| commit.to_string())
    }

    /// The id of the empty tree, annotated by records made on an unborn HEAD.
    pub fn empty_tree(&self) -> Oid {
        Oid::empty_tree(self.inner.object_hash())
    }

    /// The number of hex digits of an object id here.
    pub fn hex_len(&self) -> usize {
        self.inner.object_hash().len_in_hex()
    }

    /// The last value of a configuration key; `None` if unset.
    pub fn config(&self, key: &str) -> Option<String> {
        let value = self.inner.config_snapshot().string(key)?;
        Some(value.to_str_lossy().into_owned())
    }

    /// All values of a configuration key, in order; empty if unset.
    pub fn config_all(&self, key: &str) -> Vec<String> {
        let values = self.inner.config_snapshot().plumbing().strings(key).unwrap_or_default();
        values.iter().map(|value| value.to_str_lossy().into_owned()).collect()
    }

    /// A configuration key as a path, with `~` expanded.
    pub fn config_path(&self, key: &str) -> Option<PathBuf> {
        self.inner.config_snapshot().trusted_path(key).ok().flatten()
    }

    /// A boolean configuration key; `None` if unset or not a boolean.
    pub fn config_bool(&self, key: &str) -> Option<bool> {
        self.inner.config_snapshot().boolean(key)
    }

    /// The committer of notes commits: as configured or in the environment, else a fallback that names this program.
    /// Not by gix's `committer()`, which also asks for the local time and so lists the system's time zones.
    pub fn identity(&self) -> Identity {
        let first = |keys: &[&str]| keys.iter().find_map(|key| self.config(key));
        let name = first(&["committer.name", "user.name"]);
        let email = first(&["committer.email", "user.email", "gitoxide.user.emailFallback"]);
        let (name, email) = name.zip(email).unwrap_or_else(|| (FALLBACK.0.to_owned(), FALLBACK.1.to_owned()));
        Identity { name, email }
    }

    /// The object a ref points to; `None` if it does not exist.
    pub fn find_ref(&self, name: &str) -> Result<Option<Oid>> {
        self.refs.find_ref(name)
    }

    /// All refs below `prefix` (which ends in a slash), sorted by name.
    pub fn list_refs(&self, prefix: &str) -> Result<Vec<(String, Oid)>> {
        self.refs.list_refs(prefix)
    }

    /// Whether an object exists. Never fetches.
    pub fn has_object(&self, id: Oid) -> bool {
        self.inner.has_object(id)
    }

    /// Whether an object exists and is a commit. Never fetches.
    pub fn is_commit(&self, id: Oid) -> bool {
        self.inner.has_object(id) && self.inner.find_commit(id).is_ok()
    }

    /// Whether this is a shallow clone.
    pub fn is_shallow(&self) -> bool {
        self.inner.is_shallow().unwrap_or(false)
    }

    /// The notes that [`Self::note`] could not read.
    pub fn unreadable_notes(&self) -> Vec<Oid> {
        self.unreadable.borrow().iter().copied().collect()
    }

    /// The error of a ref that points to a missing or unreadable commit.
    pub fn unreadable_tip(&self, name: &str, tip: Oid) -> Error {
        let out = Error::storage(format!("cannot read {tip}, to which the ref {name} points"))
            .reason("the object is missing or damaged; the ref cannot be updated until it is repaired");
        if name.starts_with(&format!("{PREFIX}remotes/")) {
            return out
                .suggest("Remove the ref; the next fetch restores it from the remote.")
                .command(crate::git::refs::deletion(&self.common_dir(), name));
        }
        out.suggest("Rewrite the notes without the object, and sync to get the records of other clones; doctor names damaged files.")
            .command(empirica("flush").flag("--without-damaged"))
    }

    /// Terminates git at `deadline` in later ref updates: the user's hooks, or the disk, can make it slow.
    pub fn set_deadline(&self, deadline: Instant) {
        self.deadline.set(Some(deadline));
    }

    /// Whether the deadline has passed; `false` without one.
    pub fn is_past_deadline(&self) -> bool {
        self.deadline.get().is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Updates refs, if all have their expected values, after storing pending objects.
    pub fn update_refs(&self, updates: &[RefUpdate], message: &str, identity: &Identity) -> Result<(), UpdateError> {
        self.store_objects().map_err(|error| UpdateError::Failed(error.into()))?;
        crate::fault::point("refs: to be moved").map_err(|error| UpdateError::Failed(error.into()))?;
        let outcome = self.update.update_refs(updates, message, identity, self.deadline.get());
        crate::fault::step("refs: moved");
        self.refs.refresh();
        outcome
    }

    /// Drops cached refs, after another process changed them.
    pub fn refresh(&self) {
        self.refs.refresh();
    }

    /// Whether writes must be synced to disk (`core.fsync`).
    pub fn is_durable(&self) -> bool {
        self.capabilities.durable
    }

    /// The message of a `reference-transaction` hook that refuses an update of a ref with this value. Changes nothing.
    pub fn hook_refuses(&self, name: &str, value: Oid) -> Option<String> {
        self.capabilities.hook.then(|| self.update.refused(name, value)).flatten()
    }

    /// Resolves a revision (`HEAD~2`, a branch, a short id) to a commit; `None` if there is none.
    pub fn resolve_commit(&self, revision: &str) -> Option<Oid> {
        self.refs.resolve(revision)
    }

    /// The values of a ref by its reflog, newest first, including the present one; empty without one.
    pub fn reflog_values(&self, name: &str) -> Vec<Oid> {
        self.refs.reflog_values(name)
    }

    /// The newest line of HEAD's reflog in this worktree; `None` without one.
    pub fn last_move(&self) -> Option<ReflogLine> {
        self.refs.last_move()
    }

    /// Calls `see` for the readable reflog lines of all worktrees' HEADs and local branches.
    pub fn each_reflog_line(&self, see: &mut dyn FnMut(&ReflogLine)) {
        self.refs.each_reflog_line(see);
    }

    /// The existing commits of branches, tags, remote-tracking branches and the worktrees' HEADs.
    pub fn tips(&self) -> Vec<Oid> {
        let mut out = self.refs.tips();
        out.retain(|id| self.is_commit(*id));
        out
    }

    /// The first line of a commit's message; `None` if the commit is missing.
    pub fn subject(&self, commit: Oid) -> Option<String> {
        let commit = self.inner.find_commit(commit).ok()?;
        let message = commit.message().ok()?;
        Some(message.summary().to_str_lossy().into_owned())
    }

    /// The message of a commit; `None` if it is missing.
    pub fn message(&self, commit: Oid) -> Option<String> {
        let commit = self.inner.find_commit(commit).ok()?;
        Some(commit.message_raw().ok()?.to_str_lossy().into_owned())
    }

    /// The first parent of a commit; `None` for a root, and if the commit is missing.
    pub fn first_parent(&self, commit: Oid) -> Option<Oid> {
        Some(self.inner.find_commit(commit).ok()?.parent_ids().next()?.detach())
    }

    /// The committer's date of a commit, strict ISO 8601; `None` if it is missing.
    pub fn committed(&self, commit: Oid) -> Option<String> {
        let time = self.inner.find_commit(commit).ok()?.committer().ok()?.time().ok()?;
        Some(time.format_or_unix(gix::date::time::format::ISO8601_STRICT))
    }

    /// The number of entries in HEAD's reflog in this worktree; 0 without one.
    pub fn reflog_len(&self) -> usize {
        self.refs.head_log().map_or(0, |lines| lines.len())
    }

    /// The first commit of this worktree on the unborn branch it was on when HEAD's reflog had `entries` entries.
    /// Without a reflog, the root of HEAD's first-parent history if made at or after `not_before` (seconds since 1970).
    /// `None` if there is none, or the branch was left unborn.
    pub fn first_commit_after(&self, entries: usize, not_before: i64) -> Option<Oid> {
        if let Some(lines) = self.refs.head_log() {
            let mut born = false;
            let mut found = None;
            for line in lines.iter().skip(entries) {
                born |= line.old.is_null();
                match found {
                    // if amended immediately, the amended commit stays
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

    /// The gix repository, for other files of this module.
    pub(crate) fn gix(&self) -> &gix::Repository {
        &self.inner
    }
}
