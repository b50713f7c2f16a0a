//! Several agents in one worktree: hooks, calls of the MCP server and commands in agents' shells go to the session of their own
//! agent, never to that of another.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::agents::agents_at_once::soon;
use crate::agents::collect_all::{claude, claude_file, put};
use crate::mcp::server::Client;
use crate::support::harness::{Repo, RunOutput, Sandbox, fed};

fn begin(repo: &Repo<'_>, agent: &str, session: &str) {
    let key = if agent == "copilot" { "sessionId" } else { "session_id" };
    let event = if agent == "opencode" { "session.created" } else { "SessionStart" };
    hook(repo, agent, event, json!({key: session, "cwd": repo.path, "source": "startup"}));
}

fn hook(repo: &Repo<'_>, agent: &str, event: &str, payload: Value) -> RunOutput {
    let ran = repo.run_with_input(["hook", "agent", agent, event], payload.to_string().as_bytes());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{event}");
    ran
}

/// The texts of the findings in the session with an agent's own id.
fn findings(repo: &Repo<'_>, session: &str) -> Vec<String> {
    let shown = repo.json(["session", "show", session]);
    let findings = shown["findings"].as_array().into_iter().flatten();
    findings.filter_map(|finding| finding["text"].as_str().map(str::to_owned)).collect()
}

/// A shell by another name, for an agent with a process of its own.
pub fn agent_program(place: &Sandbox) -> PathBuf {
    let agent = place.path().join("agent");
    std::fs::copy("/bin/sh", &agent).expect("a shell");
    agent
}

fn with(mut command: Command, variables: &[(&str, &str)]) -> Command {
    command.envs(variables.iter().copied());
    command
}

fn server(repo: &Repo<'_>) -> Command {
    let mut command = repo.program();
    command.arg("mcp");
    command
}

#[test]
fn calls_and_commands_go_to_the_session_with_the_agents_own_id() {
    let place = Sandbox::new();
    let repo = place.init("ids");
    repo.commit("a", "a", "first");
    for (agent, variable) in [("claude-code", "CLAUDE_CODE_SESSION_ID"), ("copilot", "COPILOT_AGENT_SESSION_ID")] {
        let ids = [format!("{agent}-one"), format!("{agent}-two")];
        ids.iter().for_each(|id| begin(&repo, agent, id));
        for id in &ids {
            let mut client = Client::greeting(with(server(&repo), &[(variable, id)]), agent);
            client.ok("log_finding", json!({"finding": format!("by call of {id}")}));
            let variables = [(variable, id.as_str()), ("CLAUDECODE", "1")];
            let mut command = with(repo.program(), &variables[..if agent == "copilot" { 1 } else { 2 }]);
            command.args(["finding", &format!("by command of {id}")]);
            fed(command, b"").ok();
        }
        for id in &ids {
            assert_eq!(findings(&repo, id), [format!("by call of {id}"), format!("by command of {id}")]);
        }
    }
    assert_eq!(repo.json(["session", "list"])["total_sessions"], 4);
}

#[test]
fn a_request_that_tells_its_session_goes_there() {
    let place = Sandbox::new();
    let repo = place.init("told");
    repo.commit("a", "a", "first");
    for (agent, id) in [("codex", "c-1"), ("codex", "c-2"), ("opencode", "ses_1"), ("opencode", "ses_2")] {
        begin(&repo, agent, id);
    }
    let mut codex = Client::greeting(server(&repo), "codex-mcp-client");
    let call = |client: &mut Client, arguments: Value, meta: Value| {
        let answer = client.ask("tools/call", json!({"name": "log_finding", "arguments": arguments, "_meta": meta}));
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    };
    // one server, several threads; that of a subagent is in the session of its parent
    call(&mut codex, json!({"finding": "two"}), json!({"threadId": "c-2"}));
    call(&mut codex, json!({"finding": "one"}), json!({"sessionId": "c-1", "threadId": "of a subagent"}));
    let mut opencode = Client::greeting(server(&repo), "opencode");
    call(&mut opencode, json!({"finding": "first", "_session": "ses_1"}), json!({}));
    call(&mut opencode, json!({"finding": "second", "_session": "ses_2"}), json!({}));
    let of = |id: &str| findings(&repo, id);
    assert_eq!([of("c-1"), of("c-2"), of("ses_1"), of("ses_2")], [["one"], ["two"], ["first"], ["second"]]);
    // without it, nothing tells which
    let refused = opencode.fails("log_finding", json!({"finding": "x"}));
    assert_eq!(refused["alternatives"].as_array().map(Vec::len), Some(2), "{refused}");
    assert!(refused["error"].as_str().is_some_and(|error| error.contains("several are active here")), "{refused}");
}

