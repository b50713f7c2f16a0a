//! Uncommitted changes, by `git status`.

use crate::error::Result;
use crate::git::Oid;
use crate::git::process::{ParsedGit, git, nul_separated, output};
use crate::git::repository::Repository;
use crate::model::assessment::Changes;
use crate::model::snapshot::AheadBehind;

/// The state of the work tree against HEAD.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Status {
    /// The distance to the upstream.
    pub ahead_behind: AheadBehind,
    /// Uncommitted changes, with paths relative to the root of the work tree.
    pub changes: Changes,
}

/// A running `git status`.
pub type PendingStatus = ParsedGit<Status>;

/// Starts `git status` in the background. In a bare repository nothing is uncommitted.
pub fn start(repo: &Repository) -> PendingStatus {
    let command = repo.work_tree().map(|_| {
        let mut command = git(repo.cwd());
        command.args(["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal", "--no-renames"]);
        command
    });
    ParsedGit::start(command, parse)
}

/// A running `git diff --shortstat`.
pub type PendingLineCounts = ParsedGit<(u64, u64)>;

/// Starts counting the lines added to and removed from tracked files against HEAD. None in a bare repository, and on an
/// unborn HEAD.
pub fn start_lines(repo: &Repository) -> PendingLineCounts {
    let is_born = repo.head().is_ok_and(|head| head.commit.is_some());
    let command = repo.work_tree().filter(|_| is_born).map(|_| {
        let mut command = git(repo.cwd());
        command.args(["-c", "diff.relative=false", "diff", "--shortstat", "--no-ext-diff", "--no-renames"]);
        command.args(["HEAD", "--"]);
        command
    });
    ParsedGit::start(command, parse_lines)
}

/// The paths that differ between the work tree and a commit (`None`: the empty tree), including deleted ones but not
/// untracked files, relative to the root of the work tree. In a bare repository HEAD is compared.
pub fn changed_since(repo: &Repository, commit: Option<Oid>) -> Result<Vec<String>> {
    let mut command = git(repo.cwd());
    command.args(["-c", "diff.relative=false", "diff", "--name-only", "-z", "--no-ext-diff", "--no-renames"]);
    command.arg(commit.unwrap_or_else(|| repo.empty_tree()).to_string());
    if repo.work_tree().is_none() {
        let Some(head) = repo.head()?.commit else { return Ok(Vec::new()) };
        command.arg(head.to_string());
    }
    Ok(nul_separated(&output(command.arg("--"))?).collect())
}

/// Parses ` 3 files changed, 10 insertions(+), 2 deletions(-)`; empty text is no change.
fn parse_lines(bytes: &[u8]) -> (u64, u64) {
    let text = String::from_utf8_lossy(bytes);
    let number = |word: &str| {
        let part = text.split(',').find(|part| part.contains(word))?;
        part.split_whitespace().next()?.parse().ok()
    };
    (number("insertion").unwrap_or(0), number("deletion").unwrap_or(0))
}

/// Parses `git status --porcelain=v2 --branch -z --no-renames`; skips unknown lines.
fn parse(bytes: &[u8]) -> Status {
    let mut status = Status::default();
    for entry in nul_separated(bytes) {
        if let Some(distance) = entry.strip_prefix("# branch.ab ") {
            let mut numbers = distance.split(' ').filter_map(|n| n[1..].parse().ok());
            if let (Some(ahead), Some(behind)) = (numbers.next(), numbers.next()) {
                status.ahead_behind = AheadBehind { ahead: Some(ahead), behind: Some(behind) };
            }
        } else if let Some(path) = entry.strip_prefix("? ") {
            status.changes.files_added.push(path.to_owned());
        } else if entry.starts_with("1 ") {
            // 1 XY sub mH mI mW hH hI path
            let mut fields = entry.splitn(9, ' ').skip(1);
            if let (Some(xy), Some(path)) = (fields.next(), fields.nth(6)) {
                let list = match xy {
                    // in the index and not in HEAD, in whatever state in the work tree
                    _ if xy.starts_with('A') || xy == ".A" => &mut status.changes.files_added,
                    _ if xy.contains('D') => &mut status.changes.files_deleted,
                    _ => &mut status.changes.files_modified,
                };
                list.push(path.to_owned());
            }
        } else if entry.starts_with("u ") {
            // u XY sub m1 m2 m3 mW h1 h2 h3 path
            if let Some(path) = entry.splitn(11, ' ').nth(10) {
                status.changes.files_modified.push(path.to_owned());
            }
        }
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn insertions_and_deletions_are_parsed() {
        assert_eq!(parse_lines(b" 3 files changed, 10 insertions(+), 2 deletions(-)\n"), (10, 2));
        assert_eq!(parse_lines(b" 1 file changed, 1 insertion(+)\n"), (1, 0));
        assert_eq!(parse_lines(b" 1 file changed, 7 deletions(-)\n"), (0, 7));
        assert_eq!(parse_lines(b""), (0, 0));
    }

    #[test]
    fn each_kind_of_line_is_read() {
        let text = "# branch.oid abc\0# branch.head main\0# branch.ab +2 -1\0\
            1 .M N... 100644 100644 100644 aa bb a file with spaces\0\
            1 A. N... 000000 100644 100644 00 bb new\0\
            1 AD N... 000000 100644 000000 00 bb brief\0\
            1 .A N... 000000 000000 100644 00 00 meant\0\
            1 .D N... 100644 100644 000000 aa aa gone\0\
            u UU N... 100644 100644 100644 100644 aa bb cc both\0? loose/\0";
        let status = parse(text.as_bytes());
        assert_eq!(status.ahead_behind, AheadBehind { ahead: Some(2), behind: Some(1) });
        assert_eq!(status.changes.files_modified, ["a file with spaces", "both"]);
        assert_eq!(status.changes.files_added, ["new", "brief", "meant", "loose/"]);
        assert_eq!(status.changes.files_deleted, ["gone"]);
    }
}
