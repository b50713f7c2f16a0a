//! Fetches objects missing from a partial clone from the promisor remote.

use std::collections::BTreeSet;

use crate::error::{Error, Result};
use crate::git::Oid;
use crate::git::process::{git, output_with_input};
use crate::git::refs::PREFIX;
use crate::git::remotes::{is_partial, promisor};
use crate::git::repository::Repository;

/// Fetches missing objects from the promisor remote in one fetch; for trees also their subtrees, without blobs. Fails
/// without such a remote, or if it lacks them.
pub fn fetch(repo: &Repository, ids: &[Oid]) -> Result<()> {
    let Some(remote) = promisor(repo) else {
        return Err(Error::storage("cannot fetch missing objects: no remote has promised them"));
    };
    let mut command = git(repo.cwd());
    // as git does: exactly these objects
    command.args(["-c", "fetch.negotiationAlgorithm=noop", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head"]);
    command.args(["--recurse-submodules=no", "--filter=blob:none", "--stdin", "--"]).arg(&remote);
    let ids: String = ids.iter().map(|id| format!("{id}\n")).collect();
    output_with_input(&mut command, ids.into_bytes()).map(|_| ())
}

/// Fetches the missing trees of this program's refs, and `also`, in one fetch, unless `also` exists. Tries once, so that an
/// unreachable remote is not waited for repeatedly.
pub(crate) fn fetch_trees(repo: &Repository, also: Option<Oid>) {
    let is_partial = || *repo.is_partial.get_or_init(|| is_partial(repo));
    if repo.is_offline.get() || repo.has_requested_trees.get() || !is_partial() {
        return;
    }
    if also.is_some_and(|id| repo.has_object(id)) {
        return;
    }
    let refs = repo.list_refs(PREFIX).unwrap_or_default();
    let roots = refs.iter().filter_map(|(_, tip)| repo.tree_of(*tip).ok());
    let missing: BTreeSet<Oid> = roots.chain(also).filter(|id| !repo.has_object(*id)).collect();
    if !missing.is_empty() {
        repo.has_requested_trees.set(true);
        // a missing tree shows as an error where it is read
        let _ = fetch(repo, &missing.into_iter().collect::<Vec<_>>());
    }
}
