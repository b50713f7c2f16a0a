//! The repository as the rest of the program sees it: where it is, HEAD, configuration, objects.

use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice;

use super::Oid;
use super::backend::{Backend, GixBackend, HeadState, Identity, RefUpdate, UpdateError, signature};
use super::parameters::parameters;
pub use crate::error::quote;

use crate::env::Env;
use crate::error::{Error, Kind, Result, io_cause};

/// The extensions under which reading and writing as this program does is right.
const KNOWN_EXTENSIONS: &[&str] =
    &["noop", "preciousobjects", "partialclone", "worktreeconfig", "objectformat", "relativeworktrees"];

/// Who writes when nobody is configured: name and address.
const FALLBACK: (&str, &str) = ("git-empirica", "git-empirica@localhost");

/// An opened repository.
pub struct Repository {
    inner: gix::Repository,
    backend: Box<dyn Backend>,
    cwd: PathBuf,
}

impl Repository {
    /// Finds and opens the repository as git would, from the environment or upwards from the working folder, with the
    /// settings of `git -c`.
    ///
    /// A repository that git would refuse (another owner, an unknown extension) is refused.
    pub fn discover(env: &Env) -> Result<Self> {
        let cwd = env.cwd.as_path();
        let given = env.get("GIT_CONFIG_PARAMETERS").map(parameters).unwrap_or_default();
        let options = || gix::open::Options::default().bail_if_untrusted(true).cli_overrides(given.clone());
        let trust = gix::sec::trust::Mapping { full: options(), reduced: options() };
        let opened = gix::ThreadSafeRepository::discover_with_environment_overrides_opts(
            cwd,
            gix::discover::upwards::Options { match_ceiling_dir_or_error: false, ..Default::default() },
            trust,
        );
        let inner = opened.map_err(|error| no_repository(cwd, error))?.to_thread_local();
        refuse_unknown_formats(&inner)?;
        share(&inner);
        Ok(Repository { backend: Box::new(GixBackend::new(inner.clone())), inner, cwd: cwd.to_owned() })
    }

    /// The folder the command was started in.
    pub fn cwd(&self) -> &Path {
        &self.cwd
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
        self.backend.head()
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
        self.backend.find_ref(name)
    }

