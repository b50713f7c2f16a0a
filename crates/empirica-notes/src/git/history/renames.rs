//! Where files were renamed to.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::time::Instant;

use crate::error::Result;
use crate::git::process::{local, nul_separated, output, run_until};
use crate::git::remotes::is_partial;
use crate::git::repository::Repository;
use crate::git::{Oid, parse_oid};

/// How often one file is followed, and how many files at most.
const RENAMES: usize = 8;
const FILES: usize = 500;
/// The similarity that makes two files one. What is looked for in the file is compared anyway.
const SIMILAR: &str = "-M30%";

/// The present paths of files that are no longer there, each with a commit since which it may be gone: renamed by later commits of
/// HEAD, perhaps several times, or in git's index; `None` if a file was not renamed. `exists` tells whether a path is there now. After
/// `deadline` the result has what was found by then. It is empty in a partial clone, where objects may be missing; in a shallow
/// one it leaves out the files whose renaming it does not find.
pub fn follow(
    repo: &Repository,
    missing: &BTreeMap<String, Option<Oid>>,
    deadline: Instant,
    mut exists: impl FnMut(&str) -> bool,
) -> Result<BTreeMap<String, Option<String>>> {
    let mut out = BTreeMap::new();
    if missing.is_empty() || is_partial(repo) {
        return Ok(out);
    }
    if repo.head()?.commit.is_none() {
        return Ok(missing.keys().map(|path| (path.clone(), None)).collect());
    }
    let mut command = at_root(repo);
    command.args(["diff-index", "--cached", "-z", SIMILAR, "--diff-filter=R", "--name-status", "HEAD"]);
    let staged = match repo.work_tree() {
        Some(_) => match run(&mut command, Vec::new(), deadline)? {
            Some(stdout) => renames(&stdout),
            None => return Ok(out),
        },
        None => BTreeMap::new(),
    };
    // from the first path to the present one
    let mut open: BTreeMap<String, String> =
        missing.keys().take(FILES).map(|path| (path.clone(), path.clone())).collect();
    for _ in 0..RENAMES {
        let mut next = BTreeMap::new();
        let mut decide = |first: String, now: &String| match exists(now) {
            true => drop(out.insert(first, Some(now.clone()))),
            false => drop(next.insert(first, now.clone())),
        };
        let (by_index, by_commits): (BTreeMap<_, _>, BTreeMap<_, _>) =
            open.into_iter().partition(|(_, now)| staged.contains_key(now));
        by_index.into_iter().for_each(|(first, now)| decide(first, &staged[&now]));
        let Some(committed) = committed(repo, missing, by_commits.values().collect(), deadline)? else {
            return Ok(out);
        };
        let mut lost = Vec::new();
        for (first, now) in by_commits {
            match committed.get(&now) {
                Some(to) => decide(first, to),
                // the commit may be beyond the end of the history
                None if repo.is_shallow() => {}
                None => lost.push(first),
            }
        }
        out.extend(lost.into_iter().map(|first| (first, None)));
        open = next;
        if open.is_empty() {
            break;
        }
    }
    Ok(out)
}

/// The path that a file had before a commit renamed it; `None` if it did not, is a merge, or cannot be read.
pub fn before(repo: &Repository, commit: Oid, path: &str) -> Option<String> {
    let mut diff = at_root(repo);
    diff.args([
        "diff-tree",
        "--no-commit-id",
        "-r",
        "-z",
        "-M",
        "--diff-filter=R",
        "--name-status",
        &commit.to_string(),
    ]);
    let renamed = renames(&output(&mut diff).ok()?);
    renamed.into_iter().find(|(_, new)| new == path).map(|(old, _)| old)
}

/// The renames of these paths by the commits that last deleted them; `None` if that took too long.
fn committed(
    repo: &Repository,
    missing: &BTreeMap<String, Option<Oid>>,
    paths: BTreeSet<&String>,
    deadline: Instant,
) -> Result<Option<BTreeMap<String, String>>> {
    if paths.is_empty() {
        return Ok(Some(BTreeMap::new()));
    }
    let mut log = at_root(repo);
    log.args(["log", "--format=%H", "--diff-filter=D", "--no-renames", "--no-show-signature"])
        .arg(repo.head_revision());
    let Some(since) = common(repo, missing, deadline)? else { return Ok(None) };
    log.args(since.map(|commit| format!("^{commit}"))).arg("--").args(paths);
    let Some(deletions) = run(&mut log, Vec::new(), deadline)? else { return Ok(None) };
    if deletions.is_empty() {
        return Ok(Some(BTreeMap::new()));
    }
    let mut diff = at_root(repo);
    diff.args(["diff-tree", "--stdin", "--no-commit-id", "-r", "-z", SIMILAR, "--diff-filter=R", "--name-status"]);
    Ok(run(&mut diff, deletions, deadline)?.map(|stdout| renames(&stdout)))
}

/// A commit that all of these commits and HEAD have in their history, to look no further; `Some(None)` if there is none, or too many
/// of them; `None` if that took too long.
fn common(
    repo: &Repository,
    missing: &BTreeMap<String, Option<Oid>>,
    deadline: Instant,
) -> Result<Option<Option<Oid>>> {
    let commits: Option<BTreeSet<Oid>> =
        missing.values().map(|commit| commit.filter(|commit| repo.is_commit(*commit))).collect();
    let Some(commits) = commits.filter(|commits| commits.len() <= FILES) else { return Ok(Some(None)) };
    if commits.len() == 1 {
        return Ok(Some(commits.first().copied()));
    }
    let mut command = at_root(repo);
    command.args(["merge-base", "--octopus", &repo.head_revision()]).args(commits.iter().map(Oid::to_string));
    let out = run_until(&mut command, Vec::new(), Some(deadline), false)?;
    // without a common one it fails
    Ok(out.map(|out| parse_oid(String::from_utf8_lossy(&out.stdout).trim())))
}

fn at_root(repo: &Repository) -> Command {
    let mut command = local(&repo.root());
    command.args(["--literal-pathspecs", "-c", "diff.relative=false"]);
    command
}

/// The output of git; `None` at the deadline and if it fails, as in a damaged or shallow history.
fn run(command: &mut Command, input: Vec<u8>, deadline: Instant) -> Result<Option<Vec<u8>>> {
    let out = run_until(command, input, Some(deadline), false)?;
    Ok(out.filter(|out| out.status.success()).map(|out| out.stdout))
}

/// The new paths of `git diff --name-status -z`, by the old ones; of several, the first.
fn renames(stdout: &[u8]) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    let mut items = nul_separated(stdout);
    while let (Some(_), Some(old), Some(new)) = (items.next(), items.next(), items.next()) {
        out.entry(old).or_insert(new);
    }
    out
}
