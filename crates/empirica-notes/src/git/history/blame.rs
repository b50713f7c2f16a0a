//! The commits that made a file what it is.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::git::process::{BackgroundGit, local};
use crate::git::repository::Repository;
use crate::git::{Oid, parse_oid};

/// Most commits that are read of a file.
const COMMITS: usize = 100;

/// Git while it looks for the commits.
pub struct PendingCommits(Option<BackgroundGit>);

/// Starts `git blame` of these lines of a file, from 1, in the work tree or in HEAD, or without lines `git log` of the file. HEAD
/// exists. Fetches nothing.
pub fn start(repo: &Repository, path: &str, lines: Option<(u32, u32)>, in_head: bool) -> PendingCommits {
    let mut command = local(&repo.root());
    command.arg("--literal-pathspecs");
    match lines {
        Some((first, last)) => {
            command.args(["blame", "--incremental", "-L", &format!("{first},{last}")]);
            command.args(in_head.then(|| repo.head_revision()));
        }
        None => {
            command.args(["log", "--follow", "--format=%H", "--no-show-signature", "-n", &COMMITS.to_string()]);
            command.arg(repo.head_revision());
        }
    }
    PendingCommits(Some(BackgroundGit::start(command.args(["--", path]))))
}

impl PendingCommits {
    /// Of nothing: no commits.
    pub fn none() -> Self {
        PendingCommits(None)
    }

    /// The commits, at most 100: of a blame those of most lines first, without uncommitted lines; of a log the newest first. Fails with
    /// git's message, as for a file that it does not know.
    pub fn read(self) -> Result<Vec<Oid>> {
        let Some(git) = self.0 else { return Ok(Vec::new()) };
        let mut lines: BTreeMap<Oid, usize> = BTreeMap::new();
        let mut order = Vec::new();
        for line in String::from_utf8_lossy(&git.output()?).lines() {
            // of a blame: commit, line, line, number; other lines begin with a key
            let mut words = line.split(' ');
            let Some(commit) = words.next().and_then(parse_oid).filter(|commit| !commit.is_null()) else { continue };
            let count = words.nth(2).and_then(|count| count.parse().ok()).unwrap_or(1);
            *lines.entry(commit).or_insert_with(|| {
                order.push(commit);
                0
            }) += count;
        }
        // the sort is stable: of a log, each has one
        order.sort_by_key(|commit| std::cmp::Reverse(lines[commit]));
        order.truncate(COMMITS);
        Ok(order)
    }
}
