//! Formats words and numbers for people.

use chrono::DateTime;

use crate::fold::assessment::trajectory;
use crate::fold::assessment::trajectory::{NOTHING_SHARED, OVERALL};
use crate::task::questions;
use empirica_notes::error::empirica;
use empirica_notes::model::handoff::{Calibration, Trajectory};
use empirica_notes::model::{Accept, Body, Digest, Record, Vector, Vectors};

/// An RFC 3339 time as `2026-01-31 12:34 UTC`; other texts unchanged.
pub fn date(text: &str) -> String {
    match DateTime::parse_from_rfc3339(text) {
        Ok(time) => time.to_utc().format("%Y-%m-%d %H:%M UTC").to_string(),
        Err(_) => crate::render::safe::line(text),
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
        format!("{} {}{}", name.replace('_', " "), signed(Some(delta)), only(alone))
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
    Some(format!("the note {first} cannot be read{more}; {} says how it comes back", empirica("doctor")))
}

/// Text of a journal record.
pub fn said(record: &Record) -> String {
    match &record.body {
        Body::SessionStart(b) => {
            format!("session started{}", b.task.as_ref().map(|t| format!(": {t}")).unwrap_or_default())
        }
        Body::SessionEnd(b) => {
            format!("session ended{}", b.reason.as_ref().map(|t| format!(": {t}")).unwrap_or_default())
        }
        Body::Finding(b) => b.text.clone(),
        Body::Unknown(b) => b.text.clone(),
        Body::Resolve(b) => format!("{} → {}", b.of.short(), b.text),
        Body::DeadEnd(b) => format!("{} — {}", b.approach, b.why),
        Body::Mistake(b) => match &b.prevention {
            Some(prevention) => format!("{} — prevention: {prevention}", b.text),
            None => b.text.clone(),
        },
        Body::Decision(b) => decision(&b.text, &b.why, &b.alternatives),
        Body::Source(b) => b.location.clone(),
        Body::Evidence(b) => format!("{} (exit {})", b.command, b.exit),
        Body::Activity(b) => format!("{}: {}", b.category, b.text),
        Body::Transcript(b) => format!("{} {}: {}", b.agent, b.transcript, count(b.rows as usize, "row")),
        Body::Goal(b) => b.text.clone(),
        Body::Subtask(b) => format!("{}: {}", b.of.short(), b.text),
        Body::GoalDone(b) => with(b.of.short(), " done", &b.evidence),
        Body::GoalDrop(b) => with(b.of.short(), " dropped", &b.why),
        Body::GoalTake(b) => format!("{} from session {}", count(b.of.len(), "goal"), b.from.short()),
        Body::Assessment(b) => vectors(&b.vectors),
        Body::Checkpoint(b) => vectors(&b.vectors),
        Body::Handoff(b) => b.task.clone(),
        Body::Digest(b) => digest(b).join("\n"),
        Body::Accept(b) => with(b.of.short(), &accepted(b), &b.understanding),
        Body::Answer(b) => format!("{} → {}", questions::name(&b.of, b.question), b.text),
        Body::Attach(b) => format!("{} to {}", count(b.of.len(), "record"), b.to),
        Body::Supersede(b) => format!("{} by {}", b.of.short(), b.by.short()),
        Body::Retract(b) => format!("{} taken back", count(b.of.len(), "record")),
        Body::Signature(b) => format!("signature of handoff {}", b.of.short()),
        Body::Redacted(b) => {
            let by = b.redacted_by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
            with(&b.was.replace('_', " "), &format!(" redacted{by}"), &b.reason)
        }
    }
}

/// Contents of a digest, a text each.
pub fn digest(digest: &Digest) -> Vec<String> {
    let lists = crate::handoff::note::NoteLists::of(None, &[digest]);
    lists
        .all()
        .flat_map(|(label, list)| list.iter().map(move |text| format!("{}: {text}", label.to_lowercase())))
        .collect()
}

/// Decision and questions of an acknowledgement, to follow the handoff's ID: " accepted, COMPLETE, 1 question".
pub fn accepted(accept: &Accept) -> String {
    let mut out = " accepted".to_owned();
    out.extend(accept.decision.map(|decision| format!(", {}", decision.name())));
    for (list, noun) in [(&accept.questions, "question"), (&accept.gaps, "gap")] {
        if !list.is_empty() {
            out.push_str(&format!(", {}", count(list.len(), noun)));
        }
    }
    out.push_str(if accept.resolution.is_some() { ", resolved" } else { "" });
    out
}

fn with(id: &str, what: &str, why: &Option<String>) -> String {
    format!("{id}{what}{}", why.as_ref().map(|why| format!(": {why}")).unwrap_or_default())
}

/// A decision with rationale and rejected alternatives in one text.
pub fn decision(text: &str, why: &str, alternatives: &[String]) -> String {
    let rejected =
        if alternatives.is_empty() { String::new() } else { format!("; rejected: {}", alternatives.join("; ")) };
    format!("{text} — {why}{rejected}")
}