#[test]
fn without_an_id_the_process_of_the_agent_tells() {
    let place = Sandbox::new();
    let agent = agent_program(&place);
    let repo = place.init("processes");
    repo.commit("a", "a", "first");
    let start = |id: &str, then: &str| {
        let payload = json!({"session_id": id, "cwd": repo.path, "source": "startup"});
        let mut command = place.command(&agent, &repo.path);
        command.args([
            "-c",
            &format!("echo '{payload}' | sh -c 'git-empirica hook agent gemini SessionStart || true'; {then}; :"),
        ]);
        command
    };
    let mut one = Client::greeting(start("g-1", "git-empirica mcp"), "gemini-cli-mcp-client");
    let mut two = Client::greeting(start("g-2", "git-empirica mcp"), "gemini-cli-mcp-client");
    two.ok("log_finding", json!({"finding": "two"}));
    assert_eq!(one.ok("bootstrap_session", json!({"ai_id": "my own name"}))["resumed"], true);
    one.ok("log_finding", json!({"finding": "one"}));
    // a command in the shell of a third
    let third = with(start("g-3", "git empirica finding three >/dev/null"), &[("GEMINI_CLI", "1")]);
    fed(third, b"").ok();
    assert_eq!(["g-1", "g-2", "g-3"].map(|id| findings(&repo, id)), [["one"], ["two"], ["three"]]);
    // a client without hooks has a session of its own
    let serving = |name: &str| {
        let mut command = place.command(&agent, &repo.path);
        command.args(["-c", "git-empirica mcp; :"]);
        Client::greeting(command, name)
    };
    let [mut first, mut second] = [serving("a-client"), serving("a-client")];
    let sessions =
        [&mut first, &mut second].map(|client| client.ok("log_finding", json!({"finding": "x"}))["session_id"].clone());
    assert_ne!(sessions[0], sessions[1]);
    assert_eq!(first.ok("log_finding", json!({"finding": "y"}))["session_id"], sessions[0]);
}

/// A session that only its server knows, with a finding.
fn served(place: &Sandbox, repo: &Repo<'_>, id: &str) -> Client {
    let mut command = place.command(agent_program(place), &repo.path);
    command.args(["-c", "git-empirica mcp; :"]).env("CLAUDE_CODE_SESSION_ID", id);
    let mut client = Client::greeting(command, "claude-code");
    client.ok("log_finding", json!({"finding": "x"}));
    client
}

