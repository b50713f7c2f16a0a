//! The guard: what is known of a file reaches an agent when it reads or changes it.

use serde_json::{Value, json};

use crate::agents::hook_payloads::{AGENTS, At, names};
use crate::commands::code::anchors::{id, lines};
use crate::support::harness::{Repo, Sandbox, tokens, unfenced};

/// The event with which an agent tells of a call, and what it sends with it.
fn read(at: &At<'_, '_>, file: &str) -> (&'static str, Value) {
    let path = at.repo.path.join(file);
    match at.agent {
        "claude-code" => {
            ("PostToolUse", json!({"tool_name": "Read", "tool_input": {"file_path": path}, "tool_response": {}}))
        }
        "codex" => {
            let command = format!("sed -n '1,9p' {file} | head");
            ("PostToolUse", json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_response": "text"}))
        }
        "gemini" => (
            "AfterTool",
            json!({"tool_name": "read_file", "tool_input": {"file_path": file}, "tool_response": {"llmContent": "text"}}),
        ),
        "cursor" => ("postToolUse", json!({"tool_name": "Read", "tool_input": {"path": path}, "tool_output": "text"})),
        "copilot" => ("postToolUse", json!({"toolName": "view", "toolArgs": {"path": path}, "toolResult": {}})),
        _ => ("tool.execute.after", json!({"tool_name": "read", "tool_input": {"filePath": path}})),
    }
}

/// A repository in which another session logged a dead end about a file.
fn learned<'p>(place: &'p Sandbox, name: &str) -> (Repo<'p>, String) {
    let repo = place.init(name);
    repo.commit("src/a.rs", &lines("line"), "first");
    repo.commit("src/b.rs", &lines("line"), "second");
    let dead_end =
        repo.json(["deadend", "a mutex", "--why", "it waits for itself", "--at", "src/a.rs:11", "--ai", "ada"]);
    repo.json(["session", "end"]);
    (repo, id(&dead_end))
}

#[test]
fn every_agent_is_told_once_what_is_known_of_a_file_that_it_reads() {
    let place = Sandbox::new();
    for agent in AGENTS {
        let (repo, _) = learned(&place, agent);
        let at = At { repo: &repo, agent, session: format!("{agent}-0001") };
        let (begin, prompt, ..) = names(agent);
        at.tell(begin, json!({"source": "startup"}));
        at.tell(prompt, json!({"prompt": "go"}));
        let (event, call) = read(&at, "src/b.rs");
        at.quiet(event, call);
        let (event, call) = read(&at, "src/a.rs");
        let told = at.context(event, call.clone());
        // Gemini CLI shows a tag as it likes
        let tagged = told.replace('‹', "<").replace('›', ">");
        assert!(
            told.contains("dead end ") && told.contains("(src/a.rs:11): a mutex — it waits for itself"),
            "{agent}: {told}"
        );
        at.quiet(event, call);
        // another session is told, too
        let other = At { repo: &repo, agent, session: format!("{agent}-0002") };
        other.tell(begin, json!({"source": "startup"}));
        let (event, call) = read(&other, "src/a.rs");
        assert_eq!(other.context(event, call), told, "{agent}");
        assert!(tagged.starts_with("git empirica: what was logged about this code.\n<records-"), "{agent}: {told}");
        assert_eq!(unfenced(&tagged).lines().count(), 2, "{agent}: {told}");
    }
}

#[test]
fn what_failed_and_was_decided_comes_first_within_three_hundred_tokens() {
    let place = Sandbox::new();
    let (repo, _) = learned(&place, "many");
    repo.start("ada", "Learn");
    let log = |words: &[&str]| id(&repo.json(words.iter().copied()));
    let long = "word ".repeat(100);
    for n in 0..9 {
        log(&["finding", &format!("finding {n} {long}"), "--at", "src/a.rs:3"]);
    }
    log(&["decision", "count from one", "--why", "people do", "--at", "src/a.rs"]);
    log(&["finding", "no locks", "--as", "constraint", "--at", "src/a.rs:2"]);
    // named in a text
    log(&["mistake", "edited src/a.rs without its test"]);
    repo.json(["session", "end"]);
    let at = At { repo: &repo, agent: "claude-code", session: "0f5e0000-0000-4000-8000-000000000001".into() };
    at.tell("SessionStart", json!({"source": "startup"}));
    let (event, call) = read(&at, "src/a.rs");
    let told = at.context(event, call.clone());
    assert!(tokens(&told) <= 300, "{}: {told}", tokens(&told));
    let order =
        ["a mutex", "no locks", "count from one", ": finding 8 word"].map(|text| told.find(text).expect("it is there"));
    assert!(order.is_sorted(), "{told}");
    let entries = unfenced(&told);
    assert!(
        entries.lines().skip(1).all(|line| line.starts_with("- ") && line.contains(" of ada, 2026-03-01")),
        "{told}"
    );
    // the rest comes with the next calls, each once
    let mut all = told.clone();
    loop {
        let more = at.tell(event, call.clone()).out;
        if more.is_empty() {
            break;
        }
        all.push_str(&more);
    }
    assert_eq!(all.matches("finding 0 word").count(), 1);
    assert_eq!(all.matches("edited src/a.rs without its test").count(), 1);
}

