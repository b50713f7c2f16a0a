//! The managed handoffs of a task, oldest first, and what follows for the next one.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::text::list::add_new;
use empirica_notes::model::{Body, Handoff, Id, Record};

/// Recovery attempts of a task, unless a handoff sets `max_retries`.
const RETRIES: u64 = 3;

/// Valid numbers of rounds and attempts; others are ignored.
const PLAUSIBLE: std::ops::RangeInclusive<u64> = 1..=1_000_000;

fn round(handoff: &Handoff) -> Option<u64> {
    handoff.iteration.filter(|number| PLAUSIBLE.contains(number))
}

/// The round of the next handoff, from 1. A progress report ends a round.
pub fn next_round(chain: &[&Handoff]) -> u64 {
    let reported = chain.iter().filter(|handoff| handoff.kind == "progress").filter_map(|handoff| round(handoff));
    reported.max().unwrap_or(0).saturating_add(1)
}

/// Unsuccessful recovery attempts at the end of the chain, oldest first. New instructions, an escalation, or progress
/// without failure reset them.
fn attempts<'h>(chain: &[&'h Handoff]) -> Vec<&'h Handoff> {
    let continues = |handoff: &&&Handoff| match handoff.kind.as_str() {
        "initialization" | "escalation" => false,
        "progress" => text(handoff, "/worker_report/status") == Some("FAILED"),
        _ => true,
    };
    let mut out: Vec<&Handoff> = chain.iter().rev().take_while(continues).copied().collect();
    out.retain(|handoff| handoff.kind == "error_recovery");
    out.reverse();
    out
}

/// Number of the next recovery attempt, and their limit: from the newest attempt, otherwise 3.
pub fn next_attempt(chain: &[&Handoff]) -> (u64, u64) {
    let attempts = attempts(chain);
    let number = |handoff: &&Handoff, key: &str| {
        handoff.payload.as_ref()?.get(key)?.as_u64().filter(|number| PLAUSIBLE.contains(number))
    };
    let counted = attempts.iter().filter_map(|handoff| number(handoff, "retry_count")).max().unwrap_or(0);
    let most = attempts.iter().rev().find_map(|handoff| number(handoff, "max_retries")).unwrap_or(RETRIES);
    (counted.max(attempts.len() as u64).saturating_add(1), most)
}

fn value<'h>(handoff: &'h Handoff, pointer: &str) -> Option<&'h Value> {
    let mut keys = pointer.trim_start_matches('/').split('/');
    let first = handoff.payload.as_ref()?.get(keys.next()?)?;
    keys.try_fold(first, |value, key| value.get(key))
}

/// A text of the payload; `None` if missing or of another type.
pub fn text<'h>(handoff: &'h Handoff, pointer: &str) -> Option<&'h str> {
    value(handoff, pointer)?.as_str()
}

/// A whole number of the payload; `None` if missing or of another type.
pub fn number(handoff: &Handoff, pointer: &str) -> Option<u64> {
    value(handoff, pointer)?.as_u64()
}

/// Whether the payload has a value at the pointer.
pub fn has(handoff: &Handoff, pointer: &str) -> bool {
    value(handoff, pointer).is_some()
}

/// A list of texts of the payload; empty if missing or of another type.
pub fn texts(handoff: &Handoff, pointer: &str) -> Vec<String> {
    let list = value(handoff, pointer).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(|entry| Some(entry.as_str()?.to_owned())).collect()
}

/// A worker's report as text: status, work done, obstacles.
pub fn report_text(handoff: &Handoff) -> Option<String> {
    let mut out = text(handoff, "/worker_report/status")?.to_owned();
    for (before, pointer) in [(": ", "/worker_report/accomplished"), ("; issues: ", "/worker_report/issues")] {
        let entries = texts(handoff, pointer);
        if !entries.is_empty() {
            out.push_str(before);
            out.push_str(&entries.join("; "));
        }
    }
    Some(out)
}

/// Files changed according to a report.
pub fn reported(handoff: &Handoff) -> Vec<String> {
    reports(handoff).filter_map(|file| Some(file.get("path")?.as_str()?.to_owned())).collect()
}

/// Changed files without a description.
pub fn undescribed(handoff: &Handoff) -> Vec<String> {
    let bare = |file: &&Value| {
        let description = file.get("description").and_then(Value::as_str).unwrap_or_default();
        description.trim().is_empty()
    };
    reports(handoff).filter(bare).filter_map(|file| Some(file.get("path")?.as_str()?.to_owned())).collect()
}

