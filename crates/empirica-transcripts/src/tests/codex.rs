//! Rollouts of Codex CLI.

use serde_json::json;

use super::*;

#[test]
fn codex_is_read_with_every_form_of_a_patch() {
    let summary = read_fixture("codex/rollout.jsonl");
    assert_eq!(summary.agent, Agent::Codex);
    assert_eq!(counts(&summary.tools), [("shell", 7, 2), ("edit", 4, 1), ("search", 1, 0), ("ask", 1, 0)]);
    let files = ["src/cache.rs", "src/lib.rs", "src/main.rs", "old.rs", "argv.rs", "sub/heredoc.rs", "script.rs"];
    assert_eq!(summary.files_modified, files);
    assert_eq!((tokens(&summary), summary.context_tokens), ([160, 30, 140, 0], Some(220)));
    assert_eq!(texts(&summary, Role::User), ["Add a cache", "continue", "continue"]);
    assert_eq!(texts(&summary, Role::Assistant), ["Going with an LRU cache."]);
    assert_eq!(summary.decisions, ["Going with an LRU cache.", "How large? → 64 MB"]);
    assert_eq!(pending(&summary), [("test", "in_progress"), ("ship", "pending")]);
    assert_eq!(summary.commit.as_deref(), Some("0123456789abcdef0123456789abcdef01234567"));
    assert_eq!((summary.branch.as_deref(), summary.model.as_deref()), (Some("fast"), Some("gpt-x")));
    assert_eq!(summary.started_at.as_deref(), Some("2026-03-02T08:59:59Z"));
    assert_eq!(samples(&summary, "shell"), ["ls -la", "cargo test", "false"]);
    assert_eq!(
        (samples(&summary, "search"), samples(&summary, "edit").len()),
        (["lru cache".to_owned()].as_slice(), 3)
    );
}

const S: &str = "01a21903-0000-7000-8000-000000000000";
const FORK: &str = "01a21904-0000-7000-8000-000000000000";
const CHILD: &str = "01a21905-0000-7000-8000-000000000000";
const GRANDCHILD: &str = "01a21906-0000-7000-8000-000000000000";

fn row(at: u32, kind: &str, payload: Value) -> Value {
    json!({"timestamp": format!("2026-03-02T09:00:{at:02}.000Z"), "type": kind, "payload": payload})
}

fn meta(id: &str, more: Value) -> Value {
    let mut payload = json!({"id": id, "cwd": "/r", "timestamp": "2026-03-02T09:00:00.000Z"});
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    row(0, "session_meta", payload)
}

fn total(input: u64) -> Value {
    let usage = json!({"input_tokens": input, "cached_input_tokens": 0, "output_tokens": 1});
    row(9, "event_msg", json!({"type": "token_count", "info": {"total_token_usage": usage}}))
}

fn call(name: &str, id: &str, arguments: Value) -> Value {
    row(
        5,
        "response_item",
        json!({"type": "function_call", "name": name, "call_id": id, "arguments": arguments.to_string()}),
    )
}

fn script(id: &str, text: &str) -> Value {
    row(5, "response_item", json!({"type": "custom_tool_call", "name": "exec", "call_id": id, "input": text}))
}

fn output(id: &str, text: &str) -> Value {
    row(
        6,
        "response_item",
        json!({"type": "custom_tool_call_output", "call_id": id, "output": [{"type": "input_text", "text": text}]}),
    )
}

fn item(item: Value) -> Value {
    row(6, "event_msg", json!({"type": "item_completed", "item": item}))
}

fn command(id: &str, command: &str, exit: i32) -> Value {
    let status = if exit == 0 { "completed" } else { "failed" };
    let command = json!(["/bin/bash", "-lc", command]);
    item(json!({"type": "CommandExecution", "id": id, "command": command, "exit_code": exit, "status": status}))
}

