//! Paths of the store's files outside the notes: the log and disposable derived state.

use std::cell::OnceCell;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::env::Env;
use crate::fault;
use crate::git::{Repository, Sharing};
use crate::model::SessionId;
use crate::model::hash::fnv;
use crate::store::files;

fn hash(bytes: &[u8]) -> String {
    format!("{:016x}", fnv(bytes))
}

/// Whether a text is a clone id: 32 hex digits.
fn is_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The files of one repository's store, shared by all its worktrees.
#[derive(Debug, Clone)]
pub struct Paths {
    state: PathBuf,
    /// The parent folder for logs of clones whose git directory is not writable.
    fallback: Option<PathBuf>,
    worktree: String,
    /// The worktree's name and a part that differs from earlier worktrees of that name.
    key: String,
    /// The clone's random id; unset until it is known.
    id: OnceCell<String>,
    /// The clone's identity in 0.1.0: host name and git directory.
    former: Vec<u8>,
    sharing: Sharing,
}

impl Paths {
    /// The paths for a repository. Creates nothing.
    pub fn new(repo: &Repository, env: &Env) -> Self {
        let common = repo.common_dir();
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let paths = Paths {
            fallback: env.xdg("XDG_STATE_HOME", ".local/state").map(|base| base.join("git-empirica")),
            worktree: repo.worktree_name(),
            key: repo.worktree_key(),
            id: OnceCell::new(),
            former: [host.trim().as_bytes(), common.as_os_str().as_encoded_bytes()].join(b"\0".as_slice()),
            sharing: repo.sharing(),
            state: common.join("empirica"),
        };
        if let Some(id) = std::fs::read_to_string(paths.id_file()).ok().filter(|text| is_id(text)) {
            let _ = paths.id.set(id);
        }
        paths
    }

    fn id_file(&self) -> PathBuf {
        self.state.with_file_name("empirica-id")
    }

    /// Creates the clone's id, if it has none. If that fails, its identity of 0.1.0 is used.
    pub fn identify(&self) {
        if self.id.get().is_none()
            && let Ok(id) = self.read_or_create_id()
        {
            let _ = self.id.set(id);
        }
    }

    /// What only this clone knows; `None` before it has an id.
    pub fn secret(&self) -> Option<&[u8]> {
        self.id.get().map(String::as_bytes)
    }

    /// Reads the id from its file, or writes a new one, under a lock.
    fn read_or_create_id(&self) -> io::Result<String> {
        let mut file = files::open_to_append(&self.sharing, &self.id_file())?;
        file.lock()?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        if !is_id(&text) {
            // remains of a write before a system crash
            file.set_len(0)?;
            text = uuid::Uuid::new_v4().simple().to_string();
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
        }
        Ok(text)
    }

    fn worktree_hash(&self, clone: &[u8]) -> String {
        hash(&[clone, self.key.as_bytes()].join(b"\0".as_slice()))
    }

