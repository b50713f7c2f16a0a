//! Commits in git's own order and selection, streamed from `git log`.

pub mod blame;
pub mod commit;
pub mod commit_comparison;
pub mod dates;
pub mod head_move;
pub mod messages;
pub mod range;
pub mod reach;
pub mod renames;
pub mod trailer;
pub mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use crate::error::{Error, Result};
use crate::git::history::commit::{Commit, CommitInfo, Listed};
use crate::git::history::walk::Walk;
use crate::git::process::{StreamingGit, git, nul_separated, output, text};
use crate::git::repository::Repository;
use crate::git::{Oid, parse_oid};
use crate::model::assessment::CommitLine;

/// Arguments of `git log` that select commits: [options](selecting), revisions and ranges, `--` and paths; empty for
/// all of HEAD.
pub type Selection = Vec<String>;

/// Options of `git log` that select or order commits: without a value, with `=` and one, with one in either form.
const ALONE: [&str; 42] = [
    "--all",
    "--all-match",
    "--ancestry-path",
    "--author-date-order",
    "--basic-regexp",
    "--branches",
    "--cherry-pick",
    "--date-order",
    "--dense",
    "--do-walk",
    "--exclude-first-parent-only",
    "--extended-regexp",
    "--first-parent",
    "--fixed-strings",
    "--follow",
    "--full-history",
    "--ignore-missing",
    "--invert-grep",
    "--left-only",
    "--merge",
    "--merges",
    "--no-max-parents",
    "--no-merges",
    "--no-min-parents",
    "--no-walk",
    "--not",
    "--perl-regexp",
    "--reflog",
    "--regexp-ignore-case",
    "--remotes",
    "--remove-empty",
    "--reverse",
    "--right-only",
    "--show-pulls",
    "--simplify-by-decoration",
    "--simplify-merges",
    "--sparse",
    "--tags",
    "--topo-order",
    "-E",
    "-F",
    "-i",
];
const JOINED: [&str; 8] = [
    "--ancestry-path",
    "--branches",
    "--exclude-hidden",
    "--max-parents",
    "--min-parents",
    "--no-walk",
    "--remotes",
    "--tags",
];
const VALUED: [&str; 12] = [
    "--after",
    "--author",
    "--before",
    "--committer",
    "--exclude",
    "--glob",
    "--grep",
    "--max-age",
    "--min-age",
    "--since",
    "--since-as-filter",
    "--until",
];

/// The number of arguments that an option which selects commits takes, including itself; `None` for other options.
pub fn selecting(option: &str) -> Option<usize> {
    let (name, has_value) = option.split_once('=').map_or((option, false), |(name, _)| (name, true));
    let is_content = ["-S", "-G"].contains(&option.get(..2)?);
    match has_value {
        _ if is_content => Some(if option.len() == 2 { 2 } else { 1 }),
        false if ALONE.contains(&name) => Some(1),
        false => VALUED.contains(&name).then_some(2),
        true => (JOINED.contains(&name) || VALUED.contains(&name)).then_some(1),
    }
}

/// Options that make git's output independent of user settings.
pub(crate) const PLAIN: [&str; 8] = [
    "-c",
    "log.showSignature=false",
    "-c",
    "i18n.logOutputEncoding=UTF-8",
    "-c",
    "diff.relative=false",
    "-c",
    "log.showRoot=true",
];
const FORMAT: &str = "--format=tformat:%H%x00%h%x00%p%x00%aN%x00%aE%x00%aI%x00%ad%x00%s%x00%B%x00";
const FIELDS: usize = 9;

/// Commits in git's order, with abbreviated ids if requested. The plain history is walked in process, any other listed by
/// `git log`.
pub fn select<'r>(
    repo: &'r Repository,
    selection: &[String],
    abbreviate: bool,
) -> Result<Box<dyn Iterator<Item = Result<Listed>> + 'r>> {
    match Walk::plain(repo, selection, abbreviate) {
        Some(walk) => Ok(Box::new(walk)),
        None => Ok(Box::new(History::start(repo, selection)?)),
    }
}

/// A running `git log`.
struct History {
    git: Option<StreamingGit>,
}

