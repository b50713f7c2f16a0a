//! Assessments: an agent's vectors before, during and after its work.

use std::collections::BTreeMap;

use crate::assess::goal_suggestions;
use crate::context::records::gather_from;
use crate::context::stored::StoreReport;
use crate::context::{CommandContext, WorkingSession, active, names};
use crate::fold::assessment::gate::{Gate, GateDecision};
use crate::fold::assessment::{calibration, drift, gate, trajectory};
use crate::fold::handoff_report::HandoffInput;
use crate::fold::journal;
use crate::handoff;
use crate::handoff::build::Content;
use crate::handoff::write::HandoffOutcome;
use crate::session::compaction;
use empirica_notes::error::{Error, Result, Text, blank, empirica, text};
use empirica_notes::model::goal::{GoalDone, GoalState};
use empirica_notes::model::handoff::{Calibration, Trajectory};
use empirica_notes::model::journal::{Finding, Unknown};
use empirica_notes::model::vectors::VectorError;
use empirica_notes::model::{Assessment, Body, Id, Phase, Record, SessionId, Vector, Vectors};
use empirica_notes::store::FlushTiming;
use serde_json::Map;
use serde_json::Value;

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

#[derive(Debug)]
pub struct AssessOutcome {
    pub session_id: SessionId,
    pub checkpoint_id: Id,
    pub phase: Phase,
    pub round: u32,
    pub vectors: Vectors,
    pub confidence: Option<f64>,
    /// PREFLIGHT: `investigate` or `proceed`; CHECK: also `recalibrate_before_acting` or `stop`.
    pub recommendation: Option<&'static str>,
    /// PREFLIGHT: the suggested goals.
    pub goals: Vec<GoalState>,
    /// CHECK and POSTFLIGHT: the suggested goals that it ends.
    pub goals_reached: Vec<GoalDone>,
    /// The first one after a compaction: its vectors beside those of the snapshot before it.
    pub compaction: Option<compaction::SinceSnapshot>,
    /// CHECK: drift and decision.
    pub gate: Option<Gate>,
    pub next_step: Text,
    /// Against the first PREFLIGHT; empty before it.
    pub since: Vec<Trajectory>,
    /// POSTFLIGHT.
    pub calibration_status: Option<Calibration>,
    /// POSTFLIGHT: the handoff, or why there is none.
    pub handoff: Option<Result<Box<HandoffOutcome>, Error>>,
    pub stored: StoreReport,
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
    let scan = context.session(&session.id)?;
    let gathered = gather_from(&scan, &session.id)?;
    if !gathered.session.is_active() {
        return Err(Error::refused(format!("cannot assess session {}: it has ended", session.id.short()))
            .suggest("Start a new session.")
            .command(names::start_command(Some(&gathered.session.ai))));
    }
    // a session can get its task after it began
    let later = || active::anywhere(context, session.id.as_str()).and_then(|session| session.task);
    request.task = request.task.or_else(|| gathered.session.task.is_none().then(later).flatten());
    let round = gathered.next_round(phase);
    let mut proposed = goal_suggestions::GoalChanges::default();
    if phase == Phase::Preflight {
        let evidence = (request.task.as_deref(), request.reasoning.as_deref(), request.unknowns.as_slice());
        proposed = goal_suggestions::run(context, &session, &gathered, &request.vectors, evidence)?;
    }
    let finding = |text: String| Body::Finding(Finding { text, impact: None, memory: None, led_from: None });
    let unknown = |text: String| Body::Unknown(Unknown { text, led_from: None });
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
    let assessed = records.iter().find_map(|record| match &record.body {
        Body::Assessment(assessment) => Some((record.head.clone(), (**assessment).clone())),
        _ => None,
    });
    let Some((assessed, assessment)) = assessed else {
        return Err(Error::unstored());
    };
    let goals = proposed.in_order(journal::goals(&records).into_iter().map(|owned| owned.goal));
    let all_records: Vec<&Record> = scan.records().chain(&records).collect();
    let gate = gate::gate(&drift::steps(all_records.iter().copied(), &session.id), drift::WINDOW);
    let mut goals_reached = Vec::new();
    if phase != Phase::Preflight && !gate.drift.is_inflated() {
        goals_reached = goal_suggestions::reached(&all_records, &session, &gathered, &assessment);
        let bodies: Vec<Body> = goals_reached.iter().cloned().map(Body::GoalDone).collect();
        if !bodies.is_empty() {
            stored.degraded_mode |= context.store(&session, bodies, FlushTiming::Later)?.1.degraded_mode;
        }
    }
    let gate = (phase == Phase::Check).then_some(gate);
    let compaction = compaction::since(context, &gathered, &assessed, &assessment).unwrap_or_else(|error| {
        // the assessment stays stored
        stored.warnings.push(format!("cannot compare the vectors with those before the compaction: {error}"));
        None
    });
    let vectors = assessment.vectors;
    let handoff = hand_over.map(|input| write_handoff(context, &session, input, request.sign));
    let before = gathered.before();
    let first = (phase == Phase::Preflight).then(|| {
        if gate::triggers(&vectors).is_empty() { GateDecision::Proceed } else { GateDecision::Investigate }.name()
    });
    let recommendation = first.or(gate.as_ref().and_then(|gate| gate.recommendation));
    Ok(AssessOutcome {
        session_id: session.id,
        checkpoint_id: assessed.id,
        phase,
        round,
        confidence: assessment.confidence,
        next_step: next_step(phase, recommendation, handoff.as_ref().is_some_and(Result::is_ok)),
        recommendation,
        goals,
        goals_reached,
        compaction,
        gate,
        since: before
            .map_or_else(Vec::new, |before| trajectory::rows(Some(before), Some(&vectors), Calibration::NotAssessable)),
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
    let mut outcome = handoff::write::write(context, session, input, &Content::default())?;
    if sign {
        handoff::write::sign(context, session, &mut outcome);
    }
    Ok(Box::new(outcome))
}

fn next_step(phase: Phase, recommendation: Option<&str>, handed_over: bool) -> Text {
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
        _ if handed_over => text!["End the session with: ", empirica("session end")],
        _ => text!["Hand over with: ", empirica("handoff")],
    }
}

/// Parses texts such as `know=0.6,uncertainty=0.4`. An unknown name, a repeated one, and a value that is no number from 0 to 1 are
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
    let base = Error::usage(error.to_string());
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
