//! Agents' hooks: the payloads that each agent sends, through a whole session.

use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::agents::agents_at_once::soon;
use crate::commands::session::collect::here;
use crate::support::harness::{Repo, RunOutput, Sandbox};

/// The id of the session in the transcript that was made up.
const FIXTURE: &str = "5e55";

/// What an agent sends with an event, as it does.
fn payload(agent: &str, event: &str, session: &str, folder: &str, more: Value) -> String {
    let mut out = match agent {
        "claude-code" => {
            json!({"session_id": session, "transcript_path": null, "cwd": folder, "hook_event_name": event,
            "permission_mode": "default"})
        }
        "codex" => json!({"session_id": session, "transcript_path": null, "cwd": folder, "hook_event_name": event,
            "model": "m", "turn_id": "t", "permission_mode": "default"}),
        "gemini" => json!({"session_id": session, "transcript_path": "", "cwd": folder, "hook_event_name": event,
            "timestamp": "2026-03-01T12:00:00.000Z"}),
        "cursor" => json!({"conversation_id": session, "generation_id": "g", "model": "m", "hook_event_name": event,
            "cursor_version": "3.20.17", "workspace_roots": [folder], "user_email": null, "transcript_path": null}),
        "copilot" => json!({"sessionId": session, "timestamp": 1_772_366_400_000_u64, "cwd": folder}),
        "opencode" => json!({"session_id": session, "cwd": folder, "hook_event_name": event}),
        _ => panic!("no such agent"),
    };
    if let (Value::Object(out), Value::Object(more)) = (&mut out, more) {
        out.extend(more);
    }
    out.to_string()
}

/// An agent at work in a repository.
pub struct At<'a, 'p> {
    pub repo: &'a Repo<'p>,
    pub agent: &'static str,
    pub session: String,
}

impl At<'_, '_> {
    pub fn tell(&self, event: &str, more: Value) -> RunOutput {
        let folder = self.repo.path.to_string_lossy().into_owned();
        let payload = payload(self.agent, event, &self.session, &folder, more);
        let ran = self.repo.run_with_input(["hook", "agent", self.agent, event], payload.as_bytes());
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{} {event}: {}", self.agent, ran.out);
        ran
    }

    /// It must say nothing.
    #[track_caller]
    pub fn quiet(&self, event: &str, more: Value) {
        assert_eq!(self.tell(event, more).out, "", "{} {event}", self.agent);
    }

    /// What it puts before the model; empty when it says nothing.
    pub fn context(&self, event: &str, more: Value) -> String {
        let ran = self.tell(event, more);
        if ran.out.is_empty() {
            return String::new();
        }
        let answer = ran.json();
        let nested = |answer: &Value| {
            assert_eq!(answer.as_object().map(serde_json::Map::len), Some(1), "{answer}");
            assert_eq!(answer["hookSpecificOutput"]["hookEventName"], event);
            answer["hookSpecificOutput"]["additionalContext"].clone()
        };
        let text = match self.agent {
            "claude-code" | "codex" | "gemini" => nested(&answer),
            "cursor" => answer["additional_context"].clone(),
            _ => answer["additionalContext"].clone(),
        };
        text.as_str().expect("a text").to_owned()
    }

    pub fn own(&self) -> Value {
        let sessions = self.repo.json(["session", "list"]);
        let mut own =
            sessions["sessions"].as_array().expect("sessions").iter().filter(|s| s["external_id"] == *self.session);
        own.next().unwrap_or(&Value::Null).clone()
    }
}

/// What each agent calls its events: begin, prompt, before and after a compaction, stop, end, a failed tool with what it says.
pub type Names = (&'static str, &'static str, &'static str, Option<&'static str>, &'static str, &'static str);

pub fn names(agent: &str) -> Names {
    match agent {
        "claude-code" => ("SessionStart", "UserPromptSubmit", "PreCompact", None, "Stop", "SessionEnd"),
        "codex" => ("SessionStart", "UserPromptSubmit", "PreCompact", None, "Stop", "SessionEnd"),
        "gemini" => ("SessionStart", "BeforeAgent", "", None, "AfterAgent", "SessionEnd"),
        "cursor" => ("sessionStart", "beforeSubmitPrompt", "preCompact", None, "stop", "sessionEnd"),
        "copilot" => ("sessionStart", "userPromptSubmitted", "preCompact", None, "agentStop", "sessionEnd"),
        _ => (
            "session.created",
            "chat.message",
            "experimental.session.compacting",
            Some("session.compacted"),
            "session.idle",
            "session.deleted",
        ),
    }
}

