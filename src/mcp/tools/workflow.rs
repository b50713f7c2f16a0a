//! The workflow: what to assess, assessments, and how a session stands.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::assess::drift;
use crate::assess::guide;
use crate::assess::submit;
use crate::assess::submit::AssessRequest;
use crate::assess::view;
use crate::claim::add;
use crate::context::CommandContext;
use crate::fold::assessment::drift::WINDOW;
use crate::fold::handoff_report::HandoffInput as HandedOver;
use crate::mcp::call_context::CallContext;
use crate::mcp::call_context::CallInput;
use crate::mcp::tools::arguments::{least, unit, vectors};
use crate::mcp::tools::schema::{Alias, Values};
use crate::mcp::tools::tool::{Call, Commands, Effect};
use crate::render::answer::Answer;
use empirica_notes::error::Result;
use empirica_notes::model::Phase;

/// What to assess before the work: vectors and their meaning, task, what is open.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutePreflight {
    session_id: Option<Alias>,
    /// the task
    prompt: Option<String>,
}

/// Asks, and keeps what was said for the assessment that follows.
fn ask(call: &mut CallContext<'_>, context: &CommandContext<'_>, phase: Phase, said: CallInput) -> Result<Answer> {
    let outcome = guide::run(context, Some(phase), said.task.clone())?;
    call.keep(outcome.gathered.session.id.as_str(), phase, said);
    Ok(guide::view::to_assess(&outcome, phase))
}

/// The answer of an assessment that is stored.
fn submitted(call: &mut CallContext<'_>, outcome: submit::AssessOutcome) -> Result<Answer> {
    call.assessed(outcome.session_id.as_str(), outcome.phase);
    view::assessed(&outcome)
}

impl Call for ExecutePreflight {
    const NAME: &'static str = "execute_preflight";
    const COMMANDS: Commands = (&["preflight"], &[], &[]);
    const RETURNS: &'static str = "session_id vectors:array task:string?";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let context = call.working(None, self.session_id)?;
        ask(call, &context, Phase::Preflight, CallInput { task: self.prompt, confidence: None })
    }
}

/// Say how sure you are before the work. If it recommends to investigate, it answers with goals.
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
        let said = call.said(context.writing()?.id.as_str(), Phase::Preflight);
        let request = AssessRequest {
            vectors,
            reasoning: self.reasoning,
            task: self.task.or(said.task),
            ..AssessRequest::default()
        };
        submitted(call, submit::run(&context, Phase::Preflight, request, None)?)
    }
}

/// Before acting: logs findings and unknowns, says what to assess and whether confidence drifted.
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
    const COMMANDS: Commands = (&["check"], &[], &[]);
    const RETURNS: &'static str = "session_id vectors:array drift_analysis:object safe_to_proceed:boolean";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let confidence = unit("confidence_to_proceed", self.confidence_to_proceed)?;
        let context = call.working(None, self.session_id)?;
        add::log_each(&context, self.findings, self.remaining_unknowns)?;
        ask(call, &context, Phase::Check, CallInput { task: None, confidence })
    }
}

/// Say how sure you are before acting. Stop when safe_to_proceed is false.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmitCheck {
    session_id: Option<Alias>,
    vectors: Values,
    /// what you mean to do
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
        let said = call.said(context.writing()?.id.as_str(), Phase::Check);
        let request = AssessRequest {
            vectors,
            confidence: confidence.or(said.confidence),
            reasoning: self.reasoning,
            cycle: self.investigation_cycle,
            // what the agent means to do; the gate decides by itself
            meta: self.decision.map(|decision| ("decision".to_owned(), decision)).into_iter().collect(),
            ..AssessRequest::default()
        };
        submitted(call, submit::run(&context, Phase::Check, request, None)?)
    }
}

/// What to assess after the work.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutePostflight {
    session_id: Option<Alias>,
    /// what was done
    task_summary: Option<String>,
}

impl Call for ExecutePostflight {
    const NAME: &'static str = "execute_postflight";
    const COMMANDS: Commands = (&["postflight"], &[], &[]);
    const RETURNS: &'static str = "session_id vectors:array task:string?";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let context = call.working(None, self.session_id)?;
        ask(call, &context, Phase::Postflight, CallInput { task: self.task_summary, confidence: None })
    }
}

/// Say how sure you are after the work. Writes a handoff of what is known; generate_handoff_report says more.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmitPostflight {
    session_id: Option<Alias>,
    vectors: Values,
    /// what changed, and why
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
        let kept = call.said(context.writing()?.id.as_str(), Phase::Postflight);
        let task = self.task_summary.or(kept.task);
        let said = HandedOver { task, ..HandedOver::default() };
        let request = AssessRequest { vectors, reasoning: self.reasoning, ..AssessRequest::default() };
        let mut answer = submitted(call, submit::postflight(&context, request, said, true)?)?;
        if let Some(handoff) = answer.json.get_mut("handoff").and_then(Value::as_object_mut) {
            // its text is read by who continues, and comes again with generate_handoff_report
            handoff.shift_remove("markdown");
        }
        Ok(answer)
    }
}

/// How a session stands: last vectors, what is open, whether it is safe to act.
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

/// Has confidence moved without reason?
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Drift {
    session_id: Option<Alias>,
    /// assessments looked at, 2 or more
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
