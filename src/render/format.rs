//! Formats words and numbers for people.

use std::collections::BTreeMap;

use chrono::DateTime;

use crate::context::claims::anchors::{ClaimChange, Place, listed};
use crate::fold::assessment::trajectory::{self, NOTHING_SHARED, OVERALL};
use crate::render::safe;
use crate::text::tokens;
use empirica_notes::error::empirica;
use empirica_notes::git::parse_oid;
use empirica_notes::model::handoff::{Calibration, Trajectory};
use empirica_notes::model::journal::UNTIL_CHANGED;
use empirica_notes::model::{Envelope, Id, Vector, Vectors};

/// An RFC 3339 time as `2026-01-31 12:34 UTC`; other texts unchanged.
pub fn date(text: &str) -> String {
    match DateTime::parse_from_rfc3339(text) {
        Ok(time) => time.to_utc().format("%Y-%m-%d %H:%M UTC").to_string(),
        Err(_) => safe::words(text),
    }
}

/// Seconds between two RFC 3339 times; 0 if either is invalid or they are in reverse order.
pub fn seconds_between(from: &str, to: &str) -> u64 {
    let parse = |text: &str| DateTime::parse_from_rfc3339(text).ok();
    match (parse(from), parse(to)) {
        (Some(from), Some(to)) => (to - from).num_seconds().max(0) as u64,
        _ => 0,
    }
}

/// A duration in two units: "45 s", "12 min", "2 h 5 min", "3 d 4 h".
pub fn duration(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let pair = |big: u64, unit: &str, small: u64, small_unit: &str| match small {
        0 => format!("{big} {unit}"),
        _ => format!("{big} {unit} {small} {small_unit}"),
    };
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, ..) => pair(hours, "h", minutes % 60, "min"),
        _ => pair(days, "d", hours % 24, "h"),
    }
}

/// Two decimals; `–` for none.
pub fn value(number: Option<f64>) -> String {
    number.map_or_else(|| "–".to_owned(), |n| format!("{n:.2}"))
}

/// Two decimals with a sign; `–` for none.
pub fn signed(number: Option<f64>) -> String {
    // no sign if it rounds to zero
    let round = |n: f64| if n.abs() < 0.005 { 0.0 } else { n };
    number.map_or_else(|| "–".to_owned(), |n| format!("{:+.2}", round(n)))
}

/// The moves of vectors in a line.
pub fn moves(deltas: &BTreeMap<Vector, f64>) -> String {
    let move_of = |(vector, delta): (&Vector, &f64)| format!("{vector} {}", signed(Some(*delta)));
    deltas.iter().map(move_of).collect::<Vec<_>>().join(", ")
}

/// Deltas on one line: `know +0.25, overall confidence +0.25 (know alone)`; may be empty.
pub fn deltas(rows: &[Trajectory]) -> String {
    // a repeated vector keeps its first place and its last value
    let mut shown: Vec<(String, f64)> = Vec::new();
    for (name, delta) in trajectory::deltas(rows) {
        match shown.iter_mut().find(|(other, _)| *other == name) {
            Some((_, shown)) => *shown = delta,
            None => shown.push((name, delta)),
        }
    }
    let alone = trajectory::alone(rows);
    let text = shown.into_iter().map(|(name, delta)| {
        let alone = alone.filter(|_| name == OVERALL);
        format!("{} {}{}", safe::words(&name.replace('_', " ")), signed(Some(delta)), only(alone))
    });
    let nothing = rows.iter().any(|row| row.vector == OVERALL && row.status == NOTHING_SHARED);
    let nothing = nothing.then(|| format!("overall confidence: {NOTHING_SHARED}"));
    text.chain(nothing).collect::<Vec<_>>().join(", ")
}

/// Notes that an overall confidence is based on a single vector.
pub fn only(vector: Option<Vector>) -> String {
    vector.map(|vector| format!(" ({vector} alone)")).unwrap_or_default()
}

/// The name of a vector in a table.
pub fn vector(name: &str) -> String {
    if name == OVERALL { "Overall Confidence".to_owned() } else { name.to_uppercase() }
}

/// A status as a heading: spaces for underscores, first letter upper case. Calibration has display names of its own.
pub fn words(text: &str) -> String {
    let text = if text == Calibration::WellCalibrated.name() { Calibration::WellCalibrated.word() } else { text };
    let text = text.replace('_', " ");
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Vectors on one line: `know 0.60, uncertainty 0.40`.
pub fn vectors(vectors: &Vectors) -> String {
    let list: Vec<String> = vectors.iter().map(|(vector, value)| format!("{vector} {value:.2}")).collect();
    if list.is_empty() { "no vectors".to_owned() } else { list.join(", ") }
}

/// A number with its noun: "1 record", "2 records".
pub fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// A warning about unreadable notes; `None` if there are none.
pub fn unreadable(notes: &[empirica_notes::git::Oid]) -> Option<String> {
    let first = notes.first()?;
    let more = if notes.len() > 1 { format!(", and {} more", notes.len() - 1) } else { String::new() };
    Some(format!("cannot read the note {first}{more}; {} shows how to recover it", empirica("doctor")))
}

/// Until when a claim holds, or held.
pub fn until(until: &str, is_over: bool) -> String {
    let verb = if is_over { "held" } else { "holds" };
    match until {
        UNTIL_CHANGED if is_over => "held until its code changed".to_owned(),
        UNTIL_CHANGED => "holds until its code changes".to_owned(),
        until => format!("{verb} until {}", date(until)),
    }
}

/// The claims that a claim disagrees with, the first by name; `None` without any.
pub fn disagreement(rivals: &[Id]) -> Option<String> {
    let mut names: Vec<&str> = rivals.iter().take(RIVALS).map(Id::short).collect();
    names.extend((rivals.len() > RIVALS).then_some("others"));
    (!names.is_empty()).then(|| format!("disagrees with {}", names.join(" and ")))
}

/// The most claims that are named.
const RIVALS: usize = 5;

/// Who signed a record; `None` if no good signature vouches for it.
pub fn signed_by(signer: Option<&String>) -> Option<String> {
    signer.map(|signer| format!("signed by {}", safe::words(tokens::truncate_to(signer, SIGNER).0)))
}

/// The most tokens of a signer's name.
const SIGNER: usize = 20;

/// The places in the code of a claim and the claims it disagrees with, in a line.
pub fn about(places: &[Place], rivals: &[Id]) -> String {
    let about = listed(places).into_iter().chain(disagreement(rivals));
    about.collect::<Vec<_>>().join("; ")
}

/// Puts behind the text of a claim, if it is one of these, what is said of it.
pub fn mark(changes: &[ClaimChange], id: Option<&Id>, text: &mut String) {
    if let Some(claim) = changes.iter().find(|claim| Some(&claim.id) == id) {
        text.push_str(&format!(" ({})", about(&claim.anchors, &claim.disagrees_with)));
    }
}

/// Who made a record, when, and on what commit.
pub fn origin(envelope: &Envelope) -> String {
    let commit = short_commit(envelope.commit.as_deref()).map(|commit| format!(", on commit {commit}"));
    format!("{} on {}{}", envelope.ai, date(&envelope.at), commit.unwrap_or_default())
}

/// The commit of a record, as git shows it short; `None` for an unborn HEAD.
pub fn short_commit(record_commit: Option<&str>) -> Option<String> {
    record_commit.and_then(parse_oid).map(|id| id.to_hex_with_len(8).to_string())
}