fn fault(agent: &str) -> (&'static str, Value) {
    match agent {
        "claude-code" => (
            "PostToolUseFailure",
            json!({"tool_name": "Bash", "tool_input": {"command": "false"}, "error": "Exit code 1"}),
        ),
        "codex" => (
            "PostToolUse",
            json!({"tool_name": "Bash", "tool_input": {}, "tool_response": "Process exited with code 1"}),
        ),
        "gemini" => {
            ("AfterTool", json!({"tool_name": "run_shell_command", "tool_response": {"llmContent": "Exit Code: 1"}}))
        }
        "cursor" => {
            ("postToolUseFailure", json!({"tool_name": "Shell", "error_message": "it failed", "failure_type": "error"}))
        }
        "copilot" => ("postToolUseFailure", json!({"toolName": "bash", "toolArgs": {}, "error": "it failed"})),
        _ => ("message.part.updated", json!({"tool_name": "bash", "tool_input": {}, "error": "it failed"})),
    }
}

/// Something that a session of another agent left.
fn left_by_another(repo: &Repo<'_>) {
    repo.json(["unknown", "Who calls the hook?", "--ai", "ada"]);
    repo.json(["session", "end"]);
}

/// A chat of Gemini CLI that was compressed.
fn compressed_chat(at: &At<'_, '_>) -> PathBuf {
    let path = at.repo.path.join(".git/chat.jsonl");
    let message = |id: &str, kind: &str, text: &str| json!({"id": id, "type": kind, "content": [{"text": text}]});
    let told = [
        message("s", "user", "<state_snapshot>x</state_snapshot>"),
        message("a", "gemini", "Got it. Thanks for the additional context!"),
    ];
    let rows = [
        json!({"sessionId": at.session, "projectHash": "0", "startTime": "2026-03-01T12:00:00.000Z"}),
        json!({"$set": {"messages": told}}),
    ];
    std::fs::write(&path, rows.map(|row| row.to_string() + "\n").concat()).expect("the chat");
    path
}

pub const AGENTS: [&str; 6] = ["claude-code", "codex", "gemini", "cursor", "copilot", "opencode"];

#[test]
fn every_event_of_every_agent_has_its_effect() {
    let place = Sandbox::new();
    for agent in AGENTS {
        let repo = place.init(agent);
        repo.commit("a.txt", "a", "first");
        left_by_another(&repo);
        let at = At { repo: &repo, agent, session: format!("{agent}-0001") };
        let (begin, prompt, before, after, stop, end) = names(agent);
        let context = at.context(begin, json!({"source": "startup"}));
        assert!(context.contains(" has started.") && context.contains("Who calls the hook?"), "{agent}: {context}");
        assert_eq!((&at.own()["ai_id"], &at.own()["active"]), (&json!(agent), &json!(true)), "{agent}");
        // the same event again continues it
        at.context(begin, json!({"source": "startup"}));
        assert_eq!(repo.json(["session", "list"])["total_sessions"], 2, "{agent}");

        at.quiet(prompt, json!({"prompt": "do it"}));
        let (event, what) = fault(agent);
        at.quiet(event, what);
        let summary = &repo.json(["session", "show", "latest"])["tool_summaries"][0];
        assert_eq!((&summary["category"], &summary["errors"]), (&json!("shell"), &json!(1)), "{agent}: {summary}");

        repo.run(["preflight", "-v", "know=0.3,uncertainty=0.8", "--task", "the task"]).ok();
        repo.run(["check", "-v", "know=0.9,uncertainty=0.1"]).code(3);
        let context = at.context(prompt, json!({"prompt": "go on"}));
        assert!(context.contains("was not safe to act on") && context.contains("severe"), "{agent}: {context}");

        if agent != "gemini" {
            at.quiet(before, json!({"trigger": "manual"}));
            let points = repo.json(["checkpoint", "list"]);
            assert_eq!(points["checkpoints"][0]["trigger"], "pre_compact", "{agent}");
        }
        let context = match (agent, after) {
            // only its transcript tells
            ("gemini", _) => at.context(prompt, json!({"prompt": "go on", "transcript_path": compressed_chat(&at)})),
            (_, Some(after)) => at.context(after, json!({})),
            ("claude-code" | "codex", None) => at.context(begin, json!({"source": "compact"})),
            // nothing tells of the compaction: the next prompt does
            _ => at.context(prompt, json!({"prompt": "go on"})),
        };
        assert!(context.contains("After the compaction") && context.contains("Drift: severe"), "{agent}: {context}");
        assert_eq!(repo.json(["checkpoint", "list"])["checkpoints"][0]["trigger"], "post_compact", "{agent}");

        at.quiet(stop, json!({"stop_hook_active": false, "status": "completed"}));
        assert_eq!(at.own()["active"], true, "{agent}");
        at.quiet(end, json!({"reason": "exit"}));
        assert_eq!(at.own()["active"], false, "{agent}");
        let handoffs = repo.json(["query"]);
        assert_eq!(
            (&handoffs["total_found"], &handoffs["reports"][0]["task"]),
            (&json!(1), &json!("the task")),
            "{agent}"
        );
        repo.fsck();
    }
}

