//! Gaps that receivers reported, and whether a later handoff covers them.

use crate::text::similarity;
use empirica_notes::model::Handoff;

/// A gap that a receiver reported for an earlier handoff of the type.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportedGap {
    pub gap: String,
    /// The agent that reported it.
    pub by: String,
    /// The short ID of the incomplete handoff.
    pub of: String,
}

/// The warning about a gap that this handoff does not cover either.
pub fn sentence(gap: &ReportedGap) -> String {
    format!("{} missed in handoff {}, and this one does not have either: {}", gap.by, gap.of, gap.gap)
}

pub fn uncovered<'r>(handoff: &Handoff, reported: &'r [ReportedGap]) -> Vec<&'r ReportedGap> {
    if reported.is_empty() {
        return Vec::new();
    }
    let text = all_text(handoff);
    reported.iter().filter(|gap| !covers(&text, &gap.gap)).collect()
}

/// Whether a text has at least half of the significant words of a gap, or without such words, the gap itself.
pub fn covers(text: &str, gap: &str) -> bool {
    let words = similarity::words(gap);
    match words.is_empty() {
        true => text.to_lowercase().contains(&gap.trim().to_lowercase()),
        false => words.intersection(&similarity::words(text)).count() * 2 >= words.len(),
    }
}

/// The texts of a handoff, except reported gaps, questions, and records of others.
pub fn all_text(handoff: &Handoff) -> String {
    fn add(value: &serde_json::Value, out: &mut String) {
        match value {
            serde_json::Value::String(text) => {
                out.push_str(text);
                out.push('\n');
            }
            serde_json::Value::Array(entries) => entries.iter().for_each(|entry| add(entry, out)),
            serde_json::Value::Object(map) => map.values().for_each(|value| add(value, out)),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(handoff).unwrap_or_default();
    if let Some(map) = value.as_object_mut() {
        let others = [
            "unknowns",
            "relevant",
            "commits",
            "artifacts",
            "named_artifacts",
            "uncommitted",
            "sources",
            "recommendations",
        ];
        for key in ["missed", "git", "started_at", "assessments", "trajectory"].into_iter().chain(others) {
            map.shift_remove(key);
        }
        // an answer counts, a question does not
        for clarification in map.get_mut("clarifications").and_then(|list| list.as_array_mut()).into_iter().flatten() {
            clarification["question"].take();
        }
    }
    let mut out = String::new();
    add(&value, &mut out);
    out
}
