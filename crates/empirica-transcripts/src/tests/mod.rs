//! Transcripts of each agent in their known formats, with the expected summaries: what is common to all, and Cursor's.

mod claude;
mod codex;
mod copilot;
mod gemini;
mod opencode;

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::model::{Agent, Transcript};
use crate::model::{Role, ToolSummary};
use crate::*;

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

/// Rows of JSON.
fn rows(rows: &[Value]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

/// Writes files below a folder, by their paths there.
fn write(folder: &Path, files: &[(&str, String)]) {
    for (path, text) in files {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
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
