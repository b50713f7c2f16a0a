//! Transcripts of each agent in their known formats, with the expected summaries.

use std::path::PathBuf;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::agents::opencode::storage;
use crate::model::{Agent, Transcript};
use crate::model::{Role, ToolSummary};
use crate::read::files::entries;
use crate::*;
use std::path::Path;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn read_fixture(name: &str) -> Transcript {
    read(&fixture(name), Some(Path::new("/home/dev/repo"))).unwrap()
}

fn counts(tools: &[ToolSummary]) -> Vec<(&str, u64, u64)> {
    tools.iter().map(|tool| (tool.category.as_str(), tool.count, tool.errors)).collect()
}

fn tokens(transcript: &Transcript) -> [u64; 4] {
    let tokens = transcript.tokens;
    [tokens.input, tokens.output, tokens.cache_read, tokens.cache_write]
}

fn texts(transcript: &Transcript, role: Role) -> Vec<&str> {
    transcript.messages.iter().filter(|message| message.role == role).map(|message| message.text.as_str()).collect()
}

fn pending(transcript: &Transcript) -> Vec<(&str, &str)> {
    transcript.pending_tasks.iter().map(|task| (task.text.as_str(), task.status.as_str())).collect()
}

fn samples<'t>(transcript: &'t Transcript, category: &str) -> &'t [String] {
    &transcript.tools.iter().find(|tool| tool.category == category).unwrap().samples
}

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

#[test]
fn cursor_is_read_without_results_and_every_edit_counts() {
    let summary = read_fixture("cursor/session.jsonl");
    assert_eq!(summary.agent, Agent::Cursor);
    assert_eq!(
        counts(&summary.tools),
        [("edit", 3, 0), ("shell", 1, 0), ("read", 1, 0), ("write", 1, 0), ("search", 1, 0)]
    );
    assert_eq!(summary.files_modified, ["Cargo.toml", "new.rs", "old.rs", "p.rs"]);
    assert_eq!((summary.task.as_deref(), summary.session_id.as_deref()), (Some("Fix the build"), Some("session")));
    assert_eq!(
        (pending(&summary), &summary.decisions[..]),
        (vec![("test", "pending")], ["Decision: pin the version.".to_owned()].as_slice())
    );
    assert_eq!((summary.started_at, summary.context_tokens, summary.messages.len()), (None, None, 3));
}

fn is_first_session(summary: &Transcript) {
    assert_eq!((summary.agent, summary.session_id.as_deref()), (Agent::OpenCode, Some("ses_1")));
    assert_eq!(counts(&summary.tools), [("shell", 1, 0), ("read", 1, 0), ("write", 1, 1), ("edit", 1, 0)]);
    assert_eq!(summary.files_modified, ["a.ts", "gen.ts"]);
    assert_eq!((tokens(summary), summary.context_tokens), ([18, 18, 111, 62], Some(15)));
    assert_eq!((pending(summary), summary.task.as_deref()), (vec![("cover b", "pending")], Some("Test it")));
    assert_eq!(texts(summary, Role::Assistant), ["I'll go with unit tests instead of a script.", "Tested."]);
    assert_eq!((summary.decisions.len(), summary.rows, summary.skipped_rows, summary.size > 1000), (1, 19, 0, true));
    assert_eq!(summary.started_at.as_deref(), Some("2026-03-04T04:53:20Z"));
    let [agent] = summary.subagents.as_slice() else { panic!("{:?}", summary.subagents) };
    assert_eq!(
        (agent.name.as_deref(), agent.id.as_deref(), &agent.files_modified[..]),
        (Some("Helper"), Some("ses_2"), ["helper.ts".to_owned()].as_slice())
    );
}

#[test]
fn open_code_is_read_from_its_older_storage() {
    for name in ["opencode/storage", "opencode", "opencode/storage/session/p1/ses_1.json"] {
        is_first_session(&read_fixture(name));
        assert_eq!(detect(&fixture(name)), Some(Agent::OpenCode));
    }
    let newest = read(&fixture("opencode/storage"), None).unwrap();
    assert_eq!((newest.session_id.as_deref(), newest.rows), (Some("ses_3"), 0));
    let error = read(&fixture("opencode/storage"), Some(Path::new("/nowhere"))).unwrap_err();
    assert!(matches!(error, Error::NoSession { .. }), "{error}");
}

