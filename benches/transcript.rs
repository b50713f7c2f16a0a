//! Transcripts in the shape of Claude Code's.

use std::path::Path;

use serde_json::{Value, json};

const WORDS: &[&str] = &["the", "parser", "reads", "a \"row\"", "and", "keeps\n", "what", "it", "instead of", "all"];

/// A text of that many words, another for each seed.
fn text(seed: usize, words: usize) -> String {
    let mut state = seed as u64 + 1;
    let mut out = String::new();
    for _ in 0..words {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        out.push_str(WORDS[(state >> 33) as usize % WORDS.len()]);
        out.push(' ');
    }
    out
}

fn row(number: usize, kind: &str, message: Value) -> Value {
    json!({
        "parentUuid": format!("{:08x}-0000-4000-8000-000000000000", number.wrapping_sub(1)), "isSidechain": false, "userType": "external",
        "cwd": "/home/dev/repo", "sessionId": "5e555555-0000-4000-8000-000000000000", "version": "2.0.1", "gitBranch": "main", "type": kind,
        "message": message, "uuid": format!("{number:08x}-0000-4000-8000-000000000000"),
        "timestamp": format!("2026-03-01T{:02}:{:02}:{:02}.000Z", number / 3600 % 24, number / 60 % 60, number % 60),
    })
}

/// A call every four rows: thoughts, words, the call, its result.
fn nth(number: usize) -> Value {
    let turn = number / 4;
    let file = format!("/home/dev/repo/src/file{}.rs", turn % 300);
    let block = match number % 4 {
        0 => json!({"type": "thinking", "thinking": text(number, 50), "signature": "x".repeat(200)}),
        1 => json!({"type": "text", "text": text(number, 40)}),
        2 => {
            let (name, input) = match turn % 4 {
                0 => ("Read", json!({"file_path": file})),
                1 => ("Edit", json!({"file_path": file, "old_string": text(number, 60), "new_string": text(turn, 60)})),
                2 => ("Bash", json!({"command": format!("cargo test {turn}")})),
                _ => ("Grep", json!({"pattern": format!("fn {turn}")})),
            };
            json!({"type": "tool_use", "id": format!("toolu_{turn}"), "name": name, "input": input})
        }
        _ => {
            let result = json!({"type": "tool_result", "tool_use_id": format!("toolu_{turn}"), "content": text(number, 170), "is_error": turn.is_multiple_of(9)});
            let mut row = row(number, "user", json!({"role": "user", "content": [result]}));
            row["toolUseResult"] = json!({"stdout": text(number, 110), "stderr": ""});
            return row;
        }
    };
    let usage = json!({"input_tokens": turn % 7, "output_tokens": 100, "cache_creation_input_tokens": 500, "cache_read_input_tokens": 60_000});
    let message = json!({"id": format!("msg_{turn}"), "type": "message", "role": "assistant", "model": "m", "content": [block], "usage": usage});
    row(number, "assistant", message)
}

/// A transcript of that size and session, of work in a folder.
pub fn write(path: &Path, bytes: usize, session: &str, folder: &Path) {
    let mut out = String::new();
    for number in 0.. {
        let mut row = nth(number);
        (row["sessionId"], row["cwd"]) = (json!(session), json!(folder));
        out.push_str(&format!("{row}\n"));
        if out.len() >= bytes {
            break;
        }
    }
    std::fs::write(path, out).expect("the transcript");
}
