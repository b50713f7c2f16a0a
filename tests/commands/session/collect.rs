//! Transcripts become part of their sessions: every agent, only new rows, no secrets, errors reported.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::harness::{Repo, Sandbox};

/// A made-up transcript of an agent.
pub fn fixture(name: &str) -> String {
    format!("{}/crates/empirica-transcripts/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The fixture as if it had been written in a repository.
pub fn here(repo: &Repo<'_>, name: &str) -> String {
    let text = std::fs::read_to_string(fixture(name)).expect("a transcript");
    text.replace("/home/dev/repo", repo.path.to_str().expect("UTF-8"))
}

fn counts(json: &Value) -> Vec<(String, u64, u64)> {
    let tools = json["tool_summaries"].as_array().expect("tools");
    let number = |tool: &Value, key: &str| tool[key].as_u64().expect("a number");
    tools
        .iter()
        .map(|tool| (tool["category"].as_str().unwrap().to_owned(), number(tool, "count"), number(tool, "errors")))
        .collect()
}

fn tool(category: &str, count: u64, errors: u64) -> (String, u64, u64) {
    (category.to_owned(), count, errors)
}

#[test]
fn each_agents_transcript_yields_its_expected_content() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    // agent, file, tools, files modified, pending tasks, tokens in, rows
    let known = [
        (
            "claude-code",
            "claude-code/session.jsonl",
            vec![
                tool("edit", 5, 1),
                tool("shell", 1, 1),
                tool("read", 1, 0),
                tool("write", 1, 0),
                tool("task", 1, 0),
                tool("ask", 1, 0),
                tool("mcp", 1, 0),
            ],
            json!(["src/parser.rs", "src/multi.rs", "n.ipynb"]),
            2,
            json!({"input": 38, "output": 90, "cache_read": 6059, "cache_write": 548}),
            44,
        ),
        (
            "codex",
            "codex/rollout.jsonl",
            vec![tool("shell", 7, 2), tool("edit", 4, 1), tool("search", 1, 0), tool("ask", 1, 0)],
            json!(["src/cache.rs", "src/lib.rs", "src/main.rs", "old.rs", "argv.rs", "sub/heredoc.rs", "script.rs"]),
            2,
            json!({"input": 160, "output": 30, "cache_read": 140, "cache_write": 0}),
            46,
        ),
        (
            "copilot",
            "copilot/events.jsonl",
            vec![tool("read", 2, 0), tool("edit", 2, 1), tool("shell", 1, 1), tool("write", 1, 0)],
            json!(["sub/a.rs", "d.rs"]),
            1,
            json!({"input": 0, "output": 0, "cache_read": 0, "cache_write": 0}),
            14,
        ),
        (
            "cursor",
            "cursor/session.jsonl",
            vec![
                tool("edit", 3, 0),
                tool("shell", 1, 0),
                tool("read", 1, 0),
                tool("write", 1, 0),
                tool("search", 1, 0),
            ],
            json!(["Cargo.toml", "new.rs", "old.rs", "p.rs"]),
            1,
            json!({"input": 0, "output": 0, "cache_read": 0, "cache_write": 0}),
            4,
        ),
        (
            "gemini",
            "gemini/session.jsonl",
            vec![
                tool("write", 2, 0),
                tool("shell", 1, 1),
                tool("read", 1, 0),
                tool("edit", 1, 1),
                tool("search", 1, 0),
            ],
            json!(["docs/a.md"]),
            0,
            json!({"input": 112, "output": 35, "cache_read": 190, "cache_write": 0}),
            12,
        ),
    ];
    for (agent, name, tools, files, pending, tokens, rows) in known {
        // found by content, whatever its name
        let file = place.path().join(format!("{agent}.txt"));
        std::fs::write(&file, here(&repo, name)).expect("a file");
        let json = repo.json(["collect", file.to_str().unwrap()]);
        assert_eq!(json["agent"], agent);
        let mut of = counts(&json);
        of.sort();
        let mut tools = tools;
        tools.sort();
        assert_eq!(of, tools, "{agent}");
        let mut paths: Vec<&str> =
            json["files_modified"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let mut files: Vec<&str> = files.as_array().unwrap().iter().filter_map(Value::as_str).collect();
        paths.sort_unstable();
        files.sort_unstable();
        assert_eq!(paths, files, "{agent}");
        assert_eq!((json["pending_tasks"].as_array().unwrap().len(), &json["tokens"]), (pending, &tokens), "{agent}");
        assert_eq!(
            (&json["rows"], &json["skipped_rows"], &json["new_session"]),
            (&json!(rows), &json!(0), &json!(true)),
            "{agent}"
        );
        let session = repo.json(["session", "show", json["session_id"].as_str().unwrap()]);
        assert_eq!((&session["ai_id"], &session["active"]), (&json!(agent), &json!(false)));
        let transcript = &session["transcripts"][0];
        assert_eq!(
            (&transcript["tool_summaries"], &transcript["tokens"]),
            (&json["tool_summaries"], &json["tokens"]),
            "{agent}"
        );
    }
    // the older Gemini document on one line and over several lines, and OpenCode's files, say the same as their like
    for (name, agent) in [
        ("gemini/session.json", "gemini"),
        ("gemini/pretty.json", "gemini"),
        ("opencode/storage/session/p1/ses_1.json", "opencode"),
    ] {
        let json = repo.json(["collect", &fixture(name), "--dry-run"]);
        assert_eq!((&json["agent"], &json["stored"]), (&json!(agent), &json!(false)), "{name}");
        assert!(!counts(&json).is_empty());
    }
    repo.fsck();
}

#[test]
fn a_grown_transcript_adds_only_new_rows() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    let whole = here(&repo, "claude-code/session.jsonl");
    let lines: Vec<&str> = whole.lines().collect();
    let file = place.path().join("t.jsonl");
    let collect = |upto: usize| {
        std::fs::write(&file, lines[..upto].join("\n") + "\n").expect("a file");
        repo.json(["collect", file.to_str().unwrap()])
    };
    let first = collect(20);
    let session = first["session_id"].as_str().unwrap().to_owned();
    assert_eq!((&first["new_session"], &first["added"]["from"]), (&json!(true), &json!(0)));
    assert_eq!(collect(20)["added"], Value::Null, "nothing is new");
    let second = collect(33);
    assert_eq!((&second["session_id"], &second["new_session"]), (&json!(session), &json!(false)));
    assert_eq!(second["added"]["from"], first["added"]["to"]);
    let last = collect(lines.len());
    let transcript = repo.json(["session", "show", &session])["transcripts"].clone();
    assert_eq!(transcript.as_array().unwrap().len(), 1);
    for key in ["tool_summaries", "tokens", "rows", "pending_tasks", "decisions"] {
        assert_eq!(transcript[0][key], last[key], "{key}: in three collections as in one");
    }
    // a torn row is left for the next time
    let records = repo.lines("journal").iter().filter(|line| line.contains("\"kind\":\"transcript\"")).count();
    repo.run(["flush"]).ok();
    let stored = repo.lines("journal").iter().filter(|line| line.contains("\"kind\":\"transcript\"")).count();
    assert_eq!((records.max(stored), last["skipped_rows"].as_u64()), (3, Some(0)));
    std::fs::write(&file, format!("{whole}{}", &lines[5][..40])).expect("a file");
    let torn = repo.json(["collect", file.to_str().unwrap()]);
    assert_eq!((&torn["added"], &torn["skipped_rows"]), (&Value::Null, &json!(1)));
    // cut off, it takes nothing back
    let cut = collect(10);
    assert!(cut["warnings"].to_string().contains("shorter than its collected part"), "{cut}");
    assert_eq!(repo.json(["session", "show", &session])["transcripts"], transcript);
}

#[test]
fn a_dry_run_of_a_handoff_warns_as_storing_does() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    let file = place.path().join("t.jsonl");
    let whole = here(&repo, "codex/rollout.jsonl");
    std::fs::write(&file, &whole).expect("a file");
    let file = file.to_str().expect("UTF-8");
    repo.json(["collect", file]);
    let cut: Vec<&str> = whole.lines().take(10).collect();
    std::fs::write(file, cut.join("\n") + "\n").expect("a file");
    let missed = repo.json(["handoff", "--transcript", file, "--next", "Go"]);
    let reader = repo.start("bob", "Read");
    let id = missed["handoff_id"].as_str().expect("an id");
    repo.json(["accept", id, "--session", &reader, "--gap", "how the cache is emptied at midnight"]);
    let hand_over = ["handoff", "--transcript", file, "--artifact", "absent.rs", "--next", "Go"];
    let dry = repo.json(hand_over.iter().chain(&["--dry-run"]))["warnings"].clone();
    for part in ["shorter than its collected part", "artifact absent.rs", "emptied at midnight"] {
        assert!(dry.to_string().contains(part), "{part}: {dry}");
    }
    assert_eq!(repo.json(hand_over)["warnings"], dry);
}

