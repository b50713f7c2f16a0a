//! Events of agents' hooks and our replies: a JSON document each way, in each agent's dialect.

use std::path::PathBuf;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use empirica_transcripts::category;
use empirica_transcripts::model::Agent;

/// Longest reply, in characters; agents truncate longer ones.
const LONGEST: usize = 9_000;
/// Most characters read of a tool name and of its failure line. Secrets are found in whole texts only, so the line is
/// shortened after they are removed.
const NAME: usize = 100;
const FAULT: usize = 2_000;

/// How a session starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartSource {
    /// Newly.
    Startup,
    /// Resumed.
    Resume,
    /// After a compaction of its context.
    Compact,
}

/// An event, independent of the agent's name for it.
#[derive(Debug, Clone, PartialEq)]
pub enum HookKind {
    /// A session starts or resumes.
    Begins(StartSource),
    /// The user submits a prompt.
    Prompt,
    /// The context will be compacted.
    Compacts,
    /// The context was compacted.
    Compacted,
    /// The agent finished its turn.
    Stops,
    /// The session ends.
    Ends {
        /// The agent's reason; may be empty.
        reason: String,
    },
    /// A tool failed.
    Failed {
        /// The category of the tool.
        category: &'static str,
        /// The tool and its failure, one line.
        text: String,
    },
    /// An event without interest here.
    Nothing,
}

/// Input of an agent's hook.
#[derive(Debug, Clone, PartialEq)]
pub struct HookEvent {
    /// The agent.
    pub agent: Agent,
    /// The agent's name of the event.
    pub name: String,
    /// The event.
    pub event: HookKind,
    /// The agent's session ID, if given.
    pub session: Option<String>,
    /// The agent's working folder, if given.
    pub folder: Option<PathBuf>,
    /// Path of its transcript, if given.
    pub transcript: Option<PathBuf>,
}

/// The first non-empty string of these keys.
fn text(payload: &Value, keys: &[&str]) -> Option<String> {
    let of = |key: &&str| payload.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    keys.iter().find_map(of).map(str::to_owned)
}

/// The event of a name, in any of the agents' spellings: `SessionStart`, `sessionStart`, `session.created`.
fn event(agent: Agent, name: &str, payload: &Value) -> Option<HookKind> {
    let bare: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    Some(match bare.as_str() {
        "sessionstart" | "sessioncreated" => HookKind::Begins(match text(payload, &["source"]).as_deref() {
            Some("resume") => StartSource::Resume,
            Some("compact") => StartSource::Compact,
            _ => StartSource::Startup,
        }),
        "userpromptsubmit" | "userpromptsubmitted" | "beforeagent" | "beforesubmitprompt" | "chatmessage" => {
            HookKind::Prompt
        }
        "precompact" | "precompress" | "sessioncompacting" | "experimentalsessioncompacting" => HookKind::Compacts,
        "postcompact" | "sessioncompacted" => HookKind::Compacted,
        "stop" | "agentstop" | "afteragent" | "sessionidle" => HookKind::Stops,
        "sessionend" | "sessiondeleted" | "dispose" => {
            HookKind::Ends { reason: text(payload, &["reason"]).unwrap_or_default() }
        }
        // of message parts, only failed tools matter
        "posttoolusefailure" | "messagepartupdated" => failed(agent, payload, true),
        "posttooluse" | "aftertool" => failed(agent, payload, false),
        _ => return None,
    })
}

/// Whether and how a tool failed. `surely` for events that report only failures.
fn failed(agent: Agent, payload: &Value, surely: bool) -> HookKind {
    let tool = text(payload, &["tool_name", "toolName", "tool"]).unwrap_or_else(|| "tool".to_owned());
    let interrupted = payload.get("is_interrupt").and_then(Value::as_bool).unwrap_or(false);
    let response = payload.get("tool_response").or_else(|| payload.get("tool_output")).unwrap_or(&Value::Null);
    let message = text(payload, &["error", "error_message"])
        .or_else(|| payload.get("error").and_then(|error| text(error, &["message", "name"])))
        .or_else(|| response.get("error").and_then(|error| error.as_str().map(str::to_owned)))
        .or_else(|| response.get("error").and_then(|error| text(error, &["message"])))
        .or_else(|| exited(response));
    let Some(category) = category(agent, &tool).filter(|_| !interrupted && (surely || message.is_some())) else {
        return HookKind::Nothing;
    };
    let message = message.unwrap_or_default();
    let line = message.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("failed");
    let line: String = line.chars().take(FAULT).collect();
    // printed before the line
    let tool: String = tool.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(NAME).collect();
    HookKind::Failed { category, text: format!("{tool}: {line}") }
}

