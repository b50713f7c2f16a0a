//! Asking the history for handoffs: by agent, time, task, session, commits, path, type and self-assessment.

pub mod filter;

use chrono::DateTime;

use self::filter::{Below, Filter, fits};
use super::alias;
use super::context::Context;
use super::handoff::{Listed, listed};
use crate::error::{Error, Result};
use crate::git::content::from_here;
use crate::git::dates::{self, Edge};
use crate::git::range;
use crate::model::handoff::Calibration;
use crate::store::index::{HandoffsWanted, Row};

/// What is asked, as it was said. The agent and the session are those the context was asked for.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// A date as git takes it.
    pub since: Option<String>,
    /// A date as git takes it.
    pub until: Option<String>,
    /// A regular expression, matched without regard to case.
    pub task: Option<String>,
    /// Revisions and ranges as git takes them; none asks for no commits.
    pub range: Vec<String>,
    /// A file or folder, relative to the working folder.
    pub path: Option<String>,
    /// A type of handoff.
    pub kind: Option<String>,
    /// A self-assessment.
    pub calibration: Option<Calibration>,
    /// At most so many are listed; 0 lists none.
    pub limit: usize,
}

/// The handoffs that fit, newest first.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Outcome {
    pub reports: Vec<Listed>,
    /// How many fit, beyond the limit as well.
    pub total_found: usize,
    pub warnings: Vec<String>,
}

/// Finds handoffs in force, the newest first, by their ids as everywhere.
pub fn run(context: &Context<'_>, request: &Request) -> Result<Outcome> {
    let warnings = context.store.settle();
    let filter = resolve(context, request)?;
    let index = context.store.index()?;
    let is_root = filter.path.as_ref().is_some_and(|below| below.path.is_empty());
    let wanted = HandoffsWanted {
        ai: filter.ai.clone(),
        session: filter.session.clone(),
        since: filter.since,
        until: filter.until,
        task_id: None,
        kind: filter.kind.clone(),
        calibration: filter.calibration.map(|status| status.name().to_owned()),
        paths: filter.path.iter().filter(|_| !is_root).flat_map(Below::names).collect(),
    };
    let mut looked_at = |row: &Row| -> Result<bool> {
        if filter.task.as_ref().is_some_and(|task| !task.is_match(&row.task)) {
            return Ok(false);
        }
        // where it is at home is one of the places it stands on
        if let Some(commits) = &filter.commits
            && !index.stands_on(row, |on| commits.contains(&on))?
        {
            return Ok(false);
        }
        if filter.commits.is_none() && !is_root {
            return Ok(true);
        }
        let whole = listed(&index, std::slice::from_ref(row))?;
        Ok(whole.first().is_some_and(|listed| fits(&filter, listed)))
    };
    let asks_more = filter.task.is_some() || filter.commits.is_some() || is_root;
    let (rows, total_found) =
        index.handoffs(&wanted, request.limit, if asks_more { Some(&mut looked_at) } else { None })?;
    Ok(Outcome { reports: listed(&index, &rows)?, total_found, warnings })
}

/// What is asked, with every name and date resolved. What makes no sense or names nothing is an error.
pub fn resolve(context: &Context<'_>, request: &Request) -> Result<Filter> {
    // what needs no repository is looked at first
    let task = request.task.as_deref().map(pattern).transpose()?;
    let since = request.since.as_deref().map(|text| date(context, "since", text, Edge::First)).transpose()?;
    let until = request.until.as_deref().map(|text| date(context, "until", text, Edge::Last)).transpose()?;
    if let (Some(since), Some(until)) = (since, until)
        && since > until
    {
        return Err(backwards(since, until));
    }
    let commits = if request.range.is_empty() { None } else { Some(range::commits(context.repo, &request.range)?) };
    let session = match &context.asked.session {
        Some(given) => Some(alias::session(context, given)?.id),
        None => None,
    };
    Ok(Filter {
        ai: context.asked.ai.clone(),
        since,
        until,
        task,
        session,
        commits,
        path: request.path.as_deref().map(|text| path(context, text)).transpose()?,
        kind: request.kind.clone(),
        calibration: request.calibration,
    })
}

fn pattern(text: &str) -> Result<regex::Regex> {
    regex::RegexBuilder::new(text).case_insensitive(true).size_limit(1 << 20).build().map_err(|error| {
        Error::usage(format!("'{text}' is not a regular expression that can be used"))
            .provided(text)
            .reason("--task takes a regular expression")
            .suggest("Escape characters such as ( [ * + ? with a backslash to find them as they are.")
            .alternative(regex::escape(text))
            .caused_by(error)
    })
}

fn path(context: &Context<'_>, text: &str) -> Result<Below> {
    let root = context.repo.work_tree();
    match from_here(root.as_deref(), context.repo.cwd(), text) {
        Some(path) => Ok(Below { path, root }),
        None => Err(Error::usage(format!("'{text}' is no path in the work tree"))
            .provided(text)
            .reason("--path takes a file or folder of the repository, relative to the folder you are in")
            .suggest("Give a path below the root of the repository; .git has none of its files.")),
    }
}

/// A date as it is asked for, in seconds since 1970: see [`dates::seconds`]. What makes no sense is a usage error that names
/// the option.
pub(super) fn date(context: &Context<'_>, name: &str, text: &str, edge: Edge) -> Result<i64> {
    let fixed = context.env.get("EMPIRICA_NOW").map(|_| context.env.now().timestamp());
    dates::seconds(context.repo, text, edge, fixed)?.ok_or_else(|| {
        Error::usage(format!("'{text}' is not a date that can be used for --{name}"))
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
    Error::usage("--since is later than --until")
        .reason(format!("nothing can be since {} and until {}", shown(since), shown(until)))
        .suggest("Exchange the two, or leave one out.")
}
