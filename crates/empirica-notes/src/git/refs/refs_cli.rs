//! HEAD, refs and reflogs by the user's git: for reftables, and where hooks, shared permissions or fsync matter.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::process::Command;
use std::rc::Rc;
use std::time::Instant;

use crate::error::{Error, Result};
use crate::git::process::{git, message, optional_output, output, run, run_until, text};
use crate::git::refs::{HeadState, Identity, RefUpdate, ReflogLine, Refs, UpdateError, broken_ref};
use crate::git::{Oid, parse_oid};

/// The limit of reflog values, which are read one by one.
const MAX_REFLOG_VALUES: usize = 64;

type Folder = BTreeMap<String, Oid>;

/// The backend for any ref storage, by running git.
pub(crate) struct CliRefs {
    repo: gix::Repository,
    cwd: PathBuf,
    /// Cached folders of refs, as a command reads the same few many times. Stale values are detected when a ref is
    /// updated.
    folders: RefCell<HashMap<String, Rc<Folder>>>,
}

impl CliRefs {
    /// The backend of a repository, with git run in `cwd`.
    pub(crate) fn new(repo: gix::Repository, cwd: PathBuf) -> Self {
        CliRefs { repo, cwd, folders: RefCell::default() }
    }

    fn git(&self) -> Command {
        git(&self.cwd)
    }

    fn broken(&self, name: &str, error: Error) -> Error {
        broken_ref(self.repo.git_dir(), self.repo.common_dir(), name, error)
    }

    /// The refs in the folder of a ref or prefix.
    fn folder_with(&self, name: &str) -> Result<Rc<Folder>> {
        let folder = folder_of(name);
        if let Some(listed) = self.folders.borrow().get(&folder) {
            return Ok(listed.clone());
        }
        let listed = text(self.git().args(["for-each-ref", "--format=%(objectname) %(refname)", &folder]));
        let listed = listed.map_err(|error| self.broken(name, error))?;
        let pairs = listed.lines().filter_map(|line| line.split_once(' '));
        let found: Folder = pairs.filter_map(|(id, name)| Some((name.to_owned(), parse_oid(id)?))).collect();
        Ok(self.folders.borrow_mut().entry(folder).or_insert(Rc::new(found)).clone())
    }

    /// The object that a revision resolves to; `None` if there is none.
    fn parse_revision(&self, revision: &str) -> Option<Oid> {
        let mut command = self.git();
        command.args(["rev-parse", "-q", "--verify", "--end-of-options", revision]);
        parse_oid(&text(&mut command).ok()?)
    }

    /// A reflog, newest first; empty without one, and while HEAD is unborn.
    fn log(&self, name: &str, more: &[&str]) -> Vec<ReflogLine> {
        let mut command = self.git();
        command.args(["log", "-g", "-z", "--format=%H %gs", "--no-show-signature"]).args(more).args([name, "--"]);
        let text = output(&mut command).unwrap_or_default();
        let line = |line: &[u8]| {
            let at = line.iter().position(|byte| *byte == b' ')?;
            let new = parse_oid(&String::from_utf8_lossy(&line[..at]))?;
            // the old value is that of the next older line
            Some(ReflogLine { is_head: true, old: self.null_id(), new, message: line[at + 1..].to_vec() })
        };
        let mut out: Vec<ReflogLine> = text.split(|byte| *byte == 0).filter_map(line).collect();
        for at in 1..out.len() {
            out[at - 1].old = out[at].new;
        }
        out
    }

    fn null_id(&self) -> Oid {
        self.repo.object_hash().null()
    }

    /// The HEAD of each worktree, as a revision.
    fn heads(&self) -> Vec<String> {
        let linked = std::fs::read_dir(self.repo.common_dir().join("worktrees")).into_iter().flatten().flatten();
        let linked = linked.map(|entry| format!("worktrees/{}/HEAD", entry.file_name().to_string_lossy()));
        std::iter::once("main-worktree/HEAD".to_owned()).chain(linked).collect()
    }
}

/// The folder to list for a ref: by its kind, and for notes by the tool.
fn folder_of(name: &str) -> String {
    let depth = if name.starts_with("refs/notes/") { 3 } else { 2 };
    let mut parts: Vec<&str> = name.split('/').collect();
    parts.truncate(depth.min(parts.len().saturating_sub(1)));
    parts.iter().map(|part| format!("{part}/")).collect()
}

impl Refs for CliRefs {
    fn head(&self) -> Result<HeadState> {
        let read = || -> Result<HeadState> {
            let branch = optional_output(self.git().args(["symbolic-ref", "-q", "HEAD"]))?;
            let commit = optional_output(self.git().args(["rev-parse", "-q", "--verify", "HEAD^{commit}"]))?;
            let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim().to_owned();
            let commit = commit.and_then(|id| parse_oid(&text(id)));
            let tree = |id| self.repo.find_commit(id).and_then(|commit| Ok(commit.tree_id()?.detach()));
            let tree =
                commit.map(|id| tree(id).map_err(|error| crate::git::objects::unreadable(id, error))).transpose()?;
            let branch = branch.map(text).and_then(|name| Some(name.strip_prefix("refs/heads/")?.to_owned()));
            Ok(HeadState { branch, commit, tree })
        };
        read().map_err(|error| self.broken("HEAD", error))
    }

