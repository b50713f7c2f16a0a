//! Sessions started automatically by the first record: their agent, and the commands that start none.

use crate::mcp::server::Client;
use crate::support::harness::{Repo, Sandbox};

/// The sessions stored, each with its agent.
fn agents(repo: &Repo<'_>) -> Vec<String> {
    let listed = repo.json(["session", "list"]);
    let all = listed["sessions"].as_array().expect("a list").iter();
    all.map(|session| session["ai_id"].as_str().expect("an agent").to_owned()).collect()
}

#[test]
fn the_first_record_begins_and_names_a_session() {
    let place = Sandbox::new();
    for (n, line) in [
        "finding x",
        "unknown x",
        "deadend x --why y",
        "decision x --why y",
        "mistake x",
        "source README.md",
        "evidence true --exit 0",
        "activity shell x",
        "goal add x",
        "preflight -v know=0.8,uncertainty=0.2",
        "check -v know=0.8,uncertainty=0.2",
        "postflight -v know=0.8,uncertainty=0.2 --finding x",
        "checkpoint",
        "handoff --finding x",
    ]
    .into_iter()
    .enumerate()
    {
        let repo = place.repo(&format!("r{n}"));
        let json = repo.json(line.split(' '));
        assert_eq!(json["session_started"]["ai_id"], "Test", "{line}: {json}");
        let id = json["session_started"]["session_id"].as_str().expect("an id");
        assert_eq!(json["session_id"], id, "{line}: {json}");
        assert_eq!(repo.json(["session", "show", id])["session_id"], id, "{line}");
        let second = repo.json(["finding", "more"]);
        assert_eq!((&second["session_id"], second.get("session_started")), (&json["session_id"], None), "{line}");
    }
    let repo = place.repo("told");
    let output = repo.run(["finding", "x"]).ok();
    assert!(output.err.starts_with("Began session ") && output.err.contains(" of Test.\n"), "{}", output.err);
    assert!(!repo.run(["finding", "y"]).ok().err.contains("Began"));
}

#[test]
fn reading_and_refused_commands_begin_no_session() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    for line in ["status", "resume", "search x", "log", "session list", "bootstrap"] {
        repo.run(line.split(' ')).ok();
    }
    for line in
        ["finding x --session abcdef", "drift", "session end", "handoff", "goal done abcdef", "resolve abcdef x"]
    {
        assert_ne!(repo.run(line.split(' ')).code, 0, "{line}");
    }
    repo.fails(2, ["activity", "telepathy", "x"]);
    repo.fails(2, ["preflight", "-v", "know=0.5", "--reasoning", " "]);
    assert_eq!(agents(&repo).len(), 0);
}

#[test]
fn concurrent_processes_begin_one_session() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let all: Vec<_> = (0..6)
        .map(|n| {
            let mut command = repo.program();
            command.args(["finding", &format!("finding {n}"), "--json"]).stdout(std::process::Stdio::piped());
            command.spawn().expect("it starts")
        })
        .collect();
    let answers: Vec<serde_json::Value> = all
        .into_iter()
        .map(|child| serde_json::from_slice(&child.wait_with_output().expect("it ends").stdout).expect("a document"))
        .collect();
    assert!(answers.iter().all(|answer| answer["session_id"] == answers[0]["session_id"]), "{answers:?}");
    assert_eq!(answers.iter().filter(|answer| answer.get("session_started").is_some()).count(), 1);
    assert_eq!(agents(&repo), ["Test"]);
}

const ENVIRONMENTS: [(&str, &str); 8] = [
    ("CLAUDECODE", "claude-code"),
    ("CODEX_THREAD_ID", "codex"),
    ("CODEX_SANDBOX", "codex"),
    ("CODEX_CI", "codex"),
    ("GEMINI_CLI", "gemini"),
    ("OPENCODE", "opencode"),
    ("COPILOT_CLI", "copilot"),
    ("CURSOR_AGENT", "cursor"),
];

