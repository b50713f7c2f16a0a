//! Transcripts of Claude Code.

use serde_json::json;

use super::*;

#[test]
fn claude_code_is_read_with_failed_edits_apart_and_each_message_counted_once() {
    let summary = read_fixture("claude-code/session.jsonl");
    assert_eq!(summary.agent, Agent::ClaudeCode);
    let wanted = [
        ("edit", 5, 1),
        ("shell", 1, 1),
        ("read", 1, 0),
        ("write", 1, 0),
        ("task", 1, 0),
        ("ask", 1, 0),
        ("mcp", 1, 0),
    ];
    assert_eq!(counts(&summary.tools), wanted);
    assert_eq!(summary.files_modified, ["src/parser.rs", "src/multi.rs", "n.ipynb"]);
    assert_eq!((summary.files_outside, summary.context_tokens), (1, Some(12)));
    assert_eq!(tokens(&summary), [38, 90, 6059, 548]);
    assert_eq!(summary.task.as_deref(), Some("Make the parser faster"));
    assert_eq!(texts(&summary, Role::User), ["Make the parser faster", "now document it"]);
    assert_eq!(summary.messages.last().unwrap().text, "Documented.");
    assert_eq!(summary.decisions, ["I'll go with a table.", "Which table? → The small one"]);
    assert_eq!(pending(&summary), [("document", "in_progress"), ("release", "pending")]);
    assert_eq!(summary.summary.as_deref(), Some("Parser made faster"));
    assert_eq!((summary.session_id.as_deref(), summary.branch.as_deref()), (Some("5e55"), Some("main")));
    assert_eq!((summary.model.as_deref(), summary.cwd.as_deref()), (Some("claude-x"), Some("/home/dev/repo")));
    assert_eq!(
        (summary.started_at.as_deref(), summary.ended_at.as_deref()),
        (Some("2026-03-01T10:00:01Z"), Some("2026-03-01T11:00:00Z"))
    );
    let bytes = std::fs::read(fixture("claude-code/session.jsonl")).unwrap();
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    assert_eq!((summary.rows, summary.skipped_rows, summary.size), (lines, 0, bytes.len() as u64));
    assert_eq!(samples(&summary, "shell"), ["cargo test"]);
    assert_eq!(summary.failed_commands, ["cargo test"]);
    assert_eq!(samples(&summary, "edit"), ["src/parser.rs", "src/failed.rs", "src/multi.rs"]);
    assert_eq!(samples(&summary, "mcp"), ["mcp__docs__search"]);
    assert_eq!(
        (samples(&summary, "task"), samples(&summary, "ask")),
        (["look around".to_owned()].as_slice(), ["Which table?".to_owned()].as_slice())
    );
}

#[test]
fn subagents_are_distinguished_in_rows_and_in_files() {
    let summary = read_fixture("claude-code/session.jsonl");
    let [agent] = summary.subagents.as_slice() else { panic!("{:?}", summary.subagents) };
    assert_eq!((agent.name.as_deref(), agent.id.as_deref()), (Some("look around"), Some("a1")));
    assert_eq!(counts(&agent.tools), [("write", 1, 0), ("grep", 1, 0)]);
    assert_eq!((agent.files_modified.as_slice(), agent.tokens.input), (["notes.md".to_owned()].as_slice(), 15));
    assert_eq!(summary.all_files_modified().last(), Some(&"notes.md"));
    let summary = read_fixture("claude-code/layout/5e55.jsonl");
    let [agent] = summary.subagents.as_slice() else { panic!("{:?}", summary.subagents) };
    assert_eq!((agent.name.as_deref(), agent.id.as_deref(), agent.files_modified.len()), (Some("scan"), Some("b7"), 1));
    assert_eq!((tokens(&summary), summary.context_tokens, summary.rows), ([3, 3, 3, 3], Some(4), 5));
    let files = ["claude-code/layout/5e55.jsonl", "claude-code/layout/5e55/subagents/agent-b7.jsonl"];
    let lengths = files.map(|name| std::fs::metadata(fixture(name)).unwrap().len());
    assert_eq!(summary.size, lengths.iter().sum::<u64>());
}

#[test]
fn subagents_without_ids_are_distinguished_by_their_chains() {
    let row = |uuid: &str, parent: &str, file: &str| {
        let parent = if parent.is_empty() { Value::Null } else { json!(parent) };
        let call = json!([{"type": "tool_use", "id": uuid, "name": "Write", "input": {"file_path": file}}]);
        json!({"type": "assistant", "uuid": uuid, "parentUuid": parent, "isSidechain": true, "message": {"content": call}}).to_string()
    };
    let rows = [row("a", "", "1"), row("b", "", "2"), row("c", "a", "3"), row("d", "b", "4")].join("\n");
    let summary = read_from(rows.as_bytes(), None).unwrap();
    let counts: Vec<u64> = summary.subagents.iter().map(|agent| agent.tools[0].count).collect();
    assert_eq!((counts, summary.tools.len()), (vec![2, 2], 0));
}