#[test]
fn two_clones_collecting_the_same_transcript_count_it_once() {
    let place = Sandbox::new();
    let one = place.repo("one");
    one.git(["init", "-q", "--bare", "../hub.git"]).ok();
    one.git(["remote", "add", "origin", "../hub.git"]).ok();
    one.git(["push", "-q", "origin", "main"]).ok();
    let session = one.json(["session", "start", "--ai", "ada", "--external-id", "5e55"])["session_id"].clone();
    let session = session.as_str().unwrap();
    one.json(["sync"]);
    let two = place.clone(&place.at("hub.git"), "two", false);
    two.json(["sync"]);
    let file = fixture("claude-code/session.jsonl");
    for repo in [&one, &two] {
        let json = repo.json(["collect", &file]);
        assert_eq!((&json["session_id"], &json["new_session"]), (&json!(session), &json!(false)));
    }
    [&one, &two, &one].iter().for_each(|repo| drop(repo.json(["sync"])));
    for repo in [&one, &two] {
        let transcript = repo.json(["session", "show", session])["transcripts"][0].clone();
        assert_eq!((&transcript["rows"], &transcript["tool_summaries"][0]["count"]), (&json!(44), &json!(5)));
    }
}

#[test]
fn collecting_after_a_sync_loses_nothing_in_any_clone() {
    let place = Sandbox::new();
    let one = place.repo("one");
    one.git(["init", "-q", "--bare", "../hub.git"]).ok();
    one.git(["remote", "add", "origin", "../hub.git"]).ok();
    one.git(["push", "-q", "origin", "main"]).ok();
    let two = place.clone(&place.at("hub.git"), "two", false);
    let whole = std::fs::read_to_string(fixture("claude-code/session.jsonl")).expect("a transcript");
    let lines: Vec<&str> = whole.lines().collect();
    let file = place.path().join("t.jsonl");
    let collect = |repo: &Repo<'_>, upto: usize| {
        std::fs::write(&file, lines[..upto].join("\n") + "\n").expect("a file");
        repo.json(["collect", file.to_str().unwrap()])
    };
    // each creates its own session for it; then they sync, and one continues
    collect(&one, 15);
    collect(&two, 20);
    collect(&one, 25);
    [&one, &two, &one].iter().for_each(|repo| drop(repo.json(["sync"])));
    let last = collect(&two, lines.len());
    assert_eq!(collect(&two, lines.len())["added"], Value::Null);
    let mut files: Vec<String> = Vec::new();
    for session in two.json(["session", "list"])["sessions"].as_array().unwrap() {
        let shown = two.json(["session", "show", session["session_id"].as_str().unwrap()]);
        for transcript in shown["transcripts"].as_array().unwrap() {
            files.extend(
                transcript["files_modified"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter_map(|path| Some(path.as_str()?.to_owned())),
            );
        }
    }
    for path in last["files_modified"].as_array().unwrap() {
        assert!(files.contains(&path.as_str().unwrap().to_owned()), "{path} is nowhere: {files:?}");
    }
}

