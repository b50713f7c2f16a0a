//! The list of tools: its size in tokens, and its accuracy.

use empirica_notes::error::{Terms, blank, empirica};
use git_empirica::mcp::ToolTerms;
use git_empirica::text::tokens::CAN_COUNT;
use serde_json::{Value, json};

use crate::mcp::server::Client;
use crate::support::harness::{self, Sandbox};

fn tokens(all: bool) -> usize {
    let tools = git_empirica::mcp::listed(all);
    let list = serde_json::to_string(&tools).expect("JSON");
    harness::tokens(&list)
}

#[test]
fn the_list_costs_few_tokens() {
    let (core, all) = (tokens(false), tokens(true));
    // an estimate may be 10 % above the count
    let most = |count: usize| if CAN_COUNT { count } else { count * 11 / 10 };
    assert!(core <= most(2500), "core: {core}");
    assert!(all <= most(6000), "all: {all}");
    assert_eq!(git_empirica::mcp::listed(false).len(), 12);
}

#[test]
fn core_lists_twelve_tools_and_answers_the_others() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    let mut client = Client::new(&repo, &["--tools", "core"]);
    let listed = client.ask("tools/list", json!({}))["result"]["tools"].clone();
    assert_eq!(listed.as_array().map(Vec::len), Some(12));
    assert!(harness::tokens(&listed.to_string()) <= 2500, "as it is sent");
    client.ok("log_finding", json!({"finding": "the first record begins a session"}));
    // one that a prompt knows and the list has not
    let vectors = json!({"know": 0.4, "uncertainty": 0.7});
    let stored = client.ok("submit_preflight_assessment", json!({"vectors": vectors}));
    let next = stored["next_step"].as_str().expect("a step");
    assert!(next.contains("git empirica") && !next.contains("()"), "no call of a tool that is not listed: {next}");
    let refused = client.fails("log_findings", json!({}));
    assert_eq!(refused["alternatives"][0], "log_finding", "{refused}");
    assert_eq!(client.end(), (Vec::new(), 0));
}

fn keys(schema: &Value) -> Vec<String> {
    schema["properties"].as_object().expect("properties").keys().cloned().collect()
}

