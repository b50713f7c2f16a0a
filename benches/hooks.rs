//! Hooks of an agent, as it waits for them: the events of whole sessions.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::common::{Bench, run, timed};
use super::transcript;

/// Milliseconds that a hook may cost an agent at the 95th percentile.
const BOUND: f64 = 30.0;
/// A file of which something is known.
const READ: &str = "read.rs";
/// A transcript that a hook collects while the agent waits, in bytes.
const WAITED_FOR: usize = 500_000;
/// One that it collects beside the agent.
const BESIDE: usize = 24_000_000;
/// How long a background run is left alone: it would disturb the next hook.
const BESIDE_IT: Duration = Duration::from_millis(500);

fn hook(bench: &Bench, repo: &Path, session: &str, event: &str, more: &Value) -> Command {
    let mut payload = json!({"session_id": session, "cwd": repo, "hook_event_name": event});
    if let (Value::Object(payload), Value::Object(more)) = (&mut payload, more) {
        payload.extend(more.clone());
    }
    let file = bench.dir.path().join("payload.json");
    std::fs::write(&file, payload.to_string()).expect("the payload");
    let mut command = bench.ours(repo, &["hook", "agent", "claude-code", event]);
    command.stdin(std::fs::File::open(&file).expect("the payload"));
    command
}

/// What 95 of 100 do not exceed.
pub fn p95(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[(times.len() * 95).div_ceil(100) - 1]
}

/// In a repository with many records; `size` names it.
pub fn measured(bench: &mut Bench, repo: &Path, size: &str) {
    let [small, large] = ["small", "large"].map(|name| bench.dir.path().join(format!("{name}.jsonl")));
    std::fs::write(repo.join(READ), "one\ntwo\n").expect("a file");
    for number in 0..20 {
        let text = format!("lock number {number}");
        run(bench.ours(repo, &["deadend", &text, "--why", "it waits", "--at", &format!("{READ}:1"), "--ai", "other"]));
    }
    let read = json!({"tool_name": "Read", "tool_input": {"file_path": repo.join(READ)}});
    let events = [
        ("a session starts", "SessionStart", json!({"source": "startup"})),
        ("a prompt", "UserPromptSubmit", json!({"prompt": "go on"})),
        ("a tool failed", "PostToolUseFailure", json!({"tool_name": "Bash", "error": "Exit code 1"})),
        ("a file is read", "PostToolUse", read),
        ("before a compaction", "PreCompact", json!({"trigger": "auto"})),
        ("after it", "SessionStart", json!({"source": "compact"})),
        ("a turn ends, 0.5 MB of transcript", "Stop", json!({"transcript_path": small})),
        ("the session ends", "SessionEnd", json!({"transcript_path": small, "reason": "exit"})),
    ];
    let mut times = vec![Vec::new(); events.len()];
    for turn in 0..bench.runs + 3 {
        let session = format!("0be00000-0000-4000-8000-{turn:012x}");
        run(bench.git(repo, &["commit", "-q", "--allow-empty", "-m", "work"]));
        transcript::write(&small, WAITED_FOR, &session, repo);
        for ((_, event, more), times) in events.iter().zip(&mut times) {
            if *event == "SessionEnd" {
                // the agent's last row
                let row = json!({"type": "last-prompt", "lastPrompt": "go on", "sessionId": session});
                let mut file = std::fs::OpenOptions::new().append(true).open(&small).expect("the transcript");
                writeln!(file, "{row}").expect("a row");
            }
            let took = timed(hook(bench, repo, &session, event, more));
            if turn >= 3 {
                times.push(took);
            }
            // a compaction, or another start, takes longer than what these leave to the background
            if matches!(*event, "PreCompact" | "SessionEnd") {
                std::thread::sleep(BESIDE_IT);
            }
            if *event == "UserPromptSubmit" {
                run(bench.ours(repo, &["preflight", "-v", "know=0.5,uncertainty=0.5", "--session", &session]));
            }
        }
    }
    let whole = json!({"transcript_path": large});
    let mut beside = Vec::new();
    for turn in 0..bench.runs.min(20) {
        let session = format!("0be00000-0000-4000-8001-{turn:012x}");
        transcript::write(&large, BESIDE, &session, repo);
        run(hook(bench, repo, &session, "SessionStart", &json!({"source": "startup"})));
        beside.push(timed(hook(bench, repo, &session, "Stop", &whole)));
        std::thread::sleep(BESIDE_IT);
    }
    let mut rows: Vec<(&str, Vec<f64>)> = events.iter().map(|(what, ..)| *what).zip(times).collect();
    rows.push(("a turn ends, 24 MB of transcript", beside));
    for (what, mut times) in rows {
        bench.row(&format!("hook, {size}: {what}: p95 beside {BOUND} ms"), p95(&mut times), BOUND, 1.0);
    }
}
