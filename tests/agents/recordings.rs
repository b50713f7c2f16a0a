//! Recordings of the real agents, made by `tests/agents/rig/run --record`, are replayed: what each sent gives the facts that its model served.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::harness::{Repo, Sandbox, fed};

/// A server of an agent: it is told frames, and answers requests.
struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Server {
    fn tell(&mut self, frame: &Value) {
        let input = self.input.as_mut().expect("open");
        writeln!(input, "{frame}").expect("it reads");
        if frame.get("id").is_some() {
            let mut line = String::new();
            self.output.read_line(&mut line).expect("UTF-8");
            let answer: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
            assert_eq!((&answer["id"], &answer["result"]["isError"] == true), (&frame["id"], false), "{answer}");
        }
    }

    fn end(mut self) {
        self.input = None;
        assert!(self.child.wait().expect("it ends").success());
    }
}

/// The program in the row's folder, with its variables, at its time.
fn program(repo: &Repo<'_>, row: &Value, variables: &Value) -> std::process::Command {
    let mut command = repo.program();
    let folder = row["in"].as_str().expect("a folder");
    std::fs::create_dir_all(folder).expect("a folder");
    command.current_dir(folder).env("EMPIRICA_NOW", row["at"].as_str().expect("a time"));
    let place = usize::try_from(row["env"].as_u64().expect("a place")).expect("small");
    for (key, value) in variables[place].as_object().expect("variables") {
        command.env(key, value.as_str().expect("a text"));
    }
    command
}

/// Adds rows to a transcript, or begins it anew.
fn write(file: &Path, row: &Value) {
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    let is_new = row["anew"] == true;
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.create(true).write(true).truncate(is_new).append(!is_new).open(file).expect("a file");
    let rows = row["rows"].as_array().expect("rows").iter();
    file.write_all(rows.map(|row| format!("{row}\n")).collect::<String>().as_bytes()).expect("written");
}

/// Puts rows into a database; a table has the columns of its first row.
fn store(file: &Path, row: &Value) {
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    let database = Connection::open(file).expect("a database");
    for (table, rows) in row["tables"].as_object().expect("tables") {
        for row in rows.as_array().expect("rows") {
            let row = row.as_object().expect("a row");
            let others: String = row.keys().filter(|key| *key != "id").map(|key| format!(", {key}")).collect();
            database
                .execute_batch(&format!("CREATE TABLE IF NOT EXISTS {table}(id TEXT PRIMARY KEY{others})"))
                .unwrap();
            let values: Vec<rusqlite::types::Value> = row
                .values()
                .map(|value| match value {
                    Value::Null => rusqlite::types::Value::Null,
                    Value::Number(number) if number.is_i64() => number.as_i64().into(),
                    Value::String(text) => text.clone().into(),
                    other => other.to_string().into(),
                })
                .collect();
            let names: Vec<&str> = row.keys().map(String::as_str).collect();
            let marks = vec!["?"; names.len()].join(", ");
            let sql = format!("INSERT OR REPLACE INTO {table}({}) VALUES ({marks})", names.join(", "));
            database.execute(&sql, rusqlite::params_from_iter(values)).unwrap();
        }
    }
}

/// Does what a recording says; its last row says what to expect.
fn replay(repo: &Repo<'_>, recording: &str) -> Value {
    let mut servers: HashMap<u64, Server> = HashMap::new();
    let (mut variables, mut expected) = (Value::Null, Value::Null);
    for line in recording.lines() {
        let row: Value = serde_json::from_str(line).expect("JSON");
        let path = |key: &str| PathBuf::from(row[key].as_str().expect("a path"));
        if row.get("hook").is_some() {
            let mut command = program(repo, &row, &variables);
            command
                .args(["hook", "agent"])
                .args([&row["agent"], &row["hook"]].map(|name| name.as_str().expect("a name")));
            let ran = fed(command, row["payload"].to_string().as_bytes());
            assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{row}");
        } else if let Some(frame) = row.get("frame") {
            servers.get_mut(&row["server"].as_u64().expect("a number")).expect("it was started").tell(frame);
        } else if let Some(number) = row["server"].as_u64() {
            let mut command = program(repo, &row, &variables);
            command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
            let mut child = command.spawn().expect("the program starts");
            let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().expect("a pipe")));
            servers.insert(number, Server { child, input, output });
        } else if row.get("transcript").is_some() {
            write(&path("transcript"), &row);
        } else if row.get("database").is_some() {
            store(&path("database"), &row);
        } else if row.get("variables").is_some() {
            variables = row["variables"].clone();
        } else {
            expected = row;
        }
    }
    servers.into_values().for_each(Server::end);
    expected
}