#[test]
fn a_transcript_without_its_first_row_begins_no_session() {
    let place = Sandbox::new();
    let repo = place.init("unwritten");
    repo.commit("a.txt", "a", "first");
    let at = At { repo: &repo, agent: "gemini", session: "g-1".to_owned() };
    let path = repo.path.join(".git/chat.jsonl");
    std::fs::write(&path, "{\"type\":\"user\",\"id\":\"1\",\"content\":\"hi\"}\n").expect("a chat");
    for event in ["SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd"] {
        at.quiet(event, json!({"transcript_path": path, "prompt": "hi"}));
    }
    assert_eq!(repo.json(["session", "list"])["total_sessions"], 1);
}

#[test]
fn a_second_agent_continues_after_a_full_session() {
    let place = Sandbox::new();
    let repo = place.init("life");
    repo.commit("src.txt", "one", "first");
    let claude = At { repo: &repo, agent: "claude-code", session: "0f5e0000-0000-4000-8000-000000000001".into() };
    let transcript = place.path().join("transcript.jsonl");
    let text = here(&repo, "claude-code/session.jsonl").replace(FIXTURE, &claude.session);
    claude.context("SessionStart", json!({"source": "startup"}));
    let path = json!({"transcript_path": transcript});
    // a missing one is not an error
    claude.quiet("Stop", path.clone());
    std::fs::write(&transcript, &text).expect("the transcript");
    claude.quiet("Stop", path.clone());
    claude.quiet("Stop", path.clone());
    repo.run(["finding", "the cache is per process"]).ok();
    claude.quiet("PreCompact", json!({"trigger": "manual"}));
    let context = claude.context("SessionStart", json!({"source": "compact"}));
    assert!(context.contains("the cache is per process"), "{context}");
    claude.quiet("SessionEnd", json!({"reason": "logout", "transcript_path": transcript}));
    let first = claude.own();
    assert_eq!(first["active"], false);
    assert_eq!(repo.json(["query"])["total_found"], 1);

    // resumed: another session of the same agent's id, which continues the first
    let context = claude.context("SessionStart", json!({"source": "resume"}));
    assert!(context.contains("continues.") && context.contains("the cache is per process"), "{context}");
    let second = claude.own();
    assert_eq!(second["from"], first["session_id"]);
    claude.quiet("SessionEnd", json!({"reason": "prompt_input_exit"}));
    // the session has no records: no handoff
    assert_eq!(repo.json(["query"])["total_found"], 1);

    let codex = At { repo: &repo, agent: "codex", session: "codex-1".into() };
    let context = codex.context("SessionStart", json!({"source": "startup"}));
    assert!(context.contains("the cache is per process"), "the next agent knows: {context}");
    assert!(repo.json(["resume"])["sessions"][0]["key_findings"].to_string().contains("the cache is per process"));
    assert_eq!(repo.run(["doctor"]).ok().out.matches("agent claude-code").count(), 0);
    repo.fsck();
}

