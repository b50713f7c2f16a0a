//! Parses dates as git does, and ISO dates strictly.

use chrono::{Days, NaiveDate, NaiveTime, Utc};

use crate::error::Result;
use crate::git::process::{self, git};
use crate::git::repository::Repository;

/// The time assumed for a date without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DayBoundary {
    /// Its first second.
    Start,
    /// Its last second.
    End,
}

/// Parses a date into seconds since 1970; `None` if it is not one.
///
/// An ISO date (`2026-01-31`) is the `edge` of that day in the user's time zone. Git parses everything else ("7 days ago",
/// "yesterday", "2026-01-31 12:00 +0530"), relative to `now` if given, otherwise to the present. `None` are days and times
/// that do not exist, and text that git reads as the present because it understands no word of it.
pub fn parse_date(repo: &Repository, text: &str, edge: DayBoundary, now: Option<i64>) -> Result<Option<i64>> {
    let text = text.trim();
    let now = now.unwrap_or_else(|| Utc::now().timestamp());
    let Some(date) = iso(text) else {
        let is_present = ["now", "today"].iter().any(|word| text.eq_ignore_ascii_case(word));
        return Ok(parse_by_git(repo, text, now)?.filter(|seconds| is_present || *seconds != now));
    };
    let Some((day, time)) = date else { return Ok(None) };
    // the years that git supports; outside them the zone does not matter
    let years = NaiveDate::from_ymd_opt(1971, 1, 1)..NaiveDate::from_ymd_opt(2099, 1, 1);
    let midnight = |day: NaiveDate| match years.contains(&Some(day)) {
        true => parse_by_git(repo, &format!("{day} 00:00:00"), now),
        false => Ok(Some(day.and_time(NaiveTime::MIN).and_utc().timestamp())),
    };
    match (time, edge) {
        (Some(_), _) if years.contains(&Some(day)) => parse_by_git(repo, text, now),
        (Some(time), _) => Ok(Some(day.and_time(time).and_utc().timestamp())),
        (None, DayBoundary::Start) => midnight(day),
        (None, DayBoundary::End) => match day.checked_add_days(Days::new(1)) {
            Some(next) => Ok(midnight(next)?.map(|midnight| midnight - 1)),
            None => Ok(None),
        },
    }
}

fn parse_by_git(repo: &Repository, text: &str, now: i64) -> Result<Option<i64>> {
    let mut command = git(repo.cwd());
    // sets git's clock
    command.env("GIT_TEST_DATE_NOW", now.to_string());
    let text = process::text(command.args(["rev-parse", &format!("--since={text}")]))?;
    Ok(text.strip_prefix("--max-age=").and_then(|seconds| seconds.parse().ok()))
}

/// Parses the day, and the time of day if there is one, of an ISO date: `None` if the text does not begin as one, `Some(None)`
/// if day or time do not exist. Leaves the time zone to git.
fn iso(text: &str) -> Option<Option<(NaiveDate, Option<NaiveTime>)>> {
    if text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(NaiveDate::parse_from_str(text, "%Y%m%d").ok().map(|day| (day, None)));
    }
    let year = text.get(..4)?;
    if !year.bytes().all(|byte| byte.is_ascii_digit()) || !text[4..].starts_with('-') {
        return None;
    }
    let (day, time) = text.split_once(['T', 't', ' ']).unwrap_or((text, ""));
    let time = time.trim_start();
    let clock = &time[..time.find(|c: char| !c.is_ascii_digit() && c != ':').unwrap_or(time.len())];
    let parsed = || {
        let day = NaiveDate::parse_from_str(day, "%Y-%m-%d").ok()?;
        let formats = ["%H:%M:%S", "%H:%M"];
        let exact = || formats.iter().find_map(|format| NaiveTime::parse_from_str(clock, format).ok());
        Some((day, if time.is_empty() { None } else { Some(exact()?) }))
    };
    Some(parsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iso_dates_are_days_moments_or_none() {
        let day = NaiveDate::from_ymd_opt(2026, 1, 31).expect("a day");
        for text in ["2026-01-31", "2026-1-31", "20260131"] {
            assert_eq!(iso(text), Some(Some((day, None))), "{text}");
        }
        let noon = NaiveTime::from_hms_opt(12, 0, 0);
        for text in [
            "2026-01-31 12:00",
            "2026-01-31T12:00:00",
            "2026-01-31t12:00:00.250",
            "2026-01-31T12:00:00Z",
            "2026-01-31  12:00 +0530",
            "2026-01-31T12:00:00.338-08:00",
        ] {
            assert_eq!(iso(text), Some(Some((day, noon))), "{text}");
        }
        for text in [
            "2026-13-45",
            "2026-02-30",
            "2026-00-10",
            "2026-",
            "2026-01-31T25:00",
            "2026-01-31 12:61",
            "2026-01-31 noon",
            "2026-01-31x",
            "20261345",
        ] {
            assert_eq!(iso(text), Some(None), "{text}");
        }
        for text in ["", "yesterday", "31.01.2026", "1000000000", "7 days ago", "ééé-"] {
            assert_eq!(iso(text), None, "{text}");
        }
    }
}
