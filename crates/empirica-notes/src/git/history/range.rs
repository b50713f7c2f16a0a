//! Resolves revisions and ranges to commits, by git.

use std::collections::BTreeSet;

use crate::error::{Error, Result};
use crate::git::process::{StreamingGit, git};
use crate::git::repository::Repository;
use crate::git::{Oid, parse_oid};

/// The number of names that an error suggests.
const ALTERNATIVES: usize = 5;

/// The commits that `git rev-list` lists: all reachable from a single revision, or those of a range (`a..b`, `^a b`,
/// `a...b`). Empty for an empty range.
///
/// Fails for an unknown revision, with branches and tags as alternatives.
pub fn commits(repo: &Repository, revisions: &[String]) -> Result<BTreeSet<Oid>> {
    if let Some(bad) = revisions.iter().find(|revision| revision.starts_with('-')) {
        return Err(Error::usage(format!("cannot select commits: '{bad}' is not a revision"))
            .provided(bad)
            .reason("it begins with a dash, as an option does")
            .suggest("Give a branch, a tag, a commit, or a range of two of them."));
    }
    read(repo, revisions).map_err(|error| {
        let names = ["refs/heads/", "refs/tags/"].iter().flat_map(|prefix| {
            let refs = repo.list_refs(prefix).unwrap_or_default().into_iter();
            refs.filter_map(move |(name, _)| name.strip_prefix(prefix).map(str::to_owned))
        });
        names.take(ALTERNATIVES).fold(error.provided(revisions.join(" ")), Error::alternative)
    })
}

fn read(repo: &Repository, revisions: &[String]) -> Result<BTreeSet<Oid>> {
    let mut command = git(repo.cwd());
    command.args(["rev-list", "--end-of-options"]).args(revisions).arg("--");
    let mut running = StreamingGit::start(&mut command)?;
    let ids: BTreeSet<Oid> =
        running.lines().filter_map(|id| id.map(|id| parse_oid(&id)).transpose()).collect::<Result<_>>()?;
    running.finish()?;
    Ok(ids)
}
