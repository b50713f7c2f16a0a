//! Parses dates as people write them: ISO dates, and all that git understands.

use chrono::{Days, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime};
use regex::Regex;

use crate::error::Result;
use crate::git::process::{self, git};
use crate::git::repository::Repository;

/// The time assumed for a date without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// Its first second.
    First,
    /// Its last second.
    Last,
}

/// Parses a date into seconds since 1970; `None` if it is not one.
///
/// An ISO date (`2026-01-31`) is the `edge` of that day in the user's time zone; with a time it is that moment, in its
/// zone or the user's. Git parses everything else ("7 days ago", "yesterday", "last friday"), relative to `now` if
/// given. Git reads text that it does not understand as the present; such text is `None` here.
pub fn seconds(repo: &Repository, text: &str, edge: Edge, now: Option<i64>) -> Result<Option<i64>> {
    let text = text.trim();
    match iso(text) {
        Some(Iso::Day(day)) if edge == Edge::First => local(repo, day.and_time(NaiveTime::MIN)),
        Some(Iso::Day(day)) => match day.checked_add_days(Days::new(1)) {
            Some(next) => Ok(local(repo, next.and_time(NaiveTime::MIN))?.map(|midnight| midnight - 1)),
            None => Ok(None),
        },
        Some(Iso::Local(moment)) => local(repo, moment),
        Some(Iso::Exact(seconds)) => Ok(Some(seconds)),
        Some(Iso::Invalid) => Ok(None),
        None => match epoch_seconds(text) {
            None if is_date(text) => parse_by_git(repo, text, now),
            seconds => Ok(seconds),
        },
    }
}

fn parse_by_git(repo: &Repository, text: &str, now: Option<i64>) -> Result<Option<i64>> {
    let mut command = git(repo.cwd());
    if let Some(now) = now {
        // sets the clock for "ago", as in git's own tests
        command.env("GIT_TEST_DATE_NOW", now.to_string());
    }
    let text = process::text(command.args(["rev-parse", &format!("--since={text}")]))?;
    Ok(text.strip_prefix("--max-age=").and_then(|seconds| seconds.parse().ok()))
}

/// Converts a moment in the user's time zone, by git.
fn local(repo: &Repository, moment: NaiveDateTime) -> Result<Option<i64>> {
    // the years that git supports; outside them the zone does not matter
    let years = NaiveDate::from_ymd_opt(1971, 1, 1)..NaiveDate::from_ymd_opt(2099, 1, 1);
    if !years.contains(&Some(moment.date())) {
        return Ok(Some(moment.and_utc().timestamp()));
    }
    parse_by_git(repo, &moment.format("%Y-%m-%d %H:%M:%S").to_string(), None)
}

/// A parsed ISO date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Iso {
    Day(NaiveDate),
    Local(NaiveDateTime),
    Exact(i64),
    /// Malformed, or a day or time that does not exist.
    Invalid,
}

/// Parses an ISO 8601 date, with or without a time; `None` if the text does not begin as one.
fn iso(text: &str) -> Option<Iso> {
    const BEGINS: &str = r"^(?:\d{4}-\d|\d{8}(?:\D|$))";
    const WHOLE: &str = r"(?ix)^ (?: (\d{4})-(\d{1,2})-(\d{1,2}) | (\d{4})(\d\d)(\d\d) )
        (?: (?:T|\s+) (\d{1,2}) :? (\d\d) (?: :? (\d\d) (?:[.,]\d+)? )? \s* (Z|UTC|GMT|[+-]\d\d (?::?\d\d)? )? )? $";
    if !Regex::new(BEGINS).ok()?.is_match(text) {
        return None;
    }
    let Some(found) = Regex::new(WHOLE).ok()?.captures(text) else { return Some(Iso::Invalid) };
    let number = |at: usize| found.get(at).and_then(|part| part.as_str().parse::<u32>().ok());
    let date = [1, 4].iter().find_map(|at| Some((number(*at)?, number(at + 1)?, number(at + 2)?)));
    let read = || {
        let (year, month, day) = date?;
        let day = NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, month, day)?;
        let Some(hour) = number(7) else { return Some(Iso::Day(day)) };
        let moment = day.and_hms_opt(hour, number(8)?, number(9).unwrap_or(0))?;
        let Some(zone) = found.get(10) else { return Some(Iso::Local(moment)) };
        Some(Iso::Exact(moment.and_utc().timestamp() - i64::from(offset(zone.as_str())?)))
    };
    Some(read().unwrap_or(Iso::Invalid))
}