type Counts = BTreeMap<String, u64>;

/// The work of a session or of its sub-agents.
#[derive(Default)]
struct Work {
    tokens: Counts,
    tools: Counts,
    failures: Counts,
    files: BTreeSet<String>,
}

fn list<'v>(value: &'v Value, key: &str) -> &'v Vec<Value> {
    value[key].as_array().unwrap_or_else(|| panic!("no list {key}: {value}"))
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

/// Those above 0.
fn counts(value: &Value) -> Counts {
    let all =
        value.as_object().expect("counts").iter().map(|(key, count)| (key.clone(), count.as_u64().expect("a count")));
    all.filter(|(_, count)| *count > 0).collect()
}

impl Work {
    fn expected(value: &Value) -> Self {
        let files = list(value, "files").iter().map(text).collect();
        Work {
            tokens: counts(&value["tokens"]),
            tools: counts(&value["tools"]),
            failures: counts(&value["failures"]),
            files,
        }
    }

    fn add(&mut self, tools: &Value, of: &Value) {
        let mut more = |into: fn(&mut Work) -> &mut Counts, key: &str, count: &Value| {
            if let Some(count @ 1..) = count.as_u64() {
                *into(self).entry(key.to_owned()).or_default() += count;
            }
        };
        for key in ["input", "output", "cache_read"] {
            more(|work| &mut work.tokens, key, &of["tokens"][key]);
        }
        for tool in tools.as_array().expect("tools") {
            let category = tool["category"].as_str().expect("a name");
            more(|work| &mut work.tools, category, &tool["count"]);
            more(|work| &mut work.failures, category, &tool["errors"]);
        }
        self.files.extend(list(of, "files_modified").iter().map(text));
    }
}

/// What differs from the expectation of one session of an agent; `sessions` are those of the program with its id, oldest first.
fn faults(expected: &Value, sessions: &[Value], parents: &[Value]) -> Vec<String> {
    let mut out = Vec::new();
    let mut compare = |what: &str, found: Value, wanted: Value| {
        if found != wanted {
            out.push(format!("{what} {found}, not {wanted}"));
        }
    };
    let (mut main, mut agents) = (Work::default(), Work::default());
    let (mut findings, mut plan) = (Vec::new(), json!([]));
    for session in sessions {
        compare("agent", session["ai_id"].clone(), expected["agent"].clone());
        let is_known = list(expected, "tasks").contains(&session["task"]);
        compare("task", if is_known { json!(true) } else { session["task"].clone() }, json!(true));
        compare("active", session["active"].clone(), json!(false));
        findings.extend(list(session, "findings").iter().map(|finding| finding["text"].clone()));
        for transcript in list(session, "transcripts") {
            main.add(&transcript["tool_summaries"], transcript);
            plan = list(transcript, "pending_tasks").iter().map(|task| json!([task["text"], task["status"]])).collect();
            for agent in list(transcript, "subagents") {
                agents.add(&agent["tools"], agent);
            }
        }
    }
    let (wanted, of_agents) = (Work::expected(&expected["main"]), Work::expected(&expected["agents"]));
    compare("tokens", json!(main.tokens), json!(wanted.tokens));
    let waits = expected["waits"].as_u64().expect("a number");
    let mut tools = wanted.tools;
    if waits > 0 {
        // a wait is a task, or counts with the unknown tools
        let is_task = main.tools.get("task").copied().unwrap_or_default()
            >= tools.get("task").copied().unwrap_or_default() + waits;
        *tools.entry(if is_task { "task" } else { "mcp" }.to_owned()).or_default() += waits;
    }
    compare("tools", json!(main.tools), json!(tools));
    compare("failures", json!(main.failures), json!(wanted.failures));
    main.files.extend(agents.files.iter().cloned());
    compare("files", json!(main.files), json!(&wanted.files | &of_agents.files));
    compare("plan", plan, expected["plan"].clone());
    compare("findings", json!(findings), expected["findings"].clone());
    for (what, found, wanted) in [
        ("tokens", &agents.tokens, &of_agents.tokens),
        ("tools", &agents.tools, &of_agents.tools),
        ("failures", &agents.failures, &of_agents.failures),
    ] {
        compare(&format!("sub-agents: {what}"), json!(found), json!(wanted));
    }
    if !expected["parent"].is_null() {
        let from = sessions.first().map_or(Value::Null, |session| session["from"].clone());
        let is_child = parents.iter().any(|parent| parent["session_id"] == from);
        compare("parent", if is_child { json!(true) } else { from }, json!(true));
    }
    if !main.tools.is_empty() && sessions.iter().all(|session| list(session, "handoffs").is_empty()) {
        out.push("no handoff".to_owned());
    }
    out
}

