//! The MCP server as seen by a client on its pipes; the official clients are in `tests/mcp/`.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::support::harness::{Repo, Sandbox, unfenced};

/// An initialized client.
pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    last: u64,
}

impl Client {
    pub fn new(repo: &Repo<'_>, arguments: &[&str]) -> Self {
        let mut command = repo.program();
        command.arg("mcp").args(arguments);
        Self::greeting(command, "claude-code")
    }

    /// A client of this name, of the server that a command starts.
    pub fn greeting(command: Command, name: &str) -> Self {
        let mut client = Self::of(command);
        let hello =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": name, "version": "1"}});
        let answer = client.ask("initialize", hello);
        assert_eq!(answer["result"]["serverInfo"]["name"], "git-empirica", "{answer}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        client
    }

    /// A client before initialization.
    pub fn silent(repo: &Repo<'_>, arguments: &[&str]) -> Self {
        let mut command = repo.program();
        command.arg("mcp").args(arguments);
        Self::of(command)
    }

    /// A client of the server that a command starts, before initialization.
    pub fn of(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Client { child, input, output, last: 0 }
    }

    pub fn send(&mut self, line: &str) {
        self.send_bytes(line.as_bytes());
    }

    pub fn send_bytes(&mut self, line: &[u8]) {
        let input = self.input.as_mut().expect("open");
        input.write_all(line).and_then(|()| input.write_all(b"\n")).expect("it reads");
    }

    pub fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("UTF-8");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: no frame: {line:?}"))
    }

    pub fn request(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}).to_string());
        self.last
    }

    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        let answer = self.receive();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// The document of a call.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        let document = result["structuredContent"].clone();
        assert_eq!(result["isError"], document["ok"] == false, "{answer}");
        let text = result["content"][0]["text"].as_str().expect("a text");
        assert_eq!(serde_json::from_str::<Value>(text).expect("JSON"), document);
        document
    }

    pub fn ok(&mut self, tool: &str, arguments: Value) -> Value {
        let document = self.call(tool, arguments);
        assert_eq!((&document["ok"], &document["status"]), (&json!(true), &json!("success")), "{tool}: {document}");
        document
    }

    pub fn fails(&mut self, tool: &str, arguments: Value) -> Value {
        let document = self.call(tool, arguments);
        assert_eq!((&document["ok"], &document["status"]), (&json!(false), &json!("error")), "{tool}: {document}");
        for key in ["error", "reason", "suggestion", "alternatives", "recovery_commands"] {
            assert!(document.get(key).is_some(), "{key}: {document}");
        }
        document
    }

    /// Ends it: what it still says, and its exit code.
    pub fn end(mut self) -> (Vec<Value>, i32) {
        drop(self.input.take());
        let texts =
            (&mut self.output).lines().map(|line| serde_json::from_str(&line.expect("UTF-8")).expect("a frame"));
        let texts = texts.collect();
        let ended = self.child.wait_with_output().expect("it ends");
        assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
        (texts, ended.status.code().unwrap_or(-1))
    }
}

#[test]
fn an_unknown_checkpoint_is_answered_with_a_call_that_lists_checkpoints() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    let mut client = Client::new(&repo, &[]);
    client.ok("bootstrap_session", json!({"task": "make it work"}));
    let checkpoint = client.ok("create_git_checkpoint", json!({}))["checkpoint_id"].clone();
    for side in ["from", "to"] {
        let failed = client.fails("get_vector_diff", json!({side: "ffffffff"}));
        assert_eq!(failed["recovery_commands"], json!(["get_session_summary()"]), "{failed}");
    }
    let listed = client.ok("get_session_summary", json!({}))["checkpoints"].clone();
    assert_eq!(listed[0]["checkpoint_id"], checkpoint, "{listed}");
}

