//! Compares two operands in all dimensions: losses, gains, other changes, and a summary.

pub mod changes;
mod goals;
pub mod operand;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::use_cases::checkpoint::compare::changes::{Change, ChangeKind, Changes, HistoryBetween};
use crate::use_cases::checkpoint::compare::operand::Operand;
use empirica_notes::model::{Id, Vector};

/// The dimensions, in the order in which they are reported.
pub const DIMENSIONS: [&str; 9] = [
    "breadcrumbs",
    "git_state",
    "goals",
    "reasoning",
    "vectors",
    "session",
    "investigation",
    "reference_docs",
    "project",
];

#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// A sentence.
    pub summary: String,
    /// The differences: losses first, then by dimension.
    pub changes: Vec<Change>,
    /// Dimensions known to both operands.
    pub compared: Vec<&'static str>,
    /// Later value − earlier value of the vectors given on both operands, 4 decimals; `None` if the later operand has no newer
    /// assessment, or either has none.
    pub vector_deltas: Option<BTreeMap<Vector, f64>>,
}

impl Comparison {
    pub fn of(&self, kind: ChangeKind) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(move |change| change.kind == kind)
    }
}

/// Compares an earlier operand with a later one. `exists` says whether a record is stored here.
pub fn compare(a: &Operand, b: &Operand, history: &HistoryBetween, exists: &dyn Fn(&Id) -> bool) -> Comparison {
    let mut all = Changes { same_session: a.session.is_some() && a.session == b.session, ..Changes::default() };
    for (noun, a, b) in [
        (("finding", "findings"), &a.findings, &b.findings),
        (("question", "questions"), &a.unknowns, &b.unknowns),
        (("dead end", "dead ends"), &a.dead_ends, &b.dead_ends),
        (("mistake", "mistakes"), &a.mistakes, &b.mistakes),
        (("decision", "decisions"), &a.decisions, &b.decisions),
    ] {
        if let (Some(a), Some(b)) = (a, b) {
            all.journal(noun, a, b, exists);
        }
    }
    all.number("breadcrumbs", ("answer", "answers"), a.resolved, b.resolved);
    all.git(a, b, history);
    all.goals(a, b, history, exists);
    all.reasoning(a, b);
    let vector_deltas = all.vectors(a, b);
    all.session(a, b);
    all.threads(a, b);
    if all.same_session {
        all.number("reference_docs", ("consulted document", "consulted documents"), a.documents, b.documents);
    }
    all.number("project", ("handoff", "handoffs"), a.handoffs, b.handoffs);
    all.number("project", ("session", "sessions"), a.sessions, b.sessions);
    all.number("project", ("agent", "agents"), a.agents, b.agents);
    all.differ("project", "active sessions", a.active, b.active);
    let order = |change: &Change| DIMENSIONS.iter().position(|dimension| *dimension == change.dimension);
    all.list.sort_by_key(|change| (change.kind as u8, order(change)));
    // the present state has no assessment yet
    let is_pending = b.is_present && vector_deltas.is_none() && !a.vectors.is_empty() && !b.vectors.is_empty();
    Comparison {
        summary: summary(&all.list, is_pending),
        compared: DIMENSIONS.into_iter().filter(|dimension| all.compared.contains(dimension)).collect(),
        changes: all.list,
        vector_deltas,
    }
}

/// The losses in a sentence; without any, the gains, else the other changes. `is_pending`: vectors are not compared yet.
fn summary(changes: &[Change], is_pending: bool) -> String {
    let of = |kind: ChangeKind| -> Option<String> {
        let texts = changes.iter().filter(|change| change.kind == kind).map(|change| change.what.as_str());
        Some(texts.collect::<Vec<_>>().join(", ")).filter(|text| !text.is_empty())
    };
    let others = || of(ChangeKind::Gained).or(of(ChangeKind::Changed)).map(|text| format!("nothing was lost; {text}"));
    let mut text = of(ChangeKind::Lost).or_else(others).unwrap_or_else(|| "nothing changed".to_owned());
    if is_pending {
        text.push_str("; the vectors are compared at the next assessment");
    }
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
