//! How two commits lie to each other: what only one of them has, and what differs.

use std::collections::BTreeSet;

use crate::git::Oid;
use crate::git::process::{git, output};
use crate::git::repository::Repository;

/// Two commits side by side.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Between {
    /// How many commits only the first one has; `None` when history was cut off and hides it.
    pub gone: Option<u64>,
    /// How many commits only the second one has; `None` as above.
    pub added: Option<u64>,
    /// The files that differ and that the commits of the second one changed, sorted; a rename is two files.
    pub files: BTreeSet<String>,
}

/// Asks git; `None` when it cannot tell, as when one of both is not here. Before the first commit there is none: nothing
/// is reached from it, and it has no files.
pub fn between(repo: &Repository, first: Option<Oid>, second: Option<Oid>) -> Option<Between> {
    let (first, second) = match (first, second) {
        (None, None) => return Some(Between { gone: Some(0), added: Some(0), files: BTreeSet::new() }),
        (None, Some(second)) => {
            let (added, files) = whole(repo, second)?;
            return Some(Between { gone: Some(0), added, files });
        }
        (Some(first), None) => {
            let (gone, _) = whole(repo, first)?;
            return Some(Between { gone, added: Some(0), files: BTreeSet::new() });
        }
        (Some(first), Some(second)) => (first, second),
    };
    if first == second {
        return between(repo, None, None);
    }
    if !repo.is_commit(first) || !repo.is_commit(second) {
        return None;
    }
    let mut command = git(repo.cwd());
    command.args(["rev-list", "--left-right", "--count", &format!("{first}...{second}"), "--"]);
    let counts = String::from_utf8(output(&mut command).ok()?).ok()?;
    let mut numbers = counts.split_whitespace().map(|number| number.parse().ok());
    let (gone, added): (u64, u64) = (numbers.next()??, numbers.next()??);
    // where history is cut off, what lies beyond it may well belong to both
    let known = gone == 0 || !repo.is_shallow();
    let mut files =
        if added == 0 { BTreeSet::new() } else { differing(repo, &[first, second].map(|id| id.to_string()))? };
    // without a common ancestor everything may be of the second one
    if gone > 0
        && let Some(own) = differing(repo, &[format!("{first}...{second}")])
    {
        files.retain(|file| own.contains(file));
    }
    Some(Between { gone: known.then_some(gone), added: known.then_some(added), files })
}

fn differing(repo: &Repository, sides: &[String]) -> Option<BTreeSet<String>> {
    let mut command = git(repo.cwd());
    command.args(["-c", "diff.relative=false", "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff"]);
    output(command.args(sides).arg("--")).ok().map(|names| paths(&names))
}

/// How many commits can be reached from one, and the files it has.
fn whole(repo: &Repository, commit: Oid) -> Option<(Option<u64>, BTreeSet<String>)> {
    if !repo.is_commit(commit) {
        return None;
    }
    let mut command = git(repo.cwd());
    command.args(["rev-list", "--count", &commit.to_string(), "--"]);
    let count = String::from_utf8(output(&mut command).ok()?).ok()?.trim().parse().ok();
    let mut command = git(repo.cwd());
    command.args(["ls-tree", "-r", "-z", "--name-only", "--full-tree", &commit.to_string()]);
    Some((count.filter(|_| !repo.is_shallow()), paths(&output(&mut command).ok()?)))
}

fn paths(names: &[u8]) -> BTreeSet<String> {
    let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}
