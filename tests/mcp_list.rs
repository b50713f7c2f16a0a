//! The list of tools: what it costs to read, and that it says what is so.

use serde_json::{Value, json};

use crate::harness::{self, Place};
use crate::mcp::Client;

fn tokens(all: bool) -> usize {
    let tools = git_empirica::mcp::listed(all);
    let list = serde_json::to_string(&tools).expect("JSON");
    harness::tokens(&list)
}

#[test]
fn the_list_costs_few_tokens() {
    let (core, all) = (tokens(false), tokens(true));
    assert!(core <= 2500, "core: {core}");
    assert!(all <= 6000, "all: {all}");
    assert_eq!(git_empirica::mcp::listed(false).len(), 10);
}

#[test]
fn core_lists_ten_tools_and_answers_the_others() {
    let place = Place::new();
    let repo = place.repo("work");
    let mut client = Client::new(&repo, &["--tools", "core"]);
    let listed = client.ask("tools/list", json!({}))["result"]["tools"].clone();
    assert_eq!(listed.as_array().map(Vec::len), Some(10));
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
    let page = include_str!("../docs/mcp.md");
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
