//! Chats of Gemini CLI.

use serde_json::json;

use super::*;

#[test]
fn gemini_is_read_alike_from_a_document_and_from_rows() {
    let summary = read_fixture("gemini/session.json");
    assert_eq!(summary.agent, Agent::Gemini);
    assert_eq!(
        counts(&summary.tools),
        [("write", 2, 0), ("shell", 1, 1), ("read", 1, 0), ("edit", 1, 1), ("search", 1, 0)]
    );
    assert_eq!(summary.files_modified, ["docs/a.md"]);
    assert_eq!((tokens(&summary), summary.context_tokens), ([112, 35, 190, 0], Some(220)));
    assert_eq!(texts(&summary, Role::User), ["Write the docs", "and the guide"]);
    assert_eq!(summary.decisions, ["Going with Markdown rather than HTML."]);
    assert_eq!(
        (summary.session_id.as_deref(), summary.model.as_deref(), summary.rows),
        (Some("9e3"), Some("gemini-x"), 5)
    );
    assert_eq!(summary.ended_at.as_deref(), Some("2026-03-03T08:30:00Z"));
    let pretty = read_fixture("gemini/pretty.json");
    assert_eq!(Transcript { size: summary.size, ..pretty }, summary);
    assert_eq!(summary.size, std::fs::metadata(fixture("gemini/session.json")).unwrap().len());
    let rows = read_fixture("gemini/session.jsonl");
    assert_eq!((rows.rows, rows.summary.as_deref()), (12, Some("Docs written")));
    assert_eq!(rows.ended_at.as_deref(), Some("2026-03-03T08:40:00Z"));
    let (ended_at, rows_read, size) = (summary.ended_at.clone(), summary.rows, summary.size);
    assert_eq!(Transcript { summary: None, ended_at, rows: rows_read, size, ..rows }, summary);
}

fn shell(id: &str, output: &str) -> Value {
    let result = json!([{"functionResponse": {"id": id, "response": {"output": output}}}]);
    json!({"id": id, "name": "run_shell_command", "args": {"command": id}, "status": "success", "result": result})
}

fn header(id: &str, kind: &str) -> Value {
    json!({"sessionId": id, "projectHash": "h", "startTime": "2026-03-03T08:00:00.000Z", "kind": kind})
}

fn message(id: &str, input: u64, calls: Value) -> Value {
    let tokens = json!({"input": input, "output": 5, "cached": 10, "tool": 0});
    json!({"id": id, "type": "gemini", "content": "", "model": "gemini-x", "tokens": tokens, "toolCalls": calls})
}

#[test]
fn a_command_that_exits_with_an_error_failed_though_the_call_succeeded() {
    let output =
        |end: &str| format!("<untrusted_context>\nOutput: a\n{end}Process Group PGID: 7\n</untrusted_context>");
    let calls =
        json!([shell("1", &output("Exit Code: 3\n")), shell("2", &output("")), shell("3", &output("Signal: 9\n"))]);
    let chat = rows(&[header("s", "main"), message("m", 100, calls)]);
    assert_eq!(counts(&read_from(chat.as_bytes(), None).unwrap().tools), [("shell", 3, 2)]);
}

#[test]
fn messages_that_come_again_as_context_of_a_resumed_chat_keep_tokens_and_calls() {
    let user = |id: &str, text: &str| json!({"id": id, "type": "user", "content": [{"text": text}]});
    let call = json!({"functionCall": {"id": "c1", "name": "run_shell_command", "args": {"command": "ls"}}});
    let context = json!([user("u1", "Count it"), {"id": "m1", "type": "gemini", "content": [call]}]);
    let chat = rows(&[
        header("s", "main"),
        user("u1", "Count it"),
        message("m1", 100, json!([shell("c1", "Output: 1")])),
        header("s", "main"),
        json!({"$set": {"messages": context}}),
        user("u2", "<hook_context>git empirica: session 1 continues.\n</hook_context>\n\nCount again"),
        message("m2", 200, json!([shell("c2", "Output: 2")])),
    ]);
    let summary = read_from(chat.as_bytes(), None).unwrap();
    assert_eq!((counts(&summary.tools), tokens(&summary)), (vec![("shell", 2, 0)], [280, 10, 20, 0]));
    assert_eq!(texts(&summary, Role::User), ["Count it", "Count again"]);
}

