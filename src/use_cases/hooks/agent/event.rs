//! Events of agents' hooks and our replies: a JSON document each way, in each agent's dialect.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use serde_json::value::RawValue;

use crate::use_cases::setup::agents::entries::{Dialect, EventKind, entry};
use empirica_transcripts::model::Agent;
use empirica_transcripts::{category, exit_code, exit_line, files_of};

/// Longest reply, in characters; agents truncate longer ones.
const MAX_REPLY_CHARS: usize = 9_000;
/// Most characters read of a tool name and of its failure line. Secrets are found in whole texts only, so the line is
/// shortened after they are removed.
const NAME: usize = 100;
const FAULT: usize = 2_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartSource {
    Startup,
    Resume,
    /// A copy of another session.
    Fork,
    /// After a compaction of its context.
    Compact,
}

/// An event, independent of the agent's name for it.
#[derive(Debug, Clone, PartialEq)]
pub enum HookKind {
    SessionStart(StartSource),
    /// The user submits a prompt.
    Prompt,
    /// The context will be compacted.
    BeforeCompact,
    AfterCompact,
    TurnEnd,
    SessionEnd {
        /// The agent's reason; may be empty.
        reason: String,
    },
    ToolFailed {
        category: &'static str,
        /// The tool and its failure, one line.
        text: String,
    },
    /// A tool read or changed files, or may have.
    Touched {
        /// The files, absolute; of a command, each word that could be one.
        files: Vec<String>,
    },
    Nothing,
}

/// Input of an agent's hook.
#[derive(Debug, Clone, PartialEq)]
pub struct HookEvent {
    pub agent: Agent,
    /// The agent's name of the event.
    pub name: String,
    pub event: HookKind,
    /// The agent's session ID, if given; of a subagent's event, that of its parent.
    pub session: Option<String>,
    /// Whether a subagent causes the event.
    pub is_of_subagent: bool,
    /// The agent's working folder, if given.
    pub folder: Option<PathBuf>,
    pub transcript: Option<PathBuf>,
}

/// The values of a common key: first of the agent's own keys for it.
fn values<'p>(dialect: &Dialect, payload: &'p Value, key: &str) -> impl Iterator<Item = &'p Value> {
    let own = dialect.keys.iter().filter(|(_, common)| *common == key).map(|(own, _)| *own);
    own.chain([key]).filter_map(|key| payload.get(key)).collect::<Vec<_>>().into_iter()
}

/// The first string among the values of a common key that is not blank; of a list, its first entry.
fn text(dialect: &Dialect, payload: &Value, key: &str) -> Option<String> {
    let texts = values(dialect, payload, key).filter_map(|value| value.as_str().or_else(|| value.get(0)?.as_str()));
    texts.map(str::to_owned).find(|text| !text.trim().is_empty())
}

fn kind(dialect: &Dialect, name: &str) -> Option<EventKind> {
    let bare = |name: &str| name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    dialect.events.iter().find(|(event, _)| bare(event) == bare(name)).map(|(_, kind)| *kind)
}

fn event(agent: Agent, name: &str, payload: &Value) -> Option<HookKind> {
    let dialect = &entry(agent).dialect;
    Some(match kind(dialect, name)? {
        EventKind::Begins => HookKind::SessionStart(match text(dialect, payload, "source").as_deref() {
            Some("resume") => StartSource::Resume,
            Some("fork") => StartSource::Fork,
            Some("compact") => StartSource::Compact,
            _ => StartSource::Startup,
        }),
        EventKind::Prompt => HookKind::Prompt,
        EventKind::Compacts => HookKind::BeforeCompact,
        EventKind::Compacted | EventKind::CompactedWithReply => HookKind::AfterCompact,
        EventKind::Stops => HookKind::TurnEnd,
        EventKind::Ends => HookKind::SessionEnd { reason: text(dialect, payload, "reason").unwrap_or_default() },
        EventKind::Failed => failed(agent, payload, true),
        EventKind::ToolEnded => match failed(agent, payload, false) {
            HookKind::Nothing => touched(agent, payload),
            failed => failed,
        },
    })
}

/// Whether and how a tool failed. `surely` for events that report only failures.
fn failed(agent: Agent, payload: &Value, surely: bool) -> HookKind {
    let dialect = &entry(agent).dialect;
    let tool = text(dialect, payload, "tool_name").unwrap_or_else(|| "tool".to_owned());
    let interrupted = payload.get("is_interrupt").and_then(Value::as_bool).unwrap_or(false);
    let response = values(dialect, payload, "tool_response").next().unwrap_or(&Value::Null);
    // a text, or an object with one
    let of = |error: &Value| {
        let texts = [Some(error), error.get("message"), error.get("name")].into_iter().flatten();
        texts.filter_map(Value::as_str).find(|text| !text.trim().is_empty()).map(str::to_owned)
    };
    let message = values(dialect, payload, "error").chain(response.get("error")).find_map(of);
    let message = message.or_else(|| exited(agent, &tool, payload, response));
    let Some(category) = category(agent, &tool).filter(|_| !interrupted && (surely || message.is_some())) else {
        return HookKind::Nothing;
    };
    let message = message.unwrap_or_default();
    let line = message.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("failed");
    let line: String = line.chars().take(FAULT).collect();
    // printed before the line
    let tool: String = tool.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(NAME).collect();
    HookKind::ToolFailed { category, text: format!("{tool}: {line}") }
}

