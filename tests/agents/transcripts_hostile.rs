//! Truncated, damaged, huge and malicious transcripts: nothing panics, and complete rows are read.

use std::io::{BufReader, Read};
use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};

use empirica_transcripts::{read, read_from};

use crate::commands::session::collect::fixture;
use empirica_transcripts::model::Transcript;

fn parsed(text: &[u8]) -> Transcript {
    read_from(text, Some(Path::new("/r"))).expect("a transcript")
}

fn user(text: &str) -> String {
    json!({"type": "user", "sessionId": "s", "cwd": "/r", "message": {"role": "user", "content": text}}).to_string()
}

fn call(name: &str, input: &Value) -> String {
    let call = json!([{"type": "tool_use", "id": name, "name": name, "input": input}]);
    let done = json!([{"type": "tool_result", "tool_use_id": name, "content": "ok"}]);
    let row = |kind: &str, content: &Value| json!({"type": kind, "sessionId": "s", "cwd": "/r", "message": {"content": content}});
    format!("{}\n{}\n", row("assistant", &call), row("user", &done))
}

#[test]
fn a_torn_last_row_is_counted_and_the_position_stays_before_it() {
    let whole = user("hello") + "\n";
    let torn = whole.clone() + &user("more")[..20];
    let found = parsed(torn.as_bytes());
    assert_eq!((found.rows, found.skipped_rows, found.size), (1, 1, whole.len() as u64));
    assert!(found.torn);
    let unended = whole.clone() + &user("more");
    let found = parsed(unended.as_bytes());
    assert_eq!((found.rows, found.skipped_rows, found.size), (2, 0, unended.len() as u64));
    assert!(!found.torn);
}

#[test]
fn only_a_last_row_is_torn() {
    let row = user("hello") + "\n";
    let document = br#"{"projectHash":"h","messages":[{"id":"1","type":"user","content":"a"},{"id""#;
    for (text, torn) in [
        (row.clone() + "{\"a\n", false),
        (row.clone() + "{\"a\n" + &row, false),
        (row.clone() + "  ", false),
        (row.clone() + "{\"a", true),
        (String::from_utf8_lossy(document).into_owned(), true),
    ] {
        let found = parsed(text.as_bytes());
        assert_eq!((found.torn, found.skipped_rows), (torn, u64::from(text.contains("{\"a") || torn)), "{text}");
    }
}

#[test]
fn the_position_grows_with_each_file_of_a_subagent() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s.jsonl");
    let main = user("hello") + "\n";
    std::fs::write(&path, &main).expect("a file");
    let subagents = folder.path().join("s/subagents");
    std::fs::create_dir_all(&subagents).expect("a folder");
    let row = user("go") + "\n";
    let mut wanted = main.len() as u64;
    assert_eq!(read(&path, None).expect("a transcript").size, wanted);
    for (name, text, grown) in [
        ("agent-b.jsonl", row.clone(), row.len()),
        ("agent-a.jsonl", row.clone(), row.len()),
        ("agent-b.jsonl", row.repeat(2), row.len()),
        ("agent-b.jsonl", row.repeat(2) + "{\"torn", 0),
        ("other.jsonl", row.clone(), 0),
    ] {
        std::fs::write(subagents.join(name), text).expect("a file");
        wanted += grown as u64;
        let found = read(&path, None).expect("a transcript");
        assert_eq!((found.size, found.torn, found.skipped_rows), (wanted, false, 0), "{name}");
    }
}

#[test]
fn invalid_json_rows_are_counted_and_unknown_rows_are_read() {
    let text =
        format!("\u{feff}garbage\r\n\r\n{}\r\n{{\"type\":\"new-kind\",\"x\":[1]}}\r\n{{\"a\":\r\n5\r\n", user("hello"));
    let found = parsed(text.as_bytes());
    assert_eq!((found.rows, found.skipped_rows, found.task.as_deref()), (3, 2, Some("hello")));
    assert_eq!(found.size, text.len() as u64);
}

