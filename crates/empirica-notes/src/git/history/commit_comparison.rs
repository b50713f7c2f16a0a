//! Compares two commits: commits that only one contains, and files that differ.

use std::collections::BTreeSet;

use crate::git::Oid;
use crate::git::process::{git, nul_separated, output, text};
use crate::git::repository::Repository;

/// The comparison of two commits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommitComparison {
    /// The number of commits that only the first contains; `None` if a shallow history hides it.
    pub gone: Option<u64>,
    /// The number of commits that only the second contains; likewise.
    pub added: Option<u64>,
    /// The files that differ and were changed by the second's commits, sorted; a rename is two files.
    pub files: BTreeSet<String>,
}

/// Compares two commits; `None` if git cannot, as when one is missing. A `None` commit stands for an unborn HEAD: no
/// commits and no files.
pub fn compare_commits(repo: &Repository, first: Option<Oid>, second: Option<Oid>) -> Option<CommitComparison> {
    let same = CommitComparison { gone: Some(0), added: Some(0), files: BTreeSet::new() };
    if first == second {
        return Some(same);
    }
    if ![first, second].into_iter().flatten().all(|commit| repo.is_commit(commit)) {
        return None;
    }
    let (first, second) = match (first, second) {
        (Some(first), Some(second)) => (first, second),
        (Some(first), None) => return Some(CommitComparison { gone: whole(repo, first)?.0, ..same }),
        (None, second) => {
            let (added, files) = whole(repo, second?)?;
            return Some(CommitComparison { added, files, ..same });
        }
    };
    let mut command = git(repo.cwd());
    command.args(["rev-list", "--left-right", "--count", &format!("{first}...{second}"), "--"]);
    let counts = text(&mut command).ok()?;
    let mut numbers = counts.split_whitespace().map(|number| number.parse().ok());
    let (gone, added): (u64, u64) = (numbers.next()??, numbers.next()??);
    // in a shallow clone, the missing history may be common to both
    let is_certain = gone == 0 || !repo.is_shallow();
    let mut files =
        if added == 0 { BTreeSet::new() } else { differing(repo, &[first, second].map(|id| id.to_string()))? };
    // without a common ancestor all files may be the second's
    if gone > 0
        && let Some(own) = differing(repo, &[format!("{first}...{second}")])
    {
        files.retain(|file| own.contains(file));
    }
    Some(CommitComparison { gone: is_certain.then_some(gone), added: is_certain.then_some(added), files })
}

fn differing(repo: &Repository, sides: &[String]) -> Option<BTreeSet<String>> {
    let mut command = git(repo.cwd());
    command.args(["-c", "diff.relative=false", "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff"]);
    output(command.args(sides).arg("--")).ok().map(|names| nul_separated(&names).collect())
}

/// The number of commits reachable from one, and its files.
fn whole(repo: &Repository, commit: Oid) -> Option<(Option<u64>, BTreeSet<String>)> {
    let count = text(git(repo.cwd()).args(["rev-list", "--count", &commit.to_string(), "--"])).ok()?.parse().ok();
    let mut command = git(repo.cwd());
    command.args(["ls-tree", "-r", "-z", "--name-only", "--full-tree", &commit.to_string()]);
    Some((count.filter(|_| !repo.is_shallow()), nul_separated(&output(&mut command).ok()?).collect()))
}
