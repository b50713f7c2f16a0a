//! Assessments: an agent's vectors before, during and after its work.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::context::records::{self, gather_from};
use crate::context::stored::StoreReport;
use crate::context::{CommandContext, WorkingSession, active, names};
use crate::fold::assessment::confidence::overall;
use crate::fold::assessment::gate::{Gate, GateDecision};
use crate::fold::assessment::{calibration, drift, gate, trajectory};
use crate::fold::handoff_report::HandoffInput;
use crate::use_cases::assess::goal_suggestions::{self, SuggestedGoal};
use crate::use_cases::handoff;
use crate::use_cases::handoff::build::HandoffParts;
use crate::use_cases::handoff::view::delta_map;
use crate::use_cases::handoff::write::HandoffOutcome;
use crate::use_cases::session::compaction::{self, SinceSnapshot};
use empirica_notes::error::{Error, Result, Text, blank, empirica, text};
use empirica_notes::model::goal::GoalDone;
use empirica_notes::model::handoff::{Calibration, Trajectory};
use empirica_notes::model::journal::{Finding, Unknown};
use empirica_notes::model::vectors::VectorError;
use empirica_notes::model::{Assessment, Body, Id, Phase, Record, SessionId, Vector, Vectors};
use empirica_notes::store::FlushTiming;

#[derive(Debug, Clone, Default)]
pub struct AssessRequest {
    pub vectors: Vectors,
    pub confidence: Option<f64>,
    pub reasoning: Option<String>,
    pub task: Option<String>,
    pub findings: Vec<String>,
    pub unknowns: Vec<String>,
    pub cycle: Option<u32>,
    pub scope: Option<f64>,
    pub tags: Vec<String>,
    pub meta: BTreeMap<String, String>,
    /// Whether the handoff after the work is signed.
    pub sign: bool,
}

/// A goal of a PREFLIGHT that is done.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GoalReached {
    /// The goal.
    pub id: Id,
    /// The assessment that ended it.
    pub evidence: Option<String>,
}

impl From<&GoalDone> for GoalReached {
    fn from(done: &GoalDone) -> Self {
        GoalReached { id: done.of.clone(), evidence: done.evidence.clone() }
    }
}

/// An assessment that was stored.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AssessOutcome {
    /// The session.
    pub session_id: SessionId,
    /// The assessment.
    pub checkpoint_id: Id,
    /// When in the workflow.
    pub phase: Phase,
    /// Which one of its phase, from 1.
    pub round: u32,
    /// Its values.
    pub vectors: Vectors,
    /// From 0 to 1, 4 decimals; null when only uncertainty was given.
    pub overall_confidence: Option<f64>,
    /// Whether uncertainty is above 0.6.
    pub uncertainty_detected: bool,
    /// Uncertainty, from 0 to 1; null when it was not given.
    pub uncertainty_score: Option<f64>,
    /// The next step, a sentence.
    #[schemars(with = "String")]
    pub next_step: Text,
    /// Preflight: `investigate` or `proceed`; check: also `recalibrate_before_acting` or `stop`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recommendation: Option<&'static str>,
    /// Preflight: the goals that were suggested, or that an earlier one suggested alike, at most 5; empty with `proceed`. First of
    /// know, uncertainty and state where they recommend investigating; then of other vectors under 0.70 but completion, change
    /// and impact, weakest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_generated_goals: Option<Vec<SuggestedGoal>>,
    /// Check, postflight: open goals of a PREFLIGHT that are done now: their vector is 0.70 or more (uncertainty, density: 0.30 or
    /// less), something was learned since they were set, no step of theirs is open, and there is no overconfidence of 0.15 or
    /// more; that of uncertainty not while the session has an open question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goals_reached: Option<Vec<GoalReached>>,
    /// The first assessment after a compaction: the change of the vectors; absent when the checkpoint after it had its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since_compaction: Option<SinceSnapshot>,
    /// Check: drift and decision.
    #[serde(flatten)]
    pub gate: Option<Gate>,
    /// Check, postflight: the confidence that it claims to act with, from 0 to 1; null when none was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Option<f64>>,
    /// Check, postflight: against the first PREFLIGHT, of the vectors both give; `overall_confidence` last, over these alone, and
    /// absent when they have none in common but uncertainty.
    #[serde(rename = "deltas", serialize_with = "as_deltas", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BTreeMap<String, f64>>")]
    pub since: Option<Vec<Trajectory>>,
    /// Postflight: whether knowing and doubting moved together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration_status: Option<Calibration>,
    /// Postflight: the handoff, or why there is none.
    #[serde(skip)]
    pub handoff: Option<Result<Box<HandoffOutcome>, Error>>,
    /// Warnings and remedies of storing.
    #[serde(skip)]
    pub stored: StoreReport,
}

fn as_deltas<S: Serializer>(since: &Option<Vec<Trajectory>>, serializer: S) -> Result<S::Ok, S::Error> {
    since.as_deref().map(delta_map).serialize(serializer)
}