fn patch(id: &str) -> Value {
    let text = "*** Begin Patch\n*** Add File: a\n*** End Patch";
    row(5, "response_item", json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": id, "input": text}))
}

#[test]
fn tokens_of_older_events_are_those_of_a_message_each() {
    let flat = |input: u64| json!({"type": "token_count", "input_tokens": input, "cached_input_tokens": 40, "output_tokens": 5, "total_tokens": input + 5});
    let text = rows(&[meta(S, json!({})), row(1, "event_msg", flat(100)), row(2, "event_msg", flat(150))]);
    let summary = read_from(text.as_bytes(), None).unwrap();
    assert_eq!((tokens(&summary), summary.context_tokens), ([170, 10, 80, 0], Some(155)));
}

#[test]
fn items_tell_what_a_script_did_and_whether_it_failed() {
    let change = json!({"/r/a.txt": {"type": "add"}, "/r/b.txt": {"type": "update", "move_path": "/r/c.txt"}});
    let text = rows(&[
        meta(S, json!({})),
        script("1", "await tools.exec_command({cmd: 'echo A'}); await tools.exec_command({cmd: 'exit 4'})"),
        command("exec-1", "echo A", 0),
        command("exec-2", "exit 4", 4),
        output("1", "Script completed\n"),
        script("2", "await tools.apply_patch('…')"),
        item(json!({"type": "FileChange", "id": "exec-3", "status": "completed", "changes": change})),
        output("2", "Script completed\n"),
        script("3", "await tools.mcp__x__y({})"),
        item(json!({"type": "McpToolCall", "id": "exec-4", "server": "x", "tool": "y", "status": "completed"})),
        output("3", "Script completed\n"),
        script("4", "await tools.update_plan({plan: [{step: 'Ship it', status: 'in_progress'}]})"),
        output("4", "Script completed\n"),
        script("5", "await tools.apply_patch('*** Begin Patch\n*** Update File: no\n*** End Patch')"),
        output("5", "Script failed\n"),
        script("6", "text(1)"),
        output("6", "Script completed\n"),
        item(json!({"type": "CommandExecution", "id": "u", "command": ["ls"], "source": "user_shell", "exit_code": 1})),
    ]);
    let summary = read_from(text.as_bytes(), None).unwrap();
    assert_eq!(counts(&summary.tools), [("shell", 3, 1), ("edit", 2, 1), ("mcp", 1, 0)]);
    assert_eq!((samples(&summary, "shell")[0].as_str(), samples(&summary, "mcp")[0].as_str()), ("echo A", "mcp__x__y"));
    assert_eq!(
        (summary.files_modified.as_slice(), pending(&summary)),
        (["a.txt", "b.txt", "c.txt"].map(str::to_owned).as_slice(), vec![("Ship it", "in_progress")])
    );
}

#[test]
fn an_item_of_a_call_counts_only_its_failure() {
    let text = rows(&[
        meta(S, json!({})),
        call("exec_command", "1", json!({"cmd": "false"})),
        command("1", "false", 1),
        output("1", "Process exited with code 1\nOutput:\n"),
        call("exec_command", "2", json!({"cmd": "true"})),
        command("2", "true", 0),
        output("2", "Process exited with code 0\nOutput:\n"),
        patch("3"),
        output("3", "Success"),
        item(json!({"type": "FileChange", "id": "3", "status": "failed", "changes": {}})),
    ]);
    let summary = read_from(text.as_bytes(), None).unwrap();
    assert_eq!((counts(&summary.tools), summary.files_modified.len()), (vec![("shell", 2, 1), ("edit", 1, 1)], 0));
}

#[test]
fn rollouts_of_subagents_are_read_with_that_of_their_parent() {
    let folder = tempfile::tempdir().unwrap();
    let child = |id: &str, of: &str, rest: &[Value]| {
        let source = json!({"subagent": {"thread_spawn": {"parent_thread_id": of}}});
        let user = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Write it"}]});
        let first = [meta(id, json!({"parent_thread_id": of, "source": source})), row(1, "response_item", user)];
        rows(&[&first[..], rest].concat())
    };
    let spawned = json!({"type": "SubAgentActivity", "id": "1", "kind": "started", "agent_thread_id": CHILD, "agent_path": "/root/helper"});
    let parent = rows(&[
        meta(S, json!({})),
        call("spawn_agent", "1", json!({"message": "Write it"})),
        item(spawned),
        output("1", &json!({"agent_id": CHILD}).to_string()),
        call("wait_agent", "2", json!({})),
        total(100),
    ]);
    let name = |day: &str, id: &str| format!("sessions/2026/03/{day}/rollout-2026-03-{day}T09-00-00-{id}.jsonl");
    let grandchild = call("spawn_agent", "9", json!({"message": "go"}));
    let spawned = json!({"agent_id": GRANDCHILD}).to_string();
    let end = row(6, "response_item", json!({"type": "function_call_output", "call_id": "9", "output": spawned}));
    let first = [patch("8"), output("8", "Done"), grandchild, end, total(30)];
    write(
        folder.path(),
        &[
            (&name("02", S), parent),
            (&name("03", CHILD), child(CHILD, S, &first)),
            (&name("02", GRANDCHILD), child(GRANDCHILD, CHILD, &[command("exec-1", "false", 1), total(4)])),
            (&name("02", FORK), child(FORK, "other", &[total(999)])),
        ],
    );
    let summary = read(&folder.path().join(name("02", S)), None).unwrap();
    assert_eq!((counts(&summary.tools), tokens(&summary)), (vec![("task", 2, 0)], [134, 3, 0, 0]));
    assert_eq!(
        (summary.session_id.as_deref(), summary.task.as_deref(), summary.files_modified.len()),
        (Some(S), None, 0)
    );
    let [one, two] = summary.subagents.as_slice() else { panic!("{:?}", summary.subagents) };
    assert_eq!((one.name.as_deref(), one.id.as_deref(), one.files_modified.len()), (Some("helper"), Some(CHILD), 1));
    assert_eq!((two.id.as_deref(), counts(&two.tools), two.tokens.input), (Some(GRANDCHILD), vec![("shell", 1, 1)], 4));
    let home = folder.path().to_owned();
    let variable = move |name: &str| (name == "CODEX_HOME").then(|| home.clone());
    let newest = |id: &str| {
        let file = std::fs::File::options().append(true).open(folder.path().join(name("02", id))).unwrap();
        file.set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(60)).unwrap();
        find::latest(&variable, Path::new("/r"), Path::new("/r"), None)
    };
    assert_eq!(newest(FORK), Some(folder.path().join(name("02", S))));
}

