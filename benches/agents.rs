//! Latencies for agents: the MCP server's first answer, a tool call, leftovers of calls, and frequent hooks.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use super::common::{Bench, median, timed};

/// A transcript that a hook collects while the agent waits, and one it collects beside the agent, in bytes.
const TRANSCRIPTS: [usize; 2] = [2_000_000, 24_000_000];
const SESSION: &str = "0be00000-0000-4000-8000-000000000001";

struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    id: u64,
}

impl Client {
    fn new(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let (input, output) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        let mut client = Client { child, input, output: BufReader::new(output), id: 0 };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}});
        client.ask("initialize", hello);
        client
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.id += 1;
        let frame = json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params});
        writeln!(self.input, "{frame}").expect("it reads");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a frame");
        serde_json::from_str(&line).expect("JSON")
    }

    fn call(&mut self, tool: &str, arguments: Value) {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        assert_eq!(answer["result"]["structuredContent"]["ok"], true, "{answer}");
    }

    /// Megabytes it has for itself, and how many files it has open.
    fn held(&self) -> (f64, usize) {
        let of = |file: &str| format!("/proc/{}/{file}", self.child.id());
        let status = std::fs::read_to_string(of("status")).expect("its state");
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("its memory");
        let kilobytes: f64 = line.split_whitespace().next().and_then(|n| n.parse().ok()).expect("a number");
        (kilobytes * 1024.0 / 1e6, std::fs::read_dir(of("fd")).expect("its files").count())
    }

    fn end(self) {
        let Client { mut child, input, .. } = self;
        drop(input);
        assert!(child.wait().expect("it ends").success());
    }
}

fn ms(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1000.0
}

/// A hook as an agent runs it.
fn hook(bench: &Bench, repo: &Path, event: &str, more: Value) -> Command {
    let mut payload = json!({"session_id": SESSION, "cwd": repo, "hook_event_name": event});
    if let (Value::Object(payload), Value::Object(more)) = (&mut payload, more) {
        payload.extend(more);
    }
    let file = bench.dir.path().join(format!("{event}.json"));
    std::fs::write(&file, payload.to_string()).expect("the payload");
    let mut command = bench.ours(repo, &["hook", "agent", "claude-code", event]);
    command.stdin(std::fs::File::open(&file).expect("the payload"));
    command
}

/// In a repository with many notes.
pub fn measured(bench: &mut Bench, repo: &Path) {
    let mut ready = Vec::new();
    for _ in 0..bench.runs + 3 {
        let start = Instant::now();
        let client = Client::new(bench.ours(repo, &["mcp"]));
        ready.push(ms(start));
        client.end();
    }
    bench.row("`mcp` from its start to the answer of `initialize`, beside 20 ms", median(&mut ready[3..]), 20.0, 1.0);

    let mut client = Client::new(bench.ours(repo, &["mcp"]));
    client.call("bootstrap_session", json!({"ai_id": "bench-mcp"}));
    let log = |client: &mut Client, at: usize| {
        client.call("log_finding", json!({"finding": format!("finding {at}: the cache is keyed by user and nonce")}));
    };
    (0..100).for_each(|at| log(&mut client, at));
    let (before, files) = client.held();
    let (mut called, mut whole, mut started) = (Vec::new(), Vec::new(), Vec::new());
    for at in 0..1000 {
        let start = Instant::now();
        log(&mut client, at);
        called.push(ms(start));
        if at % (1000 / bench.runs.min(1000)) == 0 {
            whole.push(timed(
                bench.ours(repo, &["finding", "the cache is keyed by user and nonce", "--ai", "bench-mcp"]),
            ));
            started.push(timed(bench.ours(repo, &["--version"])));
        }
    }
    let (after, files_after) = client.held();
    client.end();
    let inside = median(&mut whole) - median(&mut started);
    let more = median(&mut called) - inside;
    bench.row("`log_finding`: ms more than `finding` without the start of a process, beside 5 ms", more, 5.0, 1.0);
    bench.row("`mcp` after 1,000 calls more: MB more, beside 4 MB", after - before, 4.0, 1.0);
    bench.row("the same: files open beside those before", files_after as f64, files as f64, 1.0);

    timed(hook(bench, repo, "SessionStart", json!({"source": "startup"})));
    timed(bench.ours(repo, &["preflight", "-v", "know=0.5,uncertainty=0.5", "--session", SESSION]));
    let mut rows = vec![
        ("a prompt".to_owned(), "UserPromptSubmit", json!({"prompt": "go on"})),
        ("a tool that failed".to_owned(), "PostToolUseFailure", json!({"tool_name": "Bash", "error": "Exit code 1"})),
    ];
    for bytes in TRANSCRIPTS {
        let path = bench.dir.path().join(format!("stop-{bytes}.jsonl"));
        super::transcript::write_bytes(&path, bytes, SESSION, repo);
        rows.push((
            format!("a stop, {} MB of transcript", bytes / 1_000_000),
            "Stop",
            json!({"transcript_path": path}),
        ));
    }
    for (what, event, more) in rows {
        let mut times: Vec<f64> = (0..bench.runs + 3).map(|_| timed(hook(bench, repo, event, more.clone()))).collect();
        // background work of the hooks is not waited for
        bench.row(&format!("hook of an agent: {what}, beside 50 ms"), median(&mut times[3..]), 50.0, 1.0);
    }
}