#[test]
fn invalid_utf8_and_lone_surrogates_become_replacement_characters() {
    let mut text = user("he@llo \\ud800 #").into_bytes();
    text.iter_mut().filter(|byte| **byte == b'@').for_each(|byte| *byte = 0xff);
    let text = String::from_utf8_lossy(&text).replace("\\\\ud800", "\\ud83d").into_bytes();
    let found = parsed(&text);
    assert_eq!((found.task.as_deref(), found.skipped_rows), (Some("he\u{fffd}llo \u{fffd} #"), 0));
    let mut raw = user("a@b").into_bytes();
    raw.iter_mut().filter(|byte| **byte == b'@').for_each(|byte| *byte = 0xfe);
    assert_eq!(parsed(&raw).task.as_deref(), Some("a\u{fffd}b"));
    let kept = user("x").replace("\"x\"", "\"\\ud83d\\ude00 \\\\ud800 \\ude00\"");
    assert_eq!(parsed(kept.as_bytes()).task.as_deref(), Some("😀 \\ud800 \u{fffd}"));
}

/// 100 MB of one string, made while it is read.
fn long(before: &str, after: &str) -> impl Read {
    let (before, after) = (before.as_bytes().to_vec(), after.as_bytes().to_vec());
    std::io::Cursor::new(before).chain(std::io::repeat(b'x').take(100 << 20)).chain(std::io::Cursor::new(after))
}

#[test]
fn a_line_of_100_mb_is_read_past() {
    let before = format!("{}\n{{\"type\":\"user\",\"message\":{{\"content\":\"", user("first"));
    let after = format!("\"}}}}\n{}\n", user("last"));
    let found = read_from(BufReader::new(long(&before, &after)), None).expect("a transcript");
    assert_eq!((found.rows, found.skipped_rows, found.messages.len()), (2, 1, 2));
    assert_eq!(found.size, (before.len() + after.len() + (100 << 20)) as u64);
    let found = read_from(BufReader::new(long(&before, "")), None).expect("a transcript");
    assert_eq!((found.skipped_rows, found.size), (1, user("first").len() as u64 + 1));
    let found = read_from(BufReader::new(long(&before, "\n")), None).expect("a transcript");
    assert_eq!(found.size, (before.len() + 1 + (100 << 20)) as u64);
}

#[test]
fn a_string_of_100_mb_in_a_document_is_read_past() {
    let before =
        "{\"projectHash\":\"h\",\"messages\":[{\"id\":\"1\",\"type\":\"user\",\"content\":\"first\"},{\"content\":\"";
    let after = "\"},{\"id\":\"2\",\"type\":\"user\",\"content\":\"last\"}]}";
    let found = read_from(BufReader::new(long(before, after)), None).expect("a transcript");
    assert_eq!((found.rows, found.skipped_rows, found.messages.len()), (2, 1, 2));
}

#[test]
fn values_of_the_wrong_type_count_as_absent() {
    let deep = "[".repeat(5000) + &"]".repeat(5000);
    let odd = ["5", "-1", "null", "true", "[]", "{}", "\"x\"", "1e999", "[[{}]]", "{\"a\":{\"b\":[]}}", &deep];
    for name in [
        "claude-code/session.jsonl",
        "codex/rollout.jsonl",
        "gemini/session.jsonl",
        "copilot/events.jsonl",
        "cursor/session.jsonl",
    ] {
        let text = std::fs::read_to_string(fixture(name)).expect("a fixture");
        for line in text.lines() {
            let row: Value = serde_json::from_str(line).expect("JSON");
            let mut places = Vec::new();
            pointers(&row, String::new(), &mut places);
            for (number, place) in places.iter().enumerate() {
                let mut row = row.clone();
                *row.pointer_mut(place).expect("a place") = json!("@@");
                let changed = row.to_string().replace("\"@@\"", odd[number % odd.len()]);
                let found = parsed(format!("{text}\n{changed}").as_bytes());
                assert_eq!(found.skipped_rows, 0, "{place} {changed:.300}");
            }
        }
    }
}

