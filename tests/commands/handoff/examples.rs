//! Examples of one workflow, as JSON: drift in CHECK, goals from PREFLIGHT, names of sessions, storage that fails, errors with remedies.

use serde_json::{Value, json};

use crate::support::harness::{Repo, Sandbox};

/// Every key of the example must be in the answer, with its value; `null` matches any value.
#[track_caller]
fn like(example: &Value, answer: &Value, path: &str) {
    match example {
        Value::Null => {}
        Value::Object(keys) => {
            for (key, inner) in keys {
                let path = format!("{path}.{key}");
                like(inner, answer.get(key).unwrap_or_else(|| panic!("there is no {path}: {answer}")), &path);
            }
        }
        _ => assert_eq!(example, answer, "{path}"),
    }
}

fn text<'j>(json: &'j Value, key: &str) -> &'j str {
    json[key].as_str().unwrap_or_else(|| panic!("no text {key}: {json}"))
}

fn texts(json: &Value) -> Vec<&str> {
    json.as_array().expect("a list").iter().map(|text| text.as_str().expect("a text")).collect()
}

/// A check that exits with `code`.
#[track_caller]
fn check(repo: &Repo<'_>, vectors: &str, code: i32) -> Value {
    repo.run(["check", "-v", vectors, "--confidence", "0.75", "--json"]).code(code).json()
}

/// Without findings: they would support the gain, which would then be learning. The drift is moderate, so acting is not blocked.
#[test]
fn check_includes_drift() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("claude-code", "t");
    repo.json(["preflight", "-v", "know=0.5,uncertainty=0.5"]);
    check(&repo, "know=0.5,uncertainty=0.5", 0);
    let answer = check(&repo, "know=0.7,uncertainty=0.5", 0);
    let example = json!({
        "ok": true,
        "drift_analysis": {
            "detected": true,
            "type": "overconfidence",
            "pattern": "Confidence increasing faster than evidence supports",
            "severity": "moderate",
            "window_size": 3,
            "assessments_analyzed": 3
        },
        "recommendation": "recalibrate_before_acting",
        "safe_to_proceed": true
    });
    like(&example, &answer, "");
    // "Severe: >0.30 delta, block ACT phase"
    let answer = check(&repo, "know=0.95,uncertainty=0.5", 3);
    like(&json!({"drift_analysis": {"severity": "severe"}, "safe_to_proceed": false}), &answer, "");
}

/// Each severity on both sides of its thresholds, and its effect.
#[test]
fn checklist_drift_detection() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    for (know, severity, recommendation, code) in [
        ("0.8499", "none", "proceed", 0),
        ("0.85", "minor", "proceed", 0),
        ("0.9499", "minor", "proceed", 0),
        ("0.95", "moderate", "recalibrate_before_acting", 0),
        ("0.65", "moderate", "recalibrate_before_acting", 0),
        ("0.5", "moderate", "recalibrate_before_acting", 0),
        ("0.4999", "severe", "stop", 3),
    ] {
        repo.start("ada", "t");
        repo.json(["preflight", "-v", "know=0.8"]);
        let answer = check(&repo, &format!("know={know}"), code);
        assert_eq!(text(&answer["drift_analysis"], "severity"), severity, "{know}");
        assert_eq!(answer["drift_analysis"]["detected"], severity != "none", "{know}");
        assert_eq!(text(&answer, "recommendation"), recommendation, "{know}");
        assert_eq!(answer["safe_to_proceed"], code == 0, "{know}");
        // "Minor drift → warning": people read it beside the recommendation
        let output = repo.run(["drift"]).code(code).out;
        assert!(output.starts_with(&format!("Drift: {severity}")), "{output}");
        repo.json(["session", "end"]);
    }
}

/// The priority depends on the score: 0.65 is low. Uncertainty has its own goal.
#[test]
fn preflight_generates_goals() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("claude-code", "Map all 52 commands to handler functions");
    let answer = repo.json(["preflight", "-v", "know=0.65,state=0.45,uncertainty=0.65"]);
    let example = json!({
        "ok": true,
        "uncertainty_detected": true,
        "uncertainty_score": 0.65,
        "recommendation": "investigate",
        "auto_generated_goals": null,
        "next_step": null
    });
    like(&example, &answer, "");
    for goal in [
        json!({"description": "Find out what it takes to map all 52 commands to handler functions", "priority": "high",
               "rationale": "KNOW score 0.65 indicates knowledge gaps"}),
        json!({"description": null, "priority": "high",
               "rationale": "STATE score 0.45 indicates incomplete environment mapping"}),
    ] {
        let of = |found: &&Value| found["rationale"] == goal["rationale"];
        let found = answer["auto_generated_goals"].as_array().expect("a list").iter().find(of);
        like(&goal, found.unwrap_or_else(|| panic!("no {goal}: {answer}")), "");
    }
    let next = text(&answer, "next_step");
    assert!(next.starts_with("Follow the investigation goals") && next.contains("git empirica check"), "{next}");
}

