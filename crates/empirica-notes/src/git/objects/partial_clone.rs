//! Fetches objects missing from a partial clone from the promisor remote.

use crate::error::{Error, Result};
use crate::git::Oid;
use crate::git::process::{Running, git};
use crate::git::remotes::{is_partial, promisor};
use crate::git::repository::Repository;
use crate::git::repository::missing_objects::PartialClone;

impl PartialClone {
    /// Whether missing objects can be fetched.
    pub(crate) fn is_of_use(&self, repo: &Repository) -> bool {
        *self.is_partial.get_or_init(|| is_partial(repo))
    }
}

/// Fetches missing objects from the promisor remote in one fetch; for trees also their subtrees, without blobs. Fails
/// without such a remote, or if it lacks them.
pub fn fetch(repo: &Repository, ids: &[Oid]) -> Result<()> {
    let Some(remote) = promisor(repo) else {
        return Err(Error::storage("no remote has promised the objects that are not here"));
    };
    let mut command = git(repo.cwd());
    // as git does: exactly these objects
    command.args(["-c", "fetch.negotiationAlgorithm=noop", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head"]);
    command.args(["--recurse-submodules=no", "--filter=blob:none", "--stdin", "--"]).arg(&remote);
    let wanted: String = ids.iter().map(|id| format!("{id}\n")).collect();
    Running::feed(&mut command, wanted.into_bytes())?.finish()
}

/// Fetches the missing trees of all refs below `prefix`, and `also`, in one fetch. Returns whether it succeeded.
/// Requested once, so that an unreachable remote is not waited for repeatedly.
pub(crate) fn fetch_trees(repo: &Repository, asking: &PartialClone, prefix: &str, also: Option<Oid>) -> bool {
    if asking.is_offline.get() || asking.asked_for_trees.get() || !asking.is_of_use(repo) {
        return false;
    }
    let refs = repo.list_refs(prefix).unwrap_or_default();
    let roots = refs.iter().filter_map(|(_, tip)| repo.tree_of(*tip).ok());
    let mut missing: Vec<Oid> = roots.chain(also).filter(|id| !repo.has_object(*id)).collect();
    missing.sort_unstable();
    missing.dedup();
    if missing.is_empty() {
        return false;
    }
    asking.asked_for_trees.set(true);
    fetch(repo, &missing).is_ok()
}