/// A zone's offset from UTC, in seconds east.
fn offset(zone: &str) -> Option<i32> {
    let Some(digits) = zone.strip_prefix(['+', '-']) else { return Some(0) };
    let digits = digits.replace(':', "");
    let (hours, minutes) = digits.split_at_checked(2)?;
    let minutes: i32 = if minutes.is_empty() { 0 } else { minutes.parse().ok().filter(|minutes| *minutes < 60)? };
    let east = hours.parse::<i32>().ok()? * 3600 + minutes * 60;
    FixedOffset::east_opt(east)?;
    Some(if zone.starts_with('-') { -east } else { east })
}

/// Seconds since 1970 as git accepts them: 9 or 10 digits, with or without `@`.
fn epoch_seconds(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('@').unwrap_or(text);
    let right = (9..=10).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    right.then(|| digits.parse().ok()).flatten()
}

/// Words that are a time by themselves.
const MOMENTS: [&str; 7] = ["now", "today", "yesterday", "noon", "midnight", "tea", "never"];
/// Units that are a time with a number, in plural or singular.
const UNITS: [&str; 7] = ["seconds", "minutes", "hours", "days", "weeks", "months", "years"];
/// Words that are a time with a number or "last", of at least 3 letters.
const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
/// Months, of at least 3 letters.
const MONTHS: [&str; 12] = [
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
];
const NUMBERS: [&str; 12] =
    ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "last"];
/// Words that occur only next to others.
const AROUND: [&str; 11] = ["ago", "am", "pm", "utc", "gmt", "t", "z", "st", "nd", "rd", "th"];

/// Whether git can parse a text: every word is valid, days and times exist, and some word gives a time.
fn is_date(text: &str) -> bool {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).collect();
    let begins = |names: &[&str], word: &str| word.len() >= 3 && names.iter().any(|name| name.starts_with(word));
    let is_unit = |word: &str| UNITS.iter().any(|unit| *unit == word || unit.strip_suffix('s') == Some(word));
    let is_counted = |word: &str| is_unit(word) || begins(&WEEKDAYS, word);
    let alone = |word: &str| MOMENTS.contains(&word) || begins(&MONTHS, word);
    let is_valid = |word: &str| alone(word) || is_counted(word) || NUMBERS.contains(&word) || AROUND.contains(&word);
    let has_digit = lower.bytes().any(|byte| byte.is_ascii_digit());
    let is_number = has_digit || words.iter().any(|word| NUMBERS.contains(word));
    let (Some(days), Some(times)) = (all_days(&lower), all_times(&lower)) else { return false };
    let has_time = words.iter().any(|word| alone(word) || (is_counted(word) && is_number))
        || (has_digit && words.iter().any(|word| ["am", "pm"].contains(word)))
        || days + times > 0;
    has_time && words.iter().all(|word| is_valid(word)) && (is_number || !words.iter().any(|word| is_unit(word)))
}

/// The number of numeric dates in the text; `None` if one does not exist.
fn all_days(text: &str) -> Option<usize> {
    let pattern = Regex::new(r"(\d{1,4})[./-](\d{1,2})[./-](\d{1,4})").ok()?;
    let mut days = 0;
    for found in pattern.captures_iter(text) {
        let [a, b, c] = found.extract().1.map(|part| part.parse::<u32>().unwrap_or(u32::MAX));
        let exists = |year: u32, month: u32, day: u32| {
            i32::try_from(year).is_ok_and(|year| NaiveDate::from_ymd_opt(year, month, day).is_some())
        };
        let any = if a > 99 { exists(a, b, c) } else { exists(c, b, a) || exists(c, a, b) };
        if !any {
            return None;
        }
        days += 1;
    }
    Some(days)
}

