//! The calls of the specification "reliability improvements", with the arguments and the keys that its examples use.

use serde_json::{Value, json};

use empirica_notes::model::Vector;

use crate::mcp::server::Client;
use crate::support::harness::Sandbox;

/// All vectors, equal but for the ones given.
fn vectors(all: f64, but: &[(&str, f64)]) -> Value {
    let value = |key: &str| but.iter().find(|(name, _)| *name == key).map_or(all, |(_, value)| *value);
    Vector::ALL
        .iter()
        .map(|vector| (vector.name().to_owned(), json!(value(vector.name()))))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// Every key is there and not null.
#[track_caller]
fn has(document: &Value, keys: &[&str]) {
    for key in keys {
        assert!(!document[*key].is_null(), "no {key}: {document}");
    }
}

#[test]
fn drift_is_detected_in_check_and_blocks_when_it_is_severe() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    // the drop of the vectors, the severity, and whether the work may go on
    for (drop, severity, goes_on) in [(0.0, "none", true), (0.21, "moderate", true), (0.6, "severe", false)] {
        let mut client = Client::new(&repo, &[]);
        let session = client.call("bootstrap_session", json!({"ai_id": "claude-code", "session_type": "development"}));
        let session = session["session_id"].as_str().expect("an id").to_owned();
        let calm = vectors(0.8, &[("uncertainty", 0.2)]);
        client.call("submit_preflight_assessment", json!({"session_id": session, "vectors": calm, "reasoning": "r"}));
        client.call("submit_check_assessment", json!({"session_id": session, "vectors": calm}));
        let asked = client.call(
            "execute_check",
            json!({"session_id": session, "findings": ["f"], "remaining_unknowns": ["u"], "confidence_to_proceed": 0.75}),
        );
        assert_eq!(asked["ok"], true, "{asked}");
        let later = vectors(0.8 - drop, &[("uncertainty", 0.2 + drop)]);
        let said = client.call("submit_check_assessment", json!({"session_id": session, "vectors": later}));
        has(&said, &["drift_analysis", "recommendation", "safe_to_proceed"]);
        let drift = &said["drift_analysis"];
        has(drift, &["detected", "type", "pattern", "severity", "window_size", "assessments_analyzed"]);
        assert_eq!((&drift["severity"], &said["safe_to_proceed"]), (&json!(severity), &json!(goes_on)), "{said}");
        let drift = client.call("check_drift_monitor", json!({"session_id": session, "window_size": 3}));
        has(&drift, &["drift_detected"]);
    }
}

#[test]
fn an_uncertain_preflight_returns_goals_and_a_certain_one_none() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let mut client = Client::new(&repo, &[]);
    client.call("bootstrap_session", json!({"ai_id": "claude-code"}));
    let session = "latest:active:claude-code";
    client.call("execute_preflight", json!({"session_id": session, "prompt": "Mend the CLI"}));
    for (uncertainty, know, investigates) in [(0.3, 0.8, false), (0.7, 0.8, true), (0.3, 0.5, true)] {
        let vectors = vectors(0.8, &[("know", know), ("uncertainty", uncertainty)]);
        let call = json!({"session_id": session, "vectors": vectors, "reasoning": "r"});
        let said = client.call("submit_preflight_assessment", call);
        has(&said, &["ok", "uncertainty_detected", "uncertainty_score", "recommendation", "next_step"]);
        assert_eq!(
            (&said["uncertainty_score"], &said["uncertainty_detected"]),
            (&json!(uncertainty), &json!(uncertainty > 0.6))
        );
        let goals = said["auto_generated_goals"].as_array().map_or(&[][..], Vec::as_slice);
        assert_eq!(!goals.is_empty(), investigates, "{said}");
        assert_eq!(said["recommendation"] == "investigate", investigates, "{said}");
        goals.iter().for_each(|goal| has(goal, &["description", "priority", "rationale"]));
    }
    let call = json!({"session_id": session, "conversation_context": "Mend the CLI", "use_epistemic_state": true});
    has(&client.call("generate_goals", call), &["goals"]);
}

