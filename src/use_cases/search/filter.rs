//! Filters besides words: agent, session, time; for handoffs task, commits, path, type and calibration.

use std::collections::BTreeSet;

use chrono::DateTime;
use regex::Regex;

use crate::context::handoffs::{ListedHandoff, of_rows};
use crate::context::{CommandContext, names};
use crate::index::{HandoffQuery, HandoffRow, Index};
use empirica_notes::error::{Error, Result, option, text};
use empirica_notes::git::history::dates::DayBoundary;
use empirica_notes::git::history::{dates, range};
use empirica_notes::git::objects::content::{inside, tree_path};
use empirica_notes::git::{Oid, parse_oid};
use empirica_notes::model::handoff::Calibration;

/// A filter as given. Agent and session come from the context.
#[derive(Debug, Clone, Default)]
pub struct FilterInput {
    /// Start date, in any format of git.
    pub since: Option<String>,
    /// End date, in any format of git.
    pub until: Option<String>,
    /// Regular expression for the task, case-insensitive.
    pub task: Option<String>,
    /// Revisions and ranges, in any format of git; empty for no filter.
    pub range: Vec<String>,
    /// A file or folder, relative to the working directory.
    pub path: Option<String>,
    /// A type of handoff.
    pub kind: Option<String>,
    /// A self-assessment.
    pub calibration: Option<Calibration>,
}

/// A filter with names and dates resolved.
#[derive(Debug, Default)]
pub struct Filter {
    /// Agent, session and time, which apply to all records, and filters of handoffs in the index.
    pub(crate) wanted: HandoffQuery,
    pub(crate) task: Option<Regex>,
    /// The handoff must be attached to one of these commits.
    pub(crate) commits: Option<BTreeSet<Oid>>,
    /// Whether the path is the worktree root.
    pub(crate) is_root: bool,
}

impl Filter {
    /// Resolves a filter. Invalid values and unknown names are errors.
    pub fn resolve(context: &CommandContext<'_>, input: &FilterInput) -> Result<Self> {
        let task = input.task.as_deref().map(pattern).transpose()?;
        let since =
            input.since.as_deref().map(|text| date(context, "--since", text, DayBoundary::Start)).transpose()?;
        let until = input.until.as_deref().map(|text| date(context, "--until", text, DayBoundary::End)).transpose()?;
        if let (Some(since), Some(until)) = (since, until)
            && since > until
        {
            return Err(backwards(since, until));
        }
        let commits = if input.range.is_empty() { None } else { Some(range::commits(context.repo, &input.range)?) };
        let session = context.selection.session.as_deref().map(|name| names::session(context, name)).transpose()?;
        let path = input.path.as_deref().map(|text| path(context, text)).transpose()?;
        let root = context.repo.work_tree();
        // files are recorded relative to the worktree, or absolute
        let named = |path: &String| {
            let absolute = root.as_ref().and_then(|root| root.join(path).to_str().map(str::to_owned));
            std::iter::once(path.clone()).chain(absolute)
        };
        let wanted = HandoffQuery {
            ai: context.selection.ai.clone(),
            session: session.map(|named| named.id),
            since,
            until,
            kind: input.kind.clone(),
            calibration: input.calibration.map(|status| status.name().to_owned()),
            paths: path.iter().filter(|path| !path.is_empty()).flat_map(named).collect(),
            ..HandoffQuery::default()
        };
        Ok(Filter { wanted, task, commits, is_root: path.is_some_and(|path| path.is_empty()) })
    }

    /// Whether a filter applies to handoffs only.
    pub fn asks_handoffs(&self) -> bool {
        let HandoffQuery { kind, calibration, paths, .. } = &self.wanted;
        self.task.is_some()
            || self.commits.is_some()
            || self.is_root
            || !paths.is_empty()
            || kind.is_some()
            || calibration.is_some()
    }

