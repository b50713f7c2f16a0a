//! Prompts for users: `hand-over` and `take-up`.

use rmcp::model::{GetPromptResult, JsonObject, ListPromptsResult, Prompt, PromptArgument, PromptMessage, Role};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::mcp::call_context::CallContext;
use crate::mcp::tools::arguments;
use crate::mcp::tools::handoffs::NO_EDITOR;
use crate::mcp::tools::schema::Alias;
use crate::render::budget::OutputForm;
use crate::render::safe::Fence;
use crate::use_cases::handoff;
use crate::use_cases::handoff::managed;
use crate::use_cases::handoff::pack::Detail;
use crate::use_cases::session::resume;
use empirica_notes::error::{Error, Result};
use empirica_notes::store::Paths;

// names that no agent has: Gemini CLI has a /resume of its own
const HAND_OVER: &str = "hand-over";
const TAKE_UP: &str = "take-up";

pub fn list() -> ListPromptsResult {
    let argument = |name: &str, about: &str| PromptArgument::new(name).with_description(about).with_required(false);
    ListPromptsResult::with_all_items(vec![
        Prompt::new(
            HAND_OVER,
            Some("Hand this session over to the next one"),
            Some(vec![argument("to", "the receiver"), argument("session_id", "the session, by id or alias")]),
        )
        .with_title("Hand over"),
        Prompt::new(
            TAKE_UP,
            Some("Take up the work of an earlier session from its handoff"),
            Some(vec![
                argument("ai_id", "the agent of the session"),
                argument("session_id", "the session, by id or alias"),
            ]),
        )
        .with_title("Take up"),
    ])
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HandOver {
    to: Option<String>,
    session_id: Option<Alias>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TakeUp {
    ai_id: Option<String>,
    session_id: Option<Alias>,
}

/// Renders a prompt from the present records.
pub fn get(call: &mut CallContext<'_>, name: &str, mut arguments: JsonObject) -> Result<GetPromptResult> {
    // clients send optional arguments as empty texts
    arguments.retain(|_, value| value != "");
    let fence = Fence::of(&Paths::new(call.repo, call.env));
    let (session, mut data) = match name {
        HAND_OVER => {
            let HandOver { to, session_id } = arguments::read(name, arguments)?;
            let context = call.working(None, session_id)?;
            let request = handoff::write::HandoffRequest {
                managed: managed::ManagedInput { to: to.clone(), ..managed::ManagedInput::default() },
                dry_run: true,
                ..handoff::write::HandoffRequest::default()
            };
            let outcome = handoff::write::run(&context, request, NO_EDITOR)?;
            let missing: Vec<&str> = outcome.missing.iter().map(|(what, _)| *what).collect();
            let session = outcome.record.envelope.session.clone();
            let answer = handoff::view::answer(&outcome, &mut call.templates)?;
            (session, json!({"to": to, "missing": missing, "draft": fence.around(&answer.text)}))
        }
        TAKE_UP => {
            let TakeUp { ai_id, session_id } = arguments::read(name, arguments)?;
            let outcome = resume::run(&call.reading(ai_id, session_id)?, 1)?;
            let newest = outcome.sessions.first();
            let session = newest.map(|resumed| resumed.session_id.clone());
            let handoff = newest.and_then(|resumed| resumed.envelope.as_ref()).map(|envelope| envelope.id.clone());
            let form = resume::view::ResumeForm { detail: Detail::Full, budget: None, form: OutputForm::Text };
            let answer = resume::view::answer(&outcome, form, &mut call.templates)?;
            (session, json!({"handoff_id": handoff, "text": fence.around(&answer.text), "warnings": outcome.warnings}))
        }
        _ => {
            return Err(Error::usage(format!("cannot find prompt '{name}'"))
                .provided(name)
                .reason(format!("the prompts are {HAND_OVER} and {TAKE_UP}"))
                .suggest("Use one of them."));
        }
    };
    data["session_id"] = json!(session);
    let text = call.templates.render(&format!("prompt-{name}.md"), data)?;
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]))
}
