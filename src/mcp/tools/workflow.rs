//! Tools for assessments: guides, submissions, and the state of a session.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::context::CommandContext;
use crate::fold::assessment::drift::WINDOW;
use crate::fold::handoff_report::HandoffInput;
use crate::mcp::call_context::{AssessmentInput, CallContext};
use crate::mcp::tools::arguments::{least, unit, vectors};
use crate::mcp::tools::schema::{Alias, Values};
use crate::mcp::tools::tool::{Call, Effect, EquivalentCommands};
use crate::render::answer::Answer;
use crate::use_cases::assess::submit::{self, AssessRequest};
use crate::use_cases::assess::{drift, guide, view};
use crate::use_cases::claim::add;
use empirica_notes::error::Result;
use empirica_notes::model::Phase;

/// List what to assess before the work: vectors, the task, open points.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutePreflight {
    session_id: Option<Alias>,
    /// the task
    prompt: Option<String>,
}

/// Guides an assessment, and keeps the input for its submission.
fn guide(
    call: &mut CallContext<'_>,
    context: &CommandContext<'_>,
    phase: Phase,
    input: AssessmentInput,
) -> Result<Answer> {
    let outcome = guide::run(context, Some(phase), input.task.clone())?;
    call.keep_input(outcome.records.session.id.as_str(), phase, input);
    Ok(guide::view::to_assess(&outcome, phase))
}

fn submitted(call: &mut CallContext<'_>, outcome: submit::AssessOutcome) -> Result<Answer> {
    call.drop_input(outcome.session_id.as_str(), outcome.phase);
    view::assessed(&outcome)
}

impl Call for ExecutePreflight {
    const NAME: &'static str = "execute_preflight";
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["preflight"]);
    const RETURNS: &'static str = "session_id vectors:array task:string?";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let context = call.working(None, self.session_id)?;
        guide(call, &context, Phase::Preflight, AssessmentInput { task: self.prompt, confidence: None })
    }
}

/// Assess your confidence before the work. A recommendation to investigate comes with goals.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmitPreflight {
    session_id: Option<Alias>,
    /// 0 to 1: engagement know do context clarity coherence signal density state change completion impact uncertainty
    vectors: Values,
    reasoning: Option<String>,
    #[serde(alias = "prompt")]
    task: Option<String>,
}

impl Call for SubmitPreflight {
    const NAME: &'static str = "submit_preflight_assessment";
    const EFFECT: Effect = Effect::Adds;
    const RETURNS: &'static str = "session_id checkpoint_id recommendation next_step auto_generated_goals:array";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let context = call.working(None, self.session_id)?;
        let vectors = vectors(&self.vectors)?;
        let input = call.input(context.writing()?.id.as_str(), Phase::Preflight);
        let request = AssessRequest {
            vectors,
            reasoning: self.reasoning,
            task: self.task.or(input.task),
            ..AssessRequest::default()
        };
        submitted(call, submit::run(&context, Phase::Preflight, request, None)?)
    }
}

/// Before acting: log findings and unknowns, and see what to assess.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecuteCheck {
    session_id: Option<Alias>,
    #[serde(default)]
    findings: Vec<String>,
    #[serde(default)]
    remaining_unknowns: Vec<String>,
    confidence_to_proceed: Option<f64>,
}

impl Call for ExecuteCheck {
    const NAME: &'static str = "execute_check";
    const EFFECT: Effect = Effect::Adds;
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["check"]);
    const RETURNS: &'static str = "session_id vectors:array drift_analysis:object safe_to_proceed:boolean";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let confidence = unit("confidence_to_proceed", self.confidence_to_proceed)?;
        let context = call.working(None, self.session_id)?;
        add::log_each(&context, self.findings, self.remaining_unknowns)?;
        guide(call, &context, Phase::Check, AssessmentInput { task: None, confidence })
    }
}

/// Assess your confidence before acting. Stop if safe_to_proceed is false.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmitCheck {
    session_id: Option<Alias>,
    vectors: Values,
    /// your intention
    decision: Option<String>,
    reasoning: Option<String>,
    confidence_to_proceed: Option<f64>,
    investigation_cycle: Option<u32>,
}

