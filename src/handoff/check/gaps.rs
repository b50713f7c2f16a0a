//! What receivers missed in handoffs, and whether a later one says it.

use std::collections::BTreeSet;

use crate::text::similarity;
use empirica_notes::model::Handoff;

/// A gap that a receiver reported for an earlier handoff of the type.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportedGap {
    /// What was missed.
    pub gap: String,
    /// Who missed it.
    pub by: String,
    /// The short form of the handoff it was missed in.
    pub of: String,
}

/// What somebody missed before and this handoff does not say either.
pub fn missed_sentence(gap: &ReportedGap) -> String {
    format!("{} missed in handoff {}, and this one does not say either: {}", gap.by, gap.of, gap.gap)
}

/// The gaps of which a handoff does not say enough: less than half of the words that tell what one is about.
pub fn missed<'r>(handoff: &Handoff, remembered: &'r [ReportedGap]) -> Vec<&'r ReportedGap> {
    if remembered.is_empty() {
        return Vec::new();
    }
    let said = similarity::words(&all_text(handoff));
    remembered.iter().filter(|gap| !says(&said, &gap.gap) && !covers_gap(handoff, &gap.gap)).collect()
}

/// Whether a handoff says what was missed.
pub fn covers_gap(handoff: &Handoff, gap: &str) -> bool {
    let text = all_text(handoff);
    // words that everybody uses tell nothing apart: then it must be there as it is
    match similarity::words(gap).is_empty() {
        true => text.to_lowercase().contains(&gap.trim().to_lowercase()),
        false => says(&similarity::words(&text), gap),
    }
}

fn says(said: &BTreeSet<String>, gap: &str) -> bool {
    let wanted = similarity::words(gap);
    !wanted.is_empty() && wanted.intersection(said).count() * 2 >= wanted.len()
}

/// Everything a handoff says, but for what receivers asked and missed.
fn all_text(handoff: &Handoff) -> String {
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
        // what is asked, looked up or listed by git says nothing in the handoff's own words
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
        // an answer says something, a question does not
        for asked in map.get_mut("clarifications").and_then(|list| list.as_array_mut()).into_iter().flatten() {
            asked["question"].take();
        }
    }
    let mut out = String::new();
    add(&value, &mut out);
    out
}
