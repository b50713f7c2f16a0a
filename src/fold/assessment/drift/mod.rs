//! Drift: confidence that moves without reason, found by comparing the newest assessment with those before it.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::fold::assessment::confidence::round4;
use empirica_notes::model::{Assessment, Body, Envelope, Id, Record, SessionId, Vector, Vectors};

/// Default number of assessments compared.
pub const WINDOW: usize = 3;

/// The vectors whose moves count.
const COUNTED: [Vector; 8] = [
    Vector::Engagement,
    Vector::Know,
    Vector::Do,
    Vector::Context,
    Vector::Clarity,
    Vector::Coherence,
    Vector::Signal,
    Vector::Uncertainty,
];
/// From this move on there is drift.
const DETECTED: f64 = 0.05;
/// From this move on it is moderate.
const MODERATE: f64 = 0.15;
/// Above this move it is severe, and a gain needs more than one claim.
const SEVERE: f64 = 0.30;
/// So many different claims support a gain of any size.
const SEVERAL: usize = 3;
/// A fall below this is one of the patterns (the Python tool's drift monitor).
const FALLEN: f64 = -0.15;
/// A rise above this shows that complexity was discovered.
const CLEARER: f64 = 0.10;

empirica_notes::words! {
    /// How much was moved.
    #[derive(PartialOrd, Ord, Default)]
    pub enum Severity {
        #[default]
        None = "none",
        Minor = "minor",
        Moderate = "moderate",
        Severe = "severe",
    }
}

impl Severity {
    /// By the largest counted move: none below 0.05, minor below 0.15, moderate to 0.30, severe above.
    fn of(largest: f64) -> Self {
        match round4(largest) {
            m if m < DETECTED => Severity::None,
            m if m < MODERATE => Severity::Minor,
            m if m <= SEVERE => Severity::Moderate,
            _ => Severity::Severe,
        }
    }
}

empirica_notes::words! {
    /// What sort of move it is. A label: the severity goes by size alone.
    #[derive(Default)]
    pub enum Kind {
        /// Nothing moved by 0.05.
        #[default]
        None = "none",
        /// Confidence rose and nothing was learned, or too little for so large a gain.
        Overconfidence = "overconfidence",
        /// Knowledge, clarity and context fell together: what was known is no longer there.
        TrueDrift = "true_drift",
        /// Confidence rose with what was learned, or knowledge fell as the matter became clearer.
        Learning = "learning",
        /// Knowledge fell as the task grew.
        ScopeDrift = "scope_drift",
        /// Something fell.
        Decline = "decline",
    }
}

impl Kind {
    /// The pattern, a sentence.
    pub fn pattern(self) -> &'static str {
        match self {
            Kind::None => "Confidence is steady",
            Kind::Overconfidence => "Confidence increasing faster than evidence supports",
            Kind::TrueDrift => "Knowledge, clarity and context fell together: what was known may be lost",
            Kind::Learning => "Assessments move with what is learned",
            Kind::ScopeDrift => "Knowledge fell as the task grew",
            Kind::Decline => "Confidence is falling",
        }
    }
}

/// What was learned between an assessment and the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EvidenceGained {
    /// Findings, answers to its questions, decisions and sources that say something new.
    pub claims: usize,
    /// Whether a check passed.
    pub passed: bool,
}

impl EvidenceGained {
    /// Whether it was nothing.
    pub fn is_nothing(self) -> bool {
        self == EvidenceGained::default()
    }

    /// Whether it supports a gain above 0.30: a check that passed, or 3 claims.
    pub fn supports_much(self) -> bool {
        self.passed || self.claims >= SEVERAL
    }

    fn and(self, other: Self) -> Self {
        EvidenceGained { claims: self.claims + other.claims, passed: self.passed || other.passed }
    }
}

/// An assessment on its way.
#[derive(Debug, Clone, PartialEq)]
pub struct AssessmentStep<'a> {
    /// Its values.
    pub vectors: &'a Vectors,
    /// What was learned between the assessment before it and this one.
    pub learned: EvidenceGained,
}