#[test]
fn a_transcript_does_not_join_another_agents_session() {
    let mut place = Sandbox::new();
    place.now = "2026-03-02T08:59:59.500Z".into();
    let repo = place.repo("work");
    let file = fixture("codex/rollout.jsonl");
    // both began while the transcript was written
    let other = repo.start("gemini", "Something else");
    let json = repo.json(["collect", &file, "--dry-run"]);
    assert_eq!(json["session_id"], Value::Null, "gemini is no codex");
    assert_eq!(repo.json(["collect", &file, "--dry-run", "--ai", "ada"])["session_id"], Value::Null);
    assert_eq!(repo.json(["collect", &file, "--dry-run", "--ai", "gemini"])["session_id"], json!(other));
}

#[test]
fn the_intended_session_is_resolved() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    let file = fixture("codex/rollout.jsonl");
    // one that is at work, but began at another time, is not meant
    let other = repo.start("codex", "Something else");
    let json = repo.json(["collect", &file]);
    assert_eq!(json["new_session"], true);
    let made = json["session_id"].as_str().unwrap().to_owned();
    let shown = repo.json(["session", "show", &made]);
    assert_eq!(
        (&shown["started_at"], &shown["ended_at"]),
        (&json!("2026-03-02T08:59:59.000Z"), &json!("2026-03-02T09:00:00.000Z"))
    );
    assert_eq!((&shown["task"], &shown["external_id"]), (&json!("Add a cache"), &json!("c0dex")));
    let refused = repo.fails(1, ["collect", &fixture("copilot/events.jsonl"), "--session", &made]);
    assert!(refused["error"].as_str().unwrap().contains("of another transcript"), "{refused}");
    let named = repo.json(["collect", &fixture("copilot/events.jsonl"), "--session", &other]);
    assert_eq!((&named["session_id"], &named["new_session"]), (&json!(other), &json!(false)));
    // from then on it is known by that id
    assert_eq!(repo.json(["session", "show", "c0p"])["session_id"], json!(other));

    let mut place = Sandbox::new();
    place.now = "2026-03-02T08:59:59.500Z".into();
    let repo = place.repo("work");
    let at_work = repo.start("ada", "The cache");
    assert_eq!(
        repo.json(["collect", &file])["session_id"],
        json!(at_work),
        "it began while the transcript was written"
    );
    assert!(repo.json(["session", "list", "--active"])["sessions"][0]["session_id"] == json!(at_work));
}