#[test]
fn hooks_that_cannot_work_are_silent_and_exit_0() {
    let place = Sandbox::new();
    let repo = place.init("here");
    let ok = |ran: RunOutput| assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
    for input in ["", "null", "[]", "{", "\"x\"", "{}", "not json", "{\"session_id\": 5}", "\u{feff}{}"] {
        for event in ["Stop", "PreToolUse", "Nonsense", ""] {
            ok(repo.run_with_input(["hook", "agent", "claude-code", event], input.as_bytes()));
        }
    }
    for arguments in [
        &["hook", "agent"][..],
        &["hook", "agent", "claude-code"],
        &["hook", "agent", "nobody", "Stop"],
        &["hook", "agent", "-x", "--y"],
    ] {
        ok(repo.run_with_input(arguments, b"{}"));
    }
    let elsewhere = place.at("home");
    let payload =
        payload("claude-code", "SessionStart", "s", &elsewhere.path.to_string_lossy(), json!({"source": "startup"}));
    ok(elsewhere.run_with_input(["hook", "agent", "claude-code", "SessionStart"], payload.as_bytes()));
    assert_eq!(repo.json(["session", "list"])["total_sessions"], 0, "{}", repo.run(["session", "list"]).out);
}

#[test]
fn trouble_is_written_down_for_doctor() {
    let place = Sandbox::new();
    let repo = place.init("trouble");
    repo.commit("a", "a", "first");
    let claude = At { repo: &repo, agent: "claude-code", session: "s-1".into() };
    claude.context("SessionStart", json!({"source": "startup"}));
    let nonsense = place.path().join("nonsense.jsonl");
    std::fs::write(&nonsense, "no transcript\n").expect("a file");
    claude.quiet("Stop", json!({"transcript_path": nonsense}));
    let output = repo.run(["doctor"]).out;
    assert!(output.contains("agent claude-code Stop"), "{output}");
    // and the end comes all the same
    claude.quiet("SessionEnd", json!({"transcript_path": nonsense, "reason": "other"}));
    assert_eq!(claude.own()["active"], false);
}

#[test]
fn an_agent_running_hooks_of_another_agent_records_nothing() {
    let place = Sandbox::new();
    let repo = place.init("twice");
    left_by_another(&repo);
    let folder = repo.path.to_string_lossy().into_owned();
    let cursor = payload("cursor", "SessionStart", "c-1", &folder, json!({"session_id": "c-1"}));
    let run = |agent: &str, payload: &str| {
        repo.run_with_input(["hook", "agent", agent, "SessionStart"], payload.as_bytes()).ok()
    };
    assert_eq!(run("claude-code", &cursor).out, "");
    assert_eq!(repo.json(["session", "list"])["total_sessions"], 1);
    assert_ne!(run("cursor", &cursor).out, "");
    assert_eq!(repo.json(["session", "list"])["total_sessions"], 2);
}

/// A session with a transcript of 3 MB.
fn with_large_transcript<'r, 'p>(place: &Sandbox, repo: &'r Repo<'p>) -> (At<'r, 'p>, PathBuf) {
    repo.commit("a", "a", "first");
    let claude = At { repo, agent: "claude-code", session: "0f5e0000-0000-4000-8000-000000000001".into() };
    claude.context("SessionStart", json!({"source": "startup"}));
    let mut text = here(repo, "claude-code/session.jsonl").replace(FIXTURE, &claude.session);
    let filler = json!({"type": "progress", "sessionId": claude.session, "cwd": repo.path, "data": "x".repeat(1000)});
    for _ in 0..3000 {
        text.push_str(&format!("{filler}\n"));
    }
    let transcript = place.path().join("large.jsonl");
    std::fs::write(&transcript, text).expect("the transcript");
    (claude, transcript)
}

#[test]
fn a_large_transcript_is_collected_beside_the_agent() {
    let place = Sandbox::new();
    let repo = place.init("large");
    let (claude, transcript) = with_large_transcript(&place, &repo);
    claude.quiet("SessionEnd", json!({"transcript_path": transcript, "reason": "other"}));
    soon("the end", || claude.own()["active"] == false);
    assert_eq!(repo.json(["query"])["total_found"], 1);
    let shown = repo.json(["session", "show", &claude.session]);
    assert!(shown["transcripts"][0]["rows"].as_u64().is_some_and(|rows| rows >= 3000), "{}", shown["transcripts"]);
}