    /// All refs below `prefix` (which ends in a slash), sorted by name.
    pub fn list_refs(&self, prefix: &str) -> Result<Vec<(String, Oid)>> {
        self.backend.list_refs(prefix)
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

    /// The content of a blob; `None` when it is not here.
    pub fn read_blob(&self, id: Oid) -> Result<Option<Vec<u8>>> {
        let mut content = Vec::new();
        Ok(self.read_blob_into(id, &mut content)?.then_some(content))
    }

    /// The same, into `content`, whatever that held. Returns whether the blob is here.
    pub fn read_blob_into(&self, id: Oid, content: &mut Vec<u8>) -> Result<bool> {
        let found = gix::objs::Find::try_find(&self.inner, &id, content).map_err(|error| unreadable(id, error))?;
        Ok(found.is_some_and(|object| object.kind == gix::objs::Kind::Blob))
    }

    fn store_object(&self, kind: gix::objs::Kind, bytes: &[u8]) -> gix::error::Result<Oid> {
        crate::fault::point("object: to be written").map_err(gix::Error::from_error)?;
        let written = self.backend.write_object(kind, bytes);
        crate::fault::step("object: written");
        written
    }

    /// Stores a blob.
    pub fn write_blob(&self, bytes: &[u8]) -> Result<Oid> {
        self.store_object(gix::objs::Kind::Blob, bytes).map_err(|error| self.unwritable(error))
    }

    /// The tree of a commit.
    pub fn tree_of(&self, commit: Oid) -> Result<Oid> {
        let read = || Ok(self.inner.find_commit(commit)?.tree_id()?.detach());
        read().map_err(|error: gix::Error| unreadable(commit, error))
    }

    /// Stores a commit of `tree` with `parents`, by `who`, now. The objects are known to exist afterwards.
    pub fn write_commit(&self, tree: Oid, parents: Vec<Oid>, message: &str, who: &Identity) -> Result<Oid> {
        self.write_signed(tree, parents, message, signature(who))
    }

    /// Stores a merge commit that is the same in every clone: by this program, at `seconds` since 1970, its parents sorted.
    pub fn write_merge(&self, tree: Oid, mut parents: Vec<Oid>, message: &str, seconds: i64) -> Result<Oid> {
        parents.sort_unstable();
        let signature = gix::actor::Signature {
            name: FALLBACK.0.into(),
            email: FALLBACK.1.into(),
            time: gix::date::Time { seconds, offset: 0 },
        };
        self.write_signed(tree, parents, message, signature)
    }

    fn write_signed(
        &self,
        tree: Oid,
        parents: Vec<Oid>,
        message: &str,
        signature: gix::actor::Signature,
    ) -> Result<Oid> {
        let commit = gix::objs::Commit {
            tree,
            parents: parents.into_iter().collect(),
            author: signature.clone(),
            committer: signature,
            encoding: None,
            message: message.into(),
            extra_headers: Vec::new(),
        };
        let id = gix::objs::Write::write(self, &commit).map_err(|error| self.unwritable(error))?;
        if !self.has_object(id) || !self.has_object(tree) {
            return Err(Error::storage("a notes commit was written and is not in the object store")
                .reason("something removes objects while they are written, or the file system loses them")
                .suggest("Stop what prunes the repository, then write again.")
                .command("git empirica flush"));
        }
        Ok(id)
    }

    /// The error of a ref that names a commit which is not here.
    pub fn lost_tip(&self, name: &str, tip: Oid) -> Error {
        Error::storage(format!("the ref {name} names {tip}, which is not here"))
            .reason("the object was removed or never came; the ref cannot be written while it stands")
            .suggest(
                "Fetch the object if another clone has it; else remove the ref: what is remembered of it comes back.",
            )
            .command(super::backend::deletion(&self.common_dir(), name))
    }

    /// The folder objects are written to.
    pub fn objects(&self) -> PathBuf {
        self.absolute(self.inner.objects.store_ref().path())
    }

    fn unwritable(&self, error: gix::Error) -> Error {
        let out = Error::storage("the object store cannot be written");
        let out = match io_cause(&error) {
            Some(cause) => out.about_path(&self.objects(), cause),
            None => out
                .suggest("See whether there is room, and who may write there.")
                .command(format!("ls -ld {}", quote(&self.objects().to_string_lossy()))),
        };
        out.caused_by(error)
    }

    /// When a commit was made, in seconds since 1970.
    pub fn commit_seconds(&self, commit: Oid) -> Result<i64> {
        let read = || Ok(self.inner.find_commit(commit)?.time()?.seconds);
        read().map_err(|error: gix::Error| unreadable(commit, error))
    }

    /// Sets refs, each if it still has the value it is expected to have; none is set when one has not.
    pub fn update_refs(&self, updates: &[RefUpdate], message: &str, who: &Identity) -> Result<(), UpdateError> {
        crate::fault::point("refs: to be moved").map_err(|error| UpdateError::Failed(error.into()))?;
        let outcome = self.backend.update_refs(updates, message, who);
        crate::fault::step("refs: moved");
        outcome
    }

    /// Resolves a revision (`HEAD~2`, a branch, a short id) to a commit; `None` when it names none.
    pub fn resolve_commit(&self, revision: &str) -> Option<Oid> {
        let id = self.inner.rev_parse_single(revision).ok()?;
        let commit = id.object().ok()?.peel_to_kind(gix::objs::Kind::Commit).ok()?;
        Some(commit.id)
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
        let Ok(head) = self.inner.head() else { return 0 };
        let mut platform = head.log_iter();
        platform.all().ok().flatten().map_or(0, |lines| lines.count())
    }

    /// The first commit this worktree made on the unborn branch it was on when HEAD's reflog had `entries` entries.
    /// Without a reflog, the root of HEAD's first-parent line, if it was made at or after `not_before` (seconds since
    /// 1970). `None` while there is none, or when the branch was left unborn.
    pub fn first_commit_after(&self, entries: usize, not_before: i64) -> Option<Oid> {
        let head = self.inner.head().ok()?;
        let mut platform = head.log_iter();
        if let Ok(Some(lines)) = platform.all() {
            let mut born = false;
            let mut found = None;
            for line in lines.skip(entries).filter_map(|line| line.ok()) {
                born |= line.previous_oid().is_null();
                match found {
                    // amended at once, it is the amended one that stays
                    Some(_) if line.message.starts_with_str("commit (amend)") => found = Some(line.new_oid()),
                    Some(_) => break,
                    None if born && line.message.starts_with_str("commit") => found = Some(line.new_oid()),
                    // the unborn branch was left behind
                    None if !born || line.message.starts_with_str("checkout:") => break,
                    None => {}
                }
            }
            return found;
        }
        let mut id = head.try_into_peeled_id().ok()??.detach();
        while let Some(parent) = self.inner.find_commit(id).ok()?.parent_ids().next() {
            id = parent.detach();
        }
        let time = self.inner.find_commit(id).ok()?.time().ok()?;
        (time.seconds >= not_before).then_some(id)
    }

    /// gix's own repository, for the other files of this floor.
    pub(super) fn gix(&self) -> &gix::Repository {
        &self.inner
    }
}

impl gix::objs::Find for Repository {
    fn try_find<'a>(&self, id: &gix::oid, buffer: &'a mut Vec<u8>) -> gix::error::Result<Option<gix::objs::Data<'a>>> {
        gix::objs::Find::try_find(&self.inner, id, buffer)
    }
}

