//! The answer of `diff`: a sentence, the differences dimension by dimension, and the texts side by side.

use serde_json::{Map, Value, json};
use similar::TextDiff;

use crate::checkpoint::compare::Comparison;
use crate::checkpoint::compare::changes::{Change, ChangeKind};
use crate::checkpoint::compare::operand::Operand;
use crate::checkpoint::diff::DiffOutcome;
use crate::history::show::short_commit;
use crate::render::answer::Answer;
use crate::render::{format, safe};

/// How many lines around a difference are shown.
const AROUND: usize = 2;
/// How many items of a difference the text names.
const NAMED: usize = 5;

/// The answer.
pub fn answer(outcome: &DiffOutcome) -> Answer {
    let mut text = format!("{} → {}\n{}.\n", name(&outcome.a), name(&outcome.b), sentence(&outcome.comparison));
    text.push_str(&details(&outcome.comparison));
    let texts = text_diff(&outcome.a, &outcome.b);
    if !texts.is_empty() {
        text.push_str(&format!("\n{texts}"));
    }
    Answer::new(Value::Object(json_of(outcome))).text(text).warn(outcome.warnings.clone()).paged()
}

/// The comparison as JSON.
pub fn json_of(outcome: &DiffOutcome) -> Map<String, Value> {
    let comparison = &outcome.comparison;
    let json = json!({
        "a": side_json(&outcome.a),
        "b": side_json(&outcome.b),
        "summary": comparison.summary,
        "lost": changes_json(comparison, ChangeKind::Lost),
        "gained": changes_json(comparison, ChangeKind::Gained),
        "changed": changes_json(comparison, ChangeKind::Changed),
        "compared": comparison.compared,
        "vector_deltas": deltas_json(comparison),
        "text_diff": text_diff(&outcome.a, &outcome.b),
    });
    match json {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn side_json(side: &Operand) -> Value {
    json!({
        "kind": side.kind,
        "id": side.id,
        "session_id": side.session,
        "ai_id": side.ai,
        "timestamp": side.at,
        "commit": side.commit,
        "vectors": side.vectors,
        "vectors_from": side.vectors_from,
    })
}

fn changes_json(comparison: &Comparison, turn: ChangeKind) -> Value {
    let row = |change: &Change| json!({"dimension": change.dimension, "what": change.what, "items": change.items});
    comparison.of(turn).map(row).collect()
}

/// Deltas as JSON; null when nothing was assessed in between.
pub fn deltas_json(comparison: &Comparison) -> Value {
    let object = |deltas: &Vec<(empirica_notes::model::Vector, f64)>| {
        Value::Object(deltas.iter().map(|(vector, delta)| (vector.name().to_owned(), json!(delta))).collect())
    };
    comparison.vector_deltas.as_ref().map_or(Value::Null, object)
}

/// The sentence, safe to show.
pub fn sentence(comparison: &Comparison) -> String {
    safe::line(&comparison.summary)
}

/// A side in a word or two.
fn name(side: &Operand) -> String {
    let id = side.id.as_ref().map(|id| format!(" {}", id.short())).unwrap_or_default();
    let commit = short_commit(side.commit.as_deref()).map(|commit| format!(", on {commit}")).unwrap_or_default();
    format!("{}{id} by {} ({}{commit})", side.kind, safe::line(&side.ai), format::date(&side.at))
}

/// The differences, a line each, with what they are about.
pub fn details(comparison: &Comparison) -> String {
    let mut text = String::new();
    for change in &comparison.changes {
        text.push_str(&format!("\n{:<8} {}", change.turn.name(), safe::line(&change.what)));
        for item in change.items.iter().take(NAMED) {
            text.push_str(&format!("\n         - {}", safe::line(item)));
        }
        if let more @ 1.. = change.items.len().saturating_sub(NAMED) {
            text.push_str(&format!("\n         and {more} more"));
        }
    }
    if let Some(deltas) = comparison.vector_deltas.as_ref().filter(|deltas| !deltas.is_empty()) {
        let deltas: Vec<String> =
            deltas.iter().map(|(vector, delta)| format!("{vector} {}", format::signed(Some(*delta)))).collect();
        text.push_str(&format!("\nvectors  {}", deltas.join(", ")));
    }
    if text.is_empty() { text } else { text + "\n" }
}

/// Reasoning and context of both sides as a unified diff, a text a line; empty when they are the same.
fn text_diff(a: &Operand, b: &Operand) -> String {
    let lines = |side: &Operand| -> String {
        let reasoning = side.reasoning.iter().map(|text| format!("reasoning: {}\n", safe::line(text)));
        let context = side.context.iter().map(|text| format!("context: {}\n", safe::line(text)));
        reasoning.chain(context).collect()
    };
    let (before, after) = (lines(a), lines(b));
    if before == after {
        return String::new();
    }
    let title = |side: &Operand| side.id.as_ref().map_or_else(|| side.kind.to_owned(), |id| id.short().to_owned());
    let diff = TextDiff::from_lines(&before, &after);
    diff.unified_diff().context_radius(AROUND).header(&title(a), &title(b)).to_string()
}
