//! The workflow: what to assess, assessments, and how a session stands.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Call, Commands, Effect};
use crate::assess;
use crate::assess::drift::WINDOW;
use crate::assess::drift::current;
use crate::assess::guide;
use crate::assess::submit::AssessRequest;
use crate::claim;
use crate::claim::add::ClaimInput;
use crate::context::CommandContext;
use crate::fold::handoff_report::HandoffInput as HandedOver;
use crate::handoff;
use crate::mcp::call_context::{CallInput, Here};
use crate::mcp::tools::arguments::{least, unit, vectors};
use crate::mcp::tools::schema::{Alias, Values};
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
fn ask(here: &mut Here<'_>, context: &CommandContext<'_>, phase: Phase, said: CallInput) -> Result<Answer> {
    let outcome = guide::run(context, Some(phase), said.task.clone())?;
    here.keep(outcome.gathered.session.id.as_str(), phase, said);
    Ok(crate::assess::guide::view::to_assess(&outcome, phase))
}

/// The answer of an assessment that is stored.
fn submitted(here: &mut Here<'_>, outcome: assess::submit::AssessOutcome) -> Result<Answer> {
    here.assessed(outcome.session_id.as_str(), outcome.phase);
    crate::assess::view::assessed(&outcome)
}

impl Call for ExecutePreflight {
    const NAME: &'static str = "execute_preflight";
    const COMMANDS: Commands = (&["preflight"], &[], &[]);
    const RETURNS: &'static str = "session_id vectors:array task:string?";

    fn call(self, here: &mut Here<'_>) -> Result<Answer> {
        let context = here.working(None, self.session_id.map(|alias| alias.0))?;
        ask(here, &context, Phase::Preflight, CallInput { task: self.prompt, confidence: None })
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

    fn call(self, here: &mut Here<'_>) -> Result<Answer> {
        let context = here.working(None, self.session_id.map(|alias| alias.0))?;
        let vectors = vectors(&self.vectors)?;
        let said = here.said(context.writing()?.id.as_str(), Phase::Preflight);
        let request = AssessRequest {
            vectors,
            reasoning: self.reasoning,
            task: self.task.or(said.task),
            ..AssessRequest::default()
        };
        submitted(here, assess::submit::run(&context, Phase::Preflight, request, None)?)
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

    fn call(self, here: &mut Here<'_>) -> Result<Answer> {
        let confidence = unit("confidence_to_proceed", self.confidence_to_proceed)?;
        let context = here.working(None, self.session_id.map(|alias| alias.0))?;
        self.findings.iter().try_for_each(|text| context.text("finding", text).map(drop))?;
        self.remaining_unknowns.iter().try_for_each(|text| context.text("unknown", text).map(drop))?;
        for text in self.findings {
            claim::add::log(&context, ClaimInput::Finding { text, impact: None, memory: None }, None)?;
        }
        for text in self.remaining_unknowns {
            claim::add::log(&context, ClaimInput::Unknown { text }, None)?;
        }
        ask(here, &context, Phase::Check, CallInput { task: None, confidence })
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

    fn call(self, here: &mut Here<'_>) -> Result<Answer> {
        let context = here.working(None, self.session_id.map(|alias| alias.0))?;
        let vectors = vectors(&self.vectors)?;
        let confidence = unit("confidence_to_proceed", self.confidence_to_proceed)?;
        let said = here.said(context.writing()?.id.as_str(), Phase::Check);
        let request = AssessRequest {
            vectors,
            confidence: confidence.or(said.confidence),
            reasoning: self.reasoning,
            cycle: self.investigation_cycle,
            // what the agent means to do; the gate decides by itself
            meta: self.decision.map(|decision| ("decision".to_owned(), decision)).into_iter().collect(),
            ..AssessRequest::default()
        };
        submitted(here, assess::submit::run(&context, Phase::Check, request, None)?)
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

    fn call(self, here: &mut Here<'_>) -> Result<Answer> {
        let context = here.working(None, self.session_id.map(|alias| alias.0))?;
        ask(here, &context, Phase::Postflight, CallInput { task: self.task_summary, confidence: None })
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

    fn call(self, here: &mut Here<'_>) -> Result<Answer> {
        let context = here.working(None, self.session_id.map(|alias| alias.0))?;
        let vectors = vectors(&self.vectors)?;
        let kept = here.said(context.writing()?.id.as_str(), Phase::Postflight);
        let task = self.task_summary.or(kept.task);
        let said = HandedOver { task: task.clone(), ..HandedOver::default() };
        handoff::write::check(&context, &said)?;
        let request = AssessRequest { vectors, reasoning: self.reasoning, task, ..AssessRequest::default() };
        let mut answer = submitted(here, assess::submit::run(&context, Phase::Postflight, request, Some(said))?)?;
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

    fn call(self, here: &mut Here<'_>) -> Result<Answer> {
        let context = here.working(None, self.session_id.map(|alias| alias.0))?;
        Ok(crate::assess::guide::view::stands(&guide::run(&context, None, None)?))
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

    fn call(self, here: &mut Here<'_>) -> Result<Answer> {
        let window = self.window_size.map_or(Ok(WINDOW), |window| least("window_size", window, 2))?;
        let context = here.working(None, self.session_id.map(|alias| alias.0))?;
        let outcome = current::run(&context, window)?;
        let mut answer = crate::assess::view::drifted(&outcome);
        answer.json.insert("drift_detected".to_owned(), outcome.gate.drift.detected.into());
        Ok(answer)
    }
}
