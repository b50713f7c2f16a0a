//! Events of Copilot CLI.

use rusqlite::Connection;
use serde_json::json;

use super::*;

#[test]
fn copilot_is_read_from_its_own_root() {
    for name in ["copilot/events.jsonl", "copilot"] {
        let summary = read_fixture(name);
        assert_eq!(summary.agent, Agent::Copilot);
        assert_eq!(counts(&summary.tools), [("read", 2, 0), ("edit", 2, 1), ("shell", 1, 1), ("write", 1, 0)]);
        assert_eq!(
            (samples(&summary, "edit"), &summary.files_modified[..]),
            (["sub/a.rs".to_owned(), "sub/c.rs".into()].as_slice(), ["sub/a.rs".to_owned(), "d.rs".into()].as_slice())
        );
        assert_eq!((pending(&summary), summary.decisions.len()), (vec![("test", "pending")], 1));
        assert_eq!(
            (summary.branch.as_deref(), summary.model.as_deref(), summary.commit.is_some()),
            (Some("topic"), Some("model-x"), true)
        );
        assert_eq!(read(&fixture(name), Some(Path::new("/elsewhere"))).unwrap().files_modified, summary.files_modified);
        assert_eq!(read(&fixture(name), None).unwrap().files_modified, summary.files_modified);
    }
}

fn event(kind: &str, id: &str, agent: Option<&str>, data: Value) -> Value {
    json!({"type": kind, "id": id, "agentId": agent, "timestamp": "2026-03-04T07:00:00.000Z", "data": data})
}

fn usage(id: &str, agent: Option<&str>, input: u64) -> Value {
    let usage =
        json!({"apiCallId": id, "inputTokens": input, "outputTokens": 5, "cacheReadTokens": 10, "cacheWriteTokens": 7});
    event("session.usage_record", id, agent, json!({"usage": usage}))
}

fn start() -> Value {
    event("session.start", "e", None, json!({"sessionId": "s", "context": {"cwd": "/r"}}))
}

#[test]
fn a_command_that_exits_with_an_error_failed_though_the_call_succeeded() {
    let call = |id: &str| {
        event("tool.execution_start", &format!("s{id}"), None, json!({"toolCallId": id, "toolName": "bash"}))
    };
    let end = |id: &str, more: Value| {
        let mut data = json!({"toolCallId": id, "success": true});
        data.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event("tool.execution_complete", &format!("c{id}"), None, data)
    };
    let text = rows(&[
        start(),
        call("1"),
        end("1", json!({"shellExecution": {"exitCode": 3}})),
        call("2"),
        end("2", json!({"result": {"content": "x\n<exited with exit code 1>"}})),
        call("3"),
        end("3", json!({"shellExecution": {"exitCode": 0}, "result": {"content": "<exited with exit code 1>"}})),
    ]);
    assert_eq!(counts(&read_from(text.as_bytes(), None).unwrap().tools), [("shell", 3, 2)]);
}

#[test]
fn the_tokens_of_each_message_count_once_or_else_the_sum_at_the_end() {
    let sum =
        json!({"m": {"usage": {"inputTokens": 300, "outputTokens": 9, "cacheReadTokens": 100, "cacheWriteTokens": 0}}});
    let end = |id: &str| event("session.shutdown", id, None, json!({"modelMetrics": sum}));
    let each = rows(&[start(), usage("1", None, 100), usage("1", None, 100), usage("2", None, 110), end("x")]);
    assert_eq!(tokens(&read_from(each.as_bytes(), None).unwrap()), [176, 10, 20, 14]);
    let older = rows(&[start(), end("x"), end("y")]);
    assert_eq!(tokens(&read_from(older.as_bytes(), None).unwrap()), [200, 9, 100, 0]);
}

#[test]
fn events_of_a_subagent_are_its_own() {
    let task =
        json!({"toolCallId": "k", "toolName": "task", "arguments": {"description": "Look into it", "prompt": "go"}});
    let call = json!({"toolCallId": "b", "toolName": "bash", "arguments": {"command": "ls"}, "parentToolCallId": "k"});
    let text = rows(&[
        start(),
        event("user.message", "1", None, json!({"content": "Do it"})),
        event("user.message", "2", None, json!({"content": "A skill", "source": "skill-x"})),
        event("tool.execution_start", "3", None, task),
        event("subagent.started", "4", Some("a1"), json!({"toolCallId": "k", "agentDescription": "Look into it"})),
        event("session.model_change", "5", Some("a1"), json!({"newModel": "small"})),
        event("user.message", "6", Some("a1"), json!({"content": "go", "source": "agent-s"})),
        event(
            "assistant.message",
            "7",
            Some("a1"),
            json!({"content": "Going with a rather than b.", "toolRequests": []}),
        ),
        event("tool.execution_start", "8", Some("a1"), call),
        usage("9", Some("a1"), 50),
        event(
            "tool.execution_complete",
            "10",
            None,
            json!({"toolCallId": "b", "parentToolCallId": "k", "success": false}),
        ),
        usage("11", None, 100),
    ]);
    let summary = read_from(text.as_bytes(), None).unwrap();
    assert_eq!((texts(&summary, Role::User), summary.decisions.len()), (vec!["Do it"], 0));
    assert_eq!((counts(&summary.tools), summary.model.as_deref()), (vec![("task", 1, 0)], None));
    assert_eq!((tokens(&summary), summary.context_tokens), ([116, 10, 20, 14], Some(105)));
    let [agent] = summary.subagents.as_slice() else { panic!("{:?}", summary.subagents) };
    assert_eq!((agent.name.as_deref(), agent.id.as_deref()), (Some("Look into it"), Some("a1")));
    assert_eq!((counts(&agent.tools), agent.tokens.input), (vec![("shell", 1, 1)], 33));
}

#[test]
fn tasks_are_read_from_the_database_beside_the_events() {
    let folder = tempfile::tempdir().unwrap();
    let call = json!({"toolCallId": "q", "toolName": "sql", "arguments": {"query": "INSERT INTO todos …"}});
    write(folder.path(), &[("events.jsonl", rows(&[start(), event("tool.execution_start", "1", None, call)]))]);
    let db = Connection::open(folder.path().join("session.db")).unwrap();
    db.execute_batch(
        "CREATE TABLE todos(id TEXT PRIMARY KEY, title TEXT, status TEXT);
        INSERT INTO todos VALUES('a', 'Read it', 'done'), ('b', 'Write it', 'in_progress'), ('c', 'Test it', NULL);",
    )
    .unwrap();
    let summary = read(&folder.path().join("events.jsonl"), None).unwrap();
    assert_eq!(
        (pending(&summary), summary.tools.len()),
        (vec![("Write it", "in_progress"), ("Test it", "pending")], 0)
    );
}