/// The nonzero exit code in a shell's output, if only the text has it.
fn exited(response: &Value) -> Option<String> {
    let whole = match response {
        Value::String(text) => text.clone(),
        Value::Object(map) => map.get("llmContent")?.as_str()?.to_owned(),
        _ => return None,
    };
    whole.lines().find_map(|line| {
        let code = line
            .trim()
            .strip_prefix("Exit Code: ")
            .or_else(|| line.trim().strip_prefix("Process exited with code "))?;
        (code.trim().parse::<i32>().ok()? != 0).then(|| line.trim().to_owned())
    })
}

/// The agent that runs us, by keys or variables unique to it, since agents also run hooks of others. `None` if
/// unknown.
pub fn running(payload: &Value, env: &dyn Fn(&str) -> bool) -> Option<Agent> {
    let says = |key: &str| payload.get(key).is_some();
    if says("cursor_version") || env("CURSOR_VERSION") {
        Some(Agent::Cursor)
    } else if env("GEMINI_SESSION_ID") {
        Some(Agent::Gemini)
    } else if env("COPILOT_CLI") {
        Some(Agent::Copilot)
    } else {
        None
    }
}

/// Keys to read from a payload; others, such as the user's prompt, are skipped.
const KEYS: [&str; 20] = [
    "session_id",
    "sessionId",
    "conversation_id",
    "sessionID",
    "cwd",
    "directory",
    "workspace_roots",
    "transcript_path",
    "transcriptPath",
    "source",
    "reason",
    "cursor_version",
    "tool_name",
    "toolName",
    "tool",
    "error",
    "error_message",
    "is_interrupt",
    "tool_response",
    "tool_output",
];

/// A payload reduced to those keys.
struct EventPayload(Value);

impl<'de> serde::Deserialize<'de> for EventPayload {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> serde::de::Visitor<'de> for Keys {
            type Value = EventPayload;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<EventPayload, A::Error> {
                let mut out = serde_json::Map::new();
                while let Some(key) = map.next_key::<String>()? {
                    if KEYS.contains(&key.as_str()) {
                        // half a surrogate pair, as in a truncated text, spoils only its own value
                        let raw: Box<RawValue> = map.next_value()?;
                        out.insert(key, serde_json::from_str(raw.get()).unwrap_or(Value::Null));
                    } else {
                        map.next_value::<serde::de::IgnoredAny>()?;
                    }
                }
                Ok(EventPayload(Value::Object(out)))
            }
        }
        deserializer.deserialize_map(Keys)
    }
}

/// Reads the first JSON document of a hook's input, without waiting for the end of input. An error if there is none
/// or it is not an object.
pub fn payload(input: impl std::io::Read) -> serde_json::Result<Value> {
    let input = std::io::BufReader::with_capacity(1 << 16, input);
    let mut documents = serde_json::Deserializer::from_reader(input).into_iter::<EventPayload>();
    let none = || serde::de::Error::custom("there is no document");
    documents.next().unwrap_or_else(|| Err(none())).map(|payload| payload.0)
}

/// Parses an event. `None` if it is unknown.
pub fn read(agent: Agent, name: &str, payload: &Value) -> Option<HookEvent> {
    let event = event(agent, name, payload)?;
    let roots = payload.get("workspace_roots").and_then(|roots| roots.get(0)).and_then(Value::as_str);
    let folder = roots.map(str::to_owned).or_else(|| text(payload, &["cwd", "directory"])).map(PathBuf::from);
    Some(HookEvent {
        agent,
        name: name.to_owned(),
        event,
        session: text(payload, &["session_id", "sessionId", "conversation_id", "sessionID"]),
        folder: folder.filter(|folder| folder.is_absolute()),
        transcript: text(payload, &["transcript_path", "transcriptPath"]).map(PathBuf::from),
    })
}

