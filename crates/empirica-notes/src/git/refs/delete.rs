//! Refs and reflogs removed, by the user's git: whatever kind of store they are in.

use crate::error::Result;
use crate::git::Oid;
use crate::git::process::{Running, git, output};
use crate::git::repository::Repository;

/// Deletes refs, each if it still has this value, all or none. None are deleted when there are none.
pub fn delete(repo: &Repository, refs: &[(String, Oid)]) -> Result<()> {
    if refs.is_empty() {
        return Ok(());
    }
    let mut command = git(repo.cwd());
    command.args(["update-ref", "--stdin", "-z", "--no-deref"]);
    let text: String = refs.iter().map(|(name, id)| format!("delete {name}\0{id}\0")).collect();
    let outcome = Running::feed(&mut command, text.into_bytes())?.finish();
    repo.refresh();
    outcome
}

/// Empties the reflogs of refs. A ref without one is passed over.
pub fn expire_reflogs(repo: &Repository, names: &[String]) -> Result<()> {
    expire(repo, names, &["--expire=all", "--expire-unreachable=all"])
}

/// Takes out of the reflogs of refs what leads to objects that are damaged or not here. A ref without a reflog is passed over.
pub fn expire_damaged(repo: &Repository, names: &[String]) -> Result<()> {
    expire(repo, names, &["--expire=never", "--expire-unreachable=never", "--stale-fix", "--rewrite"])
}

fn expire(repo: &Repository, names: &[String], how: &[&str]) -> Result<()> {
    let mut with_log = Vec::new();
    for name in names {
        let exists = git(repo.cwd()).args(["reflog", "exists", name]).output();
        if exists.map_err(crate::git::process::not_started)?.status.success() {
            with_log.push(name.as_str());
        }
    }
    if with_log.is_empty() {
        return Ok(());
    }
    let mut command = git(repo.cwd());
    command.args(["reflog", "expire"]).args(how).args(with_log);
    output(&mut command).map(|_| ())
}