impl History {
    /// Starts a listing. Errors in a revision appear with the first commit.
    fn start(repo: &Repository, selection: &[String]) -> Result<Self> {
        let mut command = git(repo.cwd());
        command.args(PLAIN).args(["log", "--no-color", "--no-notes", "--no-patch", FORMAT]);
        let options = selection.iter().position(|word| word == "--").unwrap_or(selection.len());
        for word in &selection[..options] {
            // the commits of notes are not part of the history
            command.args((word == "--all").then_some("--exclude=refs/notes/*")).arg(word);
        }
        command.args(&selection[options..]);
        Ok(History { git: Some(StreamingGit::start(&mut command)?) })
    }

    fn read(&mut self) -> Result<Option<Listed>> {
        let Some(git) = &mut self.git else { return Ok(None) };
        let mut fields = Vec::with_capacity(FIELDS);
        while fields.len() < FIELDS {
            match git.field()? {
                Some(field) => fields.push(String::from_utf8_lossy(&field).into_owned()),
                None => return self.git.take().map_or(Ok(()), StreamingGit::finish).map(|()| None),
            }
        }
        let mut fields = fields.into_iter();
        let mut next = || fields.next().unwrap_or_default();
        let id = parse_oid(&next()).ok_or_else(no_commit)?;
        let commit = Commit {
            id,
            short: next(),
            parents: next().split_whitespace().map(str::to_owned).collect(),
            author: next(),
            email: next(),
            date: next(),
            shown_date: next(),
            subject: next(),
            message: next(),
        };
        Ok(Some(Listed { id, info: CommitInfo::Parsed(commit) }))
    }
}

impl Iterator for History {
    type Item = Result<Listed>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.read().transpose();
        if matches!(next, Some(Err(_))) {
            self.git = None;
        }
        next
    }
}

/// The commits from `since` (exclusive; `None`: the root) to HEAD.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CommitsSince {
    /// The commits, newest first.
    pub commits: Vec<CommitLine>,
    /// Their commit dates, strict ISO 8601.
    pub dates: Vec<String>,
    /// The touched paths that were not deleted, sorted.
    pub files: Vec<String>,
}

/// The commits and files since a commit, at most `limit` commits. Empty if that commit is missing, as after an amend
/// and a gc.
pub fn commits_since(repo: &Repository, since: Option<Oid>, limit: usize) -> Result<CommitsSince> {
    let head = repo.head()?;
    let Some(tip) = head.commit else { return Ok(CommitsSince::default()) };
    if since == Some(tip) || since.is_some_and(|id| !repo.has_object(id)) {
        return Ok(CommitsSince::default());
    }
    let limit = format!("--max-count={limit}");
    let options = ["--name-status", "-m", "--format=tformat:%x01%H%x02%cI%x02%s", &limit];
    Ok(parse_since(&output(&mut first_parents(repo, tip, since, &options))?))
}

/// A `git log` of the first-parent commits from `since`, exclusive, to `tip`.
fn first_parents(repo: &Repository, tip: Oid, since: Option<Oid>, options: &[&str]) -> Command {
    let mut command = git(repo.cwd());
    command.args(PLAIN).args(["log", "-z", "--no-color", "--no-notes", "--no-renames", "--first-parent"]);
    command.args(options).arg("--end-of-options").arg(tip.to_string());
    command.args(since.map(|id| format!("^{id}"))).arg("--");
    command
}

fn parse_since(bytes: &[u8]) -> CommitsSince {
    let mut out = CommitsSince::default();
    let mut files = BTreeMap::new();
    let text = String::from_utf8_lossy(bytes);
    let mut fields = text.split('\0').map(|field| field.trim_start_matches('\n'));
    while let Some(field) = fields.next() {
        let head = field.strip_prefix('\u{1}').and_then(|field| field.split_once('\u{2}'));
        if let Some((commit, (date, subject))) = head.and_then(|(id, rest)| Some((id, rest.split_once('\u{2}')?))) {
            out.dates.push(date.to_owned());
            out.commits.push(CommitLine { commit: commit.to_owned(), subject: subject.to_owned() });
        } else if field.len() == 1
            && let Some(path) = fields.next()
        {
            // newest first: the first entry of a path is its last change
            files.entry(path.to_owned()).or_insert(field != "D");
        }
    }
    out.files = files.into_iter().filter(|(_, present)| *present).map(|(path, _)| path).collect();
    out
}

