//! Asking the history for handoffs: by agent, time and task.

use super::context::Context;
use super::handoff::{Listed, in_force};
use crate::error::{Error, Result};
use crate::git::history::parse_date;

/// What is asked.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs)]
pub struct Request {
    pub since: Option<String>,
    pub until: Option<String>,
    /// A regular expression, matched without regard to case.
    pub task: Option<String>,
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

/// Finds handoffs in force.
pub fn run(context: &Context<'_>, request: &Request) -> Result<Outcome> {
    let warnings = context.store.settle();
    let since = request.since.as_deref().map(|text| date(context, "since", text)).transpose()?;
    let until = request.until.as_deref().map(|text| date(context, "until", text)).transpose()?;
    let task = request.task.as_deref().map(pattern).transpose()?;
    let mut reports = in_force(context, &Default::default(), usize::MAX)?;
    reports.retain(|listed| {
        let at = chrono::DateTime::parse_from_rfc3339(&listed.head.at).map_or(0, |time| time.timestamp());
        since.is_none_or(|since| at >= since)
            && until.is_none_or(|until| at <= until)
            && task.as_ref().is_none_or(|task| task.is_match(&listed.handoff.task))
            && context.asked.ai.as_ref().is_none_or(|ai| listed.head.ai == *ai)
    });
    let total_found = reports.len();
    reports.truncate(request.limit);
    Ok(Outcome { reports, total_found, warnings })
}

fn pattern(text: &str) -> Result<regex::Regex> {
    regex::RegexBuilder::new(text).case_insensitive(true).size_limit(1 << 20).build().map_err(|error| {
        Error::usage(format!("'{text}' is not a regular expression that can be used"))
            .provided(text)
            .reason("--task takes a regular expression")
            .suggest("Escape characters such as ( [ * + ? with a backslash to find them as they are.")
            .caused_by(error)
    })
}

/// Words that git's dates are made of; git itself takes any text for a date. Longer ones may be cut to 3 letters.
const WORDS: &[&str] = &[
    "now",
    "yesterday",
    "today",
    "noon",
    "midnight",
    "tea",
    "never",
    "last",
    "ago",
    "am",
    "pm",
    "utc",
    "gmt",
    "t",
    "z",
    "seconds",
    "minutes",
    "hours",
    "days",
    "weeks",
    "fortnight",
    "months",
    "years",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
];

fn date(context: &Context<'_>, name: &str, text: &str) -> Result<i64> {
    let lower = text.to_ascii_lowercase();
    let known = |word: &str| WORDS.iter().any(|known| *known == word || (word.len() >= 3 && known.starts_with(word)));
    let words = || lower.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    let sensible = words().all(known) && (words().next().is_some() || lower.contains(|c: char| c.is_ascii_digit()));
    let read = if sensible { parse_date(context.repo, text)? } else { None };
    read.ok_or_else(|| {
        Error::usage(format!("'{text}' is not a date that can be used for --{name}"))
            .provided(text)
            .reason("dates are taken as git takes them")
            .suggest("Write 2026-01-31, \"7 days ago\" or yesterday.")
            .alternative("7 days ago")
            .alternative("2026-01-31")
    })
}