/// Stores a POSTFLIGHT. The task, findings and unknowns of the handoff are its own, and are journalled with it before the handoff.
pub fn postflight(
    context: &CommandContext<'_>,
    request: AssessRequest,
    mut input: HandoffInput,
    hand_over: bool,
) -> Result<AssessOutcome> {
    let request = AssessRequest {
        findings: std::mem::take(&mut input.findings),
        unknowns: std::mem::take(&mut input.unknowns),
        task: input.task.clone(),
        ..request
    };
    handoff::write::check(context, &input)?;
    run(context, Phase::Postflight, request, hand_over.then_some(input))
}

/// Stores an assessment of `phase`, its findings and unknowns first. A POSTFLIGHT writes the handoff as well unless
/// `hand_over` is `None`; if that fails, the assessment stays stored.
pub fn run(
    context: &CommandContext<'_>,
    phase: Phase,
    mut request: AssessRequest,
    hand_over: Option<HandoffInput>,
) -> Result<AssessOutcome> {
    if request.vectors.is_empty() {
        return Err(vector_error(&VectorError::Empty));
    }
    for text in &request.findings {
        context.text("finding", text)?;
    }
    for text in &request.unknowns {
        context.text("unknown", text)?;
    }
    context.optional("task", request.task.as_deref())?;
    context.optional("reasoning", request.reasoning.as_deref())?;
    let session = context.writing()?;
    let scan = records::session(context, &session.id)?;
    let session_records = gather_from(&scan, &session.id)?;
    let here = active::anywhere(context, session.id.as_str());
    // what ends a session that is active here may be another's record
    if !session_records.session.is_active() && here.is_none() {
        return Err(Error::refused(format!("cannot assess session {}: it has ended", session.id.short()))
            .suggest("Start a new session.")
            .command(names::start_command(Some(&session_records.session.ai))));
    }
    // a session can get its task after it began
    let later = || here.and_then(|session| session.task);
    request.task = request.task.or_else(|| session_records.session.task.is_none().then(later).flatten());
    let doubts = context.unproven(session_records.assessments.iter().map(|(envelope, _)| &envelope.id));
    let round = session_records.next_round(phase);
    let mut proposed = goal_suggestions::GoalChanges::default();
    if phase == Phase::Preflight {
        let evidence = (request.task.as_deref(), request.reasoning.as_deref(), request.unknowns.as_slice());
        proposed = goal_suggestions::run(context, &session, &session_records, &request.vectors, evidence)?;
    }
    let finding = |text: String| Body::Finding(Finding { text, impact: None, memory: None, ..Default::default() });
    let unknown = |text: String| Body::Unknown(Unknown { text, ..Default::default() });
    let mut bodies: Vec<Body> = request.findings.into_iter().map(finding).collect();
    bodies.extend(request.unknowns.into_iter().map(unknown));
    bodies.push(Body::Assessment(Box::new(Assessment {
        phase,
        round,
        vectors: request.vectors,
        confidence: request.confidence,
        reasoning: request.reasoning,
        task: request.task,
        cycle: request.cycle,
        scope: request.scope,
        tags: request.tags,
        meta: request.meta,
    })));
    bodies.append(&mut proposed.bodies);

    let (records, mut stored) = context.store(&session, bodies, FlushTiming::Now)?;
    stored.warnings.extend(doubts);
    let assessed = records.iter().find_map(|record| match &record.body {
        Body::Assessment(assessment) => Some((record.envelope.clone(), (**assessment).clone())),
        _ => None,
    });
    let Some((assessed, assessment)) = assessed else {
        return Err(Error::unstored());
    };
    let goals = proposed.in_order(&records);
    let all_records: Vec<&Record> = scan.records().chain(&records).collect();
    let gate = gate::gate(&drift::steps(all_records.iter().copied(), &session.id), drift::WINDOW);
    let is_first = phase == Phase::Preflight;
    let mut goals_reached = Vec::new();
    if !is_first && !gate.drift.is_inflated() {
        let reached = goal_suggestions::reached(&all_records, &session, &session_records, &assessment);
        goals_reached.extend(reached.iter().map(GoalReached::from));
        if !reached.is_empty() {
            let bodies = reached.into_iter().map(Body::GoalDone).collect();
            stored.degraded_mode |= context.store(&session, bodies, FlushTiming::Later)?.1.degraded_mode;
        }
    }
    let gate = (phase == Phase::Check).then_some(gate);
    let since_compaction =
        compaction::since(context, &session_records, &assessed, &assessment).unwrap_or_else(|error| {
            // the assessment stays stored
            stored.warnings.push(format!("cannot compare the vectors with those before the compaction: {error}"));
            None
        });
    let vectors = assessment.vectors;
    let handoff = hand_over.map(|input| write_handoff(context, &session, input, request.sign));
    let before = session_records.before();
    let first = is_first.then(|| {
        if gate::triggers(&vectors).is_empty() { GateDecision::Proceed } else { GateDecision::Investigate }.name()
    });
    let recommendation = first.or(gate.as_ref().and_then(|gate| gate.recommendation));
    Ok(AssessOutcome {
        session_id: session.id,
        checkpoint_id: assessed.id,
        phase,
        round,
        overall_confidence: overall(&vectors),
        uncertainty_detected: gate::is_uncertain(&vectors),
        uncertainty_score: vectors.get(Vector::Uncertainty),
        next_step: next_step(phase, recommendation, handoff.as_ref()),
        recommendation,
        auto_generated_goals: is_first.then_some(goals),
        goals_reached: (!is_first).then_some(goals_reached),
        since_compaction,
        gate,
        confidence: (!is_first).then_some(assessment.confidence),
        since: (!is_first).then(|| {
            before.map_or_else(Vec::new, |before| {
                trajectory::rows(Some(before), Some(&vectors), Calibration::NotAssessable)
            })
        }),
        calibration_status: (phase == Phase::Postflight).then(|| calibration::status(before, Some(&vectors))),
        vectors,
        handoff,
        stored,
    })
}

