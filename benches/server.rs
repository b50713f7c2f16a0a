//! Latencies of the MCP server: its first answer, a tool call, and leftovers of calls.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use super::common::{Bench, median, timed};

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
    (1000..1100).for_each(|at| log(&mut client, at));
    let (before, files) = client.held();
    let (mut called, mut whole, mut started) = (Vec::new(), Vec::new(), Vec::new());
    for at in 0..1000 {
        let start = Instant::now();
        log(&mut client, at);
        called.push(ms(start));
        if at % (1000 / bench.runs.min(1000)) == 0 {
            let mut finding = bench.finding(repo);
            finding.args(["--ai", "bench-mcp"]);
            whole.push(timed(finding));
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
}