/// The number of numeric times of day in the text; `None` if one does not exist.
fn all_times(text: &str) -> Option<usize> {
    let pattern = Regex::new(r"(\d+):(\d+)(?::(\d+))?").ok()?;
    let mut times = 0;
    for found in pattern.captures_iter(text) {
        let number = |at: usize| found.get(at).map_or(Some(0), |part| part.as_str().parse::<u32>().ok());
        NaiveTime::from_hms_opt(number(1)?, number(2)?, number(3)?)?;
        times += 1;
    }
    Some(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iso_dates_are_days_moments_or_none() {
        let at = |text: &str| chrono::DateTime::parse_from_rfc3339(text).expect("a time").timestamp();
        let day = NaiveDate::from_ymd_opt(2026, 1, 31).expect("a day");
        for text in ["2026-01-31", "2026-1-31", "20260131"] {
            assert_eq!(iso(text), Some(Iso::Day(day)), "{text}");
        }
        let noon = day.and_hms_opt(12, 0, 0).expect("a time");
        for text in ["2026-01-31 12:00", "2026-01-31T12:00:00", "2026-01-31t12:00:00.250", "20260131T1200"] {
            assert_eq!(iso(text), Some(Iso::Local(noon)), "{text}");
        }
        for (text, same) in [
            ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"),
            ("2026-01-31 12:00 +0530", "2026-01-31T06:30:00Z"),
            ("2026-01-31T12:00:00.338-08:00", "2026-01-31T20:00:00Z"),
            ("2026-01-31 12:00 UTC", "2026-01-31T12:00:00Z"),
            ("2026-01-31T12:00+05", "2026-01-31T07:00:00Z"),
        ] {
            assert_eq!(iso(text), Some(Iso::Exact(at(same))), "{text}");
        }
        for text in [
            "2026-13-45",
            "2026-02-30",
            "2026-00-10",
            "2026-01-31T25:00",
            "2026-01-31 12:61",
            "2026-01-31 noon",
            "2026-01-31 12:00 +99:00",
            "2026-01-31 12:00 +05:75",
            "20261345",
            "2026-01-31x",
        ] {
            assert_eq!(iso(text), Some(Iso::Invalid), "{text}");
        }
        for text in ["", "yesterday", "31.01.2026", "1000000000", "7 days ago"] {
            assert_eq!(iso(text), None, "{text}");
        }
    }

    #[test]
    fn only_dates_git_understands_are_accepted() {
        for text in [
            "now",
            "yesterday",
            "YESTERDAY noon",
            "7 days ago",
            "7.days.ago",
            "2.weeks.3.days.ago",
            "one year ago",
            "last friday",
            "last month",
            "10am",
            "12:30",
            "Jan 31 2026",
            "Jan 31st 2026 10:00",
            "31.01.2026",
            "01/31/2026",
            "2026/01/31",
            "Sat, 31 Jan 2026 12:00:00 +0200",
        ] {
            assert!(is_date(text), "{text}");
        }
        for text in [
            "",
            "blorp",
            "soon",
            "%",
            "5",
            "2026",
            "last",
            "ago",
            "last 7",
            "days ago",
            "3 min ago",
            "25:00",
            "12:61",
            "13/45/2026",
            "2026/13/45",
            "32.01.2026",
            "7 dayz ago",
            "friday",
            "99999999999",
            "é",
        ] {
            assert!(!is_date(text), "{text}");
        }
        assert_eq!(epoch_seconds("1000000000"), Some(1_000_000_000));
        assert_eq!(epoch_seconds("@1000000000"), Some(1_000_000_000));
        for text in ["99999999999", "12345678", "@", "1000000000x"] {
            assert_eq!(epoch_seconds(text), None, "{text}");
        }
    }
}