#[test]
fn checklist_goal_generation() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    for (vectors, about) in [
        ("uncertainty=0.3", None),
        ("uncertainty=0.6,know=0.7,state=0.6", None),
        ("uncertainty=0.7", Some("UNCERTAINTY")),
        ("know=0.5", Some("KNOW")),
        ("state=0.5999", Some("STATE")),
    ] {
        repo.start("ada", "t");
        let answer = repo.json(["preflight", "-v", vectors]);
        let goals = answer["auto_generated_goals"].as_array().expect("a list");
        assert_eq!(
            text(&answer, "recommendation"),
            if about.is_some() { "investigate" } else { "proceed" },
            "{vectors}"
        );
        assert_eq!(goals.len(), usize::from(about.is_some()), "{vectors}");
        if let Some(about) = about {
            assert!(text(&goals[0], "rationale").starts_with(&format!("{about} score ")), "{answer}");
        } else {
            assert!(text(&answer, "next_step").starts_with("Proceed"), "{answer}");
        }
        repo.json(["session", "end"]);
    }
}

#[test]
fn checklist_session_aliases() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let session = repo.start("claude-code", "t");
    for alias in [&session, &session[..8], "latest", "latest:active", "latest:claude-code", "latest:active:claude-code"]
    {
        let answer = repo.json(["check", "-v", "know=0.8", "--session", alias]);
        assert_eq!(answer["session_id"], session.as_str(), "{alias}");
    }
    let invalid = repo.fails(1, ["check", "-v", "know=0.8", "--session", "latest:active:claude-code:x"]);
    assert!(text(&invalid, "reason").contains("latest:active:<ai>"), "{invalid}");
    assert_eq!(invalid["provided"], "latest:active:claude-code:x");
}

/// The log holds a checkpoint only until the next command writes it to the notes.
#[test]
fn checkpoints_survive_storage_that_fails() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("claude-code", "t");
    // "Git available → git notes"
    let whole = repo.json(["checkpoint", "-v", "know=0.5"]);
    like(&json!({"storage": "git_notes", "degraded_mode": false}), &whole, "");
    assert!(whole.get("warning").is_none(), "{whole}");
    // "Git unavailable"
    repo.git(["config", "empirica.lockTimeout", "50ms"]).ok();
    let lock = repo.path.join(".git/refs/notes/empirica/data/checkpoints.lock");
    std::fs::write(&lock, "").expect("a lock");
    let answer = repo.json(["checkpoint", "-v", "know=0.5"]);
    let example = json!({
        "ok": true, "checkpoint_id": null, "storage": "log", "warning": null, "degraded_mode": true
    });
    like(&example, &answer, "");
    assert!(text(&answer, "warning").starts_with("the notes could not be written"), "{answer}");
    std::fs::remove_file(&lock).expect("the lock");
    repo.json(["flush"]);
    let id = text(&answer, "checkpoint_id");
    assert!(repo.lines("checkpoints").iter().any(|line| line.contains(id)));
}

#[test]
fn errors_say_what_to_do() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("qwen", "t");
    let error = repo.fails(1, ["check", "-v", "know=0.8", "--session", "latest:active:claude-code"]);
    // the example's words for its keys: reason, suggestion, alternatives, recovery_commands
    assert!(text(&error, "error").contains("latest:active:claude-code"), "{error}");
    assert_eq!(text(&error, "reason"), "No active sessions are stored here for ai_id 'claude-code'");
    assert!(
        text(&error, "suggestion").starts_with("Start one: git empirica session start --ai claude-code"),
        "{error}"
    );
    assert_eq!(texts(&error["alternatives"])[..2], ["latest:active", "latest"]);
    let start = "git empirica session start --ai claude-code --task \"<what you are going to do>\"";
    assert_eq!(texts(&error["recovery_commands"]), [start]);
    // "All errors have suggestions"
    for (code, arguments) in [
        (2, &["check", "-v", "know=high"][..]),
        (2, &["checkpoint", "--meta", "x"]),
        (1, &["goal", "take", "zzzz"]),
        (1, &["goal", "done", "01234567"]),
        (1, &["diff", "zzzz"]),
        (1, &["resume", "--session", "latest:nobody"]),
    ] {
        let error = repo.fails(code, arguments);
        assert!(!text(&error, "suggestion").is_empty() && !texts(&error["recovery_commands"]).is_empty(), "{error}");
    }
}