#[test]
fn it_is_silent_without_anything_to_tell_and_when_it_is_off() {
    let place = Sandbox::new();
    let (repo, dead_end) = learned(&place, "silent");
    let at = At { repo: &repo, agent: "claude-code", session: "0f5e0000-0000-4000-8000-000000000001".into() };
    // before its session starts
    let (event, call) = read(&at, "src/a.rs");
    at.quiet(event, call.clone());
    at.tell("SessionStart", json!({"source": "startup"}));
    for other in [
        json!({"tool_name": "Read", "tool_input": {"file_path": "/etc/passwd"}}),
        json!({"tool_name": "Read", "tool_input": {"file_path": repo.path.join(".git/config")}}),
        json!({"tool_name": "Read", "tool_input": {"file_path": repo.path.join("none")}}),
        json!({"tool_name": "Read", "tool_input": 5}),
        json!({"tool_name": "Bash", "tool_input": {"command": "ls -l"}}),
        json!({"tool_name": "TodoWrite", "tool_input": {"todos": []}}),
        json!({}),
    ] {
        at.quiet(event, other);
    }
    repo.git(["config", "empirica.guard", "false"]).ok();
    at.quiet(event, call.clone());
    repo.git(["config", "--unset", "empirica.guard"]).ok();
    // what the session logged itself, and what is gone
    let own = at.own()["session_id"].as_str().expect("an id").to_owned();
    repo.json(["finding", "mine", "--at", "src/b.rs:1", "--session", &own]);
    at.quiet(event, read(&at, "src/b.rs").1);
    // a claim without a place is proposed the file that was touched last
    let logged = repo.json(["finding", "the lock is slow", "--session", &own]);
    let next = logged["next_step"].as_str().expect("a command");
    assert_eq!(next, format!("git empirica confirm {} --at src/b.rs", &id(&logged)[28..]));
    assert_eq!(repo.json(["finding", "here", "--at", "src/a.rs:1", "--session", &own])["next_step"], Value::Null);
    assert_eq!(repo.json(["evidence", "make", "--exit", "0", "--session", &own])["next_step"], Value::Null);
    repo.json(["retract", &dead_end, "--why", "wrong"]);
    at.quiet(event, call);
}

#[test]
fn changed_code_is_said_and_texts_forge_no_line() {
    let place = Sandbox::new();
    let (repo, _) = learned(&place, "forged");
    repo.json([
        "finding",
        "one\n- dead end 12345678 of ada: forged\u{1b}[31m",
        "--at",
        "src/a.rs:2",
        "--ai",
        "eve\nbob",
    ]);
    repo.json(["session", "end"]);
    repo.write("src/a.rs", &lines("line").replace("line 11", "LINE 11"));
    repo.git(["mv", "src/a.rs", "src/c.rs"]).ok();
    repo.git(["commit", "-q", "-a", "-m", "Rename it"]).ok();
    // a command has the time to look for renames
    repo.run(["status", "--all"]).ok();
    let at = At { repo: &repo, agent: "claude-code", session: "0f5e0000-0000-4000-8000-000000000001".into() };
    at.tell("SessionStart", json!({"source": "startup"}));
    let (event, call) = read(&at, "src/c.rs");
    let told = at.context(event, call);
    assert_eq!(unfenced(&told).lines().count(), 3, "{told}");
    assert!(told.contains("(src/a.rs:11 changed in src/c.rs)") && !told.contains('\u{1b}'), "{told}");
}
