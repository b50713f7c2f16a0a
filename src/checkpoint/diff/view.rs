//! The answer of `diff`: a sentence, the differences dimension by dimension, and the texts side by side.

use schemars::JsonSchema;
use serde::Serialize;
use similar::TextDiff;

use crate::checkpoint::compare::Comparison;
use crate::checkpoint::compare::changes::Change;
use crate::checkpoint::compare::changes::ChangeKind;
use crate::checkpoint::compare::operand::Operand;
use crate::checkpoint::diff::DiffOutcome;
use crate::render::answer::Answer;
use crate::render::format::moves;
use crate::render::format::short_commit;
use crate::render::{format, safe};
use empirica_notes::model::{Id, SessionId, Vector, Vectors};
use std::collections::BTreeMap;

/// How many lines around a difference are shown.
const AROUND: usize = 2;
/// How many items of a difference the text names.
const NAMED: usize = 5;

/// The answer.
pub fn answer(outcome: &DiffOutcome) -> Answer {
    let mut text = format!("{} → {}\n{}.\n", name(&outcome.a), name(&outcome.b), sentence(&outcome.comparison));
    text.push_str(&details(&outcome.comparison));
    let view = DiffView::from(outcome);
    if !view.text_diff.is_empty() {
        text.push_str(&format!("\n{}", view.text_diff));
    }
    Answer::new(view).text(text).warn(outcome.warnings.clone()).paged()
}

/// One side of a comparison.
#[derive(Serialize, JsonSchema)]
struct SideView<'a> {
    /// `checkpoint`, `assessment`, `handoff` or `now`.
    kind: &'a str,
    /// The record; null for now.
    id: Option<&'a Id>,
    /// Its session.
    session_id: Option<&'a SessionId>,
    /// Its agent.
    ai_id: &'a str,
    /// When.
    timestamp: &'a str,
    /// HEAD then; null when it was unborn.
    commit: Option<&'a str>,
    /// Its values.
    vectors: &'a Vectors,
    /// The assessment that they are from; null when they were given with it.
    vectors_from: Option<&'a Id>,
}

impl<'a> From<&'a Operand> for SideView<'a> {
    fn from(side: &'a Operand) -> Self {
        SideView {
            kind: side.kind,
            id: side.id.as_ref(),
            session_id: side.session.as_ref(),
            ai_id: &side.ai,
            timestamp: &side.at,
            commit: side.commit.as_deref(),
            vectors: &side.vectors,
            vectors_from: side.vectors_from.as_ref(),
        }
    }
}

/// A comparison of two states of the work.
#[derive(Serialize, JsonSchema)]
pub struct DiffView<'a> {
    /// The earlier side.
    a: SideView<'a>,
    /// The later side.
    b: SideView<'a>,
    /// What was lost, a sentence; when nothing was, what was gained or changed.
    summary: &'a str,
    /// What b no longer has: findings, questions, answers, dead ends, mistakes, decisions, goals, documents, handoffs, sessions and
    /// agents that it counts less of, or that a names and no record here has; open goals that no other session took over and
    /// nobody ended; commits that its HEAD does not have; files that were not committed at a and are neither uncommitted,
    /// committed nor ignored at b, with the number of their lines where it is known; progress of goals; reasoning that it does
    /// not go on from; a vector that got worse by 0.15 or more. Between work trees uncommitted files are not compared; in a
    /// shallow clone no commit counts as lost.
    lost: Vec<&'a Change>,
    /// What only b has.
    gained: Vec<&'a Change>,
    /// What is different.
    changed: Vec<&'a Change>,
    /// The dimensions that both sides know: breadcrumbs, git_state, goals, reasoning, vectors, session, investigation,
    /// reference_docs, project.
    compared: &'a [&'static str],
    /// b − a, 4 decimals; null when b has the vectors of no newer assessment than a, or either has none.
    vector_deltas: Option<&'a BTreeMap<Vector, f64>>,
    /// Reasoning and context of both as a unified diff; empty when they are the same.
    text_diff: String,
}

impl<'a> From<&'a DiffOutcome> for DiffView<'a> {
    fn from(DiffOutcome { a, b, comparison, .. }: &'a DiffOutcome) -> Self {
        DiffView {
            a: SideView::from(a),
            b: SideView::from(b),
            summary: &comparison.summary,
            lost: comparison.of(ChangeKind::Lost).collect(),
            gained: comparison.of(ChangeKind::Gained).collect(),
            changed: comparison.of(ChangeKind::Changed).collect(),
            compared: &comparison.compared,
            vector_deltas: comparison.vector_deltas.as_ref(),
            text_diff: text_diff(a, b),
        }
    }
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
        text.push_str(&format!("\nvectors  {}", moves(deltas)));
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