fn reports(handoff: &Handoff) -> impl Iterator<Item = &Value> {
    value(handoff, "/worker_report/files_modified").and_then(Value::as_array).into_iter().flatten()
}

/// Distinct files of the task's reports and handoffs.
pub fn files(chain: &[&Handoff]) -> Vec<String> {
    let mut out = Vec::new();
    let named = |handoff: &&Handoff| reported(handoff).into_iter().chain(handoff.artifacts.clone());
    add_new(&mut out, &chain.iter().flat_map(named).collect::<Vec<_>>());
    out.retain(|path| !path.trim().is_empty());
    out
}

/// A default title of a managed handoff, one line.
pub fn title(handoff: &Handoff) -> Option<String> {
    let pointers =
        ["/instructions", "/error_report/description", "/escalation_details/description", "/continuation_instructions"];
    let text = pointers.into_iter().find_map(|pointer| text(handoff, pointer))?;
    text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

/// IDs of the handoffs that another session acknowledged.
pub fn taken_up<'a>(records: impl IntoIterator<Item = &'a Record>) -> BTreeSet<Id> {
    let by_others = records.into_iter().filter_map(|record| match &record.body {
        // an acknowledgement of the session's own handoff concerns no other session
        Body::Accept(accept) if !accept.concerns.is_empty() => Some(accept.of.clone()),
        _ => None,
    });
    by_others.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::use_cases::handoff::managed::payload::put_in;

    fn handoff(document: Value) -> Handoff {
        let kind = document["handoff_type"].as_str().expect("a type").to_owned();
        let mut out = Handoff::default();
        put_in(&kind, document, &mut out);
        out
    }

    fn error(count: u64, most: u64) -> Handoff {
        handoff(json!({"handoff_type": "error_recovery", "task_id": "t", "iteration": 1,
            "error_report": {"description": "it breaks"}, "retry_count": count, "max_retries": most}))
    }

    fn progress(round: u64, status: &str) -> Handoff {
        handoff(json!({"handoff_type": "progress", "task_id": "t", "iteration": round,
            "worker_report": {"status": status, "accomplished": ["a", "b"], "issues": ["c"], "files_modified": [{"path": "x"}, {"path": "y"}]},
            "manager_decision": "CONTINUE", "continuation_instructions": "go on"}))
    }

    #[test]
    fn a_round_ends_with_progress_and_attempts_with_success() {
        let (first, second) = (progress(1, "PARTIAL"), progress(2, "FAILED"));
        let (one, two) = (error(1, 3), error(2, 5));
        assert_eq!((next_round(&[]), next_attempt(&[])), (1, (1, 3)));
        assert_eq!((next_round(&[&one]), next_attempt(&[&one])), (1, (2, 3)));
        assert_eq!((next_round(&[&one, &first]), next_attempt(&[&one, &first])), (2, (1, 3)));
        assert_eq!((next_round(&[&one, &second]), next_attempt(&[&one, &second])), (3, (2, 3)));
        assert_eq!(next_attempt(&[&one, &second, &two]), (3, 5));
        // higher numbers are trusted, lower ones are not
        assert_eq!(next_attempt(&[&error(7, 9)]), (8, 9));
        assert_eq!(next_attempt(&[&one, &one, &one]), (4, 3));
        // implausible numbers are ignored
        assert_eq!(next_attempt(&[&error(u64::MAX, u64::MAX), &error(0, 0)]), (3, 3));
        assert_eq!((next_round(&[&progress(u64::MAX, "PARTIAL")]), next_round(&[&progress(0, "PARTIAL")])), (1, 1));
        // other handoffs do not reset the attempts
        assert_eq!(next_attempt(&[&one, &Handoff { kind: "epistemic".into(), ..Default::default() }]), (2, 3));
    }

    #[test]
    fn files_and_titles_are_read_from_payloads() {
        let start = handoff(json!({"handoff_type": "initialization", "task_id": "t", "instructions": "\n begin\nnow"}));
        let (one, two) = (progress(1, "PARTIAL"), error(1, 3));
        assert_eq!(files(&[&start, &one, &two]), ["x", "y"]);
        assert_eq!(title(&start).as_deref(), Some("begin"));
        assert_eq!(title(&Handoff::default()), None);
    }
}
