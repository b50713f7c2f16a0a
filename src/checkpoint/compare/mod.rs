//! Two sides compared in all dimensions: what was lost, what was gained, what is different, and a sentence to act on.

pub mod changes;
mod goals;
pub mod operand;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::checkpoint::compare::changes::{Change, ChangeKind, Changes, HistoryBetween};
use crate::checkpoint::compare::operand::Operand;
use empirica_notes::model::{Id, Vector};

/// The dimensions that are compared, in the order they are told (the seed's).
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

/// What the comparison came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The sentence.
    pub summary: String,
    /// Every difference, dimension by dimension, losses first.
    pub changes: Vec<Change>,
    /// The dimensions both sides know.
    pub compared: Vec<&'static str>,
    /// Later value − earlier value of the vectors given on both sides, 4 decimals; `None` when the later side has no
    /// assessment of its own, or one of both has none.
    pub vector_deltas: Option<BTreeMap<Vector, f64>>,
}

impl Comparison {
    /// The differences of a turn.
    pub fn of(&self, turn: ChangeKind) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(move |change| change.turn == turn)
    }
}

/// Compares an earlier side with a later one. `exists` says whether a record is stored here.
pub fn compare(a: &Operand, b: &Operand, way: &HistoryBetween, exists: &dyn Fn(&Id) -> bool) -> Comparison {
    let mut all = Changes { same_session: a.session.is_some() && a.session == b.session, ..Changes::default() };
    for (words, a, b) in [
        (("finding", "findings"), &a.findings, &b.findings),
        (("question", "questions"), &a.unknowns, &b.unknowns),
        (("dead end", "dead ends"), &a.dead_ends, &b.dead_ends),
        (("mistake", "mistakes"), &a.mistakes, &b.mistakes),
        (("decision", "decisions"), &a.decisions, &b.decisions),
    ] {
        if let (Some(a), Some(b)) = (a, b) {
            all.known(words, a, b, exists);
        }
    }
    all.number("breadcrumbs", ("answer", "answers"), a.resolved, b.resolved);
    all.git(a, b, way);
    all.goals(a, b, way, exists);
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
    all.list.sort_by_key(|change| (change.turn as u8, order(change)));
    // a stored assessment is never computed again
    let is_waiting = b.is_present && vector_deltas.is_none() && !a.vectors.is_empty() && !b.vectors.is_empty();
    Comparison {
        summary: summary(&all.list, is_waiting),
        compared: DIMENSIONS.into_iter().filter(|dimension| all.compared.contains(dimension)).collect(),
        changes: all.list,
        vector_deltas,
    }
}

/// The sentence a person acts on: what was lost, else what was gained.
fn summary(changes: &[Change], is_waiting: bool) -> String {
    let told = |turn: ChangeKind| -> Vec<&str> {
        changes.iter().filter(|change| change.turn == turn).map(|change| change.what.as_str()).collect()
    };
    let (lost, gained, changed) = (told(ChangeKind::Lost), told(ChangeKind::Gained), told(ChangeKind::Changed));
    let mut text = match (lost.as_slice(), gained.as_slice(), changed.as_slice()) {
        ([], [], []) => "nothing changed".to_owned(),
        ([], [], changed) => format!("nothing was lost; {}", changed.join(", ")),
        ([], gained, _) => format!("nothing was lost; {}", gained.join(", ")),
        (lost, ..) => lost.join(", "),
    };
    if is_waiting {
        text.push_str("; the vectors are compared at the next assessment");
    }
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