/// The files changed by first-parent commits since a commit, without merges, sorted.
pub fn own_files(repo: &Repository, since: Option<Oid>) -> Result<Vec<String>> {
    let Some(tip) = repo.head()?.commit else { return Ok(Vec::new()) };
    let bytes = output(&mut first_parents(repo, tip, since, &["--name-only", "--no-merges", "--format="]))?;
    let paths: BTreeSet<String> = nul_separated(&bytes).map(|path| path.trim_start_matches('\n').to_owned()).collect();
    Ok(paths.into_iter().filter(|path| !path.is_empty()).collect())
}

/// The first-parent commit of HEAD at a time (RFC 3339); `None` if there was none.
pub fn at_time(repo: &Repository, time: &str) -> Result<Option<Oid>> {
    if repo.head()?.commit.is_none() {
        return Ok(None);
    }
    let mut command = git(repo.cwd());
    command.args([
        "rev-list",
        "--max-count=1",
        "--first-parent",
        &format!("--before={time}"),
        &repo.head_revision(),
        "--",
    ]);
    Ok(parse_oid(&text(&mut command)?))
}

/// The commits of HEAD's first-parent history, for many times.
#[derive(Debug)]
pub struct FirstParents {
    /// The newest first: the earliest time of each and those after it, in seconds since 1970, and its id.
    commits: Vec<(i64, Oid)>,
    /// The newest commit before all of them, and the time up to which that holds.
    before: Option<Oid>,
    since: i64,
}

impl FirstParents {
    /// The history since a time, in seconds since 1970.
    pub fn since(repo: &Repository, since: i64) -> Result<Self> {
        let mut out = FirstParents { commits: Vec::new(), before: None, since };
        if repo.head()?.commit.is_none() {
            return Ok(out);
        }
        let mut command = git(repo.cwd());
        command.args([
            "rev-list",
            "--first-parent",
            "--timestamp",
            &format!("--since=@{since}"),
            &repo.head_revision(),
            "--",
        ]);
        let mut earliest = i64::MAX;
        for line in text(&mut command)?.lines() {
            let Some((time, id)) = line.split_once(' ') else { continue };
            let (Ok(time), Some(id)) = (time.parse::<i64>(), parse_oid(id)) else { continue };
            earliest = earliest.min(time);
            out.commits.push((earliest, id));
        }
        out.before = Self::newest_before(repo, since)?;
        Ok(out)
    }

    fn newest_before(repo: &Repository, time: i64) -> Result<Option<Oid>> {
        at_time(repo, &format!("@{time}"))
    }

    /// As [`at_time`], for a time in seconds since 1970; before the first commit, that one.
    pub fn at(&self, repo: &Repository, time: i64) -> Result<Option<Oid>> {
        let newer = self.commits.partition_point(|(earliest, _)| *earliest > time);
        let then = match time < self.since {
            true => Self::newest_before(repo, time)?,
            false => self.commits.get(newer).map(|(_, id)| *id).or(self.before),
        };
        Ok(then.or_else(|| self.commits.last().map(|(_, id)| *id)))
    }
}

/// The error for unexpected output of `git log`.
pub(crate) fn no_commit() -> Error {
    Error::storage("cannot parse the output of git log")
        .reason("a setting or another program changes what git log prints")
        .suggest("Check which git runs, and what it prints.")
        .command("git version")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_and_files_are_parsed() {
        let text =
            "\u{1}aa\u{2}2026\u{2}second\0\nD\0gone\0M\0kept\0\u{1}bb\u{2}2025\u{2}first\0\nA\0gone\0A\0kept\0A\0a b\0";
        let since = parse_since(text.as_bytes());
        assert_eq!(since.commits.len(), 2);
        assert_eq!((since.commits[0].subject.as_str(), since.dates[0].as_str()), ("second", "2026"));
        assert_eq!(since.files, ["a b", "kept"]);
    }
}
