//! HEAD, refs and reflogs in process, for refs in files.

use std::time::Instant;

use gix::bstr::ByteSlice;
use gix::lock::Marker;

use crate::error::{Error, Result};
use crate::git::Oid;
use crate::git::refs::ref_files::{RefFiles, failed};
use crate::git::refs::{HeadState, Identity, RefUpdate, ReflogLine, Refs, UpdateError, broken_ref};

/// The backend for refs in files.
pub(crate) struct GixRefs {
    repo: gix::Repository,
}

impl GixRefs {
    pub(crate) fn new(repo: gix::Repository) -> Self {
        GixRefs { repo }
    }

    /// From the commit-graph, if that has the commit: opening a pack takes the longer, the more objects it has.
    fn tree_of(&self, commit: Oid) -> gix::error::Result<Oid> {
        let graph = self.repo.commit_graph_if_enabled().ok().flatten();
        if let Some(known) = graph.as_ref().and_then(|graph| graph.commit_by_id(commit)) {
            return Ok(known.root_tree_id().to_owned());
        }
        self.repo.find_commit(commit)?.tree_id().map(|id| id.detach())
    }

    fn broken(&self, name: &str, error: gix::Error) -> Error {
        broken_ref(self.repo.git_dir(), self.repo.common_dir(), name, error)
    }
}

/// The object that a ref points to, peeled; unpeeled if it cannot be read, or if it is a notes ref: these point to
/// commits, and are looked up often.
fn named(mut reference: gix::Reference<'_>) -> gix::error::Result<Oid> {
    let direct = reference.try_id().map(|id| id.detach());
    match direct {
        Some(id) if reference.name().as_bstr().starts_with_str("refs/notes/") => Ok(id),
        Some(id) => Ok(reference.peel_to_id().map_or(id, |peeled| peeled.detach())),
        None => Ok(reference.peel_to_id()?.detach()),
    }
}

fn line(is_head: bool, line: &gix::refs::file::log::LineRef<'_>) -> ReflogLine {
    ReflogLine { is_head, old: line.previous_oid(), new: line.new_oid(), message: line.message.to_vec() }
}

impl Refs for GixRefs {
    fn head(&self) -> Result<HeadState> {
        let read = || -> gix::error::Result<HeadState> {
            let head = self.repo.head()?;
            let branch = head
                .referent_name()
                .and_then(|name| name.as_bstr().strip_prefix(b"refs/heads/"))
                .map(|name| name.to_str_lossy().into_owned());
            let commit = match head.id() {
                Some(id) => Some(id),
                // unborn, or a branch that stands for another
                None => head.try_into_peeled_id()?,
            };
            let commit = commit.map(|id| id.detach());
            let tree = commit.map(|id| self.tree_of(id)).transpose()?;
            Ok(HeadState { branch, commit, tree })
        };
        read().map_err(|error| self.broken("HEAD", error))
    }

    fn find_ref(&self, name: &str) -> Result<Option<Oid>> {
        let found = self.repo.try_find_reference(name).map_err(|error| self.broken(name, error))?;
        found.map(named).transpose().map_err(|error| self.broken(name, error))
    }

    fn list_refs(&self, prefix: &str) -> Result<Vec<(String, Oid)>> {
        let read = || -> gix::error::Result<Vec<(String, Oid)>> {
            let platform = self.repo.references()?;
            let mut out = Vec::new();
            for reference in platform.prefixed(prefix)? {
                let Ok(reference) = reference else { continue };
                let name = reference.name().as_bstr().to_str_lossy().into_owned();
                out.extend(named(reference).map(|id| (name, id)));
            }
            Ok(out)
        };
        read().map_err(|error| self.broken(prefix, error))
    }

    fn resolve(&self, revision: &str) -> Option<Oid> {
        let id = self.repo.rev_parse_single(revision).ok()?;
        let commit = id.object().ok()?.peel_to_kind(gix::objs::Kind::Commit).ok()?;
        Some(commit.id)
    }

    fn head_log(&self) -> Option<Vec<ReflogLine>> {
        let head = self.repo.head().ok()?;
        let mut platform = head.log_iter();
        let lines = platform.all().ok()??;
        Some(lines.filter_map(|read| read.ok()).map(|read| line(true, &read)).collect())
    }

    fn reflog_values(&self, name: &str) -> Vec<Oid> {
        let mut buffer = Vec::new();
        let Ok(name) = gix::refs::FullName::try_from(name) else { return Vec::new() };
        let Ok(Some(lines)) = self.repo.refs.reflog_iter(name.as_ref(), &mut buffer) else { return Vec::new() };
        let mut out = Vec::new();
        for line in lines.flatten() {
            out.extend([line.previous_oid(), line.new_oid()].into_iter().filter(|id| !id.is_null()));
        }
        out.reverse();
        out.dedup();
        out
    }

    fn last_move(&self) -> Option<ReflogLine> {
        let head = self.repo.head().ok()?;
        let mut platform = head.log_iter();
        let newest = platform.rev().ok()??.next()?.ok()?;
        let (old, new, message) = (newest.previous_oid, newest.new_oid, newest.message.to_vec());
        Some(ReflogLine { is_head: true, old, new, message })
    }

    fn each_reflog_line(&self, see: &mut dyn FnMut(&ReflogLine)) {
        let mut read = |is_head: bool, mut log: gix::refs::file::log::iter::Platform<'_, '_>| {
            for found in log.all().ok().flatten().into_iter().flatten().filter_map(Result::ok) {
                see(&line(is_head, &found));
            }
        };
        for worktree in self.repo.worktrees_including_main().into_iter().flatten().flatten() {
            if let Ok(head) = worktree.head() {
                read(true, head.log_iter());
            }
        }
        if let Ok(references) = self.repo.references()
            && let Ok(branches) = references.local_branches()
        {
            for branch in branches.flatten() {
                read(false, branch.log_iter());
            }
        }
    }

    fn tips(&self) -> Vec<Oid> {
        let kinds: [&[u8]; 3] = [b"refs/heads/", b"refs/remotes/", b"refs/tags/"];
        let mut out = Vec::new();
        if let Ok(references) = self.repo.references()
            && let Ok(all) = references.all()
        {
            let wanted = |name: &[u8]| kinds.iter().any(|kind| name.starts_with(kind));
            for mut reference in all.flatten().filter(|reference| wanted(reference.name().as_bstr())) {
                out.extend(reference.peel_to_id().map(|id| id.detach()));
            }
        }
        for worktree in self.repo.worktrees_including_main().into_iter().flatten().flatten() {
            out.extend(worktree.head_id().map(|id| id.detach()));
        }
        out
    }

    fn update_refs(
        &self,
        updates: &[RefUpdate],
        message: &str,
        identity: &Identity,
        _: Option<Instant>,
    ) -> Result<(), UpdateError> {
        let files = RefFiles::of(&self.repo);
        let held: Vec<Marker> = updates.iter().map(|update| files.lock(update)).collect::<Result<_, _>>()?;
        crate::fault::step("refs: locked");
        for (update, lock) in updates.iter().zip(held) {
            files.log(update, message, identity).map_err(failed)?;
            files.put(lock)?;
            crate::fault::step("refs: one moved");
        }
        Ok(())
    }
}
