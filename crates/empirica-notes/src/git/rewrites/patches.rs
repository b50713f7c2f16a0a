//! The paths and patch-ids of many patches, in one process.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};

use crate::error::Result;
use crate::git::history::{PLAIN, no_commit};
use crate::git::process::{StreamingGit, git, local, pipe, text};
use crate::git::repository::Repository;
use crate::git::{Oid, parse_oid};

/// Options that make patches independent of user settings. The commands are plumbing, which ignores most settings.
const PLAIN_DIFF: [&str; 6] =
    ["--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--no-relative", "--ignore-submodules=none"];

/// A hash of the paths of a patch, equal for equal patches; `None` for an empty patch.
pub type Paths = Option<u64>;

/// The data of a commit that rewritten forms are recognized by.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Summary {
    pub id: Oid,
    pub tree: Oid,
    /// The author's name, address and date, as stored.
    pub author: Vec<u8>,
    /// The paths it touches; `None` for merges, and if not requested.
    pub paths: Paths,
}

/// A selection of commits.
pub enum CommitSelection<'w> {
    /// The commits of HEAD's history that not all of these contain.
    SinceAllOf(&'w BTreeSet<Oid>),
    /// These.
    These(&'w BTreeSet<Oid>),
}

/// Calls `see` for each commit, newest first, with its paths if requested. Streamed.
pub fn list(
    repo: &Repository,
    selection: &CommitSelection<'_>,
    with_paths: bool,
    see: &mut dyn FnMut(Summary),
) -> Result<()> {
    let mut command = local(repo.cwd());
    command.args(PLAIN).args(["log", "-z", "--no-notes", "--date=raw", "--encoding=UTF-8"]);
    command.args(PLAIN_DIFF).arg("--format=tformat:%H%x00%T%x00%an%x00%ae%x00%ad");
    if with_paths {
        command.args(["--raw", "--no-abbrev"]);
    } else {
        command.arg("--no-patch");
    }
    let mut input = String::new();
    match selection {
        CommitSelection::SinceAllOf(commits) => {
            input.push_str(&format!("{}\n", repo.head_revision()));
            let base = if commits.is_empty() { None } else { common_base(repo, commits) };
            base.into_iter().for_each(|base| input.push_str(&format!("^{base}\n")));
        }
        CommitSelection::These(commits) => {
            command.arg("--no-walk=unsorted");
            commits.iter().for_each(|id| input.push_str(&format!("{id}\n")));
        }
    }
    let mut git = StreamingGit::feed(command.arg("--stdin"), input.into_bytes())?;
    let mut next = git.field()?;
    while let Some(first) = next {
        let mut header = vec![first];
        while header.len() < 5 {
            header.push(git.field()?.ok_or_else(no_commit)?);
        }
        let hex = |field: &[u8]| parse_oid(std::str::from_utf8(field).ok()?);
        let (id, tree) = hex(&header[0]).zip(hex(&header[1])).ok_or_else(no_commit)?;
        let mut paths = None;
        next = loop {
            match git.field()? {
                Some(field) if field.starts_with(b":") => add(&mut paths, &git.field()?.unwrap_or_default()),
                other => break other,
            }
        };
        see(Summary { id, tree, author: header[2..].join(&0), paths });
    }
    git.finish()
}

/// The merge base of HEAD and all of these.
fn common_base(repo: &Repository, commits: &BTreeSet<Oid>) -> Option<Oid> {
    let mut command = git(repo.cwd());
    command.args(["merge-base", "--octopus", &repo.head_revision()]).args(commits.iter().map(Oid::to_string));
    parse_oid(&text(&mut command).ok()?)
}

/// A patch: a commit against its parent or the given commit.
pub type Patch = (Oid, Option<Oid>);

fn as_input(patches: impl IntoIterator<Item = Patch>) -> Vec<u8> {
    let line = |(id, base): Patch| base.map_or(format!("{id}\n"), |base| format!("{id} {base}\n"));
    patches.into_iter().map(line).collect::<String>().into_bytes()
}

/// The paths of patches, by their first commits, which must differ. Without empty patches.
pub fn paths(repo: &Repository, patches: &BTreeMap<Oid, Oid>) -> Result<BTreeMap<Oid, Paths>> {
    let mut out = BTreeMap::new();
    let mut command = local(repo.cwd());
    command.args(["diff-tree", "--stdin", "-r", "-z", "--raw", "--root"]).args(PLAIN_DIFF);
    let input = as_input(patches.iter().map(|(tip, base)| (*tip, Some(*base))));
    let mut git = StreamingGit::feed(&mut command, input)?;
    let mut of = None;
    while let Some(field) = git.field()? {
        if field.starts_with(b":") {
            let path = git.field()?.unwrap_or_default();
            of.into_iter().for_each(|id| add(out.entry(id).or_default(), &path));
        } else {
            of = std::str::from_utf8(&field).ok().and_then(|text| parse_oid(text.trim()));
        }
    }
    git.finish()?;
    Ok(out)
}

/// The patch-ids of patches, by their first commits, which must differ. Without merges and patches that change no
/// content.
pub fn ids(repo: &Repository, patches: impl IntoIterator<Item = Patch>) -> Result<BTreeMap<Oid, String>> {
    let input = as_input(patches);
    if input.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut diff = local(repo.cwd());
    // the variable would change the context lines
    diff.env_remove("GIT_DIFF_OPTS").args(["-c", "diff.suppressBlankEmpty=false"]);
    diff.args(["diff-tree", "--stdin", "-r", "-p", "--root", "--full-index", "-U3"]).args(PLAIN_DIFF);
    diff.args(["--src-prefix=a/", "--dst-prefix=b/", "--diff-algorithm=myers"]);
    let out = pipe(&mut diff, input, git(repo.cwd()).args(["patch-id", "--stable"]))?;
    let text = String::from_utf8_lossy(&out);
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    Ok(lines.filter_map(|(patch, id)| Some((parse_oid(id)?, patch.to_owned()))).collect())
}

/// Adds a path; independent of the order.
fn add(paths: &mut Paths, path: &[u8]) {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    *paths = Some(paths.unwrap_or(0).wrapping_add(hasher.finish()));
}