#[test]
fn a_session_without_hooks_is_caught_up_after_its_agent_ended() {
    let place = Sandbox::new();
    let repo = place.init("no hooks");
    repo.commit("a", "a", "first");
    let client = served(&place, &repo, "below");
    put(&place, &claude_file("below"), &claude("below", &repo.path.join("src"), 4), 4);
    let collected = || {
        repo.run(["resume"]).ok();
        repo.json(["session", "show", "below"])["transcripts"].as_array().map(Vec::len)
    };
    assert_eq!(collected(), Some(0), "it goes on");
    client.end();
    assert_eq!(collected(), Some(1));
    let shown = repo.json(["session", "show", "below"]);
    assert_eq!((&shown["task"], shown["ended_at"].is_string()), (&json!("Mend the below parser"), true), "{shown}");
    assert_eq!(collected(), Some(1));
    assert_eq!(repo.json(["session", "list"])["total_sessions"], 1);
    assert_eq!(repo.json(["handoff", "list"])["handoffs"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_large_transcript_of_a_session_without_hooks_is_caught_up_beside_the_next_agent() {
    let place = Sandbox::new();
    let repo = place.init("large");
    repo.commit("a", "a", "first");
    served(&place, &repo, "large").end();
    let mut rows = claude("large", &repo.path, 4);
    let filler = json!({"type": "progress", "sessionId": "large", "cwd": repo.path, "data": "x".repeat(1000)});
    rows.extend(std::iter::repeat_n(filler, 700));
    put(&place, &claude_file("large"), &rows, 4);
    begin(&repo, "claude-code", "next");
    assert_eq!(repo.json(["session", "show", "next"])["active"], true);
    let of_large = || repo.json(["session", "show", "large"]);
    soon("the end", || of_large()["active"] == false);
    let shown = of_large();
    assert_eq!((&shown["active"], shown["handoffs"].as_array().map(Vec::len)), (&json!(false), Some(1)), "{shown}");
    assert!(shown["transcripts"][0]["rows"].as_u64().is_some_and(|rows| rows > 700), "{shown}");
    assert_eq!(repo.json(["session", "list"])["total_sessions"], 2);
}

#[test]
fn a_transcript_that_cannot_be_read_keeps_no_session_from_beginning() {
    let place = Sandbox::new();
    let repo = place.init("damaged");
    repo.commit("a", "a", "first");
    for (id, rows) in [
        ("bad", vec![json!({"type": "user", "sessionId": "bad", "cwd": repo.path})]),
        ("good", claude("good", &repo.path, 4)),
    ] {
        served(&place, &repo, id).end();
        put(&place, &claude_file(id), &rows, 4);
    }
    // no longer a file of Claude Code's
    let bad = place.path().join("home").join(claude_file("bad"));
    std::fs::write(&bad, format!("{{\"cwd\":\"{}\"}}\n", repo.path.display())).expect("a file");
    begin(&repo, "claude-code", "next");
    let of = |id: &str| repo.json(["session", "show", id]);
    assert_eq!(of("next")["active"], true);
    assert_eq!(of("good")["transcripts"].as_array().map(Vec::len), Some(1));
    for id in ["bad", "good"] {
        assert_eq!((&of(id)["active"], of(id)["handoffs"].as_array().map(Vec::len)), (&json!(false), Some(1)), "{id}");
    }
    let doctor = repo.run(["doctor"]).out;
    assert!(doctor.contains("agent claude-code SessionStart"), "{doctor}");
}

#[test]
fn a_stateless_client_is_named_by_each_request() {
    let place = Sandbox::new();
    let repo = place.init("stateless");
    repo.commit("a", "a", "first");
    let mut client = Client::of(server(&repo));
    let meta = |name: &str| {
        json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": name, "version": "1"}})
    };
    client.ask("server/discover", json!({"_meta": meta("copilot-cli")}));
    let call = json!({"name": "log_finding", "arguments": {"finding": "x"}, "_meta": meta("copilot-cli")});
    assert_eq!(client.ask("tools/call", call)["result"]["isError"], false);
    assert_eq!(repo.json(["session", "list"])["sessions"][0]["ai_id"], "copilot");
}

#[test]
fn a_forked_session_is_a_child_of_the_one_that_it_copies() {
    let place = Sandbox::new();
    let repo = place.init("fork");
    repo.commit("a", "a", "first");
    let claude = |event: &str, id: &str, source: &str| {
        hook(
            &repo,
            "claude-code",
            event,
            json!({"session_id": id, "cwd": repo.path, "source": source, "reason": "other"}),
        )
    };
    claude("SessionStart", "parent", "startup");
    repo.run(["finding", "of the parent", "--session", "parent"]).ok();
    claude("SessionEnd", "parent", "");
    // it resumes the parent under its id, then goes on under another
    let told = claude("SessionStart", "parent", "resume").out;
    assert!(told.contains(" continues."), "{told}");
    assert!(told.contains("Last handed over by claude-code (git empirica show "), "no task was named: {told}");
    claude("UserPromptSubmit", "child", "");
    let sessions = repo.json(["session", "list"])["sessions"].clone();
    let of = |id: &str| {
        sessions.as_array().into_iter().flatten().filter(|s| s["external_id"] == id).cloned().collect::<Vec<_>>()
    };
    let (parents, child) = (of("parent"), of("child"));
    assert_eq!((parents.len(), child.len()), (2, 1), "{sessions}");
    let began = parents.last().expect("the first");
    assert_eq!((&child[0]["from"], &child[0]["active"]), (&began["session_id"], &json!(true)));
    assert!(parents.iter().all(|session| session["active"] == false), "{sessions}");
    assert_eq!(findings(&repo, "child"), [""; 0]);
}

#[test]
fn a_resumed_session_has_the_task_even_if_the_first_part_of_its_transcript_comes_late() {
    let place = Sandbox::new();
    let repo = place.init("late");
    repo.commit("a", "a", "first");
    let event = |event: &str| hook(&repo, "claude-code", event, json!({"session_id": "one", "cwd": repo.path}));
    event("SessionStart");
    event("SessionEnd");
    let first = repo.json(["session", "show", "one"])["session_id"].as_str().expect("an id").to_owned();
    event("SessionStart");
    let rows = claude("one", &repo.path, 1);
    let transcript = put(&place, "late.jsonl", &rows[..3], 1);
    let path = transcript.to_str().expect("a path");
    repo.run(["collect", "--session", &first, path]).ok();
    put(&place, "late.jsonl", &rows, 1);
    repo.run(["collect", path]).ok();
    let sessions = repo.json(["session", "list"])["sessions"].clone();
    let tasks = sessions.as_array().into_iter().flatten().map(|session| &session["task"]);
    assert_eq!(tasks.collect::<Vec<_>>(), ["Mend the one parser"; 2], "{sessions}");
}

#[test]
fn events_of_subagents_count_toward_the_parent() {
    let place = Sandbox::new();
    let repo = place.init("children");
    repo.commit("a", "a", "first");
    begin(&repo, "copilot", "main");
    let child = json!({"sessionId": "child", "agentId": "child", "parentAgentId": "main", "cwd": repo.path, "toolName": "bash", "error": "boom"});
    for event in ["userPromptSubmitted", "postToolUseFailure", "agentStop", "sessionEnd"] {
        hook(&repo, "copilot", event, child.clone());
    }
    let sessions = repo.json(["session", "list"]);
    assert_eq!((&sessions["total_sessions"], &sessions["sessions"][0]["active"]), (&json!(1), &json!(true)));
    assert_eq!(repo.json(["session", "show", "main"])["tool_summaries"][0]["errors"], 1);
}