    fn find_ref(&self, name: &str) -> Result<Option<Oid>> {
        Ok(self.folder_with(name)?.get(name).copied())
    }

    fn list_refs(&self, prefix: &str) -> Result<Vec<(String, Oid)>> {
        let folder = self.folder_with(prefix)?;
        let below = folder.range(prefix.to_owned()..).take_while(|(name, _)| name.starts_with(prefix));
        Ok(below.map(|(name, id)| (name.clone(), *id)).collect())
    }

    fn resolve(&self, revision: &str) -> Option<Oid> {
        self.parse_revision(&format!("{revision}^{{commit}}"))
    }

    fn head_log(&self) -> Option<Vec<ReflogLine>> {
        // git cannot read it while HEAD is unborn, so that its entries cannot be counted
        None
    }

    fn reflog_values(&self, name: &str) -> Vec<Oid> {
        // a listing stops at the first damaged commit; this reads no commits
        let mut out: Vec<Oid> =
            (0..MAX_REFLOG_VALUES).map_while(|at| self.parse_revision(&format!("{name}@{{{at}}}"))).collect();
        out.dedup();
        out
    }

    fn last_move(&self) -> Option<ReflogLine> {
        self.log("HEAD", &["-1"]).into_iter().next()
    }

    fn each_reflog_line(&self, see: &mut dyn FnMut(&ReflogLine)) {
        for head in self.heads() {
            self.log(&head, &[]).iter().rev().for_each(&mut *see);
        }
        let branches = self.list_refs("refs/heads/").unwrap_or_default();
        for (name, _) in branches {
            let lines = self.log(&name, &[]);
            lines.into_iter().rev().for_each(|line| see(&ReflogLine { is_head: false, ..line }));
        }
    }

    fn tips(&self) -> Vec<Oid> {
        let mut command = self.git();
        command.args(["for-each-ref", "--format=%(objectname) %(*objectname)"]);
        let text = text(command.args(["refs/heads/", "refs/remotes/", "refs/tags/"])).unwrap_or_default();
        // for a tag, its target
        let mut out: Vec<Oid> = text.lines().filter_map(|line| parse_oid(line.split_whitespace().last()?)).collect();
        out.extend(self.heads().iter().filter_map(|head| self.resolve(head)));
        out
    }

    fn refresh(&self) {
        self.folders.borrow_mut().clear();
    }

    fn refused(&self, name: &str, value: Oid) -> Option<String> {
        let input = format!("start\0update {name}\0{value}\0{value}\0prepare\0abort\0");
        let output = run(self.git().args(["update-ref", "--stdin", "-z"]), input.into_bytes()).ok()?;
        let text = String::from_utf8_lossy(&output.stderr);
        let line = text.lines().map(str::trim).find(|line| line.contains("hook"));
        line.filter(|_| !output.status.success()).map(|line| line.trim_start_matches("fatal: ").to_owned())
    }

    fn update_refs(
        &self,
        updates: &[RefUpdate],
        message: &str,
        identity: &Identity,
        deadline: Option<Instant>,
    ) -> Result<(), UpdateError> {
        self.refresh();
        let mut command = self.git();
        command.args(["update-ref", "--stdin", "-z", "-m", message]);
        command.env("GIT_COMMITTER_NAME", &identity.name).env("GIT_COMMITTER_EMAIL", &identity.email);
        let mut input = String::new();
        for RefUpdate { name, new, expected } in updates {
            let expected = expected.unwrap_or_else(|| self.null_id());
            input.push_str(&format!("update {name}\0{new}\0{expected}\0"));
        }
        let failed = |error: Error| UpdateError::Failed(error.into());
        match run_until(&mut command, input.into_bytes(), deadline, false).map_err(failed)? {
            None => Err(UpdateError::TimedOut),
            Some(out) if out.status.success() => Ok(()),
            Some(out) => Err(not_updated(&out.stderr)),
        }
    }
}

/// Classifies git's message for a failed update.
fn not_updated(stderr: &[u8]) -> UpdateError {
    /// The ref changed, appeared or vanished, or is being written.
    const MOVED: [&str; 6] = [
        "but expected",
        "reference already exists",
        "unable to resolve reference",
        "File exists",
        "lock",
        "reference is missing",
    ];
    /// A retry would not help.
    const PERMANENT: [&str; 5] = ["Permission denied", "Read-only", "No space left", "cannot create", "hook"];
    let text = message(stderr);
    let any = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let cause = std::io::Error::other(text.as_str());
    if any(&MOVED) && !any(&PERMANENT) {
        UpdateError::Contended(cause.into())
    } else {
        UpdateError::Failed(cause.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refs_are_read_by_folder() {
        for (name, folder) in [
            ("refs/notes/empirica/data/journal", "refs/notes/empirica/"),
            ("refs/notes/empirica/", "refs/notes/empirica/"),
            ("refs/notes/empirica", "refs/notes/"),
            ("refs/notes/commits", "refs/notes/"),
            ("refs/heads/a/b", "refs/heads/"),
        ] {
            assert_eq!(folder_of(name), folder, "{name}");
        }
    }
}