/// Replays a recording in a fresh repository, and gives what differs from its expectation.
fn differences(file: &Path) -> Vec<String> {
    let place = Sandbox::new();
    let repo = place.repo("repo");
    let (root, home) = (repo.path.to_str().expect("UTF-8"), place.path().join("home"));
    let slug: String = root.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect();
    let recording = std::fs::read_to_string(file)
        .expect("a recording")
        .replace("{repo}", root)
        .replace("{home}", home.to_str().expect("UTF-8"))
        .replace("{slug}", &slug);
    let expected = replay(&repo, &recording);
    // the next command catches up with transcripts that were written after the last hook
    repo.json(["resume"]);
    let mut sessions: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut listed = list(&repo.json(["session", "list"]), "sessions").clone();
    listed.sort_by_key(|session| text(&session["started_at"]));
    for session in listed {
        let whole = repo.json(["session", "show", session["session_id"].as_str().expect("an id")]);
        sessions.entry(session["external_id"].as_str().unwrap_or_default().to_owned()).or_default().push(whole);
    }
    let mut out = Vec::new();
    let empty = Vec::new();
    for one in list(&expected, "expect") {
        let own = |key: &str| sessions.get(one[key].as_str().unwrap_or_default()).unwrap_or(&empty);
        out.extend(faults(one, own("session"), own("parent")));
    }
    let wanted: BTreeSet<String> = list(&expected, "expect").iter().map(|one| text(&one["session"])).collect();
    let found: BTreeSet<String> = sessions.keys().cloned().collect();
    if wanted != found {
        out.push(format!("sessions {found:?}, not {wanted:?}"));
    }
    let snapshots: usize = sessions.values().flatten().map(|session| list(session, "checkpoints").len()).sum();
    if json!(snapshots) != expected["snapshots"] {
        out.push(format!("{snapshots} snapshots, not {}", expected["snapshots"]));
    }
    out
}

/// Replays all recordings of an agent.
fn replays(agent: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/agents").join(agent);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("recordings").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    let mut out = Vec::new();
    for file in &files {
        let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
        out.extend(differences(file).into_iter().map(|fault| format!("{agent} {name}: {fault}")));
    }
    assert!(!files.is_empty() && out.is_empty(), "{}", out.join("\n"));
}

#[test]
fn what_claude_code_sends_is_recorded_right() {
    replays("claude-code");
}

#[test]
fn what_codex_sends_is_recorded_right() {
    replays("codex");
}

#[test]
fn what_copilot_sends_is_recorded_right() {
    replays("copilot");
}

#[test]
fn what_gemini_sends_is_recorded_right() {
    replays("gemini");
}

#[test]
fn what_opencode_sends_is_recorded_right() {
    replays("opencode");
}