/// The reply that adds a text to the model's context; `None` if the event does not allow it.
pub fn answer(event: &HookEvent, context: &str) -> Option<Value> {
    let has_place = matches!(event.event, HookKind::Begins(_) | HookKind::Prompt)
        || (event.agent == Agent::OpenCode && matches!(event.event, HookKind::Compacted));
    if !has_place || context.is_empty() {
        return None;
    }
    let mut context: String = context.chars().take(LONGEST).collect();
    Some(match event.agent {
        Agent::ClaudeCode | Agent::Codex | Agent::Gemini => {
            if event.agent == Agent::Gemini {
                // Gemini CLI replaces them by entities
                context = context.replace('<', "‹").replace('>', "›");
            }
            json!({"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": context}})
        }
        Agent::Cursor if event.event == HookKind::Prompt => json!({"continue": true, "additional_context": context}),
        Agent::Cursor => json!({"additional_context": context}),
        // our own OpenCode plugin reads this
        Agent::Copilot | Agent::OpenCode => json!({"additionalContext": context}),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event_of(agent: Agent, name: &str, payload: Value) -> HookEvent {
        read(agent, name, &payload).expect("a known event")
    }

    #[test]
    fn every_agent_s_events_are_known() {
        for (agent, names) in [
            (
                Agent::ClaudeCode,
                "SessionStart UserPromptSubmit PreCompact PostCompact Stop SessionEnd PostToolUseFailure",
            ),
            (Agent::Codex, "SessionStart UserPromptSubmit PreCompact PostCompact Stop SessionEnd PostToolUse"),
            (Agent::Gemini, "SessionStart BeforeAgent PreCompress AfterAgent SessionEnd AfterTool"),
            (Agent::Cursor, "sessionStart beforeSubmitPrompt preCompact stop sessionEnd postToolUseFailure"),
            (Agent::Copilot, "sessionStart userPromptSubmitted preCompact agentStop sessionEnd postToolUseFailure"),
            (
                Agent::OpenCode,
                "session.created chat.message experimental.session.compacting session.compacted session.idle session.deleted dispose \
                 message.part.updated",
            ),
        ] {
            for name in names.split(' ') {
                assert!(read(agent, name, &json!({})).is_some(), "{name}");
            }
        }
        assert_eq!(read(Agent::ClaudeCode, "Notification", &json!({})), None);
    }

    #[test]
    fn what_each_agent_says_of_its_session_is_read() {
        let claude = json!({"session_id": "a", "cwd": "/x", "transcript_path": "/t", "source": "compact"});
        let claude = event_of(Agent::ClaudeCode, "SessionStart", claude);
        assert_eq!(claude.event, HookKind::Begins(StartSource::Compact));
        assert_eq!((claude.session.as_deref(), claude.folder), (Some("a"), Some("/x".into())));
        let cursor = json!({"conversation_id": "c", "workspace_roots": ["/w"], "transcript_path": null});
        let cursor = event_of(Agent::Cursor, "stop", cursor);
        assert_eq!((cursor.session.as_deref(), cursor.folder), (Some("c"), Some("/w".into())));
        assert_eq!(cursor.transcript, None);
        assert_eq!(event_of(Agent::Copilot, "agentStop", json!({"sessionId": "s"})).session.as_deref(), Some("s"));
        // relative folders are ignored
        assert_eq!(event_of(Agent::Codex, "Stop", json!({"cwd": "x"})).folder, None);
    }

    #[test]
    fn what_is_not_needed_can_be_anything() {
        let input = r#"{"prompt": "cut \ud83d", "session_id": "a", "tool_response": "half \ud83d", "tool_input": [[[]]], "cwd": "/x"} more"#;
        let payload = payload(input.as_bytes()).expect("an object");
        assert_eq!(payload, json!({"session_id": "a", "tool_response": null, "cwd": "/x"}));
        for none in ["", "[]", "5", "{", "{\"session_id\": }"] {
            assert!(super::payload(none.as_bytes()).is_err(), "{none}");
        }
    }

    #[test]
    fn failures_are_told_from_what_worked() {
        let of = |agent, name, payload| event_of(agent, name, payload).event;
        let fault = |category, text: &str| HookKind::Failed { category, text: text.to_owned() };
        let claude = json!({"tool_name": "Bash", "error": "\nExit code 1\nmore"});
        assert_eq!(of(Agent::ClaudeCode, "PostToolUseFailure", claude), fault("shell", "Bash: Exit code 1"));
        let stopped = json!({"tool_name": "Bash", "error": "x", "is_interrupt": true});
        assert_eq!(of(Agent::ClaudeCode, "PostToolUseFailure", stopped), HookKind::Nothing);
        let gemini =
            json!({"tool_name": "run_shell_command", "tool_response": {"llmContent": "Output: x\nExit Code: 2"}});
        assert_eq!(of(Agent::Gemini, "AfterTool", gemini), fault("shell", "run_shell_command: Exit Code: 2"));
        let worked = json!({"tool_name": "run_shell_command", "tool_response": {"llmContent": "Exit Code: 0"}});
        assert_eq!(of(Agent::Gemini, "AfterTool", worked), HookKind::Nothing);
        let gemini = json!({"tool_name": "replace", "tool_response": {"error": {"message": "no match"}}});
        assert_eq!(of(Agent::Gemini, "AfterTool", gemini), fault("edit", "replace: no match"));
        let cursor = json!({"tool_name": "Shell", "error_message": "boom", "failure_type": "error"});
        assert_eq!(of(Agent::Cursor, "postToolUseFailure", cursor), fault("shell", "Shell: boom"));
        let codex = json!({"tool_name": "Bash", "tool_response": "Process exited with code 3\nOutput:"});
        assert_eq!(of(Agent::Codex, "PostToolUse", codex), fault("shell", "Bash: Process exited with code 3"));
        assert_eq!(
            of(Agent::Codex, "PostToolUse", json!({"tool_name": "Bash", "tool_response": "fine"})),
            HookKind::Nothing
        );
        let nameless = event_of(Agent::Copilot, "postToolUseFailure", json!({})).event;
        assert_eq!(nameless, fault("mcp", "tool: failed"));
        let lines = json!({"tool_name": "a\n b", "error": "boom"});
        assert_eq!(of(Agent::ClaudeCode, "PostToolUseFailure", lines), fault("mcp", "a b: boom"));
        let plan = json!({"tool_name": "TodoWrite", "error": "x"});
        assert_eq!(of(Agent::ClaudeCode, "PostToolUseFailure", plan), HookKind::Nothing);
    }

    #[test]
    fn the_answer_has_the_form_of_the_agent() {
        let start = |agent, name: &str| answer(&event_of(agent, name, json!({})), "a <b>");
        let nested =
            |name: &str, text: &str| json!({"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}});
        assert_eq!(start(Agent::ClaudeCode, "SessionStart"), Some(nested("SessionStart", "a <b>")));
        assert_eq!(start(Agent::Codex, "UserPromptSubmit"), Some(nested("UserPromptSubmit", "a <b>")));
        assert_eq!(start(Agent::Gemini, "BeforeAgent"), Some(nested("BeforeAgent", "a ‹b›")));
        assert_eq!(start(Agent::Cursor, "sessionStart"), Some(json!({"additional_context": "a <b>"})));
        assert_eq!(
            start(Agent::Cursor, "beforeSubmitPrompt"),
            Some(json!({"continue": true, "additional_context": "a <b>"}))
        );
        assert_eq!(start(Agent::Copilot, "sessionStart"), Some(json!({"additionalContext": "a <b>"})));
        assert_eq!(start(Agent::OpenCode, "session.compacted"), Some(json!({"additionalContext": "a <b>"})));
        for (agent, name) in [(Agent::ClaudeCode, "PreCompact"), (Agent::Codex, "Stop"), (Agent::Gemini, "SessionEnd")]
        {
            assert_eq!(start(agent, name), None, "{name}");
        }
        let long =
            answer(&event_of(Agent::Copilot, "sessionStart", json!({})), &"x".repeat(20_000)).expect("an answer");
        assert_eq!(long["additionalContext"].as_str().map(str::len), Some(LONGEST));
    }

    #[test]
    fn the_agent_that_runs_is_known_by_what_only_it_says() {
        let only = |name: &'static str| move |variable: &str| variable == name;
        assert_eq!(running(&json!({}), &only("COPILOT_CLI")), Some(Agent::Copilot));
        assert_eq!(running(&json!({}), &only("GEMINI_SESSION_ID")), Some(Agent::Gemini));
        assert_eq!(running(&json!({"cursor_version": "3"}), &|_| false), Some(Agent::Cursor));
        assert_eq!(running(&json!({}), &only("CLAUDE_PROJECT_DIR")), None);
    }
}