fn write_handoff(
    context: &CommandContext<'_>,
    session: &WorkingSession,
    input: HandoffInput,
    sign: bool,
) -> Result<Box<HandoffOutcome>, Error> {
    let mut outcome = handoff::write::write(context, session, input, HandoffParts::default())?;
    if sign {
        handoff::write::sign(context, session, &mut outcome);
    }
    Ok(Box::new(outcome))
}

fn next_step(phase: Phase, recommendation: Option<&str>, handoff: Option<&Result<Box<HandoffOutcome>, Error>>) -> Text {
    let assess = |phase| empirica(phase).option("-v", blank("know=<0..1>,uncertainty=<0..1>"));
    match (phase, recommendation) {
        (Phase::Preflight, Some("investigate")) => text![
            "Follow the investigation goals (",
            empirica("goal list").flag("--open"),
            "), log what you find, then run: ",
            assess("check")
        ],
        (Phase::Preflight, _) => "Proceed; log findings, decisions and dead ends as you go.".into(),
        (Phase::Check, Some("stop")) => text![
            "Stop: do not act on this confidence. Log what really changed as findings or evidence, assess yourself again, \
             then run: ",
            assess("check")
        ],
        (Phase::Check, Some("recalibrate_before_acting")) => text![
            "Look again before you act: log the evidence for what moved, or correct the vectors, then run: ",
            assess("check")
        ],
        (Phase::Check, Some("proceed")) => text!["Act; when the work is done run: ", assess("postflight")],
        (Phase::Check, _) => text!["Investigate further before you act, then run: ", assess("check")],
        _ => match handoff {
            Some(Ok(_)) => text!["End the session with: ", empirica("session end")],
            // what its refusal says is missing
            Some(Err(error)) if !error.commands().is_empty() => {
                text!["Hand over with: ", error.commands()[0].clone()]
            }
            _ => text!["Hand over with: ", empirica("handoff")],
        },
    }
}

/// Parses texts such as `know=0.6,uncertainty=0.4`. An unknown name, a repeated one, and a value that is not a number from 0 to 1 are
/// usage errors.
pub fn vectors_of(texts: impl IntoIterator<Item = String>) -> Result<Vectors> {
    let mut out = Vectors::default();
    for pairs in texts {
        out.add_pairs(&pairs).map_err(|error| vector_error(&error))?;
    }
    Ok(out)
}

/// The texts for [`vectors_of`] in a document: a JSON object or NAME=VALUE pairs.
pub fn vector_pairs(document: &str) -> Result<Vec<String>> {
    if !document.trim_start().starts_with('{') {
        return Ok(vec![document.split_whitespace().collect::<Vec<_>>().join(",")]);
    }
    let map: Map<String, Value> = serde_json::from_str(document).map_err(|error| {
        Error::usage("cannot read the vectors: invalid JSON")
            .suggest("Write them as {\"know\": 0.6, \"uncertainty\": 0.4}.")
            .caused_by(error)
    })?;
    Ok(map.into_iter().map(|(name, value)| format!("{name}={value}")).collect())
}

fn vector_error(error: &VectorError) -> Error {
    let names: Vec<&str> = Vector::ALL.iter().map(|vector| vector.name()).collect();
    let base = Error::usage(format!("cannot read the vectors: {error}"));
    match error {
        VectorError::Unknown { name, nearest } => {
            let base = base.provided(name.clone()).reason(format!("the vectors are {}", names.join(", ")));
            match nearest {
                Some(near) => base.suggest(format!("Did you mean '{near}'?")).alternative(*near),
                None => base.suggest("Use one of the vectors."),
            }
        }
        VectorError::Value { value, .. } => base
            .provided(value.clone())
            .reason("a vector says how sure you are, from 0 (not at all) to 1 (entirely)")
            .suggest("Give a number from 0 to 1, with a point: 0.7."),
        VectorError::Form(text) => base
            .provided(text.clone())
            .reason("vectors are written as NAME=VALUE, several with commas between them")
            .suggest("Write it as know=0.6,uncertainty=0.4."),
        VectorError::Twice(_) => {
            base.reason("it is not known which of the two values is meant").suggest("Give each vector once.")
        }
        VectorError::Empty => base
            .reason(format!("an assessment needs one vector or more of {}", names.join(", ")))
            .suggest("Give the vectors you can judge: know=0.6,uncertainty=0.4"),
    }
}
