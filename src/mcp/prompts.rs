//! Prompts a person calls: `hand-over` and `resume`.

use rmcp::model::{GetPromptResult, JsonObject, ListPromptsResult, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::{Value, json};

use crate::handoff;
use crate::handoff::managed;
use crate::handoff::pack::Detail;
use crate::mcp::call_context::CallContext;
use crate::mcp::tools::schema::Alias;
use crate::render::budget::OutputForm;
use crate::session::resume;
use empirica_notes::error::{Error, Result};

const HAND_OVER: &str = "hand-over";
const RESUME: &str = "resume";

pub fn list() -> ListPromptsResult {
    let argument = |name: &str, about: &str| PromptArgument::new(name).with_description(about).with_required(false);
    ListPromptsResult::with_all_items(vec![
        Prompt::new(
            HAND_OVER,
            Some("Hand this session over to whoever continues"),
            Some(vec![argument("to", "the receiver"), argument("session_id", "the session, by id or alias")]),
        )
        .with_title("Hand over"),
        Prompt::new(
            RESUME,
            Some("Take up what an earlier session handed over"),
            Some(vec![argument("ai_id", "whose session"), argument("session_id", "the session, by id or alias")]),
        )
        .with_title("Resume"),
    ])
}

/// A text among the arguments.
fn text(given: &JsonObject, name: &str) -> Result<Option<String>> {
    match given.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
        Some(_) => Err(Error::usage(format!("{name} is no text")).suggest("Give it as a text, or leave it out.")),
    }
}

fn only(name: &str, given: &JsonObject, known: [&str; 2]) -> Result<()> {
    match given.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(other) => Err(Error::usage(format!("the prompt {name} has no argument '{other}'"))
            .provided(other.as_str())
            .reason(format!("its arguments are {}", known.join(" and ")))
            .suggest("Leave it out.")),
    }
}

/// A prompt, made of what is stored now.
pub fn get(call: &mut CallContext<'_>, name: &str, given: &JsonObject) -> Result<GetPromptResult> {
    let (session, data) = match name {
        HAND_OVER => {
            only(name, given, ["to", "session_id"])?;
            let to = text(given, "to")?;
            let context = call.working(None, text(given, "session_id")?.map(Alias))?;
            let request = handoff::write::HandoffRequest {
                managed: managed::ManagedInput { to: to.clone(), ..managed::ManagedInput::default() },
                dry_run: true,
                ..handoff::write::HandoffRequest::default()
            };
            let nobody = &|_: &str| Err(Error::refused("there is no editor here"));
            let outcome = handoff::write::run(&context, request, nobody)?;
            let missing: Vec<&str> = outcome.missing.iter().map(|(what, _)| *what).collect();
            let session = outcome.record.head.session.clone();
            let answer = handoff::view::answer(&outcome, &mut call.templates)?;
            (session, json!({"to": to, "missing": missing, "draft": answer.text}))
        }
        RESUME => {
            only(name, given, ["ai_id", "session_id"])?;
            let context = call.reading(text(given, "ai_id")?, text(given, "session_id")?.map(Alias))?;
            let outcome = resume::run(&context, 1)?;
            let session = outcome.sessions.first().map(|resumed| resumed.session_id.clone());
            let handoff =
                outcome.sessions.first().and_then(|resumed| resumed.head.as_ref()).map(|head| head.id.clone());
            let wanted = resume::view::ResumeForm { detail: Detail::Full, budget: None, form: OutputForm::Text };
            let answer = resume::view::answer(&outcome, wanted, &mut call.templates)?;
            (session, json!({"handoff_id": handoff, "text": answer.text}))
        }
        _ => {
            return Err(Error::usage(format!("there is no prompt '{name}'"))
                .provided(name)
                .reason(format!("the prompts are {HAND_OVER} and {RESUME}"))
                .suggest("Use one of them."));
        }
    };
    let mut data = data;
    data["session_id"] = json!(session);
    let text = call.templates.render(&format!("prompt-{name}.md"), data)?;
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]))
}