#[test]
fn a_snapshot_in_place_of_older_messages_is_a_summary() {
    let snapshot = "<state_snapshot>\nThe parser is done.\n</state_snapshot>";
    let context = json!([{"id": "s1", "type": "user", "content": [{"text": snapshot}]}]);
    let chat = rows(&[header("s", "main"), message("m1", 100, json!([])), json!({"$set": {"messages": context}})]);
    let summary = read_from(chat.as_bytes(), None).unwrap();
    assert_eq!((summary.summary.as_deref(), summary.task.as_deref()), (Some(snapshot), None));
    assert_eq!(tokens(&summary), [90, 5, 10, 0]);
}

#[test]
fn the_list_that_a_task_tool_shows_is_the_task_list() {
    let shown = json!({"todos": [{"description": "Write it", "status": "in_progress"}, {"description": "Test it", "status": "completed"}]});
    let call = json!({"id": "1", "name": "tracker_create_task", "args": {"title": "Write it"}, "status": "success", "resultDisplay": shown});
    let chat = rows(&[header("s", "main"), message("m", 100, json!([call]))]);
    let summary = read_from(chat.as_bytes(), None).unwrap();
    assert_eq!((pending(&summary), summary.tools.len()), (vec![("Write it", "in_progress")], 0));
}

#[test]
fn chats_of_subagents_are_read_with_that_of_their_session() {
    let folder = tempfile::tempdir().unwrap();
    let start = |name: &str, agent: &str, prompt: &str| json!([{"id": agent, "name": name, "args": {"agent_name": "generalist", "prompt": prompt}, "status": "success", "agentId": agent}]);
    let user = json!({"id": "u", "type": "user", "content": [{"text": "List the files"}]});
    write(
        folder.path(),
        &[
            (
                "chats/session-1.jsonl",
                rows(&[header("s1", "main"), message("m", 100, start("invoke_agent", "a1", "List the files"))]),
            ),
            (
                "chats/s1/a1.jsonl",
                rows(&[
                    header("a1", "subagent"),
                    user,
                    message("n", 40, json!([shell("1", "Output: a\nExit Code: 1")])),
                ]),
            ),
            ("chats/a1/a2.jsonl", rows(&[header("a2", "subagent"), message("o", 30, json!([]))])),
            ("chats/s2/a3.jsonl", rows(&[header("a3", "subagent"), message("p", 999, json!([]))])),
        ],
    );
    let path = folder.path().join("chats/session-1.jsonl");
    let summary = read(&path, None).unwrap();
    assert_eq!((summary.session_id.as_deref(), summary.task.as_deref()), (Some("s1"), None));
    assert_eq!((counts(&summary.tools), tokens(&summary)), (vec![("task", 1, 0)], [140, 15, 30, 0]));
    let [first, second] = summary.subagents.as_slice() else { panic!("{:?}", summary.subagents) };
    assert_eq!((first.name.as_deref(), first.id.as_deref()), (Some("List the files"), Some("a1")));
    assert_eq!((counts(&first.tools), first.tokens.input), (vec![("shell", 1, 1)], 30));
    assert_eq!((second.id.as_deref(), second.tokens.input), (Some("a2"), 20));
    let files = ["chats/session-1.jsonl", "chats/s1/a1.jsonl", "chats/a1/a2.jsonl"];
    let lengths = files.map(|file| std::fs::metadata(folder.path().join(file)).unwrap().len());
    assert_eq!(summary.size, lengths.iter().sum::<u64>());
}

#[test]
fn a_compressed_chat_begins_with_its_summary() {
    let set = json!({"$set": {"messages": [
        {"id": "c", "type": "user", "content": [{"text": "<session_context>x"}]},
        {"id": "s", "type": "user", "content": [{"text": "The parser was mended"}]},
        {"id": "a", "type": "gemini", "content": [{"text": "Got it. Thanks for the additional context!"}]},
        {"id": "n", "type": "user", "content": [{"text": "go on"}]},
    ]}});
    let rows = [
        json!({"sessionId": "g", "projectHash": "0", "startTime": "2026-01-02T03:04:05Z"}),
        json!({"id": "u", "type": "user", "content": [{"text": "mend the parser"}]}),
        set.clone(),
        set,
    ];
    let found = read_from(super::rows(&rows).as_bytes(), None).unwrap();
    assert_eq!((found.summary.as_deref(), found.compactions), (Some("The parser was mended"), 1));
    assert_eq!(found.task.as_deref(), Some("mend the parser"));
    assert_eq!(texts(&found, Role::User), ["mend the parser", "go on"]);
}
