//! Deletes refs and expires reflogs by the user's git, for any ref storage.

use crate::error::Result;
use crate::git::Oid;
use crate::git::process::{git, not_started, output, output_with_input};
use crate::git::repository::Repository;

/// Deletes refs in one transaction, if all still have these values; no-op if empty.
pub fn delete(repo: &Repository, refs: &[(String, Oid)]) -> Result<()> {
    if refs.is_empty() {
        return Ok(());
    }
    let mut command = git(repo.cwd());
    command.args(["update-ref", "--stdin", "-z", "--no-deref"]);
    let text: String = refs.iter().map(|(name, id)| format!("delete {name}\0{id}\0")).collect();
    let outcome = output_with_input(&mut command, text.into_bytes());
    repo.refresh();
    outcome.map(|_| ())
}

/// Empties the reflogs of refs; skips refs without one.
pub fn expire_reflogs(repo: &Repository, names: &[String]) -> Result<()> {
    expire(repo, names, &["--expire=all", "--expire-unreachable=all"])
}

/// Removes reflog entries that reach damaged or missing objects; skips refs without a reflog.
pub fn expire_damaged(repo: &Repository, names: &[String]) -> Result<()> {
    expire(repo, names, &["--expire=never", "--expire-unreachable=never", "--stale-fix", "--rewrite"])
}

fn expire(repo: &Repository, names: &[String], options: &[&str]) -> Result<()> {
    let mut with_log = Vec::new();
    for name in names {
        let exists = if repo.capabilities.reftable {
            git(repo.cwd()).args(["reflog", "exists", name]).output().map_err(not_started)?.status.success()
        } else {
            repo.gix().refs.reflog_exists(name.as_str()).unwrap_or(false)
        };
        if exists {
            with_log.push(name.as_str());
        }
    }
    if with_log.is_empty() {
        return Ok(());
    }
    let mut command = git(repo.cwd());
    command.args(["reflog", "expire"]).args(options).args(with_log);
    output(&mut command).map(|_| ())
}
