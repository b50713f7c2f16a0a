//! Takes a handoff up; one that a rule handed on is shown, as far as the rule says.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::context::CommandContext;
use crate::context::claims::signed::signers;
use crate::context::handoffs::by_ids;
use crate::context::records::gather;
use crate::render::answer::Answer;
use crate::render::budget::OutputForm;
use crate::render::template::Templates;
use crate::use_cases::handoff::arrival;
use crate::use_cases::handoff::pack::Detail;
use crate::use_cases::handoff::receive;
use crate::use_cases::handoff::receive::accept;
use crate::use_cases::handoff::receive::accept::{AcceptOutcome, AcceptRequest};
use crate::use_cases::session::resume::view::{ResumeForm, ResumedView};
use crate::use_cases::session::resume::{self, ResumeOutcome};
use empirica_notes::error::Result;
use empirica_notes::model::handoff::Route;
use empirica_notes::model::{Body, Record};

/// What the receiver of a handoff gets.
#[derive(Serialize, JsonSchema)]
pub struct BriefView {
    /// The handoff, as `resume` shows it, if a rule handed it on; absent else.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<ResumedView<'static>>")]
    handoff: Option<Value>,
}

#[derive(Debug)]
pub struct TakenUp {
    accepted: AcceptOutcome,
    /// The handoff, and how much of it to show.
    brief: Option<(ResumeOutcome, Detail, Option<usize>)>,
}

/// The least budget that is believed, as of a rule.
const LEAST: usize = 250;

/// Accepts the handoff, and reads it if a rule handed it on.
pub fn run(context: &CommandContext<'_>, request: AcceptRequest) -> Result<TakenUp> {
    let accepted = accept::run(context, request)?;
    let brief = match &accepted.of {
        Record { envelope, body: Body::Handoff(handoff) } => match (&handoff.route, &envelope.session) {
            (Some(Route { detail, budget, .. }), Some(session)) => {
                let listed = by_ids(&context.index()?, std::slice::from_ref(&envelope.id))?;
                let (mut arrivals, warnings) = arrival::changes_since(context, &listed.iter().collect::<Vec<_>>())?;
                let mut resumed = resume::resumed(gather(context, session)?, listed.first(), context);
                resumed.arrival = arrivals.pop();
                resumed.signer =
                    signers(context, &listed.iter().map(|one| one.record()).collect::<Vec<_>>())?.into_values().next();
                let outcome = ResumeOutcome { sessions: vec![resumed], assessed_since: None, ai: None, warnings };
                let detail = detail.as_deref().and_then(Detail::parse).unwrap_or(Detail::Summary);
                Some((outcome, detail, budget.map(|budget| (budget as usize).max(LEAST))))
            }
            _ => None,
        },
        _ => None,
    };
    Ok(TakenUp { accepted, brief })
}

/// The answer of `accept`: the acknowledgement; its text is its id, or the handoff within its budget.
pub fn answer(outcome: &TakenUp, form: OutputForm, templates: &mut Templates) -> Result<Answer> {
    let mut answer = receive::view::answer(&outcome.accepted);
    let Some((resumed, detail, budget)) = &outcome.brief else { return Ok(answer) };
    let shown = resume::view::answer(resumed, ResumeForm { detail: *detail, budget: *budget, form }, templates)?;
    let handoff = shown.json.get("sessions").and_then(|sessions| sessions.get(0)).cloned();
    answer.text = shown.text;
    answer.quotes = shown.quotes;
    Ok(answer.with(BriefView { handoff: handoff.filter(|_| form == OutputForm::Json) }).warn(shown.warnings))
}
