//! Concurrent, late and unusual payloads of agents' hooks: one session records everything once, without secrets.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::agents::whose_session::agent_program;
use crate::commands::session::collect::here;
use crate::mcp::server::Client;
use crate::support::harness::{Repo, RunOutput, Sandbox, fed};

const SESSION: &str = "0f5e0000-0000-4000-8000-000000000001";

fn hook(repo: &Repo<'_>, event: &str, more: Value) -> RunOutput {
    let mut payload = json!({"session_id": SESSION, "cwd": repo.path});
    if let (Value::Object(payload), Value::Object(more)) = (&mut payload, more) {
        payload.extend(more);
    }
    let ran = repo.run_with_input(["hook", "agent", "claude-code", event], payload.to_string().as_bytes());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{event}");
    ran
}

fn sessions(repo: &Repo<'_>) -> Vec<Value> {
    repo.json(["session", "list"])["sessions"].as_array().cloned().expect("sessions")
}

/// Waits for background work of the hooks.
pub fn soon(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..600 {
        if is_so() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("{what} did not come");
}

#[test]
fn secrets_in_tool_output_are_replaced_before_truncation() {
    let place = Sandbox::new();
    let repo = place.init("secret");
    repo.commit("a", "a", "first");
    hook(&repo, "SessionStart", json!({"source": "startup"}));
    for room in 150..=260 {
        let text = format!("{} postgres://admin:hunter2Secret9@db.internal/x refused", "y".repeat(room));
        hook(&repo, "PostToolUseFailure", json!({"tool_name": "Bash", "error": text}));
    }
    repo.run(["flush"]).ok();
    let stored = repo.run(["export", "--jsonl"]).ok().out;
    assert_eq!(stored.lines().filter(|line| line.contains("\"failed\":true")).count(), 111);
    assert!(!stored.contains("hunter2"), "a part of the secret is stored");
}

#[test]
fn ending_a_session_waits_for_a_running_collect() {
    let place = Sandbox::new();
    let repo = place.init("race");
    repo.commit("a", "a", "first");
    hook(&repo, "SessionStart", json!({"source": "startup"}));
    let mut text = here(&repo, "claude-code/session.jsonl").replace("5e55", SESSION);
    let filler = json!({"type": "progress", "sessionId": SESSION, "cwd": repo.path, "data": "x".repeat(1000)});
    (0..6000).for_each(|_| text.push_str(&format!("{filler}\n")));
    let transcript = place.path().join("large.jsonl");
    std::fs::write(&transcript, text).expect("the transcript");
    hook(&repo, "Stop", json!({"transcript_path": transcript}));
    hook(&repo, "SessionEnd", json!({"transcript_path": transcript, "reason": "other"}));
    soon("the end", || sessions(&repo).iter().all(|session| session["active"] == false));
    assert_eq!(repo.json(["query"])["total_found"], 1);
    let shown = repo.json(["session", "show", SESSION]);
    assert_eq!(shown["transcripts"].as_array().map(Vec::len), Some(1));
    assert_eq!(repo.lines("journal").iter().filter(|line| line.contains("\"session_end\"")).count(), 1);
}

#[test]
fn concurrent_hooks_begin_one_session() {
    let place = Sandbox::new();
    let repo = place.init("once");
    repo.commit("a", "a", "first");
    let payload_of = |more: Value| {
        let mut payload = json!({"session_id": SESSION, "cwd": repo.path, "tool_name": "Bash", "error": "x"});
        if let (Value::Object(payload), Value::Object(more)) = (&mut payload, more) {
            payload.extend(more);
        }
        payload.to_string()
    };
    let started: Vec<_> = ["SessionStart", "PostToolUseFailure", "PreCompact", "SessionStart", "PostToolUseFailure"]
        .into_iter()
        .map(|event| {
            let mut command = repo.program();
            command.args(["hook", "agent", "claude-code", event]);
            let mut child =
                command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
            // the input stays open: a hook does not wait for its end
            let mut input = child.stdin.take().expect("a pipe");
            input.write_all(payload_of(json!({"source": "resume"})).as_bytes()).expect("it reads");
            (child, input)
        })
        .collect();
    for (child, _input) in started {
        let ended = child.wait_with_output().expect("it ends");
        assert_eq!((ended.status.code(), ended.stderr.as_slice()), (Some(0), &b""[..]));
    }
    assert_eq!(sessions(&repo).len(), 1);
    hook(&repo, "SessionEnd", json!({"reason": "exit"}));
    // what comes late belongs to no session, and begins none
    hook(&repo, "PostToolUseFailure", json!({"tool_name": "Bash", "error": "late"}));
    hook(&repo, "PreCompact", json!({"trigger": "auto"}));
    hook(&repo, "SessionEnd", json!({"reason": "exit"}));
    hook(&repo, "Stop", json!({}));
    assert_eq!(sessions(&repo).len(), 1);
    assert_eq!(repo.json(["query"])["total_found"], 1);
    repo.fsck();
}

#[test]
fn odd_payloads_are_read_as_far_as_they_can_be() {
    let place = Sandbox::new();
    let repo = place.init("odd");
    repo.commit("a", "a", "first");
    // half a character, where a text was cut off
    let text = format!("{{\"session_id\":\"{SESSION}\",\"source\":\"startup\",\"prompt\":\"cut \\ud83d\"}}");
    repo.run_with_input(["hook", "agent", "claude-code", "SessionStart"], text.as_bytes()).ok();
    assert_eq!(sessions(&repo).len(), 1);
    let text = format!("{{\"session_id\":\"{SESSION}\",\"tool_input\":\"{}\"}}", "x".repeat(8 << 20));
    repo.run_with_input(["hook", "agent", "claude-code", "UserPromptSubmit"], text.as_bytes()).ok();
    // no file: a folder, a pipe that nobody writes
    let pipe = place.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    for path in [place.path(), pipe] {
        hook(&repo, "Stop", json!({"transcript_path": path}));
    }
    repo.run_with_input(["hook", "agent", "claude-code", "Stop"], b"{\"session_id\": ").ok();
    let text = repo.run(["doctor"]).out;
    assert!(text.contains("agent claude-code Stop") && text.contains("cannot read"), "{text}");
    // ids that look like a secret, or like a path, are ids
    for id in ["AKIAIOSFODNN7EXAMPLE", "../../x", "latest", "a\nb", &"x".repeat(10_000)] {
        for event in ["SessionStart", "SessionStart", "SessionEnd"] {
            hook(&repo, event, json!({"session_id": id, "reason": "exit"}));
        }
    }
    let all = sessions(&repo);
    assert_eq!((all.len(), all.iter().filter(|session| session["active"] == true).count()), (6, 1), "{all:?}");
    repo.fsck();
}

#[test]
fn the_session_of_a_hook_is_found_beside_one_that_was_left_behind() {
    let mut place = Sandbox::new();
    {
        let repo = place.init("left");
        repo.commit("a", "a", "first");
        // its agent's process is gone
        let payload = json!({"session_id": "left-behind", "cwd": repo.path, "source": "startup"});
        let mut command = place.command(agent_program(&place), &repo.path);
        command.args(["-c", "git-empirica hook agent claude-code SessionStart; :"]);
        fed(command, payload.to_string().as_bytes()).ok();
        assert_eq!(sessions(&repo).len(), 1);
    }
    place.now = "2026-03-01T15:00:00.000Z".into();
    let repo = place.at("left");
    hook(&repo, "SessionStart", json!({"source": "startup"}));
    let mut client = Client::new(&repo, &[]);
    let begun = client.ok("bootstrap_session", json!({"ai_id": "claude-code", "task": "the task"}));
    assert_eq!((&begun["resumed"], &begun["task"]), (&json!(true), &json!("the task")));
    client.ok("execute_preflight", json!({"prompt": "the very task"}));
    client.fails("submit_preflight_assessment", json!({"vectors": {"kno": 0.5}}));
    client.ok("execute_preflight", json!({}));
    client.ok("submit_preflight_assessment", json!({"vectors": {"know": 0.3}}));
    client.ok("submit_check_assessment", json!({"vectors": {"know": 0.95}}));
    assert!(hook(&repo, "UserPromptSubmit", json!({})).out.contains("not safe to act on"));
    // the command line of the same agent is in it, too
    let same = repo.json(["session", "start", "--ai", "claude-code", "--task", "another"]);
    assert_eq!((&same["resumed"], &same["session_id"]), (&json!(true), &begun["session_id"]));
    hook(&repo, "SessionEnd", json!({"reason": "exit"}));
    assert_eq!(repo.json(["query"])["reports"][0]["task"], "the very task");
    assert!(
        client.fails("log_finding", json!({"finding": "x"}))["error"].as_str().is_some_and(|e| e.contains("has ended"))
    );
}

#[test]
fn a_task_set_later_is_kept() {
    let place = Sandbox::new();
    let repo = place.init("task");
    repo.commit("a", "a", "first");
    hook(&repo, "SessionStart", json!({"source": "startup"}));
    repo.run(["session", "start", "--ai", "claude-code", "--task", "mend the cache"]).ok();
    assert_eq!(sessions(&repo).len(), 1);
    repo.run(["preflight", "-v", "know=0.9"]).ok();
    hook(&repo, "SessionEnd", json!({"reason": "exit"}));
    assert_eq!(repo.json(["query"])["reports"][0]["task"], "mend the cache");
}