/// The files that a tool read or changed.
fn touched(agent: Agent, payload: &Value) -> HookKind {
    let dialect = &entry(agent).dialect;
    let (Some(tool), Some(input)) =
        (text(dialect, payload, "tool_name"), values(dialect, payload, "tool_input").next())
    else {
        return HookKind::Nothing;
    };
    // an object, or its text
    let input = input.as_str().map_or_else(|| input.to_string(), str::to_owned);
    match files_of(agent, &tool, &input, text(dialect, payload, "cwd").as_deref()) {
        files if files.is_empty() => HookKind::Nothing,
        files => HookKind::Touched { files },
    }
}

/// The nonzero exit code of a shell's command, if only the text of the result or the transcript has it.
fn exited(agent: Agent, tool: &str, payload: &Value, response: &Value) -> Option<String> {
    category(agent, tool).filter(|category| *category == "shell")?;
    let said = response.as_str().or_else(|| response.get("llmContent")?.as_str());
    let in_text = said.and_then(|text| exit_line(agent, text)).map(str::to_owned);
    in_text.or_else(|| {
        let key = |key| text(&entry(agent).dialect, payload, key).filter(|_| agent == Agent::Codex);
        let code = exit_code(Path::new(&key("transcript_path")?), &key("tool_use_id")?)?;
        (code != 0).then(|| format!("exit code {code}"))
    })
}

/// The agent that runs us, by keys or variables unique to it, since agents also run hooks of others. `None` if
/// unknown.
pub fn running(payload: &Value, env: &dyn Fn(&str) -> bool) -> Option<Agent> {
    let signed = |is_there: &dyn Fn(&str) -> bool| {
        Agent::ALL.into_iter().find(|agent| entry(*agent).dialect.signs.iter().any(|sign| is_there(sign)))
    };
    // an agent's own payload says more than variables that it may have from another
    signed(&|key| payload.get(key).is_some()).or_else(|| signed(env))
}

/// The common keys of payloads.
const KEYS: [&str; 13] = [
    "session_id",
    "agent_id",
    "parent_agent_id",
    "cwd",
    "transcript_path",
    "source",
    "reason",
    "tool_name",
    "tool_use_id",
    "tool_input",
    "error",
    "is_interrupt",
    "tool_response",
];

/// Whether to read a key of a payload; others, such as the user's prompt, are skipped.
fn is_read(key: &str) -> bool {
    let is_own = |dialect: Dialect| dialect.signs.contains(&key) || dialect.keys.iter().any(|(own, _)| *own == key);
    KEYS.contains(&key) || Agent::ALL.into_iter().any(|agent| is_own(entry(agent).dialect))
}

/// Reads the known keys of the first JSON document of a hook's input, without waiting for the end of input. An error if
/// there is none or it is not an object.
pub fn payload(input: impl std::io::Read) -> serde_json::Result<Value> {
    let input = std::io::BufReader::with_capacity(1 << 16, input);
    let mut documents = serde_json::Deserializer::from_reader(input).into_iter::<BTreeMap<String, Box<RawValue>>>();
    let payload = documents.next().unwrap_or_else(|| Err(serde::de::Error::custom("there is no document")))?;
    let read = payload.into_iter().filter(|(key, _)| is_read(key));
    // half a surrogate pair, as in a truncated text, spoils only its own value
    Ok(read.map(|(key, raw)| (key, serde_json::from_str(raw.get()).unwrap_or(Value::Null))).collect())
}

/// Parses an event. `None` if it is unknown.
pub fn read(agent: Agent, name: &str, payload: &Value) -> Option<HookEvent> {
    let event = event(agent, name, payload)?;
    let text = |key| text(&entry(agent).dialect, payload, key);
    Some(HookEvent {
        agent,
        name: name.to_owned(),
        event,
        session: text("parent_agent_id").or_else(|| text("session_id")),
        is_of_subagent: text("agent_id").is_some(),
        folder: text("cwd").map(PathBuf::from).filter(|folder| folder.is_absolute()),
        transcript: text("transcript_path").map(PathBuf::from),
    })
}

