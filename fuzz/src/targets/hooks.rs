//! Any hook payload: it is read or refused; the answer keeps to its bounds.

use crate::input::first;
use empirica_transcripts::model::Agent;
use git_empirica::use_cases::hooks::agent::event::{HookKind, answer, payload, read, running};

const EVENTS: [&str; 24] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreCompact",
    "PostCompact",
    "Stop",
    "SessionEnd",
    "PostToolUseFailure",
    "PostToolUse",
    "BeforeAgent",
    "PreCompress",
    "AfterAgent",
    "AfterTool",
    "sessionStart",
    "beforeSubmitPrompt",
    "stop",
    "agentStop",
    "userPromptSubmitted",
    "session.created",
    "chat.message",
    "experimental.session.compacting",
    "session.compacted",
    "session.idle",
    "dispose",
    "message.part.updated",
];

pub fn fuzz(data: &[u8]) {
    let [given, context, name] = first(data);
    let Ok(payload) = payload(given) else { return };
    assert!(payload.is_object());
    let (context, name) = (String::from_utf8_lossy(context), String::from_utf8_lossy(name));
    let _ = running(&payload, &|program| program.len() == name.len());
    for agent in Agent::ALL {
        for event in EVENTS.into_iter().chain([&*name]) {
            let Some(hook_event) = read(agent, event, &payload) else { continue };
            assert!(hook_event.folder.as_ref().is_none_or(|folder| folder.is_absolute()));
            if let HookKind::ToolFailed { text, .. } = &hook_event.event {
                assert!(!text.contains('\n') && text.chars().count() < 2_000, "{text}");
            }
            if let Some(answer) = answer(&hook_event, &context) {
                assert!(!context.is_empty() && answer.is_object());
                // both may be escaped
                let given = context.chars().count() + event.chars().count();
                assert!(answer.to_string().chars().count() <= 6 * given + 500, "nothing is added");
            }
        }
    }
}
