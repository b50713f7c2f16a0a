//! Attempts to bypass the task protocol: concurrently, by other flags, in unusual orders, with wrong clocks.

use serde_json::{Value, json};

use crate::commands::handoff::managed::{escalate, hand_over, payload};
use crate::commands::handoff::protocol::{hand_over_by, id, team};
use crate::support::harness::{Repo, Sandbox};

const ERROR: [&str; 4] = [
    "error_report.description=It breaks",
    "error_report.error_type=dependency",
    "error_report.severity=low",
    "recovery_instructions.strategy=Pin it",
];

fn attempt<'a>(task: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut out = vec!["handoff", "--type", "error_recovery", task];
    ERROR.iter().for_each(|text| out.extend(["--set", text]));
    out.extend(more);
    out
}

/// Runs commands at the same time; how many of them succeeded.
fn at_once(repo: &Repo<'_>, commands: impl IntoIterator<Item = Vec<String>>) -> usize {
    let quiet = std::process::Stdio::null;
    let start = |all: Vec<String>| repo.program().args(all).stdout(quiet()).stderr(quiet()).spawn().expect("it starts");
    let mut children: Vec<_> = commands.into_iter().map(start).collect();
    children.iter_mut().filter_map(|child| child.wait().ok()).filter(|status| status.success()).count()
}

#[test]
fn attempts_at_the_same_time_are_counted_one_by_one() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    repo.start("worker", "The login");
    let command: Vec<String> = attempt("--task-id=t", &["--json"]).into_iter().map(str::to_owned).collect();
    assert_eq!(at_once(&repo, vec![command; 6]), 3);
    let task = repo.json(["task", "show", "t"]);
    let counted: Vec<u64> =
        task["history"].as_array().unwrap().iter().filter_map(|step| step["payload"]["retry_count"].as_u64()).collect();
    assert_eq!(counted, [1, 2, 3]);
    // a task over the limit cannot raise it
    repo.fails(1, attempt("--task-id=t", &["--set", "max_retries=9"]));
    // an id is the same with blanks around it
    repo.fails(1, attempt("--task-id= t ", &[]));
    let arguments = ["category=resource", "severity=high", "description=x", "recommendation=Do it"];
    let sets = arguments.iter().flat_map(|set| ["--set".to_owned(), format!("escalation_details.{set}")]);
    let command: Vec<String> =
        ["handoff", "--type", "escalation", "--task-id=t"].map(str::to_owned).into_iter().chain(sets).collect();
    let stored = at_once(&repo, vec![command; 3]);
    assert_eq!(stored, 1, "one escalation holds the others up");
}

#[test]
fn an_id_that_looks_like_a_secret_is_refused_for_every_type() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    repo.start("worker", "The login");
    let task = "--task-id=ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    for kind in [&["--type", "context"][..], &["--type", "progress", "--set", "worker_report.status=PARTIAL"], &[]] {
        let json = repo.fails(2, [&["handoff", task], kind].concat());
        assert!(json["error"].as_str().unwrap().contains("looks like a secret"), "{json}");
    }
}

#[test]
fn each_clone_resolves_only_the_escalation_it_knows() {
    let place = Sandbox::new();
    let one = place.repo("one");
    one.git(["init", "-q", "--bare", "../hub.git"]).ok();
    one.git(["remote", "add", "origin", "../hub.git"]).ok();
    one.git(["push", "-q", "origin", "main"]).ok();
    one.start("ada", "The login");
    one.json(["sync"]);
    let two = place.clone(&place.at("hub.git"), "two", false);
    two.json(["sync"]);
    two.start("bob", "The login");
    let first = escalate(&one, "t", "No key", &[]);
    let second = escalate(&two, "t", "Keys leaked", &[]);
    one.json(["accept", &id(&first), "--resolution", "Bought one"]);
    [&one, &two, &one].iter().for_each(|repo| drop(repo.json(["sync"])));
    let task = two.json(["task", "show", "t"]);
    assert_eq!(task["status"], "escalated");
    let json = one.fails(1, ["accept", &id(&first), "--resolution", "again"]);
    assert!(json["error"].as_str().unwrap().contains("escalates nothing"), "{json}");
    assert!(json["recovery_commands"][0].as_str().unwrap().contains(&id(&second)[28..]), "{json}");
    one.json(["accept", &id(&second), "--resolution", "Changed them"]);
    assert_eq!(one.json(["task", "show", "t"])["status"], "open");
    one.fails(2, ["accept", &id(&second), "--resolution", "x", "--decision", "ESCALATE"]);
}