#[test]
fn a_checkpoint_and_a_handoff_answer_with_the_keys_of_the_examples() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let mut client = Client::new(&repo, &[]);
    let session = client.call("bootstrap_session", json!({"ai_id": "claude-code"}))["session_id"].clone();
    let said = client.call(
        "create_git_checkpoint",
        json!({
            "session_id": session, "phase": "ACT", "round_num": 1, "vectors": vectors(0.8, &[]),
            "metadata": {"task": "session_aliases", "status": "complete", "next_agent": "rovodev"}
        }),
    );
    has(&said, &["ok", "checkpoint_id", "storage", "degraded_mode", "token_count"]);
    assert_eq!((&said["storage"], &said["degraded_mode"]), (&json!("git_notes"), &json!(false)));
    let said = client.call(
        "generate_handoff_report",
        json!({
            "session_id": session,
            "task_summary": "Added session alias support to 35 MCP tools",
            "key_findings": ["All tools now support latest:active:ai_id format"],
            "remaining_unknowns": [],
            "next_session_context": "Rovo Dev: proceed with Task 1 (drift detection)",
            "artifacts_created": ["mcp_local/empirica_mcp_server.py"]
        }),
    );
    has(&said, &["session_id", "report_id", "markdown", "storage_location", "token_count"]);
    assert_eq!(said["status"], "success", "{said}");

    // git cannot write: the checkpoint is kept, and says so
    let lock = repo.path.join(".git/refs/notes/empirica/data/checkpoints.lock");
    std::fs::write(&lock, "").expect("written");
    let call = json!({"session_id": session, "phase": "ACT", "round_num": 2, "vectors": vectors(0.8, &[])});
    let said = client.call("create_git_checkpoint", call);
    has(&said, &["ok", "checkpoint_id", "storage", "warning", "degraded_mode", "token_count"]);
    assert_eq!((&said["ok"], &said["degraded_mode"]), (&json!(true), &json!(true)), "{said}");
}

#[test]
fn every_way_to_name_a_session_works_and_a_wrong_one_says_what_to_call() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let mut client = Client::new(&repo, &[]);
    let said = client.call("get_session_summary", json!({"session_id": "latest:active:claude-code"}));
    assert_eq!(said["ok"], false);
    has(&said, &["error", "reason", "suggestion", "alternatives", "recovery_commands"]);
    let text = said["recovery_commands"].to_string();
    assert!(text.contains("bootstrap_session(ai_id='claude-code'"), "{said}");
    let session = client.call("bootstrap_session", json!({"ai_id": "claude-code"}))["session_id"].clone();
    let whole = session.as_str().expect("an id");
    let names = [whole, &whole[..8], "latest", "latest:active", "latest:claude-code", "latest:active:claude-code"];
    for tool in ["get_session_summary", "get_epistemic_state", "query_goal_orchestrator", "query_bayesian_beliefs"] {
        for name in names {
            let said = client.call(tool, json!({"session_id": name}));
            assert_eq!(said["ok"], true, "{tool} {name}: {said}");
        }
    }
}

#[test]
fn the_server_has_every_tool_that_the_appendix_audits() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let mut client = Client::new(&repo, &[]);
    let listed = client.ask("tools/list", json!({}));
    let listed: Vec<&str> =
        listed["result"]["tools"].as_array().expect("tools").iter().filter_map(|tool| tool["name"].as_str()).collect();
    for name in [
        "load_git_checkpoint",
        "get_epistemic_state",
        "get_calibration_report",
        "get_session_summary",
        "execute_preflight",
        "submit_preflight_assessment",
        "execute_check",
        "submit_check_assessment",
        "execute_postflight",
        "submit_postflight_assessment",
        "create_cascade",
        "create_git_checkpoint",
        "get_vector_diff",
        "measure_token_efficiency",
        "generate_efficiency_report",
        "generate_goals",
        "query_goal_orchestrator",
        "create_goal",
        "add_subtask",
        "complete_subtask",
        "get_goal_progress",
        "query_bayesian_beliefs",
        "check_drift_monitor",
        "query_handoff_reports",
        "generate_handoff_report",
        "resume_previous_session",
        "bootstrap_session",
    ] {
        assert!(listed.contains(&name), "no tool {name}");
    }
}