fn row(kind: &str, uuid: &str, at: &str, content: Value) -> Value {
    let message =
        json!({"id": uuid, "model": "claude-x", "content": content, "usage": {"input_tokens": 10, "output_tokens": 1}});
    json!({"type": kind, "uuid": uuid, "sessionId": "s1", "cwd": "/r", "timestamp": format!("2026-03-01T{at}Z"), "message": message})
}

fn call(id: &str, name: &str, input: Value) -> Value {
    json!([{"type": "tool_use", "id": id, "name": name, "input": input}])
}

fn result(id: &str, at: &str, whole: Value) -> Value {
    let mut row = row("user", id, at, json!([{"type": "tool_result", "tool_use_id": id, "content": "done"}]));
    row["toolUseResult"] = whole;
    row
}

#[test]
fn tasks_that_are_created_and_updated_one_by_one_are_pending_and_no_activity() {
    let created = |id: &str, subject: &str| json!({"task": {"id": id, "subject": subject}});
    let text = rows(&[
        row("assistant", "1", "10:00:00", call("a", "TaskCreate", json!({"subject": "Read it", "description": "x"}))),
        row("assistant", "2", "10:00:01", call("b", "TaskCreate", json!({"subject": "Write it", "description": "x"}))),
        result("b", "10:00:02", created("2", "Write it")),
        result("a", "10:00:03", created("1", "Read it")),
        row("assistant", "3", "10:00:04", call("c", "TaskUpdate", json!({"taskId": "1", "status": "completed"}))),
        row(
            "assistant",
            "4",
            "10:00:05",
            call("d", "TaskUpdate", json!({"taskId": "2", "subject": "Write all of it"})),
        ),
        row("assistant", "5", "10:00:06", call("e", "TaskList", json!({}))),
        row("assistant", "6", "10:00:07", call("f", "Agent", json!({"description": "look", "prompt": "look around"}))),
    ]);
    let summary = read_from(text.as_bytes(), None).unwrap();
    assert_eq!(
        (pending(&summary), counts(&summary.tools)),
        (vec![("Write all of it", "pending")], vec![("task", 1, 0)])
    );
}

/// A session, and the rows of a fork of it: it begins at 11:00 with copies of what the session had at 10:30.
fn session_and_fork() -> [Vec<Value>; 2] {
    let start =
        |at: &str| json!({"type": "queue-operation", "operation": "enqueue", "timestamp": format!("2026-03-01T{at}Z")});
    let first = vec![
        row("user", "u1", "10:00:01", json!("Make a")),
        row("assistant", "u2", "10:00:02", call("a", "TaskCreate", json!({"subject": "Test a"}))),
        result("a", "10:00:03", json!({"task": {"id": "1", "subject": "Test a"}})),
        row("assistant", "u3", "10:00:04", call("b", "Write", json!({"file_path": "/r/a"}))),
        result("b", "10:00:05", Value::Null),
    ];
    let own = [
        row("user", "u9", "11:00:01", json!("Make b")),
        row("assistant", "u10", "11:00:02", call("c", "Write", json!({"file_path": "/r/b"}))),
        result("c", "11:00:03", Value::Null),
    ];
    let fork = std::iter::once(start("11:00:00")).chain(first.clone()).chain(own).map(|mut row| {
        row["sessionId"] = json!("s2");
        row
    });
    let fork = fork.collect();
    [std::iter::once(start("10:00:00")).chain(first).collect(), fork]
}

fn is_fork_only(summary: &Transcript) {
    assert_eq!((summary.session_id.as_deref(), summary.task.as_deref()), (Some("s2"), Some("Make b")));
    assert_eq!((counts(&summary.tools), tokens(summary)), (vec![("write", 1, 0)], [10, 1, 0, 0]));
    assert_eq!(
        (summary.files_modified.as_slice(), pending(summary)),
        (["b".to_owned()].as_slice(), vec![("Test a", "pending")])
    );
    assert_eq!(summary.started_at.as_deref(), Some("2026-03-01T11:00:00Z"));
}