#[test]
fn a_clock_of_the_future_freezes_no_task() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    team(&repo);
    let later = [("EMPIRICA_NOW", "2027-03-01T12:00:00.000Z")];
    let sets = ["category=resource", "severity=high", "description=No key", "recommendation=Buy one"];
    let sets: Vec<String> =
        sets.iter().flat_map(|text| ["--set".to_owned(), format!("escalation_details.{text}")]).collect();
    let begin = ["handoff", "--ai", "worker", "--type", "escalation", "--task-id", "login"].map(str::to_owned);
    let escalation = repo.json_with_env(&later, begin.iter().chain(&sets).map(String::as_str));
    repo.json(["accept", &id(&escalation), "--ai", "manager", "--resolution", "Bought"]);
    assert_eq!(repo.json(["task", "show", "login"])["status"], "open");
    let report = hand_over_by(&repo, "worker", "progress", &["worker_report.status=PARTIAL"]);
    let answer = repo.json_with_env(&later, ["accept", &id(&report), "--ai", "manager", "--question", "Which?"]);
    repo.json(["answer", answer["question_ids"][0].as_str().unwrap(), "This", "--ai", "worker"]);
    assert_eq!(repo.json(["task", "show", "login"])["open_questions"], 0);
}

#[test]
fn a_revised_handoff_keeps_decisions_and_later_questions() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    team(&repo);
    let begun = hand_over_by(&repo, "manager", "initialization", &["instructions=Add a form"]);
    hand_over_by(&repo, "worker", "progress", &["worker_report.status=COMPLETED", "manager_decision=COMPLETE"]);
    let text =
        repo.json(["accept", &id(&begun), "--ai", "worker", "--question", "Which port?", "--gap", "The command"]);
    let again = repo.json(["handoff", "--regenerate", &id(&begun), "--ai", "manager"]);
    assert_eq!(repo.json(["task", "show", "login"])["status"], "complete", "it is as it was");
    // answered late, and missed by another receiver that had only the first
    repo.json(["answer", text["question_ids"][0].as_str().unwrap(), "8080", "--ai", "manager"]);
    repo.json(["accept", &id(&begun), "--ai", "worker", "--gap", "The color"]);
    repo.json(["accept", &id(&again), "--ai", "worker", "--gap", "The command"]);
    let third = repo.json(["handoff", "--regenerate", &id(&again), "--ai", "manager"]);
    let shown = repo.json(["show", &id(&third)]);
    assert_eq!(shown["clarifications"], json!([{"question": "Which port?", "asked_by": "worker", "answer": "8080"}]));
    let mut gaps: Vec<&str> =
        shown["missed"].as_array().unwrap().iter().filter_map(|one| one["gap"].as_str()).collect();
    gaps.sort_unstable();
    assert_eq!(gaps, ["The color", "The command"], "each once");
    // the writer signs it; the session stays that of the work
    let signed = repo.json(["handoff", "--regenerate", &id(&third), "--ai", "worker"]);
    let shown = repo.json(["show", &id(&signed)]);
    assert_eq!((&shown["ai_id"], &shown["session_id"]), (&json!("worker"), &begun["session_id"]));
    // the context of a session is regenerated
    let context = repo.json(["handoff", "--ai", "manager", "--type", "context", "--to", "bob"]);
    repo.json(["decision", "Tabs", "--why", "short", "--ai", "manager"]);
    let drawn = repo.json(["handoff", "--regenerate", &id(&context), "--to", "carol", "--ai", "manager"]);
    let document = payload(&repo, &drawn);
    assert_eq!((&document["target_agent_id"], &document["decisions"]), (&json!("carol"), &json!(["Tabs — short"])));
}

#[test]
fn an_escalation_lists_decisions_questions_and_earlier_resolutions() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    team(&repo);
    hand_over_by(&repo, "manager", "initialization", &["instructions=Add a form"]);
    let report = hand_over_by(&repo, "worker", "progress", &["worker_report.status=PARTIAL"]);
    repo.json([
        "accept",
        &id(&report),
        "--ai",
        "manager",
        "--decision",
        "REFINE",
        "--instructions",
        "Use tabs",
        "--question",
        "why?",
    ]);
    let report_error = |what: &str| {
        let what = format!("escalation_details.description={what}");
        let all = [
            "escalation_details.category=resource",
            "escalation_details.severity=high",
            &what,
            "escalation_details.recommendation=Do it",
        ];
        hand_over_by(&repo, "worker", "escalation", &all)
    };
    let first = report_error("No key");
    repo.json(["accept", &id(&first), "--ai", "manager", "--resolution", "Bought one"]);
    let second = payload(&repo, &report_error("No key again"));
    assert_eq!(
        second["complete_history"],
        json!([
            {"iteration": 1, "manager_instructions": "Add a form", "worker_report": "PARTIAL", "outcome": "refine; asked: why?"},
            {"iteration": 1, "manager_instructions": "Use tabs", "worker_report": "ESCALATED: No key", "outcome": "resolved: Bought one"},
        ])
    );
    let begun = repo.json(["session", "start", "--ai", "eve", "--from", "latest:worker"]);
    assert!(begun["warnings"].to_string().contains("waits for a person"), "{begun}");
    let warned = repo.json(["accept", &id(&report), "--ai", "manager", "--decision", "COMPLETE"]);
    assert!(warned["warnings"].to_string().contains("stays so until it is resolved"), "{warned}");
}