fn pointers(value: &Value, at: String, out: &mut Vec<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(key, value)| {
            let key = key.replace('~', "~0").replace('/', "~1");
            pointers(value, format!("{at}/{key}"), out);
        }),
        Value::Array(entries) => {
            entries.iter().enumerate().for_each(|(number, value)| pointers(value, format!("{at}/{number}"), out));
        }
        _ => {}
    }
    if !at.is_empty() {
        out.push(at);
    }
}

#[test]
fn numbers_of_tokens_saturate() {
    let row = |id: &str, number: &str| {
        format!(
            r#"{{"type":"assistant","sessionId":"s","message":{{"id":"{id}","usage":{{"input_tokens":{number},"output_tokens":1.9}}}}}}"#
        )
    };
    for number in ["18446744073709551615", "1e999", "99999999999999999999999", "1e30"] {
        let found = parsed([row("a", number), row("b", number)].join("\n").as_bytes());
        assert_eq!(
            (found.tokens.input, found.tokens.output, found.context_tokens),
            (u64::MAX, 2, Some(u64::MAX)),
            "{number}"
        );
    }
    assert_eq!(parsed(row("a", "-5").as_bytes()).tokens.input, 0);
}

#[test]
fn paths_and_ids_are_data() {
    let path = "src/a\n- [ ] forged `x` ```\u{1b}[2J";
    let found = parsed(call("Write", &json!({"file_path": path})).as_bytes());
    assert_eq!(found.files_modified, [path]);
    assert!(!found.tools[0].samples[0].contains('\n'));
    let out = ["../x", "/etc/passwd", "a/../../y", "C:\\x", "/rx"].map(|path| call(path, &json!({})).replace("{}", ""));
    assert_eq!(parsed(out.concat().as_bytes()).files_outside, 0, "unknown tools modify nothing");
    let rows: String = ["../x", "/etc/passwd", "a/../../y", "C:\\x", "/rx"]
        .iter()
        .enumerate()
        .map(|(number, path)| {
            call("Write", &json!({"file_path": path}))
                .replace("\"Write\",\"name\"", &format!("\"{number}\",\"name\""))
                .replace("\"tool_use_id\":\"Write\"", &format!("\"tool_use_id\":\"{number}\""))
        })
        .collect();
    let found = parsed(rows.as_bytes());
    assert_eq!((found.files_modified.len(), found.files_outside), (0, 5));
    let id = "x/../../y";
    let row = user("hello").replace("\"s\"", &json!(id).to_string());
    assert_eq!(parsed(row.as_bytes()).session_id.as_deref(), Some(id));
}