/// OpenCode's database with the sessions of the fixture.
fn database(folder: &Path, journal: &str) -> PathBuf {
    let path = folder.join("my %41?#.db");
    let db = Connection::open(&path).unwrap();
    db.execute_batch(&format!("PRAGMA journal_mode={journal};
        CREATE TABLE project(id TEXT PRIMARY KEY, worktree TEXT);
        CREATE TABLE session(id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT, title TEXT, version TEXT, time_created INTEGER, time_updated INTEGER);
        CREATE TABLE message(id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
        CREATE TABLE part(id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);")).unwrap();
    let storage = fixture("opencode/storage");
    for (_, info) in storage::list(&storage) {
        let values = (&info.id, &info.parent, &info.folder, &info.title, info.updated as i64);
        db.execute("INSERT INTO session VALUES(?1, 'p', ?2, ?3, ?4, '1', ?5, ?5)", values).unwrap();
        for file in entries(&storage.join("message").join(&info.id)) {
            let mut data: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
            let (at, id) = (data["time"]["created"].as_i64(), data.as_object_mut().unwrap().remove("id").unwrap());
            db.execute("INSERT INTO message VALUES(?1, ?2, ?3, ?3, ?4)", (id.as_str(), &info.id, at, data.to_string()))
                .unwrap();
            for (number, part) in entries(&storage.join("part").join(id.as_str().unwrap())).into_iter().enumerate() {
                let name = format!("prt_{}_{number:02}", id.as_str().unwrap());
                let data = std::fs::read_to_string(part).unwrap();
                db.execute("INSERT INTO part VALUES(?1, ?2, ?3, 0, 0, ?4)", (name, id.as_str(), &info.id, data))
                    .unwrap();
            }
        }
    }
    path
}

#[test]
fn open_code_is_read_from_its_database_and_nothing_is_left_beside_it() {
    for journal in ["WAL", "DELETE"] {
        let folder = tempfile::tempdir().unwrap();
        let path = database(folder.path(), journal);
        let before = (entries(folder.path()), std::fs::read(&path).unwrap());
        is_first_session(&read(&path, Some(Path::new("/home/dev/repo"))).unwrap());
        assert_eq!(detect(&path), Some(Agent::OpenCode));
        assert_eq!(before, (entries(folder.path()), std::fs::read(&path).unwrap()), "{journal}");
    }
}

#[test]
fn rows_in_the_wal_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = database(folder.path(), "WAL");
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("PRAGMA wal_autocheckpoint=0; UPDATE session SET title='New' WHERE id='ses_2'").unwrap();
    let summary = read(&path, Some(Path::new("/home/dev/repo"))).unwrap();
    assert_eq!(summary.subagents[0].name.as_deref(), Some("New"));
}

#[test]
fn a_damaged_or_foreign_database_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE a(b)").unwrap();
    assert!(read(&path, None).unwrap_err().to_string().contains("as OpenCode's"));
    let whole = std::fs::read(database(folder.path(), "DELETE")).unwrap();
    for kept in [100, 4096, whole.len() / 2] {
        std::fs::write(&path, &whole[..kept]).unwrap();
        assert!(read(&path, None).is_err(), "{kept}");
    }
    let mut torn = whole;
    let from = torn.len() / 3;
    torn[from..].iter_mut().step_by(7).for_each(|byte| *byte ^= 0x55);
    std::fs::write(&path, torn).unwrap();
    let _ = read(&path, None);
}

#[test]
fn the_agent_is_detected_by_content_and_not_by_name() {
    let folder = tempfile::tempdir().unwrap();
    for (name, agent) in [
        ("claude-code/session.jsonl", Agent::ClaudeCode),
        ("codex/rollout.jsonl", Agent::Codex),
        ("gemini/session.json", Agent::Gemini),
        ("gemini/pretty.json", Agent::Gemini),
        ("copilot/events.jsonl", Agent::Copilot),
        ("cursor/session.jsonl", Agent::Cursor),
    ] {
        let path = folder.path().join("x.json");
        std::fs::copy(fixture(name), &path).unwrap();
        assert_eq!((detect(&path), read(&path, None).unwrap().agent), (Some(agent), agent), "{name}");
        let summary = read_from(std::fs::read(&path).unwrap().as_slice(), None).unwrap();
        assert_eq!(summary.tools, read(&path, None).unwrap().tools);
    }
    assert_eq!((detect(folder.path()), detect(Path::new("/nowhere"))), (Some(Agent::Cursor), None));
}

#[test]
fn unknown_formats_are_refused() {
    for text in ["", "\n\n", "hello", "{}\n{\"a\":1}", "[1,2]", "{\n \"name\": \"x\"\n}", "\u{feff}"] {
        let error = read_from(text.as_bytes(), None).unwrap_err();
        assert!(matches!(error, Error::UnknownAgent { .. }), "{text}");
    }
    let utf16: Vec<u8> = "{\"type\":\"user\"}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let marked: Vec<u8> = [0xff, 0xfe].into_iter().chain(utf16.iter().copied()).collect();
    for bytes in [utf16, marked] {
        let error = read_from(bytes.as_slice(), None).unwrap_err();
        assert!(matches!(error, Error::UnknownAgent { reason, .. } if reason.contains("UTF-16")), "{error}");
    }
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(read(&folder.path().join("x"), None), Err(Error::Missing { .. })));
    assert!(matches!(read(folder.path(), None), Err(Error::EmptyFolder { .. })));
}