#[test]
fn checks_judge_the_revised_content() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    repo.start("worker", "The login");
    repo.commit("Cargo.toml", "[dependencies]\nserde = \"1\"\n", "Begin the crate");
    let file = r#"worker_report.files_modified={"path":"./Cargo.toml","description":"begun"}"#;
    let text =
        ["worker_report.status=PARTIAL", "worker_report.issues=slow", file, "context_updates.dependencies_added=serd"];
    let first = hand_over(&repo, "progress", "t", &text);
    repo.write("../fixed.json", r#"{"context_updates": {"dependencies_added": ["serde[derive]"]}}"#);
    let again =
        ["handoff", "--regenerate", &id(&first), "--validate", "--dry-run", "--json", "--from", "../fixed.json"];
    let json = repo.run(again).ok().json();
    let level = |json: &Value, name: &str| {
        let checks = json["validation"]["checks"].as_array().unwrap();
        checks.iter().find(|check| check["name"] == name).unwrap()["level"].as_str().unwrap().to_owned()
    };
    assert_eq!((level(&json, "dependencies_present"), level(&json, "files_exist")), ("pass".into(), "pass".into()));
    repo.write("../bare.json", r#"{"worker_report": {"files_modified": []}}"#);
    let json = repo
        .run(["handoff", "--regenerate", &id(&first), "--validate", "--json", "--from", "../bare.json"])
        .code(3)
        .json();
    assert_eq!(level(&json, "files_documented"), "error", "the old one documents nothing any more");
    // changes from a merge are not work of the session
    repo.git(["checkout", "-qb", "other", "HEAD~1"]).ok();
    repo.commit("theirs.rs", "x\n", "Theirs");
    repo.git(["checkout", "-q", "main"]).ok();
    repo.git(["merge", "-q", "--no-ff", "-m", "merge", "other"]).ok();
    let check: Vec<&str> = ["handoff", "--type", "progress", "--task-id", "t", "--validate", "--dry-run", "--json"]
        .into_iter()
        .chain(text[..3].iter().flat_map(|text| ["--set", text]))
        .collect();
    let json = repo.run(check).ok().json();
    assert_eq!(level(&json, "files_documented"), "warning", "{json}");
}

/// Only an acknowledgement by another session shows that nothing was missed.
#[test]
fn a_gap_is_not_forgotten_by_oneself() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    team(&repo);
    let begin = |text: &str, more: &[&str]| {
        let text = format!("instructions={text}");
        repo.json(
            [&["handoff", "--ai", "manager", "--type", "initialization", "--task-id=t", "--set", &text], more].concat(),
        )
    };
    let first = begin("Add a form", &[]);
    repo.json(["accept", &id(&first), "--ai", "worker", "--gap", "Which database server holds invoices"]);
    let second = begin("Add a page", &[]);
    repo.json(["accept", &id(&second), "--ai", "manager"]);
    let third = begin("Add a door", &["--unknown", "Which database server holds the invoices?"]);
    let warned = third["warnings"].to_string();
    assert!(warned.contains("Which database server holds invoices"), "a question says nothing: {third}");
}

fn journal_of(repo: &Repo<'_>, kind: &str) -> usize {
    repo.run(["flush"]).ok();
    let word = format!("\"kind\":\"{kind}\"");
    repo.lines("journal").iter().filter(|line| line.contains(&word)).count()
}

#[test]
fn of_resolutions_at_the_same_time_one_is_stored() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    repo.start("worker", "The login");
    let escalation = id(&escalate(&repo, "t", "No key", &[]));
    let before = (journal_of(&repo, "decision"), journal_of(&repo, "finding"));
    let resolve =
        |n: u32| ["accept", &escalation, "--resolution", &format!("Resolution {n}")].map(str::to_owned).to_vec();
    let stored = at_once(&repo, (0..4).map(resolve));
    assert_eq!(stored, 1);
    assert_eq!((journal_of(&repo, "decision"), journal_of(&repo, "finding")), (before.0 + 1, before.1 + 1));
}