impl gix::objs::Write for Repository {
    fn write_buf(&self, kind: gix::objs::Kind, from: &[u8]) -> gix::error::Result<Oid> {
        self.store_object(kind, from)
    }

    fn write_buf_with_known_id(&self, kind: gix::objs::Kind, from: &[u8], _id: Oid) -> gix::error::Result<Oid> {
        self.store_object(kind, from)
    }

    fn write_stream(&self, kind: gix::objs::Kind, _size: u64, from: &mut dyn std::io::Read) -> gix::error::Result<Oid> {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).map_err(gix::Error::from_error)?;
        self.store_object(kind, &bytes)
    }

    fn write_stream_with_known_id(
        &self,
        kind: gix::objs::Kind,
        size: u64,
        from: &mut dyn std::io::Read,
        _id: Oid,
    ) -> gix::error::Result<Oid> {
        gix::objs::Write::write_stream(self, kind, size, from)
    }
}

fn no_repository(cwd: &Path, error: gix::Error) -> Error {
    let root = cwd.ancestors().find(|folder| folder.join(".git").exists() || folder.join("HEAD").is_file());
    if error.is_permission_denied() || error.to_string().contains("trust") {
        let root = root.unwrap_or(cwd).to_string_lossy();
        return Error::new(Kind::NoRepository, "the repository belongs to another user")
            .suggest("If you trust it, tell git so.")
            .command(format!("git config --global --add safe.directory {}", quote(&root)))
            .caused_by(error);
    }
    // above where the user lets git look there may be one
    let is_beyond = error.to_string().contains("within ceiling height");
    if let Some(root) = root.filter(|_| !is_beyond) {
        return Error::new(Kind::NoRepository, format!("the repository at {} cannot be opened", root.display()))
            .suggest("See what git says about it.")
            .command("git status")
            .caused_by(error);
    }
    Error::new(Kind::NoRepository, "this is not a git repository")
        .reason(format!("no repository was found at or above {}", cwd.display()))
        .suggest("Change into a repository, or make one.")
        .command("git init")
        .caused_by(error)
}

/// What is made in a shared repository is for the group, or for all, as `core.sharedRepository` says: the mask of this
/// process lets them.
fn share(repo: &gix::Repository) {
    let Some(shared) = repo.config_snapshot().string("core.sharedRepository") else { return };
    let octal = |text: &str| u32::from_str_radix(text, 8).ok().filter(|mode| text.len() >= 3 && mode & 0o600 == 0o600);
    let files = match shared.to_str_lossy().as_ref() {
        "group" | "true" | "yes" | "on" | "1" => 0o660,
        "all" | "world" | "everybody" | "2" => 0o664,
        other => octal(other).unwrap_or(0),
    };
    // a folder that can be read can be entered
    let let_in = rustix::fs::Mode::from_raw_mode((files | (files & 0o444) >> 2) & 0o077);
    let mask = rustix::process::umask(rustix::fs::Mode::empty());
    rustix::process::umask(mask - let_in);
}

fn refuse_unknown_formats(repo: &gix::Repository) -> Result<()> {
    let config = repo.config_snapshot();
    let version = config.integer("core.repositoryFormatVersion").unwrap_or(0);
    let refuse = |what: String| {
        Err(Error::new(Kind::NoRepository, what)
            .reason("writing to a repository of a format that is not understood could damage it")
            .suggest("Use a newer version of this program."))
    };
    if !(0..=1).contains(&version) {
        return refuse(format!("the repository has format version {version}"));
    }
    let file = config.plumbing();
    for section in file.sections_by_name("extensions").into_iter().flatten() {
        for name in section.value_names() {
            let name = name.to_string().to_ascii_lowercase();
            if name == "refstorage" {
                let value = config.string("extensions.refStorage").unwrap_or_default();
                if value != "files" {
                    return refuse(format!("the repository keeps its refs as '{value}', which is not supported yet"));
                }
            } else if version == 1 && !KNOWN_EXTENSIONS.contains(&name.as_str()) {
                return refuse(format!("the repository uses the unknown extension '{name}'"));
            }
        }
    }
    Ok(())
}

pub(super) fn unreadable(id: Oid, error: gix::Error) -> Error {
    Error::storage(format!("the object {id} cannot be read"))
        .suggest("See what is missing or damaged, and how it comes back: another clone may have it.")
        .command("git empirica doctor")
        .caused_by(error)
}