#[test]
fn what_a_forked_session_copied_counts_in_its_parent_only() {
    let turn = |at: u32, id: &str| row(at, "turn_context", json!({"turn_id": id, "cwd": "/r"}));
    let user = |at: u32, text: &str| row(at, "event_msg", json!({"type": "user_message", "message": text}));
    let own = [user(9, "Make b"), patch("2"), output("2", "Done"), total(140)];
    // copies, without ids of turns, and with them
    let copied = [meta(S, json!({})), user(0, "Make a"), call("exec_command", "1", json!({"cmd": "ls"})), total(100)]
        .map(|mut row| {
            row["timestamp"] = json!("2026-03-02T09:00:00.100Z");
            row
        });
    let (old, new) = (turn(0, &S.replace("03-", "03-1")[..36]), turn(1, &FORK.replace("-7000-8", "-7000-9")));
    let plain = [&[meta(FORK, json!({}))], &copied[..], &own[..]].concat();
    let ordered = [&[meta(FORK, json!({"forked_from_id": S})), old], &copied[..], &[new], &own[..]].concat();
    for text in [plain, ordered] {
        let summary = read_from(rows(&text).as_bytes(), None).unwrap();
        assert_eq!((summary.session_id.as_deref(), summary.parent.as_deref()), (Some(FORK), Some(S)));
        assert_eq!((counts(&summary.tools), tokens(&summary)), (vec![("edit", 1, 0)], [40, 0, 0, 0]));
        assert_eq!(texts(&summary, Role::User), ["Make b"]);
    }
    // nothing is copied, but the sums go on
    let usage = |id: &str| {
        row(9, "token_usage_record", json!({"response_id": id, "usage": {"input_tokens": 20, "output_tokens": 1}}))
    };
    let text = rows(&[
        meta(FORK, json!({"forked_from_id": S})),
        turn(1, FORK),
        usage("1"),
        usage("2"),
        usage("2"),
        total(140),
    ]);
    assert_eq!(tokens(&read_from(text.as_bytes(), None).unwrap()), [40, 2, 0, 0]);
}
