//! Resolves revisions and ranges to commits, by git.

use std::collections::BTreeSet;

use crate::error::{Error, Result};
use crate::git::process::{StreamingGit, git, text};
use crate::git::remotes;
use crate::git::repository::Repository;
use crate::git::{Oid, parse_oid};

/// The number of names that an error suggests.
const ALTERNATIVES: usize = 5;

/// The commits that `git rev-list` lists: all reachable from a single revision, or those of a range (`a..b`, `^a b`,
/// `a...b`). Empty for an empty range.
///
/// Fails for an unknown revision, with branches and tags as alternatives.
pub fn commits(repo: &Repository, revisions: &[String]) -> Result<BTreeSet<Oid>> {
    if let Some(bad) = revisions.iter().find(|revision| revision.starts_with('-')) {
        return Err(Error::usage(format!("cannot select commits: '{bad}' is not a revision"))
            .provided(bad)
            .reason("it begins with a dash, as an option does")
            .suggest("Give a branch, a tag, a commit, or a range of two of them."));
    }
    read(repo, revisions).map_err(|error| {
        let names = ["refs/heads/", "refs/tags/"].iter().flat_map(|prefix| {
            let refs = repo.list_refs(prefix).unwrap_or_default().into_iter();
            refs.filter_map(move |(name, _)| name.strip_prefix(prefix).map(str::to_owned))
        });
        names.take(ALTERNATIVES).fold(error.provided(revisions.join(" ")), Error::alternative)
    })
}

fn read(repo: &Repository, revisions: &[String]) -> Result<BTreeSet<Oid>> {
    let mut command = git(repo.cwd());
    command.args(["rev-list", "--end-of-options"]).args(revisions).arg("--");
    let mut running = StreamingGit::start(&mut command)?;
    let ids: BTreeSet<Oid> =
        running.lines().filter_map(|id| id.map(|id| parse_oid(&id)).transpose()).collect::<Result<_>>()?;
    running.finish()?;
    Ok(ids)
}

/// The commits that a pull request adds: those of its tip without those of its base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitRange {
    /// The range, as given or as `BASE..HEAD`.
    pub name: String,
    /// The commit that it is to be merged into.
    pub base: Oid,
    /// The newest commit of its history that the base has, too; `None` if there is none, or the end of a shallow history hides it.
    pub fork: Option<Oid>,
    /// Its last commit.
    pub tip: Oid,
}

impl CommitRange {
    /// Resolves `BASE..TIP` (also with three dots), or `BASE` for `BASE..HEAD`; an empty side is HEAD. Without a text, HEAD's range: the
    /// base is the branch that the current one tracks under another name, else the default branch of the remote, else `main` or
    /// `master`.
    ///
    /// Fails if a side is not a commit, and without a base.
    pub fn resolve(repo: &Repository, given: Option<&str>) -> Result<Self> {
        let (base, tip) = match given {
            None => (default_base(repo)?, "HEAD".to_owned()),
            Some(text) => {
                let (base, tip) = text.split_once("..").map_or((text, ""), |(base, tip)| (base, tip));
                let side = |name: &str| if name.is_empty() { "HEAD".to_owned() } else { name.to_owned() };
                (side(base), side(tip.strip_prefix('.').unwrap_or(tip)))
            }
        };
        let name = given.filter(|text| text.contains("..")).map_or_else(|| format!("{base}..{tip}"), str::to_owned);
        let find = |side: &str| {
            let named = (!side.starts_with('-')).then(|| repo.resolve_commit(side)).flatten();
            named.ok_or_else(|| {
                Error::usage(format!("cannot find the commits of {name}: '{side}' is not a commit"))
                    .provided(side)
                    .reason("git knows no such revision here")
                    .suggest("Give BASE..HEAD, with a branch, a tag or a commit on each side.")
                    .command("git branch --all")
            })
        };
        let (base, tip) = (find(&base)?, find(&tip)?);
        let bases = text(git(repo.cwd()).args(["merge-base", &base.to_string(), &tip.to_string()]));
        let fork = bases.ok().and_then(|found| parse_oid(found.lines().next()?));
        Ok(CommitRange { name, base, fork, tip })
    }

    /// As `git log` selects its commits.
    pub fn selection(&self) -> [String; 2] {
        [self.tip.to_string(), format!("^{}", self.base)]
    }
}

/// The branch that a pull request of the current branch would be merged into.
fn default_base(repo: &Repository) -> Result<String> {
    let branch = repo.head()?.branch;
    let configured = |key: &str| branch.as_ref().and_then(|branch| repo.config(&format!("branch.{branch}.{key}")));
    let merged = configured("merge").and_then(|name| name.strip_prefix("refs/heads/").map(str::to_owned));
    let upstream = || text(git(repo.cwd()).args(["rev-parse", "--symbolic-full-name", "@{upstream}"])).ok();
    let tracked = merged.filter(|merged| Some(merged) != branch.as_ref()).and_then(|_| upstream());
    let of_remote = remotes::default(repo)
        .into_iter()
        .flat_map(|remote| ["HEAD", "main", "master"].map(|name| format!("refs/remotes/{remote}/{name}")));
    let local = ["main", "master"].into_iter().filter(|name| branch.as_deref() != Some(*name));
    let mut names = tracked.into_iter().chain(of_remote).chain(local.map(|name| format!("refs/heads/{name}")));
    let found = names.find(|name| repo.resolve_commit(name).is_some()).ok_or_else(|| {
        Error::usage("cannot find the base of the pull request: no remote has a default branch here")
            .suggest("Name the branch that it is to be merged into, as in main..HEAD.")
            .command("git branch --all")
    })?;
    Ok(found.trim_start_matches("refs/remotes/").trim_start_matches("refs/heads/").to_owned())
}