#[test]
fn an_agent_is_detected_from_its_environment() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let mut sessions = std::collections::BTreeMap::new();
    for (variable, agent) in ENVIRONMENTS {
        let json = repo.json_with_env(&[(variable, "1")], ["finding", variable]);
        let own = sessions.entry(agent).or_insert_with(|| json["session_id"].clone());
        // each agent joins its own session, even with others in the worktree
        assert_eq!(json["session_id"], *own, "{variable}");
        let shown = repo.json(["show", json["id"].as_str().expect("an id")]);
        assert!(shown.to_string().contains(&format!("\"{agent}\"")), "{variable}: {shown}");
    }
    assert_eq!(agents(&repo).len(), 6);
    // named beats seen, and the variables of what an agent starts beat those of its shell
    let named = repo.json_with_env(&[("CLAUDECODE", "1"), ("EMPIRICA_AI", "me")], ["finding", "x"]);
    assert_eq!(named["session_started"]["ai_id"], "me");
    let named = repo.json_with_env(&[("CLAUDECODE", "1")], ["finding", "x", "--ai", "you"]);
    assert_eq!(named["session_started"]["ai_id"], "you");
    let inner = repo.json_with_env(&[("CLAUDECODE", "1"), ("CODEX_CI", "1")], ["finding", "x"]);
    assert_eq!(inner["session_id"], sessions["codex"]);
    repo.git(["config", "empirica.ai", "configured"]).ok();
    let named = repo.json_with_env(&[("CLAUDECODE", "1")], ["finding", "x"]);
    assert_eq!(named["session_started"]["ai_id"], "configured");
    assert_eq!(
        repo.json_with_env(&[("GEMINI_CLI", "1")], ["finding", "x"])["session_id"],
        named["session_started"]["session_id"]
    );
}

#[test]
fn a_session_of_a_name_of_its_own_is_that_of_the_agent_at_work() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let own = repo.start("my-bot", "t");
    let json = repo.json_with_env(&[("CLAUDECODE", "1")], ["finding", "x"]);
    assert_eq!(json["session_id"], own);
    let person = place.repo("person");
    let own = person.json(["finding", "x"])["session_id"].clone();
    for env in [("EMPIRICA_AI", "codex"), ("CLAUDECODE", "1")] {
        assert_ne!(person.json_with_env(&[env], ["finding", "x"])["session_id"], own);
    }
    assert_eq!(person.json(["finding", "x"])["session_id"], own);
}

#[test]
fn a_tool_begins_a_session_for_its_client() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let mut server = Client::new(&repo, &[]);
    let found = server.ok("log_finding", serde_json::json!({"finding": "x"}));
    assert!(found["session_started"]["session_id"].is_string(), "{found}");
    let submitted = server.ok(
        "submit_preflight_assessment",
        serde_json::json!({"prompt": "the task", "vectors": {"know": 0.8, "uncertainty": 0.2}}),
    );
    assert_eq!(submitted["session_id"], found["session_id"], "{submitted}");
    assert_eq!(agents(&repo).len(), 1);
}

/// The commands that the bare command names.
fn next(repo: &Repo<'_>) -> Vec<String> {
    let json = repo.json::<[&str; 0], &str>([]);
    let all = json["next_commands"].as_array().expect("a list").iter();
    all.map(|next| next["command"].as_str().expect("a command").to_owned()).collect()
}

#[test]
fn the_bare_command_suggests_the_next_step() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    assert_eq!(next(&repo), ["git empirica init", "git empirica finding \"<what you learned>\""]);
    repo.run(["init"]).ok();
    repo.run(["finding", "x"]).ok();
    assert_eq!(next(&repo), ["git empirica handoff"]);
    let text = repo.run::<[&str; 0], &str>([]).ok().out;
    assert!(text.contains("Next\n  git empirica handoff  (") && text.contains("1 finding"), "{text}");
    repo.run(["handoff", "--next", "go on"]).ok();
    repo.run(["session", "end"]).ok();
    assert_eq!(next(&repo), ["git empirica resume"]);
    place.clone(&repo, "elsewhere", false);
    repo.git(["remote", "add", "origin", "../elsewhere"]).ok();
    assert_eq!(next(&repo), ["git empirica resume", "git empirica sync"]);
    assert_eq!(repo.json(["status"]), repo.json::<[&str; 0], &str>([]));
}

#[test]
fn outside_a_repository_the_bare_command_is_the_help_and_a_record_is_refused() {
    let place = Sandbox::new();
    let outside = place.at(".");
    let help = outside.run::<[&str; 0], &str>([]).ok();
    assert!(help.out.contains("finding") && help.err.is_empty(), "{help:?}");
    for line in ["checkpoint", "finding x", "preflight -v know=0.5", "project-bootstrap"] {
        let json = outside.fails(128, line.split(' '));
        assert_eq!(json["recovery_commands"][0], "git init", "{line}: {json}");
    }
    assert!(!place.path().join("home/.local").exists() && !place.path().join(".empirica").exists());
}

#[test]
fn words_without_quotes_are_one_text() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let text = |line: &str| {
        let id = repo.json(line.split(' '))["id"].as_str().expect("an id").to_owned();
        repo.json(["show", &id]).to_string()
    };
    assert!(text("finding the cache is stale --impact 0.5").contains("\"the cache is stale\""));
    assert!(text("mistake forgot the @lock file").contains("\"forgot the @lock file\""));

    let unknown = repo.json(["unknown", "why", "is", "it", "slow?"])["id"].as_str().expect("an id").to_owned();
    assert!(text(&format!("resolve {unknown} the cache was cold")).contains("\"the cache was cold\""));
    assert!(text("goal add reach the end").contains("\"reach the end\""));
}

