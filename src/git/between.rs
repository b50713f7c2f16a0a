//! How two commits lie to each other: what only one of them has, and what differs.

use std::collections::BTreeSet;

use super::Oid;
use super::process::{git, output};
use super::repository::Repository;

/// Two commits side by side.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Between {
    /// How many commits only the first one has.
    pub gone: u64,
    /// How many commits only the second one has.
    pub added: u64,
    /// The files that differ, sorted; a rename is two files.
    pub files: BTreeSet<String>,
}

/// Asks git; `None` when it cannot tell, as when one of both is not here.
pub fn between(repo: &Repository, first: Oid, second: Oid) -> Option<Between> {
    if first == second {
        return Some(Between::default());
    }
    if !repo.is_commit(first) || !repo.is_commit(second) {
        return None;
    }
    let mut command = git(repo.cwd());
    command.args(["rev-list", "--left-right", "--count", &format!("{first}...{second}"), "--"]);
    let counts = String::from_utf8(output(&mut command).ok()?).ok()?;
    let mut numbers = counts.split_whitespace().map(|number| number.parse().ok());
    let (gone, added) = (numbers.next()??, numbers.next()??);
    let mut command = git(repo.cwd());
    command.args(["-c", "diff.relative=false", "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff"]);
    command.args([first.to_string(), second.to_string(), "--".to_owned()]);
    let names = output(&mut command).ok()?;
    let files = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let files = files.map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    Some(Between { gone, added, files })
}