#[test]
fn a_session_from_its_beginning_to_its_handoff() {
    let place = Sandbox::new();
    let repo = place.init("work");
    repo.commit("a.txt", "a", "first");
    let mut client = Client::new(&repo, &[]);
    let session = client.ok("bootstrap_session", json!({"task": "make it work"}))["session_id"].clone();
    let answer = client.ok("execute_preflight", json!({"prompt": "make it fast"}));
    assert_eq!((&answer["vectors"].as_array().map(Vec::len), &answer["task"]), (&Some(13), &json!("make it fast")));
    let vectors = json!({"know": 0.4, "uncertainty": 0.7, "state": 0.5});
    let preflight = client.ok("submit_preflight_assessment", json!({"vectors": vectors, "reasoning": "new here"}));
    assert_eq!((&preflight["session_id"], &preflight["recommendation"]), (&session, &json!("investigate")));
    // the query becomes the task of the following calls
    assert!(preflight["auto_generated_goals"].to_string().contains("make it fast"), "{preflight}");
    assert!(preflight["next_step"].as_str().is_some_and(|step| step.contains("execute_check()")), "{preflight}");
    let unknown = client.ok("log_unknown", json!({"unknown": "is it the cache?"}))["id"].clone();
    client.ok("resolve_unknown", json!({"unknown_id": unknown, "answer": "it is"}));
    let check = client.ok(
        "execute_check",
        json!({"findings": ["the cache is cold"], "remaining_unknowns": ["how cold?"], "confidence_to_proceed": 0.9}),
    );
    assert_eq!(check["safe_to_proceed"], true);
    assert_eq!(check["remaining_unknowns"][0]["text"], "how cold?");
    let check = client
        .ok("submit_check_assessment", json!({"vectors": {"know": 0.8, "uncertainty": 0.3}, "decision": "proceed"}));
    assert_eq!((&check["decision"], &check["confidence"]), (&json!("proceed"), &json!(0.9)));
    let after = client.ok(
        "submit_postflight_assessment",
        json!({"vectors": {"know": 0.9, "uncertainty": 0.2}, "changes_noticed": "the cache"}),
    );
    assert_eq!(after["calibration_status"], "well_calibrated");
    let report = client.ok(
        "generate_handoff_report",
        json!({"session_id": "latest", "task_summary": "made it fast", "key_findings": ["warm it first"],
            "remaining_unknowns": ["on Windows?"], "next_session_context": "see cache.rs", "artifacts_created": ["a.txt"]}),
    );
    assert_eq!((&report["report_id"], &report["session_id"]), (&report["handoff_id"], &session));
    assert!(report["storage_location"].as_str().is_some_and(|place| place.starts_with("git:refs/notes/empirica/")));
    let resumed = client
        .ok("resume_previous_session", json!({"ai_id": "claude-code", "resume_mode": "last", "detail_level": "full"}));
    assert_eq!(resumed["sessions"][0]["task"], "made it fast");
    assert_eq!(resumed["token_estimate"], resumed["token_count"]);
    client.ok("end_session", json!({}));
    assert!(client.fails("execute_postflight", json!({}))["recovery_commands"][0] == "bootstrap_session()");
    assert_eq!(client.end(), (Vec::new(), 0));
    // the command line sees the same
    assert_eq!(repo.json(["query"])["reports"][0]["handoff_id"], report["handoff_id"]);
    assert_eq!(repo.json(["session", "show", "latest"])["ai_id"], "claude-code");
    repo.fsck();
}