#[test]
fn what_a_forked_session_copied_counts_in_its_parent_only() {
    let folder = tempfile::tempdir().unwrap();
    let [first, fork] = session_and_fork();
    // began as a fork too, but earlier than the last copied row
    let other: Vec<Value> =
        std::iter::once(json!({"type": "queue-operation", "timestamp": "2026-03-01T10:00:04.500Z"}))
            .chain(first[1..3].iter().cloned())
            .map(|mut row| {
                row["sessionId"] = json!("s3");
                row
            })
            .collect();
    write(folder.path(), &[("s1.jsonl", rows(&first)), ("s2.jsonl", rows(&fork)), ("s3.jsonl", rows(&other))]);
    let summary = read(&folder.path().join("s2.jsonl"), None).unwrap();
    is_fork_only(&summary);
    assert_eq!(summary.parent.as_deref(), Some("s1"));
    let parent = read(&folder.path().join("s1.jsonl"), None).unwrap();
    assert_eq!((tokens(&parent), parent.parent.as_deref(), parent.files_modified.len()), ([20, 2, 0, 0], None, 1));
    let alone = read_from(rows(&fork).as_bytes(), None).unwrap();
    is_fork_only(&alone);
    assert_eq!(alone.parent, None);
}

#[test]
fn rows_that_name_the_session_they_were_copied_from_are_not_counted() {
    let [_, mut fork] = session_and_fork();
    fork.remove(0);
    for row in &mut fork[..5] {
        row["forkedFrom"] = json!({"sessionId": "s1", "messageUuid": row["uuid"]});
    }
    let summary = read_from(rows(&fork).as_bytes(), None).unwrap();
    assert_eq!((summary.task.as_deref(), tokens(&summary)), (Some("Make b"), [10, 1, 0, 0]));
    assert_eq!((summary.parent.as_deref(), summary.files_modified.len()), (Some("s1"), 1));
}

#[test]
fn a_command_counts_as_failed_until_it_succeeds() {
    let run = |id: usize, command: &str, is_error: bool| {
        let row =
            |kind: &str, content: Value| json!({"type": kind, "sessionId": "s", "message": {"content": [content]}});
        let call = json!({"type": "tool_use", "id": id.to_string(), "name": "Bash", "input": {"command": command}});
        let done = json!({"type": "tool_result", "tool_use_id": id.to_string(), "content": "x", "is_error": is_error});
        format!("{}\n{}\n", row("assistant", call), row("user", done))
    };
    let read = |rows: String| read_from(rows.as_bytes(), None).unwrap().failed_commands;
    assert_eq!(read(run(1, "make a", true) + &run(2, "make b", true) + &run(3, "make a", true)), ["make b", "make a"]);
    assert_eq!(read(run(1, "make a", true) + &run(2, "make b", true) + &run(3, "make a", false)), ["make b"]);
    let many = (0..12).map(|id| run(id, &format!("make {id}"), true)).collect();
    assert_eq!(read(many), (2..12).map(|id| format!("make {id}")).collect::<Vec<_>>());
}

#[test]
fn a_conversation_is_unchanged_until_a_row_of_it_or_a_subagent_adds_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s1.jsonl");
    let agent = folder.path().join("s1/subagents/agent-a.jsonl");
    std::fs::create_dir_all(agent.parent().unwrap()).unwrap();
    let whole = format!("{}\n", row("user", "u1", "2026-03-01T10:00:00Z", json!("go on")));
    std::fs::write(&path, &whole).unwrap();
    std::fs::write(&agent, &whole).unwrap();
    let size = read(&path, None).unwrap().size;
    assert_eq!(size, 2 * whole.len() as u64);
    let add = |path: &Path, text: &str| {
        let before = std::fs::read_to_string(path).unwrap();
        std::fs::write(path, format!("{before}{text}")).unwrap();
        let unchanged = is_unchanged(folder.path().join("s1.jsonl").as_path(), size);
        std::fs::write(path, before).unwrap();
        unchanged
    };
    let other = "{\"type\":\"last-prompt\",\"lastPrompt\":\"go on\",\"sessionId\":\"s1\"}\n";
    for (text, wanted) in [
        ("", true),
        (other, true),
        ("\n", true),
        (&format!("{other}{whole}"), false),
        (&whole, false),
        ("{\"type\":\"us", false),
        (&format!("{{\"type\":\"x\",\"x\":\"{}\"}}\n", "x".repeat(1 << 16)), false),
    ] {
        assert_eq!(add(&path, text), wanted, "{text:.80}");
    }
    assert!(!add(&agent, other), "the end of what its agent wrote is not known");
    assert!(!is_unchanged(&path, size + 1) && !is_unchanged(&path, 0) && !is_unchanged(Path::new("/nowhere"), 0));
}