#[test]
fn a_session_whose_transcript_was_collected_ends_before_its_agent() {
    let place = Sandbox::new();
    let repo = place.init("large");
    let (claude, transcript) = with_large_transcript(&place, &repo);
    let rows = || repo.json(["session", "show", &claude.session])["transcripts"][0]["rows"].as_u64();
    claude.quiet("Stop", json!({"transcript_path": transcript}));
    soon("the transcript", || rows().is_some());
    let collected = rows();
    // as Claude Code does after the last turn
    let mut file = std::fs::OpenOptions::new().append(true).open(&transcript).expect("the transcript");
    let row = json!({"type": "last-prompt", "lastPrompt": "go on", "sessionId": claude.session});
    file.write_all(format!("{row}\n").as_bytes()).expect("a row");
    claude.quiet("SessionEnd", json!({"transcript_path": transcript, "reason": "other"}));
    assert_eq!((&claude.own()["active"], rows()), (&json!(false), collected));
    assert_eq!(repo.json(["query"])["total_found"], 1);
}

/// OpenCode's plugin, loaded by node in the way OpenCode loads it, with the real program.
#[test]
fn the_opencode_plugin_sends_events_and_receives_answers() {
    let node = std::process::Command::new("node").arg("--version").output();
    if !node.is_ok_and(|version| version.status.success()) {
        eprintln!("without node the plugin cannot be run");
        return;
    }
    let place = Sandbox::new();
    let repo = place.init("plugin");
    repo.commit("a", "a", "first");
    repo.run(["init", "--agents", "opencode"]).ok();
    left_by_another(&repo);
    let plugin = std::fs::read_to_string(repo.path.join(".opencode/plugins/git-empirica.ts")).expect("the plugin");
    let module = place.path().join("plugin.mjs");
    std::fs::write(&module, plugin).expect("a file");
    let play = format!(
        r#"import plugin from {module:?};
const hooks = await plugin.server({{ directory: process.cwd() }});
const tell = (type, properties) => hooks.event({{ event: {{ type, properties }} }});
const system = async () => {{ const out = {{ system: [] }}; await hooks["experimental.chat.system.transform"]({{ sessionID: "ses_1" }}, out); return out.system; }};
await tell("session.created", {{ info: {{ id: "ses_1" }} }});
await tell("session.created", {{ info: {{ id: "ses_2", parentID: "ses_1" }} }});
await hooks["chat.message"]({{ sessionID: "ses_1" }}, {{ parts: [{{ type: "text", text: "do it" }}] }});
const begun = await system();
const part = {{ type: "tool", sessionID: "ses_1", callID: "c", tool: "bash", state: {{ status: "error", input: {{}}, error: "it failed" }} }};
await tell("message.part.updated", {{ part }});
await tell("message.part.updated", {{ part }});
const ended = (callID, exit) => ({{ ...part, callID, state: {{ status: "completed", input: {{}}, metadata: {{ exit }} }} }});
await tell("message.part.updated", {{ part: ended("d", 3) }});
await tell("message.part.updated", {{ part: ended("e", 0) }});
const compacting = {{ context: [] }};
await hooks["experimental.session.compacting"]({{ sessionID: "ses_1" }}, compacting);
await tell("session.compacted", {{ sessionID: "ses_1" }});
const after = await system();
await tell("session.idle", {{ sessionID: "ses_2" }});
await tell("session.idle", {{ sessionID: "ses_1" }});
await hooks.dispose();
console.log(JSON.stringify({{ begun, after, compacting: compacting.context }}));
"#,
        module = module.to_str().expect("UTF-8")
    );
    let mut command = place.command("node", &repo.path);
    command.args(["--input-type=module"]);
    let answer = crate::support::harness::fed(command, play.as_bytes()).ok().json();
    assert!(answer["begun"][0].as_str().is_some_and(|text| text.contains(" has started.")), "{answer}");
    assert!(answer["after"][0].as_str().is_some_and(|text| text.contains("After the compaction")), "{answer}");
    let sessions = repo.json(["session", "list"]);
    assert_eq!((&sessions["total_sessions"], &sessions["sessions"][0]["external_id"]), (&json!(2), &json!("ses_1")));
    assert_eq!(sessions["sessions"][0]["active"], false);
    let shown = repo.json(["session", "show", "ses_1"]);
    assert_eq!(shown["tool_summaries"][0]["errors"], 2, "{shown}");
    assert_eq!(repo.json(["query"])["total_found"], 1);
}

#[test]
fn agent_hooks_can_be_disabled() {
    let place = Sandbox::new();
    let repo = place.init("off");
    repo.git(["config", "empirica.agentHooks", "false"]).ok();
    let claude = At { repo: &repo, agent: "claude-code", session: "s-off".into() };
    claude.quiet("SessionStart", json!({"source": "startup"}));
    assert_eq!(repo.json(["session", "list"])["total_sessions"], 0);
}