/// How confidence moved: the newest assessment of the window against the mean of those before it. Counted are engagement, know, do,
/// context, clarity, coherence, signal and uncertainty. A fall counts; a gain counts as far as it goes beyond the assessments since
/// which nothing was learned (no finding, answer, decision or source with a new text, and no evidence that passed). Where
/// something was learned, a gain above 0.30 counts unless evidence passed or three such claims were logged since.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Drift {
    /// Whether a counted move is 0.05 or more.
    pub detected: bool,
    /// The sort of move.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// The sort of move, a sentence.
    pub pattern: &'static str,
    /// By the largest counted move: minor below 0.15, moderate to 0.30, severe above.
    pub severity: Severity,
    /// How many assessments were to be compared.
    #[serde(rename = "window_size")]
    pub window: usize,
    /// How many were there.
    #[serde(rename = "assessments_analyzed")]
    pub analyzed: usize,
    /// The moves of the counted vectors that are given on both sides, 4 decimals.
    #[serde(rename = "vector_deltas")]
    pub deltas: BTreeMap<Vector, f64>,
    /// What was learned since the assessment before the newest.
    #[serde(skip)]
    pub learned: EvidenceGained,
    /// Whether a gain above 0.30 has too little behind it.
    #[serde(skip)]
    pub is_undersupported: bool,
}

/// The pattern where nothing could be compared.
const NOTHING: &str = "There is nothing to compare yet";

impl Drift {
    /// Whether one may act: not on severe drift.
    pub fn is_safe(&self) -> bool {
        self.severity != Severity::Severe
    }

    /// Whether confidence rose by 0.15 or more while nothing was learned, or above 0.30 with little.
    pub fn is_inflated(&self) -> bool {
        self.kind == Kind::Overconfidence && self.severity >= Severity::Moderate
    }
}

