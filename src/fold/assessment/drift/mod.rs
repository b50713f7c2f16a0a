//! Drift: unfounded moves of confidence between the newest assessment and those before it.

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
/// Least move that is drift, and that is moderate drift.
const DETECTED: f64 = 0.05;
const MODERATE: f64 = 0.15;
/// Greatest move that is not severe, and greatest gain that a single claim supports.
const SEVERE: f64 = 0.30;
/// Number of different claims that support a gain of any size.
const SEVERAL: usize = 3;
/// A change below this counts as a fall in a pattern (the Python tool's drift monitor).
const FALLEN: f64 = -0.15;
/// A rise of clarity above this shows that complexity was discovered.
const CLEARER: f64 = 0.10;

empirica_notes::named_enum! {
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

empirica_notes::named_enum! {
    /// Pattern of the moves; independent of the severity.
    #[derive(Default)]
    pub enum DriftKind {
        /// Nothing moved by 0.05.
        #[default]
        None = "none",
        /// Confidence rose without evidence, or with too little for the size of the gain.
        Overconfidence = "overconfidence",
        /// Knowledge, clarity and context fell together: knowledge may be lost.
        TrueDrift = "true_drift",
        /// Confidence rose with evidence, or knowledge fell as clarity rose.
        Learning = "learning",
        /// Knowledge fell as the task grew.
        ScopeDrift = "scope_drift",
        /// Other falls.
        Decline = "decline",
    }
}

impl DriftKind {
    /// A sentence.
    pub fn pattern(self) -> &'static str {
        match self {
            DriftKind::None => "Confidence is steady",
            DriftKind::Overconfidence => "Confidence increasing faster than evidence supports",
            DriftKind::TrueDrift => "Knowledge, clarity and context fell together: what was known may be lost",
            DriftKind::Learning => "Assessments move with what is learned",
            DriftKind::ScopeDrift => "Knowledge fell as the task grew",
            DriftKind::Decline => "Confidence is falling",
        }
    }
}

/// Evidence between two assessments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EvidenceGained {
    /// Findings, answers to its questions, decisions and sources with new texts.
    pub claims: usize,
    /// Whether a check passed.
    pub passed: bool,
}

impl EvidenceGained {
    pub fn is_nothing(self) -> bool {
        self == EvidenceGained::default()
    }

    /// Whether it supports a gain above 0.30: a passed check, or 3 claims.
    pub fn supports_much(self) -> bool {
        self.passed || self.claims >= SEVERAL
    }

    fn and(self, other: Self) -> Self {
        EvidenceGained { claims: self.claims + other.claims, passed: self.passed || other.passed }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct AssessmentStep<'a> {
    pub vectors: &'a Vectors,
    /// Evidence since the assessment before it.
    pub learned: EvidenceGained,
}

/// How confidence moved: the newest assessment of the window against the mean of those before it. Counted vectors are engagement,
/// know, do, context, clarity, coherence, signal and uncertainty. A fall counts. A gain counts against assessments without evidence
/// since: no finding, answer, decision or source with a new text, and no passed check. With evidence, a gain above 0.30 counts
/// unless a check passed or three such claims were logged since.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Drift {
    /// Whether a counted move is 0.05 or more.
    pub detected: bool,
    /// The pattern of the moves.
    #[serde(rename = "type")]
    pub kind: DriftKind,
    /// The pattern, a sentence.
    pub pattern: &'static str,
    /// By the largest counted move: minor below 0.15, moderate to 0.30, severe above.
    pub severity: Severity,
    /// Number of assessments to compare.
    #[serde(rename = "window_size")]
    pub window: usize,
    /// Number of assessments compared.
    #[serde(rename = "assessments_analyzed")]
    pub analyzed: usize,
    /// The moves of the counted vectors given on both sides, 4 decimals.
    #[serde(rename = "vector_deltas")]
    pub deltas: BTreeMap<Vector, f64>,
    /// Evidence since the assessment before the newest.
    #[serde(skip)]
    pub learned: EvidenceGained,
    /// Whether a gain above 0.30 has too little evidence.
    #[serde(skip)]
    pub is_undersupported: bool,
}

/// The pattern without a comparison.
const NOTHING: &str = "There is nothing to compare yet";

impl Drift {
    /// Whether the drift is not severe.
    pub fn is_safe(&self) -> bool {
        self.severity != Severity::Severe
    }

