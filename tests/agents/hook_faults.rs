//! Agents' hooks where something is missing or broken: the agent goes on, and nothing stored is lost.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::agents::agents_at_once::soon;
use crate::support::harness::{Repo, Sandbox, fed};

const AGENTS: [&str; 6] = ["claude-code", "codex", "gemini", "cursor", "copilot", "opencode"];

/// The names of a start, a prompt, a failed tool, a compaction, a stop and an end.
fn events(agent: &str) -> [&'static str; 6] {
    match agent {
        "codex" => ["SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "Stop", "SessionEnd"],
        "gemini" => ["SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "AfterAgent", "SessionEnd"],
        "cursor" => ["sessionStart", "beforeSubmitPrompt", "postToolUseFailure", "preCompact", "stop", "sessionEnd"],
        "copilot" => {
            ["sessionStart", "userPromptSubmitted", "postToolUseFailure", "preCompact", "agentStop", "sessionEnd"]
        }
        "opencode" => {
            let compacting = "experimental.session.compacting";
            ["session.created", "chat.message", "message.part.updated", compacting, "session.idle", "dispose"]
        }
        _ => ["SessionStart", "UserPromptSubmit", "PostToolUseFailure", "PreCompact", "Stop", "SessionEnd"],
    }
}

fn payload(repo: &Repo<'_>, id: &str) -> Vec<u8> {
    let keys = ["session_id", "sessionId", "conversation_id"];
    let mut payload =
        json!({"cwd": repo.path, "tool_name": "Bash", "error": "boom", "trigger": "manual", "reason": "exit"});
    keys.iter().for_each(|key| payload[*key] = json!(id));
    payload.to_string().into_bytes()
}

fn hook(repo: &Repo<'_>, agent: &str, event: &str) -> Command {
    let mut command = repo.program();
    command.args(["hook", "agent", agent, event]);
    command
}

/// It exits with 0 and says nothing on standard error.
fn goes_on(command: Command, input: &[u8], what: &str) {
    let ran = fed(command, input);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{what}");
}

fn findings(repo: &Repo<'_>) -> usize {
    repo.run(["export", "--jsonl"]).ok().out.lines().filter(|line| line.contains("\"kind\":\"finding\"")).count()
}

#[test]
fn an_agent_goes_on_without_home_without_git_and_without_a_repository() {
    let place = Sandbox::new();
    let repo = place.init("bare");
    repo.commit("a", "a", "first");
    repo.run(["finding", "kept"]).ok();
    for agent in AGENTS {
        for event in events(agent) {
            let mut without_home = hook(&repo, agent, event);
            without_home.env_remove("HOME").env_remove("XDG_CONFIG_HOME");
            goes_on(without_home, &payload(&repo, "no-home"), event);
            let mut without_git = hook(&repo, agent, event);
            without_git.env("PATH", place.path());
            goes_on(without_git, &payload(&repo, "no-git"), event);
            let mut elsewhere = hook(&repo, agent, event);
            elsewhere.current_dir(place.path());
            goes_on(elsewhere, b"{\"session_id\": \"x\"}", event);
        }
    }
    assert_eq!(findings(&repo), 1);
    repo.fsck();
}

#[test]
fn an_agent_goes_on_with_payloads_of_every_bad_form() {
    let place = Sandbox::new();
    let repo = place.init("forms");
    repo.commit("a", "a", "first");
    repo.run(["finding", "kept"]).ok();
    let whole = payload(&repo, "s");
    let huge = format!("{{\"session_id\":\"s\",\"prompt\":\"{}\"", "x".repeat(33 << 20));
    let deep = format!("{{\"session_id\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let forms: [&[u8]; 8] = [
        b"",
        b"\0\xff\xfe",
        &whole[..whole.len() / 2],
        b"[1,2]",
        b"{\"session_id\":{\"a\":1},\"cwd\":7,\"tool_name\":[],\"transcript_path\":{}}",
        deep.as_bytes(),
        huge.as_bytes(),
        b"{\"session_id\":\"s\",\"transcript_path\":\"/dev/zero\",\"cwd\":\"/nonexistent\"}",
    ];
    for event in events("claude-code") {
        for form in forms {
            goes_on(hook(&repo, "claude-code", event), form, &format!("{event} {:?}", &form[..form.len().min(40)]));
        }
        let doctor = repo.run(["doctor"]).out;
        assert!(doctor.contains(&format!("agent claude-code {event}: cannot read the agent's input")), "{doctor}");
    }
    assert_eq!(findings(&repo), 1);
    repo.fsck();
}

#[test]
fn an_agent_goes_on_with_a_full_disk_and_doctor_tells() {
    let place = Sandbox::new();
    let repo = place.init("full");
    repo.commit("a", "a", "first");
    repo.run(["finding", "kept"]).ok();
    let input = payload(&repo, "s");
    for event in events("claude-code") {
        // the first writes fail as they do on a full disk
        for point in 1..4 {
            let mut full = hook(&repo, "claude-code", event);
            full.env("EMPIRICA_FAULT", format!("fail:{point}:28"));
            goes_on(full, &input, event);
        }
    }
    assert_eq!(findings(&repo), 1);
    let doctor = repo.run(["doctor"]).out;
    assert!(doctor.contains("agent claude-code") && doctor.contains("no space left"), "{doctor}");
    // afterwards all is as ever
    goes_on(hook(&repo, "claude-code", "SessionStart"), &payload(&repo, "after"), "after");
    assert_eq!(repo.json(["session", "show", "after"])["active"], true);
    repo.fsck();
}

#[test]
fn an_agent_does_not_wait_for_the_index_of_a_long_history() {
    let place = Sandbox::new();
    let repo = place.init("long");
    repo.commit("a", "a", "first");
    repo.run(["finding", "kept"]).ok();
    repo.run(["session", "end"]).ok();
    // another process makes it
    let lock = std::fs::File::create(repo.path.join(".git/empirica/index.lock")).expect("the lock");
    lock.lock().expect("it is free");
    goes_on(hook(&repo, "claude-code", "SessionStart"), &payload(&repo, "late"), "a start");
    drop(lock);
    let has_begun = || repo.json(["session", "list"])["sessions"][0]["external_id"] == "late";
    assert!((0..100).any(|_| has_begun() || {
        std::thread::sleep(std::time::Duration::from_millis(100));
        false
    }));
    assert_eq!(repo.run(["doctor"]).ok().out.matches("agent claude-code").count(), 0);
}

#[test]
fn repeated_payloads_are_one_session_that_ends_once() {
    let place = Sandbox::new();
    let repo = place.init("again");
    repo.commit("a", "a", "first");
    for agent in AGENTS {
        for event in events(agent) {
            for _ in 0..2 {
                goes_on(hook(&repo, agent, event), &payload(&repo, agent), event);
            }
        }
        let lines = repo.run(["export", "--jsonl"]).ok().out;
        let of = |kind: &str| lines.lines().filter(|line| line.contains(&format!("\"kind\":\"{kind}\""))).count();
        let so_far = AGENTS.iter().position(|other| *other == agent).expect("an agent") + 1;
        assert_eq!((of("session_start"), of("session_end"), of("handoff")), (so_far, so_far, so_far), "{agent}");
    }
    // a background run may still be writing
    soon("a sound repository", || repo.git(["fsck", "--connectivity-only"]).code == 0);
    repo.fsck();
}

#[test]
fn two_hooks_at_once_begin_one_session_for_each_agent() {
    let place = Sandbox::new();
    let repo = place.init("both");
    repo.commit("a", "a", "first");
    for agent in AGENTS {
        let started = [0, 1].map(|event| {
            let mut command = hook(&repo, agent, events(agent)[event]);
            let mut child =
                command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
            let mut input = child.stdin.take().expect("a pipe");
            std::io::Write::write_all(&mut input, &payload(&repo, agent)).expect("it reads");
            child
        });
        started.into_iter().for_each(|mut child| assert!(child.wait().expect("it ends").success()));
    }
    let sessions = repo.json(["session", "list"]);
    let ids = sessions["sessions"].as_array().into_iter().flatten().map(|session| session["external_id"].as_str());
    let mut ids: Vec<&str> = ids.flatten().collect();
    ids.sort_unstable();
    assert_eq!(ids, ["claude-code", "codex", "copilot", "cursor", "gemini", "opencode"]);
}