    /// The matching handoffs in force, newest first: at most `most`, and the total.
    pub fn handoffs(
        &self,
        context: &CommandContext<'_>,
        index: &Index<'_>,
        most: usize,
    ) -> Result<(Vec<HandoffRow>, usize)> {
        let root = context.repo.work_tree();
        let in_tree = |ListedHandoff { handoff, .. }: &ListedHandoff| {
            let uncommitted = handoff.uncommitted.iter().map(|file| &file.path);
            handoff.artifacts.iter().chain(uncommitted).any(|file| inside(root.as_deref(), file).is_some())
        };
        let mut fits = |row: &HandoffRow| -> Result<bool> {
            if self.task.as_ref().is_some_and(|task| !task.is_match(&row.task)) {
                return Ok(false);
            }
            // a handoff's own commit is one of its notes' commits
            if let Some(commits) = &self.commits
                && !index.is_attached_to(row, |on| commits.contains(&on))?
            {
                return Ok(false);
            }
            if self.commits.is_none() && !self.is_root {
                return Ok(true);
            }
            let Some(whole) = of_rows(index, std::slice::from_ref(row))?.pop() else { return Ok(false) };
            let commit = whole.envelope.commit.as_deref().and_then(parse_oid);
            let is_on = |commits: &BTreeSet<Oid>| commit.is_some_and(|commit| commits.contains(&commit));
            Ok(self.commits.as_ref().is_none_or(is_on) && (!self.is_root || in_tree(&whole)))
        };
        let asks_more = self.task.is_some() || self.commits.is_some() || self.is_root;
        index.handoffs(&self.wanted, most, if asks_more { Some(&mut fits) } else { None })
    }
}

fn pattern(text: &str) -> Result<regex::Regex> {
    regex::RegexBuilder::new(text).case_insensitive(true).size_limit(1 << 20).build().map_err(|error| {
        Error::usage(format!("cannot use '{text}' as a regular expression"))
            .provided(text)
            .reason(text![option("--task"), " takes a regular expression"])
            .suggest("Escape characters such as ( [ * + ? with a backslash to find them as they are.")
            .alternative(regex::escape(text))
            .caused_by(error)
    })
}

fn path(context: &CommandContext<'_>, text: &str) -> Result<String> {
    tree_path(context.repo.work_tree().as_deref(), context.repo.cwd(), text).ok_or_else(|| {
        Error::usage(format!("cannot filter by path: '{text}' is not in the work tree"))
            .provided(text)
            .reason("--path takes a file or folder of the repository, relative to the folder you are in")
            .suggest("Give a path below the root of the repository; .git has none of its files.")
    })
}

/// A date in Unix seconds: see [`dates::parse_date`]. An invalid one is a usage error that names the option.
pub fn date(context: &CommandContext<'_>, name: &'static str, text: &str, edge: DayBoundary) -> Result<i64> {
    let fixed = context.env.get("EMPIRICA_NOW").map(|_| context.env.now().timestamp());
    dates::parse_date(context.repo, text, edge, fixed)?.ok_or_else(|| {
        Error::usage(text!["cannot use ", option(name), format!(": '{text}' is not a date")])
            .provided(text)
            .reason("it is neither an ISO date that exists, nor one of the forms git knows")
            .suggest("Write 2026-01-31, 2026-01-31T12:00:00Z, \"7 days ago\", yesterday or \"last friday\".")
            .alternative("7 days ago")
            .alternative("2026-01-31")
            .alternative("yesterday")
    })
}

fn backwards(since: i64, until: i64) -> Error {
    let shown = |seconds: i64| DateTime::from_timestamp(seconds, 0).map_or_else(String::new, |time| time.to_rfc3339());
    Error::usage(text!["cannot filter by date: ", option("--since"), " is later than ", option("--until")])
        .reason(format!("nothing can be since {} and until {}", shown(since), shown(until)))
        .suggest("Exchange the two, or leave one out.")
}