impl Call for SubmitCheck {
    const NAME: &'static str = "submit_check_assessment";
    const EFFECT: Effect = Effect::Adds;
    const RETURNS: &'static str = "session_id checkpoint_id decision safe_to_proceed:boolean next_step";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let context = call.working(None, self.session_id)?;
        let vectors = vectors(&self.vectors)?;
        let confidence = unit("confidence_to_proceed", self.confidence_to_proceed)?;
        let input = call.input(context.writing()?.id.as_str(), Phase::Check);
        let request = AssessRequest {
            vectors,
            confidence: confidence.or(input.confidence),
            reasoning: self.reasoning,
            cycle: self.investigation_cycle,
            // the gate decides without it
            meta: self.decision.map(|decision| ("decision".to_owned(), decision)).into_iter().collect(),
            ..AssessRequest::default()
        };
        submitted(call, submit::run(&context, Phase::Check, request, None)?)
    }
}

/// List what to assess after the work.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutePostflight {
    session_id: Option<Alias>,
    /// the work done
    task_summary: Option<String>,
}

impl Call for ExecutePostflight {
    const NAME: &'static str = "execute_postflight";
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["postflight"]);
    const RETURNS: &'static str = "session_id vectors:array task:string?";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let context = call.working(None, self.session_id)?;
        guide(call, &context, Phase::Postflight, AssessmentInput { task: self.task_summary, confidence: None })
    }
}

/// Assess your confidence after the work; writes a handoff.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmitPostflight {
    session_id: Option<Alias>,
    vectors: Values,
    /// changes, and their reasons
    #[serde(alias = "changes_noticed")]
    reasoning: Option<String>,
    task_summary: Option<String>,
}

impl Call for SubmitPostflight {
    const NAME: &'static str = "submit_postflight_assessment";
    const EFFECT: Effect = Effect::Adds;
    const RETURNS: &'static str = "session_id checkpoint_id deltas:object calibration_status handoff:object?";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let context = call.working(None, self.session_id)?;
        let vectors = vectors(&self.vectors)?;
        let input = call.input(context.writing()?.id.as_str(), Phase::Postflight);
        let handoff = HandoffInput { task: self.task_summary.or(input.task), ..HandoffInput::default() };
        let request = AssessRequest { vectors, reasoning: self.reasoning, ..AssessRequest::default() };
        let mut answer = submitted(call, submit::postflight(&context, request, handoff, true)?)?;
        if let Some(handoff) = answer.json.get_mut("handoff").and_then(Value::as_object_mut) {
            // its text is for the next session; generate_handoff_report returns it
            handoff.shift_remove("markdown");
        }
        Ok(answer)
    }
}

/// Show a session: last vectors, open points, whether it is safe to act.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct State {
    session_id: Option<Alias>,
}

impl Call for State {
    const NAME: &'static str = "get_epistemic_state";
    const RETURNS: &'static str = "session_id vectors:object overall_confidence:number? safe_to_proceed:boolean";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let context = call.working(None, self.session_id)?;
        Ok(guide::view::state(&guide::run(&context, None, None)?))
    }
}

/// Check whether confidence moved without reason.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Drift {
    session_id: Option<Alias>,
    /// assessments to compare, 2 or more
    #[schemars(range(min = 2))]
    window_size: Option<u32>,
}

impl Call for Drift {
    const NAME: &'static str = "check_drift_monitor";
    const RETURNS: &'static str = "session_id drift_detected:boolean drift_analysis:object safe_to_proceed:boolean";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let window = self.window_size.map_or(Ok(WINDOW), |window| least("window_size", window, 2))?;
        let context = call.working(None, self.session_id)?;
        let outcome = drift::run(&context, window)?;
        let mut answer = view::drifted(&outcome);
        answer.json.insert("drift_detected".to_owned(), outcome.gate.drift.detected.into());
        Ok(answer)
    }
}
