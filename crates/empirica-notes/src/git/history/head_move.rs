//! The last move of HEAD by its reflog, and the paths that commits touched.

use std::collections::BTreeSet;

use gix::bstr::ByteSlice;

use crate::error::Result;
use crate::git::Oid;
use crate::git::process::{git, nul_separated, output};
use crate::git::repository::Repository;

/// The last move of HEAD in this worktree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeadMove {
    /// Its reflog message (`commit: …`, `revert: …`); `None` without a reflog.
    pub subject: Option<String>,
    /// The first parent of HEAD; `None` for a root and on an unborn HEAD.
    pub parent: Option<Oid>,
    /// Whether a rebase, cherry-pick, revert, merge or am is in progress.
    pub in_sequence: bool,
}

/// Files in the git directory while a sequence is in progress.
const SEQUENCES: [&str; 6] =
    ["rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "REVERT_HEAD", "MERGE_HEAD", "sequencer"];

impl HeadMove {
    /// Reads the last move from the reflog.
    pub fn last(repo: &Repository) -> Self {
        let git_dir = repo.git_dir();
        let in_sequence = SEQUENCES.iter().any(|name| git_dir.join(name).exists());
        let Ok(head) = repo.head() else { return HeadMove { in_sequence, ..Default::default() } };
        let newest = repo.last_move().filter(|line| head.commit == Some(line.new));
        let subject = newest.map(|line| line.message.to_str_lossy().into_owned());
        let parent = head.commit.and_then(|commit| repo.first_parent(commit));
        HeadMove { subject, parent, in_sequence }
    }

    /// Whether the last move was an amend.
    pub fn is_amend(&self) -> bool {
        self.subject.as_ref().is_some_and(|subject| subject.contains("(amend): "))
    }

    /// Whether the last move was a commit by the user, not a pick, revert, merge or patch. Without a reflog, only a
    /// sequence in progress excludes it. `action` is `GIT_REFLOG_ACTION`, by which a user's tool names its commits.
    pub fn is_own_commit(&self, action: Option<&str>) -> bool {
        const OWN: [&str; 3] = ["commit: ", "commit (initial): ", "commit (amend): "];
        const SEQUENCERS: [&str; 6] = ["rebase", "pull", "cherry-pick", "revert", "merge", "am"];
        let action = action.filter(|action| !SEQUENCERS.contains(&action.split(' ').next().unwrap_or_default()));
        let is_own = |subject: &String| {
            let is_named =
                action.and_then(|action| subject.strip_prefix(action)).is_some_and(|rest| rest.starts_with(": "));
            is_named || OWN.iter().any(|own| subject.starts_with(own))
        };
        !self.in_sequence && self.subject.as_ref().is_none_or(is_own)
    }
}

/// The paths in which two commits differ, relative to the root of the work tree.
pub fn changed_paths(repo: &Repository, from: Oid, to: Oid) -> Result<BTreeSet<String>> {
    let mut command = git(repo.cwd());
    command.args(["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff", "--no-relative"]);
    let out = output(command.args([from.to_string(), to.to_string()]))?;
    Ok(nul_separated(&out).collect())
}