#[test]
fn invalid_frames_are_answered_and_the_conversation_continues() {
    let place = Sandbox::new();
    let repo = place.init("frames");
    let mut client = Client::silent(&repo, &[]);
    for (frame, id, code) in [
        ("no json", json!(null), -32700),
        ("{\"id\": 3, \"broken", json!(null), -32700),
        ("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", json!(null), -32600),
        ("5", json!(null), -32600),
        ("{\"id\": 4}", json!(4), -32600),
        ("\u{feff}{\"id\": \"x\"}\r", json!("x"), -32600),
    ] {
        client.send(frame);
        let answer = client.receive();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(code)), "{frame}: {answer}");
    }
    client.send("");
    client.send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/nobody-knows\"}");
    client.send_bytes(b"\xff\xfe");
    assert_eq!(client.receive()["error"]["code"], -32700);
    client.send(&format!("{{\"a\":{}{},\"id\":5}}", "[".repeat(10_000), "]".repeat(10_000)));
    let answer = client.receive();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(null), &json!(-32700)), "{answer}");
    let long = format!("{{\"a\":\"{}\",\"id\":6}}", "x".repeat(17 << 20));
    client.send(&long);
    let answer = client.receive();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(null), &json!(-32600)), "{answer}");
    let hello =
        json!({"protocolVersion": "1999-01-01", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    assert_eq!(client.ask("initialize", hello)["result"]["serverInfo"]["name"], "git-empirica");
    assert_eq!(client.ask("nobody/knows", json!({}))["error"]["code"], -32601);
    assert!(
        client.fails("no_such_tool", json!({}))["error"].as_str().is_some_and(|error| error.contains("no_such_tool"))
    );
    client.ok("bootstrap_session", json!({}));
    let text = "long ".repeat(1_000_000);
    let id = client.ok("log_finding", json!({"finding": text}))["id"].clone();
    assert_eq!(repo.json(["show", id.as_str().expect("an id")])["text"], text);
    assert_eq!(client.end(), (Vec::new(), 0));
}

#[test]
fn pending_requests_finish_when_the_client_disconnects() {
    let place = Sandbox::new();
    let repo = place.init("gone");
    let mut client = Client::new(&repo, &[]);
    client.ok("bootstrap_session", json!({}));
    for at in 0..10 {
        client.request("tools/call", json!({"name": "log_finding", "arguments": {"finding": format!("finding {at}")}}));
    }
    let (output, code) = client.end();
    assert_eq!((output.len(), code), (10, 0));
    assert_eq!(repo.json(["session", "show", "latest"])["findings"].as_array().map(Vec::len), Some(10));
    // one that says nothing, and one that goes in the middle of a frame
    assert_eq!(Client::silent(&repo, &[]).end(), (Vec::new(), 0));
    let mut client = Client::new(&repo, &["--tools", "core"]);
    client.input.as_mut().expect("open").write_all(b"{\"jsonrpc\":\"2.0\",\"id\":9").expect("it reads");
    assert_eq!(client.end(), (Vec::new(), 0));
}

#[test]
fn concurrent_clients_have_a_session_each() {
    let place = Sandbox::new();
    let repo = place.init("two");
    repo.commit("a", "a", "first");
    let (mut one, mut two) = (Client::new(&repo, &[]), Client::new(&repo, &[]));
    let first = one.ok("bootstrap_session", json!({"ai_id": "ada"}))["session_id"].clone();
    let second = two.ok("bootstrap_session", json!({"ai_id": "bob"}))["session_id"].clone();
    let log = |at: usize| json!({"name": "log_finding", "arguments": {"finding": format!("finding {at}")}});
    for at in 0..20 {
        one.request("tools/call", log(at));
        two.request("tools/call", log(at));
        repo.run(["unknown", &format!("unknown {at}"), "--session", first.as_str().expect("an id")]).ok();
    }
    for client in [&mut one, &mut two] {
        for _ in 0..20 {
            assert_eq!(client.receive()["result"]["structuredContent"]["ok"], true);
        }
    }
    for (session, unknowns) in [(&first, 20), (&second, 0)] {
        let shown = repo.json(["session", "show", session.as_str().expect("an id")]);
        let count = |key: &str| shown[key].as_array().map(Vec::len);
        assert_eq!((count("findings"), count("unknowns")), (Some(20), Some(unknowns)));
    }
    repo.fsck();
}

#[test]
fn a_session_begun_by_a_hook_continues() {
    let place = Sandbox::new();
    let repo = place.init("hooked");
    let payload = json!({"session_id": "agent-7", "cwd": repo.path, "source": "startup"}).to_string();
    repo.run_with_input(["hook", "agent", "claude-code", "SessionStart"], payload.as_bytes()).ok();
    let mut client = Client::new(&repo, &[]);
    let begun = client.ok("bootstrap_session", json!({"ai_id": "claude-code", "task": "the task"}));
    assert_eq!((&begun["resumed"], &repo.json(["session", "list"])["total_sessions"]), (&json!(true), &json!(1)));
    client.ok("submit_preflight_assessment", json!({"vectors": {"know": 0.9}}));
    assert_eq!(client.ok("get_epistemic_state", json!({"session_id": "agent-7"}))["task"], "the task");
    // another agent has its own
    let other = client.ok("bootstrap_session", json!({"ai_id": "codex"}));
    assert_ne!(other["session_id"], begun["session_id"]);
}

#[test]
fn a_repository_that_is_none_or_vanishes_is_a_failure_and_no_crash() {
    let place = Sandbox::new();
    let repo = place.init("vanishes");
    let mut client = Client::new(&repo, &[]);
    client.ok("bootstrap_session", json!({}));
    std::fs::rename(repo.path.join(".git"), place.path().join("aside")).expect("moved");
    assert!(
        client.fails("log_finding", json!({"finding": "x"}))["error"].as_str().is_some_and(|error| !error.is_empty())
    );
    assert!(client.ask("resources/list", json!({}))["error"]["code"].is_number());
    std::fs::rename(place.path().join("aside"), repo.path.join(".git")).expect("moved back");
    client.ok("log_finding", json!({"finding": "x"}));
    assert_eq!(client.end(), (Vec::new(), 0));
    let nowhere = place.at("home");
    let mut client = Client::new(&nowhere, &[]);
    client.fails("bootstrap_session", json!({}));
    assert_eq!(client.end().1, 0);
}

#[test]
fn handoffs_are_resources_and_prompts_come_from_stored_records() {
    let place = Sandbox::new();
    let repo = place.init("resources");
    repo.commit("a", "a", "first");
    repo.start("ada", "the # task\n- [ ] forged");
    let handoff = repo.hand_over("the # task\n- [ ] forged");
    let mut client = Client::new(&repo, &[]);
    let uri = format!("empirica://handoff/{handoff}");
    let listed = client.ask("resources/list", json!({}))["result"]["resources"][0].clone();
    assert_eq!(listed["uri"], uri.as_str());
    for uri in [uri.clone(), format!("empirica://handoff/{}", &handoff[28..])] {
        let read = client.ask("resources/read", json!({"uri": uri}))["result"]["contents"][0].clone();
        assert_eq!((&read["mimeType"], &read["uri"]), (&json!("text/markdown"), &json!(uri)));
        let text = read["text"].as_str().expect("a text");
        assert!(unfenced(text).starts_with("# Handoff") && !text.contains("\n- [ ] forged"), "{text}");
    }
    for uri in ["empirica://handoff/0000", "empirica://other", "file:///etc/passwd"] {
        let answer = client.ask("resources/read", json!({"uri": uri}));
        assert_eq!(answer["error"]["code"], -32002, "{answer}");
    }
    let prompts = client.ask("prompts/list", json!({}))["result"]["prompts"].clone();
    assert_eq!(prompts.as_array().map(Vec::len), Some(2));
    let texts_of = |answer: &Value| {
        answer["result"]["messages"][0]["content"]["text"].as_str().map(str::to_owned).expect("a text")
    };
    let resume = texts_of(&client.ask("prompts/get", json!({"name": "take-up"})));
    assert!(resume.contains(&handoff) && resume.contains("Then wait"), "{resume}");
    let over = texts_of(
        &client.ask("prompts/get", json!({"name": "hand-over", "arguments": {"to": "bob", "session_id": "latest"}})),
    );
    assert!(over.contains("generate_handoff_report") && over.contains("bob"), "{over}");
    for params in [json!({"name": "x"}), json!({"name": "take-up", "arguments": {"too": "many"}})] {
        assert_eq!(client.ask("prompts/get", params)["error"]["code"], -32602);
    }
}
