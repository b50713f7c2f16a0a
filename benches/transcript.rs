//! Reading a transcript of 20,000 rows and some 20 MB, in the shape of Claude Code's. `EMPIRICA_BENCH_TRANSCRIPT` names a file to
//! write it to and leave it in; `EMPIRICA_BENCH_RUNS` sets the number of runs (9), of which the median counts.
#![allow(clippy::disallowed_methods, clippy::print_stdout, missing_docs)]

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use git_empirica::wire::transcript;
use serde_json::{Value, json};

const ROWS: usize = 20_000;
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
        "cwd": "/work/repo", "sessionId": "5e555555-0000-4000-8000-000000000000", "version": "2.0.1", "gitBranch": "main", "type": kind,
        "message": message, "uuid": format!("{number:08x}-0000-4000-8000-000000000000"),
        "timestamp": format!("2026-03-01T{:02}:{:02}:{:02}.000Z", number / 3600 % 24, number / 60 % 60, number % 60),
    })
}

/// A call every four rows: thoughts, words, the call, its result.
fn nth(number: usize) -> Value {
    let turn = number / 4;
    let file = format!("/work/repo/src/file{}.rs", turn % 300);
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

fn write(path: &Path) -> std::io::Result<()> {
    let mut out = BufWriter::new(std::fs::File::create(path)?);
    (0..ROWS).try_for_each(|number| writeln!(out, "{}", nth(number)))?;
    out.flush()
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let given = std::env::var_os("EMPIRICA_BENCH_TRANSCRIPT").map(PathBuf::from);
    let path = given.unwrap_or_else(|| folder.path().join("transcript.jsonl"));
    write(&path).expect("the transcript");
    let runs = std::env::var("EMPIRICA_BENCH_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(9_usize).max(1);
    let mut times: Vec<_> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            let read = transcript::read(&path, Some(Path::new("/work/repo"))).expect("a transcript");
            assert_eq!((read.rows, read.skipped_rows), (ROWS as u64, 0));
            start.elapsed()
        })
        .collect();
    times.sort();
    let size = std::fs::metadata(&path).expect("the transcript").len();
    println!("{ROWS} rows, {:.1} MB: {:.0} ms", size as f64 / 1e6, times[runs / 2].as_secs_f64() * 1e3);
}
