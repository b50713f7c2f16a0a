//! The commits that made a file what it is.

use std::collections::BTreeMap;
use std::process::Command;

use crate::error::Result;
use crate::git::history::renames;
use crate::git::process::{BackgroundGit, local, output};
use crate::git::repository::Repository;
use crate::git::{Oid, parse_oid};

/// Most commits that made lines, most that changed a file, and most renames. Git may walk far to the next that changed a file.
const COMMITS: usize = 100;
const CHANGES: usize = 30;
const RENAMES: usize = 8;

/// Git while it looks for the commits.
pub struct PendingCommits<'r>(Option<Pending<'r>>);

struct Pending<'r> {
    repo: &'r Repository,
    git: BackgroundGit,
    /// The file whose log it is; `None` for a blame.
    file: Option<String>,
}

/// Starts `git blame` of these lines of a file, from 1, in the work tree or in HEAD, or without lines `git log` of the file. HEAD
/// exists. Fetches nothing.
pub fn start<'r>(repo: &'r Repository, path: &str, lines: Option<(u32, u32)>, in_head: bool) -> PendingCommits<'r> {
    let mut command = match lines {
        Some((first, last)) => {
            let mut command = literal(repo);
            command.args(["blame", "--incremental", "-L", &format!("{first},{last}")]);
            command.args(in_head.then(|| repo.head_revision())).args(["--", path]);
            command
        }
        None => log(repo, &repo.head_revision(), path, CHANGES),
    };
    let file = lines.is_none().then(|| path.to_owned());
    PendingCommits(Some(Pending { repo, git: BackgroundGit::start(&mut command), file }))
}

fn literal(repo: &Repository) -> Command {
    let mut command = local(&repo.root());
    command.arg("--literal-pathspecs");
    command
}

/// Not with `--follow`: that ignores the filters of a commit-graph which know the paths that commits changed.
fn log(repo: &Repository, from: &str, path: &str, most: usize) -> Command {
    let mut command = literal(repo);
    command.args(["log", "--format=%H", "--no-show-signature", "-n", &most.to_string(), from, "--", path]);
    command
}

impl PendingCommits<'_> {
    /// Of nothing: no commits.
    pub fn none() -> Self {
        PendingCommits(None)
    }

    /// The commits: of a blame those of most lines first, at most 100, without uncommitted lines; of a log the newest first, at most 30, also
    /// those of the names that the file had before. Fails with git's message, as for a file that it does not know.
    pub fn read(self) -> Result<Vec<Oid>> {
        let Some(Pending { repo, git, file }) = self.0 else { return Ok(Vec::new()) };
        let mut order = commits(&git.output()?);
        let mut now = file;
        for _ in 0..RENAMES {
            let (Some(path), Some(first)) = (now, order.last().filter(|_| order.len() < CHANGES)) else { break };
            now = renames::before(repo, *first, &path);
            if let Some(path) = &now {
                let mut earlier = log(repo, &format!("{first}^@"), path, CHANGES - order.len());
                order.extend(output(&mut earlier).map(|out| commits(&out)).unwrap_or_default());
            }
        }
        Ok(order)
    }
}

fn commits(out: &[u8]) -> Vec<Oid> {
    let mut lines: BTreeMap<Oid, usize> = BTreeMap::new();
    let mut order = Vec::new();
    for line in String::from_utf8_lossy(out).lines() {
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
    order
}