#[test]
fn the_newest_transcript_of_this_work_tree_is_found() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    let home = place.path().join("home");
    let none = repo.fails(1, ["collect", "--latest"]);
    assert!(none["error"].as_str().unwrap().contains("cannot find a transcript of this work tree"), "{none}");
    repo.fails(2, ["collect"]);
    let put = |path: &str, text: &str, seconds: u64| {
        let path: PathBuf = home.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).expect("a folder");
        std::fs::write(&path, text).expect("a file");
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(time).expect("a time");
    };
    put(".claude/projects/x/5e55.jsonl", &here(&repo, "claude-code/session.jsonl"), 1000);
    put(".codex/sessions/2026/03/02/rollout-1.jsonl", &here(&repo, "codex/rollout.jsonl"), 2000);
    // newer, and of another folder
    let elsewhere = std::fs::read_to_string(fixture("copilot/events.jsonl")).unwrap();
    put(".copilot/session-state/c0p/events.jsonl", &elsewhere, 3000);
    let json = repo.json(["collect", "--latest", "--dry-run"]);
    assert_eq!(json["agent"], "codex");
    assert_eq!(repo.json(["collect", "--latest", "--agent", "claude-code", "--dry-run"])["agent"], "claude-code");
    repo.fails(1, ["collect", "--latest", "--agent", "copilot"]);
    let wrong = repo.fails(1, ["collect", &fixture("codex/rollout.jsonl"), "--agent", "gemini"]);
    assert_eq!(wrong["alternatives"], json!(["codex"]));
    // elsewhere the agents keep them where the environment says
    let moved = place.path().join("moved");
    std::fs::rename(home.join(".codex"), &moved).unwrap();
    let json = repo.json_with_env(&[("CODEX_HOME", moved.to_str().unwrap())], ["collect", "--latest", "--dry-run"]);
    assert_eq!(json["agent"], "codex");
}