/// The reply that adds a text to the model's context; `None` if the event does not allow it.
pub fn answer(event: &HookEvent, context: &str) -> Option<Value> {
    let dialect = &entry(event.agent).dialect;
    let kind = kind(dialect, &event.name)?;
    let has_place =
        matches!(kind, EventKind::Begins | EventKind::Prompt | EventKind::CompactedWithReply | EventKind::ToolEnded);
    let context: String = context.chars().take(MAX_REPLY_CHARS).collect();
    (has_place && !context.is_empty()).then(|| (dialect.reply)(&event.name, kind, context))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event_of(agent: Agent, name: &str, payload: Value) -> HookEvent {
        read(agent, name, &payload).expect("a known event")
    }

    #[test]
    fn all_events_of_agents_are_read() {
        for (agent, names) in [
            (
                Agent::ClaudeCode,
                "SessionStart UserPromptSubmit PreCompact PostCompact Stop SessionEnd PostToolUseFailure",
            ),
            (Agent::Codex, "SessionStart UserPromptSubmit PreCompact PostCompact Stop SessionEnd PostToolUse"),
            (Agent::Gemini, "SessionStart BeforeAgent AfterAgent SessionEnd AfterTool"),
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
    fn session_keys_of_each_agent_are_read() {
        let claude = json!({"session_id": "a", "cwd": "/x", "transcript_path": "/t", "source": "compact"});
        let claude = event_of(Agent::ClaudeCode, "SessionStart", claude);
        assert_eq!(claude.event, HookKind::SessionStart(StartSource::Compact));
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
    fn unread_keys_can_have_any_value() {
        let input = r#"{"prompt": "cut \ud83d", "session_id": "a", "tool_response": "half \ud83d", "tool_output": [[[]]], "cwd": "/x"} more"#;
        let payload = payload(input.as_bytes()).expect("an object");
        assert_eq!(payload, json!({"session_id": "a", "tool_response": null, "cwd": "/x"}));
        for none in ["", "[]", "5", "{", "{\"session_id\": }"] {
            assert!(super::payload(none.as_bytes()).is_err(), "{none}");
        }
    }

    #[test]
    fn only_failed_tools_are_failures() {
        let of = |agent, name, payload| event_of(agent, name, payload).event;
        let fault = |category, text: &str| HookKind::ToolFailed { category, text: text.to_owned() };
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
        let read = json!({"tool_name": "read_file", "tool_response": {"llmContent": "Output: x\nExit Code: 2"}});
        assert_eq!(of(Agent::Gemini, "AfterTool", read), HookKind::Nothing);
        let nameless = event_of(Agent::Copilot, "postToolUseFailure", json!({})).event;
        assert_eq!(nameless, fault("mcp", "tool: failed"));
        let lines = json!({"tool_name": "a\n b", "error": "boom"});
        assert_eq!(of(Agent::ClaudeCode, "PostToolUseFailure", lines), fault("mcp", "a b: boom"));
        let plan = json!({"tool_name": "TodoWrite", "error": "x"});
        assert_eq!(of(Agent::ClaudeCode, "PostToolUseFailure", plan), HookKind::Nothing);
    }

    #[test]
    fn the_exit_code_that_codex_does_not_tell_is_read_from_its_rollout() {
        let folder = tempfile::tempdir().expect("a folder");
        let rollout = folder.path().join("rollout.jsonl");
        let item = |id: &str, code: i64| {
            let item = json!({"type": "CommandExecution", "id": id, "exit_code": code});
            json!({"type": "event_msg", "payload": {"type": "item_completed", "item": item}}).to_string() + "\n"
        };
        std::fs::write(&rollout, item("c1", 3) + &item("c2", 0) + "{\"torn\": \"c1").expect("a file");
        let of = |id: &str, rollout: &Path| {
            let payload =
                json!({"tool_name": "Bash", "tool_response": "x", "tool_use_id": id, "transcript_path": rollout});
            event_of(Agent::Codex, "PostToolUse", payload).event
        };
        assert_eq!(
            of("c1", &rollout),
            HookKind::ToolFailed { category: "shell", text: "Bash: exit code 3".to_owned() }
        );
        for (id, rollout) in [("c2", rollout.as_path()), ("c3", &rollout), ("c1", Path::new("/nowhere"))] {
            assert_eq!(of(id, rollout), HookKind::Nothing, "{id}");
        }
    }

    #[test]
    fn the_answer_has_the_format_of_the_agent() {
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
        assert_eq!(long["additionalContext"].as_str().map(str::len), Some(MAX_REPLY_CHARS));
    }

    #[test]
    fn the_running_agent_is_recognized_by_its_own_keys() {
        let only = |name: &'static str| move |variable: &str| variable == name;
        assert_eq!(running(&json!({}), &only("COPILOT_CLI")), Some(Agent::Copilot));
        assert_eq!(running(&json!({}), &only("GEMINI_SESSION_ID")), Some(Agent::Gemini));
        assert_eq!(running(&json!({"cursor_version": "3"}), &|_| false), Some(Agent::Cursor));
        assert_eq!(running(&json!({}), &only("CLAUDE_PROJECT_DIR")), None);
    }
}
