//! The answer of `import`.

use serde_json::{Value, json};

use super::{Answer, safe, words};
use crate::ops::portable::Imported;

/// From how many new lines on it is said how to pack what they came to.
const MANY: usize = 10_000;

/// The answer of `import`.
pub fn imported(outcome: &Imported) -> Answer {
    let kinds: Vec<Value> = outcome.kinds.iter().map(|(kind, count)| json!({"kind": kind, "count": count})).collect();
    let json = json!({
        "read": outcome.read,
        "new": outcome.new,
        "known": outcome.known,
        "left_out": outcome.left_out,
        "kinds": kinds,
        "missing_commits": outcome.missing_commits,
        "secrets": outcome.secrets,
    });
    let word = |kind: &Option<String>| match kind {
        Some(kind) => safe::line(&kind.replace('_', " ")),
        None => "no record".to_owned(),
    };
    let mut text =
        format!("{} read: {} new, {} known.\n", words::count(outcome.read, "line"), outcome.new, outcome.known);
    if !outcome.kinds.is_empty() {
        let kinds: Vec<String> = outcome.kinds.iter().map(|(kind, count)| format!("{} {count}", word(kind))).collect();
        text.push_str(&format!("  new: {}\n", kinds.join(", ")));
    }
    let mut answer = Answer::new(json).text(text).stored(&outcome.stored);
    if outcome.left_out > 0 {
        let lines = words::count(outcome.left_out, "line");
        answer.warnings.push(format!("{lines} left out: what they say was redacted here"));
    }
    if outcome.missing_commits > 0 {
        let commits = words::count(outcome.missing_commits, "commit");
        answer.warnings.push(format!(
            "not here: {commits} that records stand on; the records are stored, and stand there once they are fetched"
        ));
    }
    if let Some(secrets @ 1..) = outcome.secrets {
        let lines = words::count(secrets, "line");
        answer.warnings.push(format!("what is imported seems to hold a secret in {lines}; stored as it is"));
    }
    if outcome.new >= MANY {
        answer = answer.hint("git gc packs the many objects this made.");
    }
    answer
}