#[test]
fn secrets_and_hostile_texts_of_a_transcript_do_no_harm() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let root = repo.path.display().to_string();
    let row = |body: Value| {
        json!({"timestamp": "2026-03-01T10:00:00Z", "type": "response_item", "payload": body}).to_string()
    };
    let patch = |path: &str| format!("*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch");
    let rows = [
        json!({"timestamp": "2026-03-01T10:00:00Z", "type": "session_meta", "payload": {"id": "x/../../y", "cwd": root}}).to_string(),
        row(json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": format!("use {secret}\u{1b}[31m")}]})),
        row(json!({"type": "function_call", "name": "shell_command", "call_id": "1", "arguments": json!({"command": format!("curl -H 'token: {secret}'\n- [ ] forged")}).to_string()})),
        row(json!({"type": "function_call_output", "call_id": "1", "output": "```\n# forged\n"})),
        row(json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": "2", "input": patch("a`b\u{202e}.md")})),
        row(json!({"type": "custom_tool_call_output", "call_id": "2", "output": "ok"})),
        row(json!({"type": "function_call", "name": "update_plan", "call_id": "3", "arguments": json!({"plan": [{"step": "x\n- [ ] forged <b>", "status": "pending"}]}).to_string()})),
        "{\"timestamp\": \"2026-03-01T10:00:01Z\", \"type\": \"response_item\", \"payload\": {\"type\": \"mess".to_owned(),
        "\u{0}\u{1}not json".to_owned(),
        // where texts are cut, half a secret stays as little
        row(json!({"type": "function_call", "name": "shell_command", "call_id": "4", "arguments": json!({"command": format!("{} {secret}", "A".repeat(90))}).to_string()})),
        row(json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": format!("{} {secret}", "b ".repeat(990))}]})),
        row(json!({"type": "function_call", "name": "update_plan", "call_id": "5", "arguments": json!({"plan": [
            {"step": "x\n- [ ] forged <b>", "status": "pending"}, {"step": format!("{} {secret}", "c ".repeat(990)), "status": "completed"},
        ]}).to_string()})),
    ];
    let file = place.path().join("t.jsonl");
    let mut bytes = rows.join("\n").into_bytes();
    bytes.extend(b"\n{\"type\": \"caf\xe9\"}\n");
    std::fs::write(&file, bytes).expect("a file");
    let file = file.to_str().unwrap();
    let ran = repo.run(["collect", file]).ok();
    assert!(!ran.out.contains('\u{1b}') && !ran.out.contains(secret) && !ran.out.contains('\u{202e}'), "{}", ran.out);
    assert!(!ran.out.lines().any(|line| line.starts_with("- [ ]") || line.starts_with('#')), "{}", ran.out);
    assert!(ran.err.contains("2 rows of the transcript could not be read"), "{}", ran.err);
    let json = repo.json(["collect", file]);
    assert_eq!((&json["transcript_id"], &json["skipped_rows"]), (&json!("x/../../y"), &json!(2)));
    repo.json(["handoff", "--transcript", file, "--to", "bob"]);
    let all = repo.git_out(["log", "--all", "-p", "--format=%H"]);
    assert!(!all.contains("ghp_") && all.contains("[redacted:"), "a secret was stored");
    let text = repo.run(["show"]).ok().out;
    assert_eq!(text.matches("\n- [ ] ").count(), 1, "{text}");
    assert!(!text.lines().any(|line| line.starts_with("# forged") || line.trim_start().starts_with("```")), "{text}");
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}') && !text.contains(" <b>"), "{text}");
    // nothing was made of the id but a name in records
    assert!(!place.path().join("y").exists() && !repo.path.join("y").exists());
    assert_eq!(repo.git_out(["status", "--porcelain"]), "");
    for what in ["no such file", "."] {
        repo.fails(1, ["collect", what]);
    }
    repo.write("plain.txt", "hello\n");
    let json = repo.fails(1, ["collect", "plain.txt"]);
    assert!(json["alternatives"].as_array().unwrap().contains(&json!("claude-code")), "{json}");
    repo.fsck();
}

#[test]
fn context_replaced_by_a_resume_is_read_from_the_transcript() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    let file = place.path().join("t.jsonl");
    std::fs::write(&file, here(&repo, "claude-code/session.jsonl")).expect("a file");
    let collected = repo.json(["collect", file.to_str().unwrap()]);
    let handoff = repo.json(["handoff", "--session", collected["session_id"].as_str().unwrap()]);
    let one = repo.json(["metrics", handoff["handoff_id"].as_str().unwrap()]);
    assert_eq!(one["transcript_tokens"], collected["context_tokens"]);
    assert!(one["transcript_tokens"].as_u64().is_some_and(|tokens| tokens > 0), "{one}");
    let all = repo.json(["metrics"]);
    assert_eq!(
        (&all["overall"]["resume"]["transcript_tokens"], &all["overall"]["resume"]["transcripts"]),
        (&one["transcript_tokens"], &json!(1))
    );
    assert!(repo.run(["metrics"]).ok().out.contains("tokens of a transcript"));
    // what it touched is in the handoff, its tools as well
    let shown = repo.json(["show"]);
    assert!(shown["artifacts_created"].as_array().unwrap().contains(&json!("src/parser.rs")), "{shown}");
    assert!(shown["investigation_tools"].as_array().unwrap().contains(&json!("edit ×5")), "{shown}");
}