/// Compares the last of the steps with the mean of those before it in the window (2 or more). Falls count. A
/// gain counts as far as it goes beyond the assessments since which nothing was learned. Where something was learned, it
/// counts only above 0.30, as a moderate drift, unless a check passed or 3 claims were made since. Fewer than two steps
/// show nothing.
pub fn analyse(steps: &[AssessmentStep<'_>], window: usize) -> Drift {
    let steps = &steps[steps.len().saturating_sub(window.max(2))..];
    let mut drift = Drift { window, analyzed: steps.len(), pattern: NOTHING, ..Drift::default() };
    let Some((now, earlier)) = steps.split_last().filter(|(_, earlier)| !earlier.is_empty()) else { return drift };
    drift.learned = now.learned;
    let (mut fall, mut gain) = (0.0_f64, 0.0_f64);
    for vector in COUNTED {
        let moved = |from: &[AssessmentStep<'_>]| Some(now.vectors.get(vector)? - mean(from, vector)?);
        let Some(delta) = moved(earlier) else { continue };
        drift.deltas.insert(vector, round4(delta) + 0.0);
        let better = |delta: f64| if vector.less_is_better() { -delta } else { delta };
        fall = fall.max(-better(delta));
        for from in 0..earlier.len() {
            let since = steps[from + 1..].iter().fold(EvidenceGained::default(), |sum, step| sum.and(step.learned));
            let rise = moved(&earlier[from..]).map_or(0.0, |moved| better(moved).min(better(delta)));
            if since.is_nothing() {
                gain = gain.max(rise);
                break;
            }
            drift.is_undersupported |= round4(rise) > SEVERE && !since.supports_much();
        }
    }
    if drift.is_undersupported {
        gain = gain.max(MODERATE);
    }
    drift.severity = Severity::of(fall.max(gain));
    drift.detected = drift.severity != Severity::None;
    drift.kind = match drift.detected {
        true if round4(gain) > round4(fall) => Kind::Overconfidence,
        true => falling(&drift.deltas),
        false if !now.learned.is_nothing() && drift.deltas.values().any(|delta| delta.abs() >= DETECTED) => {
            Kind::Learning
        }
        false => Kind::None,
    };
    if !drift.deltas.is_empty() {
        drift.pattern = drift.kind.pattern();
    }
    drift
}

fn mean(steps: &[AssessmentStep<'_>], vector: Vector) -> Option<f64> {
    let values: Vec<f64> = steps.iter().filter_map(|step| step.vectors.get(vector)).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// What sort of fall it is, by the patterns of the Python tool's monitor.
fn falling(deltas: &BTreeMap<Vector, f64>) -> Kind {
    let delta = |vector| deltas.get(&vector).copied().unwrap_or_default();
    let fell = |vector| delta(vector) < FALLEN;
    if fell(Vector::Know) && fell(Vector::Clarity) && fell(Vector::Context) {
        Kind::TrueDrift
    } else if fell(Vector::Know) && delta(Vector::Clarity) > CLEARER {
        Kind::Learning
    } else if fell(Vector::Know) && delta(Vector::Uncertainty) > -FALLEN {
        Kind::ScopeDrift
    } else {
        Kind::Decline
    }
}

/// The assessments of a session with their envelopes, and what lies between them, out of records in order of id.
pub fn steps<'r>(
    records: impl IntoIterator<Item = &'r Record>,
    session: &SessionId,
) -> Vec<(&'r Envelope, &'r Assessment, EvidenceGained)> {
    let mut out = Vec::new();
    let mut learned = EvidenceGained::default();
    let mut known = SessionEvidence::default();
    for record in records {
        learned = learned.and(teaches(record, session, &mut known));
        if let Body::Assessment(assessment) = &record.body
            && record.head.session.as_ref() == Some(session)
        {
            out.push((&record.head, &**assessment, learned));
            learned = EvidenceGained::default();
        }
    }
    out
}

/// The newest record by which a session learned anything, out of records in order of id; `None` when there is none.
pub fn last_learned<'r>(records: impl IntoIterator<Item = &'r Record>, session: &SessionId) -> Option<&'r Id> {
    let mut known = SessionEvidence::default();
    // every record is looked at: questions are asked before they are answered
    records.into_iter().filter(|r| !teaches(r, session, &mut known).is_nothing()).map(|record| &record.head.id).max()
}

/// What a session has said so far.
#[derive(Default)]
struct SessionEvidence<'r> {
    questions: BTreeSet<&'r Id>,
    claims: BTreeSet<&'r str>,
}

/// What a session learns by a record: a finding, an answer to its question, a decision, a source, each text once; evidence
/// that passed.
fn teaches<'r>(record: &'r Record, session: &SessionId, known: &mut SessionEvidence<'r>) -> EvidenceGained {
    let own = record.head.session.as_ref() == Some(session);
    let text = match &record.body {
        // an answer to its question is learned from whoever gives it
        Body::Resolve(answer) if own || known.questions.contains(&answer.of) => &answer.text,
        Body::Finding(finding) if own => &finding.text,
        Body::Decision(decision) if own => &decision.text,
        Body::Source(source) if own => &source.location,
        Body::Evidence(evidence) => return EvidenceGained { claims: 0, passed: own && evidence.exit == 0 },
        Body::Unknown(_) if own => {
            known.questions.insert(&record.head.id);
            return EvidenceGained::default();
        }
        _ => return EvidenceGained::default(),
    };
    EvidenceGained { claims: usize::from(known.claims.insert(text)), passed: false }
}

/// The drift of a session's last assessments.
pub fn of_session(steps: &[(&Envelope, &Assessment, EvidenceGained)], window: usize) -> Drift {
    let steps: Vec<AssessmentStep<'_>> = steps
        .iter()
        .map(|(_, assessment, learned)| AssessmentStep { vectors: &assessment.vectors, learned: *learned })
        .collect();
    analyse(&steps, window)
}
