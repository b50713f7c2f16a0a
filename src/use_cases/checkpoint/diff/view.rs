//! The answer of `diff`: a summary, the differences, and a unified diff of the texts.

use schemars::JsonSchema;
use serde::Serialize;
use similar::TextDiff;

use crate::render::answer::Answer;
use crate::render::format::{moves, short_commit};
use crate::render::{format, safe};
use crate::use_cases::checkpoint::compare::Comparison;
use crate::use_cases::checkpoint::compare::changes::{Change, ChangeKind};
use crate::use_cases::checkpoint::compare::operand::Operand;
use crate::use_cases::checkpoint::diff::DiffOutcome;
use empirica_notes::model::{Id, SessionId, Vector, Vectors};
use std::collections::BTreeMap;

/// Context lines of the diff.
const AROUND: usize = 2;
/// Most items listed of a difference.
const ITEMS: usize = 5;

pub fn answer(outcome: &DiffOutcome) -> Answer {
    let mut text = format!("{} → {}\n{}.\n", name(&outcome.a), name(&outcome.b), sentence(&outcome.comparison));
    text.push_str(&details(&outcome.comparison));
    let view = DiffView::from(outcome);
    if !view.text_diff.is_empty() {
        text.push_str(&format!("\n{}", view.text_diff));
    }
    Answer::new(view).text(text).warn(outcome.warnings.clone()).paged()
}

/// One operand of a comparison.
#[derive(Serialize, JsonSchema)]
struct OperandView<'a> {
    /// `checkpoint`, `assessment`, `handoff` or `now`.
    kind: &'a str,
    /// The record; null for now.
    id: Option<&'a Id>,
    /// Its session.
    session_id: Option<&'a SessionId>,
    /// Its agent.
    ai_id: &'a str,
    /// Its time.
    timestamp: &'a str,
    /// HEAD at that time; null if unborn.
    commit: Option<&'a str>,
    /// Its vectors.
    vectors: &'a Vectors,
    /// The assessment of the vectors; null if they were given with the operand.
    vectors_from: Option<&'a Id>,
}

impl<'a> From<&'a Operand> for OperandView<'a> {
    fn from(operand: &'a Operand) -> Self {
        OperandView {
            kind: operand.kind,
            id: operand.id.as_ref(),
            session_id: operand.session.as_ref(),
            ai_id: &operand.ai,
            timestamp: &operand.at,
            commit: operand.commit.as_deref(),
            vectors: &operand.vectors,
            vectors_from: operand.vectors_from.as_ref(),
        }
    }
}

/// A comparison of two states of the work.
#[derive(Serialize, JsonSchema)]
pub struct DiffView<'a> {
    /// The earlier operand.
    a: OperandView<'a>,
    /// The later operand.
    b: OperandView<'a>,
    /// A sentence: the losses; without any, the gains or other changes.
    summary: &'a str,
    /// What b lacks: findings, questions, answers, dead ends, mistakes, decisions, goals, documents, handoffs, sessions and
    /// agents whose number fell, or that a lists and no stored record has; open goals that were neither closed nor taken over
    /// by another session; commits missing in its HEAD; files that were uncommitted at a and are neither uncommitted,
    /// committed nor ignored at b, with their number of lines if known; progress of goals; reasoning that it does not
    /// continue; a vector that got worse by 0.15 or more. Uncommitted files of different work trees are not compared; in a
    /// shallow clone, no commit counts as lost.
    lost: Vec<&'a Change>,
    /// What only b has.
    gained: Vec<&'a Change>,
    /// Other changes.
    changed: Vec<&'a Change>,
    /// The dimensions known to both operands: breadcrumbs, git_state, goals, reasoning, vectors, session, investigation,
    /// reference_docs, project.
    compared: &'a [&'static str],
    /// b − a, 4 decimals; null if b has no newer assessment than a, or either has no vectors.
    vector_deltas: Option<&'a BTreeMap<Vector, f64>>,
    /// Unified diff of reasoning and context; empty if they are equal.
    text_diff: String,
}

impl<'a> From<&'a DiffOutcome> for DiffView<'a> {
    fn from(DiffOutcome { a, b, comparison, .. }: &'a DiffOutcome) -> Self {
        DiffView {
            a: OperandView::from(a),
            b: OperandView::from(b),
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

/// The summary, safe to show.
pub fn sentence(comparison: &Comparison) -> String {
    safe::line(&comparison.summary)
}

/// Kind, ID, agent, time and commit of a operand.
fn name(operand: &Operand) -> String {
    let id = operand.id.as_ref().map(|id| format!(" {}", id.short())).unwrap_or_default();
    let commit = short_commit(operand.commit.as_deref()).map(|commit| format!(", on {commit}")).unwrap_or_default();
    format!("{}{id} by {} ({}{commit})", operand.kind, safe::line(&operand.ai), format::date(&operand.at))
}

/// The differences, a line each, with their items below.
pub fn details(comparison: &Comparison) -> String {
    let mut text = String::new();
    for change in &comparison.changes {
        text.push_str(&format!("\n{:<8} {}", change.kind.name(), safe::line(&change.what)));
        for item in change.items.iter().take(ITEMS) {
            text.push_str(&format!("\n         - {}", safe::line(item)));
        }
        if let more @ 1.. = change.items.len().saturating_sub(ITEMS) {
            text.push_str(&format!("\n         and {more} more"));
        }
    }
    if let Some(deltas) = comparison.vector_deltas.as_ref().filter(|deltas| !deltas.is_empty()) {
        text.push_str(&format!("\nvectors  {}", moves(deltas)));
    }
    if text.is_empty() { text } else { text + "\n" }
}

fn text_diff(a: &Operand, b: &Operand) -> String {
    let lines = |operand: &Operand| -> String {
        let reasoning = operand.reasoning.iter().map(|text| format!("reasoning: {}\n", safe::line(text)));
        let context = operand.context.iter().map(|text| format!("context: {}\n", safe::line(text)));
        reasoning.chain(context).collect()
    };
    let (before, after) = (lines(a), lines(b));
    if before == after {
        return String::new();
    }
    let title =
        |operand: &Operand| operand.id.as_ref().map_or_else(|| operand.kind.to_owned(), |id| id.short().to_owned());
    let diff = TextDiff::from_lines(&before, &after);
    diff.unified_diff().context_radius(AROUND).header(&title(a), &title(b)).to_string()
}