/// The names in backticks of a cell.
fn named(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn the_page_has_every_tool_with_its_arguments_and_result() {
    let page = include_str!("../../docs/mcp.md");
    let core: Vec<Value> = git_empirica::mcp::listed(false);
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    let tools = git_empirica::mcp::listed(true);
    assert_eq!(rows.len(), tools.len());
    for (tool, row) in tools.iter().zip(rows) {
        let name = tool["name"].as_str().expect("a name");
        assert_eq!(named(row[0]), [name]);
        assert_eq!(row[0].ends_with('*'), core.iter().any(|one| one["name"] == name), "{name}");
        assert_eq!(named(row[2]), keys(&tool["inputSchema"]), "{name}");
        assert_eq!(named(row[3]), keys(&tool["outputSchema"]), "{name}");
        let required = row[2].matches("(required)").count();
        assert_eq!(required, tool["inputSchema"]["required"].as_array().map_or(0, Vec::len), "{name}");
    }
}

#[test]
fn every_tool_says_when_to_use_it_and_what_it_does() {
    for tool in git_empirica::mcp::listed(true) {
        let about = tool["description"].as_str().unwrap_or_default();
        assert!(about.len() > 10 && !about.contains('\n'), "{tool}");
        assert_eq!(tool["inputSchema"]["type"], "object");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
        let hints = &tool["annotations"];
        assert!(hints["readOnlyHint"] == true || hints["destructiveHint"] == false, "{tool}");
        assert!(tool["outputSchema"]["required"].as_array().is_some_and(|keys| keys.contains(&"ok".into())));
    }
}

#[test]
fn a_command_is_the_call_of_the_tool_that_does_it() {
    let call = |all, command: &_| ToolTerms { all, called: None }.call(command);
    let start = || empirica("session start");
    for (command, expected) in [
        (
            start().option("--ai", "claude-code").option("--task", blank("<what you are going to do>")),
            "bootstrap_session(ai_id='claude-code')",
        ),
        (start().option("--ai", "-x"), "bootstrap_session(ai_id='-x')"),
        (empirica("session list"), "list_sessions()"),
        (empirica("session end").option("--session", "12345678"), "end_session(session_id='12345678')"),
        (empirica("preflight").option("-v", blank("know=<0..1>")), "execute_preflight()"),
        (empirica("handoff").option("--session", "a b"), "generate_handoff_report(session_id='a b')"),
        (empirica("handoff").option("--next", blank("<what>")), "generate_handoff_report(next_steps=['<what>'])"),
        (empirica("status").option("--budget", "3000").flag("--json"), "bootstrap_project(budget=3000)"),
        (empirica("sync").arg("origin"), "sync_notes(remote='origin')"),
        (empirica("accept").arg("abcd"), "accept_handoff(handoff_id='abcd')"),
        (empirica("accept").arg(blank("<handoff>")), "accept_handoff(handoff_id='<handoff>')"),
        (empirica("goal list").flag("--open"), "query_goal_orchestrator(open=True)"),
        (empirica("goal done").arg("abcd"), "complete_subtask(subtask_id='abcd')"),
        (
            empirica("resolve").arg("abcd").arg("it's").flag("--again"),
            "resolve_unknown(unknown_id='abcd', answer='it\\'s', again=True)",
        ),
        (empirica("search").arg("flaky").arg("login"), "search_history(query='flaky login')"),
        (empirica("search").arg("a\\b\nc"), "search_history(query='a\\\\b\\nc')"),
    ] {
        assert_eq!(call(true, &command).as_deref(), Some(expected), "{command}");
    }
    for command in [
        empirica("flush"),
        empirica("accept"),
        empirica("handoff").flag("--example"),
        start().option("--task", "that very task"),
        empirica("sync").flag("--allow-secret"),
        "git empirica sync".into(),
        "git config empirica.sync off".into(),
    ] {
        assert_eq!(call(true, &command), None, "{command}");
    }
    assert_eq!(call(false, &empirica("session list")), None, "a tool that is not listed is no help");
}

#[test]
fn a_command_is_written_as_a_shell_takes_it() {
    for (command, expected) in [
        (empirica("").flag("-h"), "git empirica -h"),
        (empirica("task show").arg("a b").arg("-x").arg("-y"), "git empirica task show 'a b' -- -x -y"),
        (empirica("session start").option("--ai", "-x"), "git empirica session start --ai=-x"),
        (empirica("finding").arg(blank("<what you learned>")), "git empirica finding \"<what you learned>\""),
        (empirica("handoff").option("--to", blank("<ai>")).flag("--json"), "git empirica handoff --to <ai> --json"),
        ("ls -l 'a b'".into(), "ls -l 'a b'"),
    ] {
        assert_eq!(command.to_string(), expected);
    }
}

#[test]
fn every_command_that_a_tool_does_exists() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    for command in git_empirica::mcp::commands() {
        let line: Vec<&str> = command.split(' ').chain(["-h"]).collect();
        repo.run(&line).ok();
    }
}

#[test]
fn a_text_names_the_tools_and_their_arguments() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    let mut client = Client::new(&repo, &[]);
    let output = client.fails("log_finding", json!({"finding": "f", "session_id": "latest:active:bob"}));
    assert!(
        output["suggestion"].as_str().is_some_and(|text| text.contains("bootstrap_session(ai_id='bob')")),
        "{output}"
    );
    let output = client.fails("query_handoff_reports", json!({"task_pattern": "("}));
    assert_eq!(output["reason"], "task_pattern takes a regular expression");
    let output = client.fails("query_handoff_reports", json!({"since": "neverday"}));
    assert!(output["error"].as_str().is_some_and(|text| text.starts_with("cannot use since: ")), "{output}");
    for ai in ["ada", "bob"] {
        repo.start(ai, "t");
    }
    let mut other = Client::new(&repo, &[]);
    let output = other.fails("end_session", json!({"ai_id": "nobody"}));
    assert!(!output.to_string().contains("--") && !output.to_string().contains("git empirica"), "{output}");
    let stored = client.ok("bootstrap_session", json!({"ai_id": "eve"}));
    assert!(stored["warning"].as_str().is_some_and(|text| text.contains("end_session(session_id='")), "{stored}");
    let after = client.ok("submit_postflight_assessment", json!({"vectors": {"know": 0.9}, "task_summary": "t"}));
    let missing = after["handoff"]["missing"].as_array().expect("a list");
    assert!(
        missing.iter().any(|lack| lack["command"] == "generate_handoff_report(key_findings=['<what you learned>'])"),
        "{after}"
    );
    // the command line says the same in its own terms
    let output = repo.fails(2, ["search", "--handoffs", "--task", "("]);
    assert_eq!(output["reason"], "--task takes a regular expression");
}