#[test]
fn calls_of_the_python_tool_do_what_they_mean() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let id = repo.start("a", "t");
    let json = |line: &str| repo.run(line.replace("SID", &id).split(' ')).ok().json();
    assert_eq!(json("project-bootstrap --session-id SID --output json")["own_session_id"], id.as_str());
    assert_eq!(json("finding-log --session-id SID --finding F --output json")["kind"], "finding");
    assert_eq!(json("preflight --prompt P -v know=0.8 --output=json")["phase"], "PREFLIGHT");
    assert_eq!(json("checkpoint-list --output json")["ok"], true);
    assert_eq!(json("assess-state --session-id SID --prompt P --output json")["kind"], "checkpoint");
    assert_eq!(json("goals-create --session-id SID --objective O --output json")["kind"], "goal");
    assert_eq!(json("sessions-list --output json")["sessions"][0]["session_id"], id.as_str());
}

#[test]
fn ambiguous_input_is_refused_and_both_kinds_are_named() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let session = repo.start("ada", "the task");
    let id = repo.json(["finding", "the cache is stale"])["id"].as_str().expect("an id").to_owned();
    repo.run(["flush"]).ok();
    // another session, whose id begins as the short form of the finding
    let short = &id[28..];
    let other = format!("{short}{}", &session[8..]);
    let lines = repo.lines("journal");
    let start = lines.iter().find(|line| line.contains("\"session_start\"")).expect("a session");
    let own = start.split('"').find(|word| word.len() == 36).expect("an id");
    let last = if own.ends_with('0') { "1" } else { "0" };
    let copied = start.replace(own, &format!("{}{last}", &own[..35])).replace(&session, &other);
    let note: String = lines.iter().chain([&copied]).map(|line| format!("{line}\n")).collect();
    repo.set_note("refs/notes/empirica/data/journal", &repo.head(), note.as_bytes());
    for given in [&short[..4], short] {
        let json = repo.fails(1, ["show", given]);
        let reason = json["reason"].as_str().expect("a reason");
        assert!(reason.contains(&format!("finding {short}: the cache is stale")), "{json}");
        assert!(reason.contains(&format!("session {short} of ada")), "{json}");
        assert_eq!(json["alternatives"], serde_json::json!([other, id]));
    }
    // the whole of one of them is meant
    assert_eq!(repo.json(["show", &id])["id"], id.as_str());
    assert_eq!(repo.json(["show", &other])["session_id"], other.as_str());
}

#[test]
fn hints_are_shown_once_a_session_unless_disabled() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let hints = |given: &[&str]| repo.run(given.iter()).ok().err.lines().filter(|l| l.starts_with("hint: ")).count();
    let check = ["preflight", "-v", "know=0.3,uncertainty=0.8"];
    assert_eq!(repo.run([&check[..], &["-q"]].concat()).ok().err, "");
    repo.run([&check[..], &["--json"]].concat()).ok();
    repo.git(["config", "empirica.hints", "false"]).ok();
    assert_eq!(hints(&check), 0);
    repo.git(["config", "--unset", "empirica.hints"]).ok();
    // nobody saw it before; then it was seen, and another kind was not
    assert_eq!([hints(&check), hints(&check), hints(&["check", "-v", "know=0.3"])], [1, 0, 1]);
    assert_eq!([hints(&["handoff", "--next", "n"]), hints(&["handoff", "--next", "m"])], [1, 0]);
    repo.run(["session", "end"]).ok();
    assert_eq!(hints(&check), 1, "another session has not seen it");
    repo.git(["config", "empirica.hints", "false"]).ok();
    // an error says what to do all the same
    assert!(repo.run(["finding", "x", "--session", "nobody"]).err.contains("hint: "));
}

#[test]
fn a_misspelled_session_or_agent_gets_its_neighbor() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("claude-code", "t");
    for (given, near) in [
        ("latst", "latest"),
        ("latest:claud-code", "latest:claude-code"),
        ("latest:active:claude-cod", "latest:active:claude-code"),
    ] {
        let json = repo.fails(1, ["resume", "--session", given]);
        assert_eq!(json["alternatives"][0], near, "{json}");
        assert_eq!(json["suggestion"], format!("Did you mean '{near}'?"), "{json}");
    }
    let far = repo.fails(1, ["resume", "--session", "latest:nobody"]);
    assert!(!far["alternatives"].to_string().contains("claude-code"), "{far}");
}