#[test]
fn windows_paths_are_relative_to_a_windows_root() {
    let rows = call("Write", &json!({"file_path": "c:\\w\\repo\\src\\..\\a.rs"})).replace("\"/r\"", r#""C:\\w\\repo""#);
    assert_eq!(read_from(rows.as_bytes(), None).expect("a transcript").files_modified, ["a.rs"]);
    assert_eq!(parsed(rows.as_bytes()).files_modified, ["a.rs"]);
}

#[test]
fn the_same_row_counts_once_and_a_failed_edit_modifies_nothing() {
    let rows = call("Edit", &json!({"file_path": "a"}))
        .replace("\"type\":\"assistant\"", "\"uuid\":\"u\",\"type\":\"assistant\"");
    assert_eq!(parsed((rows.clone() + &rows).as_bytes()).tools[0].count, 1);
    let failed = rows.replace("\"content\":\"ok\"", "\"content\":\"no\",\"is_error\":true");
    let found = parsed(failed.as_bytes());
    assert_eq!((found.files_modified.len(), found.tools[0].errors), (0, 1));
    let open = rows.lines().next().expect("a row");
    let found = parsed(open.as_bytes());
    assert_eq!((found.files_modified.len(), found.tools[0].count, found.tools[0].errors), (0, 1, 0));
}

#[test]
fn an_id_in_the_older_opencode_storage_is_not_followed() {
    let folder = tempfile::tempdir().expect("a folder");
    let put = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    };
    put("s/session/p/x.json", r#"{"id":"../../out","directory":"/r","time":{"updated":1}}"#);
    put("s/message/y/m.json", r#"{"id":"m","role":"user"}"#);
    put("out/m.json", r#"{"id":"../part","role":"user","time":{"created":1}}"#);
    let found = read(&folder.path().join("s/session/p/x.json"), None).expect("a transcript");
    assert_eq!((found.session_id.as_deref(), found.rows), (Some("../../out"), 0));
}

#[test]
fn texts_are_bounded_and_the_last_ten_messages_stay() {
    let rows: Vec<String> = (0..30).map(|number| user(&format!("{number} {}", "ä".repeat(3000)))).collect();
    let mut found = parsed(rows.join("\n").as_bytes());
    found.cut();
    assert_eq!((found.messages.len(), found.messages[9].text.starts_with("29 ")), (10, true));
    assert!(found.messages.iter().chain(None).all(|message| message.text.chars().count() == 2000));
    assert!(found.task.is_some_and(|task| task.starts_with("0 ")));
}

#[test]
fn a_file_that_gemini_shows_is_modified_by_tools_that_write_alone() {
    for (name, modified) in
        [("read_file", 0), ("grep_search", 0), ("my_server_tool", 0), ("write_file", 1), ("replace", 1)]
    {
        let shown =
            json!([{"id": "c", "name": name, "args": {}, "status": "success", "resultDisplay": {"filePath": "/r/a"}}]);
        let row = json!({"id": "1", "type": "gemini", "content": "x", "toolCalls": shown});
        let start = "{\"sessionId\":\"s\",\"projectHash\":\"h\",\"startTime\":\"2026-01-01T00:00:00Z\"}\n";
        let found = parsed((start.to_owned() + &row.to_string()).as_bytes());
        assert_eq!(
            (found.agent, found.files_modified.len()),
            (empirica_transcripts::model::Agent::Gemini, modified),
            "{name}"
        );
    }
}

#[test]
fn subagents_beyond_the_first_200_are_one() {
    let row = |number: usize| {
        let call = json!([{"type": "tool_use", "id": number.to_string(), "name": "Bash", "input": {"command": "ls"}}]);
        json!({"type": "assistant", "uuid": format!("u{number}"), "isSidechain": true, "message": {"content": call}})
    };
    let rows: Vec<String> = (0..1_000).map(|number| row(number).to_string()).collect();
    let found = parsed(rows.join("\n").as_bytes());
    assert_eq!((found.subagents.len(), found.subagents[0].tools[0].count), (201, 1));
    let others = &found.subagents[200];
    assert_eq!((others.name.as_deref(), &others.id, others.tools[0].count), (Some("others"), &None, 800));
}

#[test]
fn entries_are_merged_into_a_list_by_their_ids() {
    let todos = |merge: bool, status: &str, ids: std::ops::Range<usize>| {
        let entries = ids.map(|id| json!({"id": id.to_string(), "content": format!("do {id}"), "status": status}));
        let input = json!({"merge": merge, "todos": entries.collect::<Vec<_>>()});
        let call = json!([{"type": "tool_use", "name": "TodoWrite", "input": input}]);
        json!({"type": "assistant", "sessionId": "s", "message": {"content": call}}).to_string() + "\n"
    };
    let many = todos(true, "pending", 0..4_096).repeat(20);
    let rows = many + &todos(true, "in_progress", 0..4_096) + &todos(true, "completed", 10..4_096);
    let found = parsed(rows.as_bytes());
    let left: Vec<&str> = found.pending_tasks.iter().map(|task| task.text.as_str()).collect();
    assert_eq!((left.len(), left[9]), (10, "do 9"));
    assert!(found.pending_tasks.iter().all(|task| task.status == "in_progress"));
    let found = parsed((rows + &todos(false, "pending", 5..7) + &todos(true, "pending", 6..8)).as_bytes());
    assert_eq!(found.pending_tasks.len(), 3);
}

#[test]
fn gemini_rewinds_drop_rows_and_an_unknown_target_drops_none() {
    let message = |id: &str| format!(r#"{{"id":"{id}","type":"user","content":"{id}"}}"#);
    let rows = |rewind: &str| {
        format!(
            "{}\n{}\n{}\n{{\"$rewindTo\":\"{rewind}\"}}\n{}",
            message("a"),
            message("b"),
            message("c"),
            message("b")
        )
    };
    let texts = |found: Transcript| found.messages.into_iter().map(|message| message.text).collect::<Vec<_>>();
    assert_eq!(texts(parsed(rows("a").as_bytes())), ["a", "b"]);
    assert_eq!(texts(parsed(rows("zz").as_bytes())), ["a", "b", "c"]);
    let many: String = (0..1000).map(|number| message(&number.to_string()) + "\n").collect();
    let found = parsed(many.as_bytes());
    assert_eq!((found.task.as_deref(), found.messages.len()), (Some("0"), 10));
}

const NAMES: [&str; 7] = [
    "claude-code/session.jsonl",
    "codex/rollout.jsonl",
    "gemini/session.json",
    "gemini/pretty.json",
    "gemini/session.jsonl",
    "copilot/events.jsonl",
    "cursor/session.jsonl",
];

fn taken(bytes: &[u8]) {
    for root in [None, Some(Path::new("/home/dev/repo"))] {
        if let Ok(mut found) = read_from(bytes, root) {
            found.cut();
            assert!(found.size <= bytes.len() as u64);
            assert!(found.messages.len() <= 10 && found.decisions.len() <= 20);
            for tool in &found.tools {
                assert!(tool.errors <= tool.count && tool.samples.len() <= 3);
                assert!(tool.samples.iter().all(|sample| !sample.contains('\n') && sample.chars().count() <= 120));
            }
        }
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
        Just(json!("{\"command\":[\"bash\",\"-lc\",5]}")),
        Just(json!("*** Begin Patch\n*** Add File: ../x\n*** Move to:")),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-z_]{1,8}", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        taken(&bytes);
        taken(&[b"{\"type\":\"user\",\"message\":{\"content\":".as_slice(), &bytes].concat());
    }

    #[test]
    fn cut_and_changed_transcripts_never_panic(
        which in 0..NAMES.len(), cut in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
    ) {
        let mut bytes = std::fs::read(fixture(NAMES[which])).expect("a fixture");
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        taken(&bytes);
        taken(&bytes[..cut.index(bytes.len())]);
    }

    #[test]
    fn values_replaced_by_others_never_panic(
        which in 0..NAMES.len(), row in any::<prop::sample::Index>(), place in any::<prop::sample::Index>(), other in any_json(),
    ) {
        let text = std::fs::read_to_string(fixture(NAMES[which])).expect("a fixture");
        let mut lines: Vec<String> = if NAMES[which].ends_with("jsonl") { text.lines().map(str::to_owned).collect() } else { vec![text] };
        let line = row.index(lines.len());
        let mut value: Value = serde_json::from_str(&lines[line]).expect("JSON");
        let mut places = Vec::new();
        pointers(&value, String::new(), &mut places);
        *value.pointer_mut(&places[place.index(places.len())]).expect("a place") = other;
        lines[line] = value.to_string();
        taken(lines.join("\n").as_bytes());
    }
}