    /// Whether confidence rose by 0.15 or more without evidence, or by more than 0.30 with little.
    pub fn is_inflated(&self) -> bool {
        self.kind == DriftKind::Overconfidence && self.severity >= Severity::Moderate
    }
}

/// Compares the last step with the mean of those before it in the window (2 or more). A fall counts. A gain counts against
/// steps without evidence since; with evidence, it counts only above 0.30, as a moderate drift, unless a check passed or 3
/// claims were logged since. Fewer than two steps show no drift.
pub fn analyze(steps: &[AssessmentStep<'_>], window: usize) -> Drift {
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
        true if round4(gain) > round4(fall) => DriftKind::Overconfidence,
        true => falling(&drift.deltas),
        false if !now.learned.is_nothing() && drift.deltas.values().any(|delta| delta.abs() >= DETECTED) => {
            DriftKind::Learning
        }
        false => DriftKind::None,
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

/// The pattern of a fall, as in the Python tool's monitor.
fn falling(deltas: &BTreeMap<Vector, f64>) -> DriftKind {
    let delta = |vector| deltas.get(&vector).copied().unwrap_or_default();
    let fell = |vector| delta(vector) < FALLEN;
    if fell(Vector::Know) && fell(Vector::Clarity) && fell(Vector::Context) {
        DriftKind::TrueDrift
    } else if fell(Vector::Know) && delta(Vector::Clarity) > CLEARER {
        DriftKind::Learning
    } else if fell(Vector::Know) && delta(Vector::Uncertainty) > -FALLEN {
        DriftKind::ScopeDrift
    } else {
        DriftKind::Decline
    }
}

/// The assessments of a session with their envelopes and the evidence since the one before, from records in order of ID.
pub fn steps<'r>(
    records: impl IntoIterator<Item = &'r Record>,
    session: &SessionId,
) -> Vec<(&'r Envelope, &'r Assessment, EvidenceGained)> {
    let mut out = Vec::new();
    let mut learned = EvidenceGained::default();
    let mut evidence = SessionEvidence::default();
    for record in records {
        learned = learned.and(evidence_of(record, session, &mut evidence));
        if let Body::Assessment(assessment) = &record.body
            && record.envelope.session.as_ref() == Some(session)
        {
            out.push((&record.envelope, &**assessment, learned));
            learned = EvidenceGained::default();
        }
    }
    out
}

/// The newest record that is evidence for a session, from records in order of ID.
pub fn last_learned<'r>(records: impl IntoIterator<Item = &'r Record>, session: &SessionId) -> Option<&'r Id> {
    let mut evidence = SessionEvidence::default();
    // reads every record, as questions precede their answers
    records
        .into_iter()
        .filter(|r| !evidence_of(r, session, &mut evidence).is_nothing())
        .map(|record| &record.envelope.id)
        .max()
}

/// Earlier questions and claims of a session.
#[derive(Default)]
struct SessionEvidence<'r> {
    questions: BTreeSet<&'r Id>,
    claims: BTreeSet<&'r str>,
}

/// Evidence of a record for a session: a finding, an answer to its question, a decision or a source with a new text, or a
/// passed check.
fn evidence_of<'r>(record: &'r Record, session: &SessionId, evidence: &mut SessionEvidence<'r>) -> EvidenceGained {
    let own = record.envelope.session.as_ref() == Some(session);
    let text = match &record.body {
        // any session may answer its question
        Body::Resolve(answer) if own || evidence.questions.contains(&answer.of) => &answer.text,
        Body::Finding(finding) if own => &finding.text,
        Body::Decision(decision) if own => &decision.text,
        Body::Source(source) if own => &source.location,
        Body::Evidence(evidence) => return EvidenceGained { claims: 0, passed: own && evidence.exit == 0 },
        Body::Unknown(_) if own => {
            evidence.questions.insert(&record.envelope.id);
            return EvidenceGained::default();
        }
        _ => return EvidenceGained::default(),
    };
    EvidenceGained { claims: usize::from(evidence.claims.insert(text)), passed: false }
}

/// The drift of a session's last assessments.
pub fn of_session(steps: &[(&Envelope, &Assessment, EvidenceGained)], window: usize) -> Drift {
    let steps: Vec<AssessmentStep<'_>> = steps
        .iter()
        .map(|(_, assessment, learned)| AssessmentStep { vectors: &assessment.vectors, learned: *learned })
        .collect();
    analyze(&steps, window)
}