    /// A hash of the clone's id, which it does not tell, and the worktree: the first 16 hex digits of a SHA-256.
    fn place(&self, id: &str) -> String {
        let hash = Sha256::new().chain_update(b"empirica place\0").chain_update(id).chain_update(b"\0");
        let hash = hash.chain_update(&self.key).finalize();
        hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    /// `$GIT_COMMON_DIR/empirica`.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// `main` or the linked worktree's name.
    pub fn worktree(&self) -> &str {
        &self.worktree
    }

    /// An opaque hash of the clone and worktree.
    pub fn worktree_id(&self) -> String {
        self.identify();
        self.worktree_ids().swap_remove(0)
    }

    /// [`Self::worktree_id`], then the one in sessions of 0.1.0.
    pub fn worktree_ids(&self) -> Vec<String> {
        let own = self.id.get().map(|id| self.place(id));
        own.into_iter().chain([self.worktree_hash(&self.former)]).collect()
    }

    /// Whether a session with this place belongs to this worktree, by its place or as active here.
    pub fn is_session_here(&self, session: &SessionId, place: &str) -> bool {
        self.worktree_ids().iter().any(|own| own == place) || self.current().join(session.as_str()).exists()
    }

    /// The permissions for new files in the git directory.
    pub fn sharing(&self) -> &Sharing {
        &self.sharing
    }

    /// Replaces a file atomically and creates its folder. A symlink at `path` is replaced, not followed.
    pub fn replace(&self, path: &Path, content: &str) -> io::Result<()> {
        files::replace(&self.sharing, path, content)
    }

    /// Appends lines to a file; at `most` lines, drops the older half.
    pub fn append_bounded(&self, path: &Path, text: &str, most: usize) -> io::Result<()> {
        let lines = files::read_lines(path);
        if lines.len() < most {
            return self.append(path, text);
        }
        let kept: String = lines[lines.len() / 2..].iter().map(|line| format!("{line}\n")).collect();
        self.replace(path, &(kept + text))
    }

    /// Appends lines to a file; creates it if it is missing.
    pub fn append(&self, path: &Path, text: &str) -> io::Result<()> {
        self.sharing.make_folder(path.parent().unwrap_or(path))?;
        fault::point("file: to be appended to")?;
        files::open_to_append(&self.sharing, path)?.write_all(text.as_bytes())
    }

    /// The folders that may have abandoned temporary files.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        let below = ["held", "refused", "pending", "unborn"].map(|name| self.state.join(name));
        [self.state.clone(), self.current()].into_iter().chain(below).collect()
    }

    /// The folder of the vectors of texts, one file a source. They are derived from the notes.
    pub fn vectors(&self) -> PathBuf {
        self.file("vectors")
    }

    /// The file that keeps which Qdrant server was named to the user before anything was sent there.
    pub fn qdrant(&self) -> PathBuf {
        self.file("qdrant")
    }

    /// Removes the index, which may contain redacted texts, and empties the vectors, which tell something of them. Both are derived
    /// from the notes.
    pub fn remove_index(&self) -> io::Result<()> {
        ["index.stamp", "index.db", "index.new"].iter().try_for_each(|name| files::remove(&self.state.join(name)))?;
        let entries = match std::fs::read_dir(self.vectors()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        let emptied: Vec<io::Result<()>> = entries.map(|entry| std::fs::write(entry?.path(), b"")).collect();
        emptied.into_iter().collect()
    }

    /// A file of the state folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.state.join(name)
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.file("lock")
    }

    /// The folders for logs: the usual one first, that of 0.1.0 last.
    pub(crate) fn logs(&self) -> Vec<PathBuf> {
        let clones = self.id.get().cloned().into_iter().chain([hash(&self.former)]);
        let fallback = self.fallback.iter().flat_map(|base| clones.clone().map(|clone| base.join(clone).join("wal")));
        std::iter::once(self.state.join("wal")).chain(fallback).collect()
    }

    /// The name of this worktree's log.
    pub(crate) fn log_name(&self) -> &str {
        &self.key
    }

    /// The state kept for a server that refuses notes.
    pub(crate) fn held(&self, url: &str) -> PathBuf {
        self.state.join("held").join(hash(url.as_bytes()))
    }

    pub(crate) fn refused(&self, url: &str) -> PathBuf {
        self.state.join("refused").join(hash(url.as_bytes()))
    }

    pub(crate) fn unborn(&self) -> PathBuf {
        self.state.join("unborn").join(&self.key)
    }

    pub(crate) fn pending_handoffs(&self) -> PathBuf {
        self.state.join("pending").join(&self.key)
    }

    /// The cache of the project's first root commit.
    pub fn project(&self) -> PathBuf {
        self.state.join("project")
    }

    /// The folder of the sessions active in this worktree.
    pub fn current(&self) -> PathBuf {
        self.state.join("current").join(&self.key)
    }
}
