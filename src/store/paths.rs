//! Where the store keeps what is not in the notes: the log and disposable derived state.

use std::path::{Path, PathBuf};

use crate::env::Env;
use crate::git::Repository;
use crate::model::hash::fnv;

/// The files of one repository's store, shared by all its worktrees.
#[derive(Debug, Clone)]
pub struct Paths {
    state: PathBuf,
    fallback: Option<PathBuf>,
    worktree: String,
    /// The worktree's name, and what tells it from an earlier one of that name.
    key: String,
    place: String,
}

impl Paths {
    /// The paths for a repository. Nothing is made.
    pub fn new(repo: &Repository, env: &Env) -> Self {
        let common = repo.common_dir();
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let key = repo.worktree_key();
        let hash = |parts: &[&[u8]]| format!("{:016x}", fnv(&parts.join(b"\0".as_slice())));
        let (host, folder) = (host.trim().as_bytes(), common.as_os_str().as_encoded_bytes());
        let repository = hash(&[host, folder]);
        Paths {
            fallback: env.xdg("XDG_STATE_HOME", ".local/state").map(|base| base.join("git-empirica").join(repository)),
            worktree: repo.worktree_name(),
            place: hash(&[host, folder, key.as_bytes()]),
            key,
            state: common.join("empirica"),
        }
    }

    /// `$GIT_COMMON_DIR/empirica`.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// The worktree the command runs in: `main` or a linked worktree's name.
    pub fn worktree(&self) -> &str {
        &self.worktree
    }

    /// This worktree of this clone on this machine, as an opaque hash.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// The folders where small files are replaced.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        let below = ["held", "refused", "pending", "unborn"].map(|name| self.state.join(name));
        [self.state.clone(), self.current()].into_iter().chain(below).collect()
    }

    pub(super) fn lock(&self) -> PathBuf {
        self.state.join("lock")
    }

    pub(super) fn tips(&self) -> PathBuf {
        self.state.join("tips")
    }

    /// The folders a log can be in, the usual one first.
    pub(super) fn logs(&self) -> Vec<PathBuf> {
        let fallback = self.fallback.iter().map(|base| base.join("wal"));
        std::iter::once(self.state.join("wal")).chain(fallback).collect()
    }

    /// The name of this worktree's log.
    pub(super) fn log_name(&self) -> &str {
        &self.key
    }

    /// There while `redact --secrets` is at work.
    pub(super) fn scrubbing(&self) -> PathBuf {
        self.state.join("scrubbing")
    }

    pub(super) fn forgetting(&self) -> PathBuf {
        self.state.join("forgetting")
    }

    /// When notes that a partial clone left out were asked for and did not come.
    pub(super) fn asked(&self) -> PathBuf {
        self.state.join("asked")
    }

    pub(super) fn sessions(&self) -> PathBuf {
        self.state.join("sessions")
    }

    /// What is remembered of a server that refuses notes.
    pub(super) fn held(&self, url: &str) -> PathBuf {
        self.state.join("held").join(format!("{:016x}", fnv(url.as_bytes())))
    }

    pub(super) fn refused(&self, url: &str) -> PathBuf {
        self.state.join("refused").join(format!("{:016x}", fnv(url.as_bytes())))
    }

    pub(super) fn unborn(&self) -> PathBuf {
        self.state.join("unborn").join(&self.key)
    }

    pub(super) fn pending(&self) -> PathBuf {
        self.state.join("pending").join(&self.key)
    }

    pub(super) fn moves(&self) -> PathBuf {
        self.state.join("moves")
    }

    /// The moves that are being followed.
    pub(super) fn following(&self) -> PathBuf {
        self.state.join("following")
    }

    pub(super) fn troubles(&self) -> PathBuf {
        self.state.join("troubles")
    }

    /// The file that remembers the project's first root commit.
    pub fn project(&self) -> PathBuf {
        self.state.join("project")
    }

    /// The folder of the sessions that are active in this worktree.
    pub fn current(&self) -> PathBuf {
        self.state.join("current").join(&self.key)
    }
}
