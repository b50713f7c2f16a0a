//! Managed tasks between agents: chains, escalations, questions, revised handoffs.

use serde_json::{Value, json};

use crate::commands::handoff::managed::{count, escalate, hand_over, payload};
use crate::support::harness::{Repo, Sandbox};

pub fn id(json: &Value) -> String {
    json["handoff_id"].as_str().expect("an id").to_owned()
}

/// A manager and a worker, each with a session.
pub fn team(repo: &Repo<'_>) {
    repo.start("manager", "The login");
    repo.json(["session", "start", "--ai", "worker"]);
}

#[test]
fn a_task_shows_its_full_history_with_deciders() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    team(&repo);
    let by = |ai: &str, arguments: &[&str]| repo.json([arguments, &["--ai", ai]].concat());
    let set = |kind: &str, ai: &str, values: &[&str]| {
        let sets: Vec<&str> = values.iter().flat_map(|value| ["--set", value]).collect();
        by(ai, &[&["handoff", "--type", kind, "--task-id", "login"], &sets[..]].concat())
    };
    let first = set("initialization", "manager", &["instructions=Add a form", "success_criteria=it works"]);
    by("worker", &["accept", &id(&first), "--decision", "CONTINUE", "--understanding", "A form"]);
    let report = set("progress", "worker", &["worker_report.status=PARTIAL", "worker_report.issues=slow"]);
    by("manager", &["accept", &id(&report), "--decision", "REFINE", "--instructions", "Make it fast"]);
    set(
        "error_recovery",
        "worker",
        &[
            "error_report.description=It breaks",
            "error_report.error_type=dependency",
            "error_report.severity=high",
            "recovery_instructions.strategy=Pin it",
        ],
    );
    let open = repo.json(["task", "list", "--open"]);
    assert_eq!(open["tasks"][0]["status"], "open");
    let last = set("progress", "worker", &["worker_report.status=COMPLETED"]);
    by("manager", &["accept", &id(&last), "--decision", "COMPLETE"]);

    let json = repo.json(["task", "show", "login"]);
    let step = |at: usize| {
        let step = &json["history"][at];
        (step["kind"].as_str(), step["type"].as_str(), step["ai_id"].as_str(), step["decision"].as_str())
    };
    let handoff = |kind, ai| (Some("handoff"), Some(kind), Some(ai), None);
    let accept = |ai, decision| (Some("accept"), None, Some(ai), Some(decision));
    let expected = [
        handoff("initialization", "manager"),
        accept("worker", "CONTINUE"),
        handoff("progress", "worker"),
        accept("manager", "REFINE"),
        handoff("error_recovery", "worker"),
        handoff("progress", "worker"),
        accept("manager", "COMPLETE"),
    ];
    assert_eq!((0..7).map(step).collect::<Vec<_>>(), expected);
    assert_eq!(
        (&json["status"], &json["decision"], &json["decided_by"], &json["iteration"], &json["title"]),
        (&json!("complete"), &json!("COMPLETE"), &json!("manager"), &json!(2), &json!("Add a form"))
    );
    assert_eq!(json["history"][2]["payload"]["worker_report"]["issues"], json!(["slow"]));
    let text = repo.run(["task", "show", "login"]).ok().out;
    for line in
        ["complete, iteration 2", "manager: initialization", "accepted, REFINE", "    instructions: Make it fast"]
    {
        assert!(text.contains(line), "{line}: {text}");
    }
    // it is closed until a later record reopens it
    assert_eq!(repo.json(["task", "list", "--open"])["total_found"], 0);
    assert_eq!(repo.json(["task", "list"])["total_found"], 1);
    by("manager", &["accept", &id(&last), "--decision", "CONTINUE"]);
    assert_eq!(repo.json(["task", "list", "--open"])["total_found"], 1);
    let json = repo.fails(1, ["task", "show", "logim"]);
    assert_eq!(json["alternatives"], json!(["login"]));
    repo.fsck();
}

#[test]
fn an_escalated_task_waits_for_its_resolution_in_every_clone() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    repo.git(["init", "-q", "--bare", "../hub.git"]).ok();
    repo.git(["remote", "add", "origin", "../hub.git"]).ok();
    repo.git(["push", "-q", "origin", "main"]).ok();
    team(&repo);
    hand_over_by(&repo, "manager", "initialization", &["instructions=Add a form"]);
    let resolve = ["accept", "latest", "--ai", "worker", "--resolution", "x"];
    let escalation = {
        let begun = repo.json(["handoff", "list"])["handoffs"][0]["handoff_id"].as_str().unwrap().to_owned();
        let json = repo.fails(1, ["accept", &begun, resolve[2], resolve[3], "--resolution", "x"]);
        assert!(json["error"].as_str().unwrap().contains("is not escalated"), "{json}");
        id(&repo.json(
            ["handoff", "--type", "escalation", "--task-id", "login", "--ai", "worker"].into_iter().chain(
                ["category=resource", "severity=medium", "description=No key", "recommendation=Buy one"]
                    .iter()
                    .flat_map(|text| ["--set".to_owned(), format!("escalation_details.{text}")])
                    .collect::<Vec<_>>()
                    .leak()
                    .iter()
                    .map(String::as_str),
            ),
        ))
    };
    let before = count(&repo);
    let refused = |repo: &Repo<'_>| {
        for kind in [
            &["--type", "progress", "--set", "worker_report.status=PARTIAL"][..],
            &["--type", "initialization", "--set", "instructions=Go on"],
            &[
                "--type",
                "error_recovery",
                "--set",
                "error_report.description=x",
                "--set",
                "error_report.error_type=dependency",
                "--set",
                "error_report.severity=low",
                "--set",
                "recovery_instructions.strategy=y",
            ],
            &["--finding", "nothing"],
        ] {
            let json = repo.fails(1, [&["handoff", "--task-id", "login", "--ai", "worker"], kind].concat());
            assert_eq!(json["error"], "cannot continue task 'login': it is escalated", "{json}");
            let resolve = json["recovery_commands"][0].as_str().unwrap();
            assert!(resolve.starts_with(&format!("git empirica accept {}", &escalation[28..])), "{resolve}");
        }
        assert_eq!(count(repo), before, "nothing is stored");
    };
    refused(&repo);
    assert_eq!(repo.json(["task", "list"])["tasks"][0]["waits_for"], "a person");
    // without the task the session can hand over what it knows
    repo.json(["sync"]);
    let other = place.clone(&place.at("hub.git"), "other", false);
    other.json(["sync"]);
    other.json(["session", "start", "--ai", "worker"]);
    refused(&other);
    let json = other.json(["accept", &escalation, "--ai", "worker", "--resolution", "Use the test key"]);
    assert_eq!(json["resolution"], "Use the test key");
    let decision = other.json(["show", json["decision_id"].as_str().expect("a decision")]);
    assert_eq!((&decision["text"], &decision["kind"]), (&json!("Use the test key"), &json!("decision")));
    assert_eq!(decision["why"], "resolves the escalation of task login: No key");
    let pattern = other.json(["show", json["pattern_id"].as_str().expect("a pattern")]);
    assert_eq!((&pattern["text"], &pattern["as"]), (&json!("No key: Use the test key"), &json!("pattern")));
    other.json(["sync"]);
    repo.json(["sync"]);
    assert_eq!(repo.json(["task", "show", "login"])["status"], "open");
    hand_over_by(&repo, "worker", "progress", &["worker_report.status=PARTIAL"]);
    repo.fsck();
}

/// Hands over for the task `login`.
pub fn hand_over_by(repo: &Repo<'_>, ai: &str, kind: &str, values: &[&str]) -> Value {
    let sets = values.iter().flat_map(|value| ["--set", value]);
    repo.json(["handoff", "--ai", ai, "--type", kind, "--task-id", "login"].into_iter().chain(sets))
}

#[test]
fn a_decision_to_escalate_allows_only_the_escalation() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    repo.start("worker", "The login");
    hand_over(&repo, "progress", "login", &["worker_report.status=FAILED", "manager_decision=ESCALATE"]);
    let go_on = ["handoff", "--type", "progress", "--task-id", "login", "--set", "worker_report.status=PARTIAL"];
    repo.fails(1, go_on);
    let escalation = escalate(&repo, "login", "No key", &[]);
    repo.fails(1, go_on);
    let set = "escalation_details.description=Again";
    let json = repo.fails(
        1,
        [
            "handoff",
            "--type",
            "escalation",
            "--task-id",
            "login",
            "--set",
            set,
            "--set",
            "escalation_details.category=resource",
            "--set",
            "escalation_details.severity=high",
            "--set",
            "escalation_details.recommendation=x",
        ],
    );
    assert_eq!(json["error"], "cannot continue task 'login': it is escalated");
    // the person it waits for may ask and gets an answer
    repo.json(["session", "start", "--ai", "eve"]);
    let answer = repo.json(["accept", &id(&escalation), "--ai", "eve", "--question", "Which key?"]);
    let question = answer["question_ids"][0].as_str().unwrap();
    repo.json(["answer", question, "The one for mail", "--ai", "worker"]);
    let again = repo.json(["handoff", "--regenerate", &id(&escalation), "--set", "escalation_details.impact=No mail"]);
    assert_eq!(payload(&repo, &again)["escalation_details"]["impact"], "No mail");
    repo.fails(1, [&go_on[..], &["--ai", "worker"]].concat());
    repo.json(["accept", &id(&again), "--ai", "eve", "--resolution", "Bought"]);
    repo.json([&go_on[..], &["--ai", "worker"]].concat());
}

#[test]
fn a_receivers_question_is_answered_and_enters_the_revised_handoff() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    team(&repo);
    let first = hand_over_by(
        &repo,
        "manager",
        "initialization",
        &["instructions=Add a form", "success_criteria=it works", "context.constraints=no new dependency"],
    );
    let waiting = |repo: &Repo<'_>| repo.json(["handoff", "list", "--unacknowledged"])["total_found"].as_u64().unwrap();
    assert_eq!(waiting(&repo), 1);
    // the sender is not the receiver
    repo.json(["accept", &id(&first), "--ai", "manager"]);
    assert_eq!(waiting(&repo), 1);
    let answer = repo.json([
        "accept",
        &id(&first),
        "--ai",
        "worker",
        "--question",
        "Which color?",
        "--question",
        "When?",
        "--gap",
        "The test command",
    ]);
    assert_eq!(waiting(&repo), 0);
    let questions: Vec<&str> = answer["question_ids"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let accept = answer["accept_id"].as_str().unwrap();
    assert_eq!(questions, [format!("{}.1", &accept[28..]), format!("{}.2", &accept[28..])]);
    // several are open: one must be named
    let json = repo.fails(1, ["answer", accept, "blue", "--ai", "manager"]);
    assert_eq!(json["alternatives"], json!(questions));
    for wrong in
        [format!("{accept}.3"), format!("{accept}.0"), format!("{accept}.x"), "ffffffff.1".to_owned(), id(&first)]
    {
        repo.fails(1, ["answer", &wrong, "blue", "--ai", "manager"]);
    }
    repo.fails(2, ["answer", questions[0], " ", "--ai", "manager"]);
    let answered = repo.json(["answer", questions[0], "blue", "--ai", "manager"]);
    assert_eq!(answered["open_questions"][0]["question_id"], questions[1]);
    // now only one is
    repo.json(["answer", accept, "today", "--ai", "manager"]);
    repo.json(["answer", questions[0], "green", "--ai", "manager"]);
    let shown = repo.json(["show", &id(&first)]);
    let answer_to = |at: usize| shown["questions"][at]["answer"].as_str().unwrap().to_owned();
    assert_eq!((answer_to(0), answer_to(1)), ("green".to_owned(), "today".to_owned()), "the newest counts");

    // another session revises it: it keeps its type and session
    let again = repo.json([
        "handoff",
        "--regenerate",
        &id(&first),
        "--set",
        "instructions=Add a green form, run make test",
        "--set",
        "quality_gates=make lint",
        "--ai",
        "worker",
    ]);
    let whole = repo.json(["show", &id(&again)]);
    assert_eq!(whole["session_id"], repo.json(["show", &id(&first)])["session_id"]);
    assert_eq!((&whole["regenerates"], &whole["to"]), (&first["handoff_id"], &Value::Null));
    assert_eq!(
        whole["clarifications"],
        json!([{"question": "Which color?", "asked_by": "worker", "answer": "green"},
               {"question": "When?", "asked_by": "worker", "answer": "today"}])
    );
    assert_eq!(whole["missed"], json!([{"gap": "The test command", "reported_by": "worker"}]));
    let document = payload(&repo, &again);
    assert_eq!(document["instructions"], "Add a green form, run make test");
    assert_eq!(document["context"]["constraints"], json!(["no new dependency"]));
    assert_eq!(document["success_criteria"], json!(["it works"]));
    assert_eq!(document["quality_gates"], json!(["make lint"]));
    let note = repo.git_out(["notes", "--ref", "empirica/handoffs", "show"]);
    assert!(note.contains("- Next: Add a green form, run make test\n"), "{note}");
    let text = repo.run(["show", &id(&again)]).ok().out;
    assert!(
        text.contains("## Clarifications") && text.contains("- missed before: The test command (worker)"),
        "{text}"
    );
    // it took the place of the old one, which the history keeps, and waits to be taken up itself
    assert_eq!((count(&repo), waiting(&repo)), (1, 1));
    let task = repo.json(["task", "show", "login"]);
    assert_eq!(
        (&task["history"][0]["superseded"], &task["title"]),
        (&json!(true), &json!("Add a green form, run make test"))
    );
    let json = repo.fails(1, ["handoff", "--regenerate", &id(&first)]);
    assert!(json["recovery_commands"][0].as_str().unwrap().ends_with(&id(&again)[28..]), "{json}");
    for wrong in [&["--type", "progress"][..], &["--task-id", "other"], &["--session", "latest"], &["--set", "x=y"]] {
        repo.fails(2, [&["handoff", "--regenerate", &id(&again)], wrong].concat());
    }
    repo.fsck();
}

#[test]
fn a_revised_attempt_is_the_same_attempt_and_an_epistemic_handoff_keeps_its_session() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    team(&repo);
    let arguments = [
        "error_report.description=It breaks",
        "error_report.error_type=dependency",
        "error_report.severity=low",
        "recovery_instructions.strategy=Pin it",
    ];
    let first = hand_over_by(&repo, "worker", "error_recovery", &arguments);
    let again =
        repo.json(["handoff", "--regenerate", &id(&first), "--set", "error_report.description=It breaks at noon"]);
    let document = payload(&repo, &again);
    assert_eq!((&document["retry_count"], &document["iteration"]), (&json!(1), &json!(1)));
    let second = payload(&repo, &hand_over_by(&repo, "worker", "error_recovery", &arguments));
    assert_eq!(second["retry_count"], 2);

    repo.json(["finding", "The cookie is not renewed", "--ai", "worker"]);
    let own = repo.json(["handoff", "--ai", "worker", "--next", "Renew it"]);
    repo.json(["accept", &id(&own), "--ai", "manager", "--question", "Since when?"]);
    repo.json(["finding", "It broke in May", "--ai", "worker"]);
    let outcome = repo.run(["handoff", "--regenerate", &id(&own), "--ai", "manager"]).ok();
    assert!(outcome.err.contains("has no answer"), "{}", outcome.err);
    let shown = repo.json(["show"]);
    assert_eq!(shown["key_findings"], json!(["The cookie is not renewed", "It broke in May"]));
    assert_eq!((&shown["session_id"], &shown["regenerates"]), (&own["session_id"], &own["handoff_id"]));
    assert_eq!(shown["clarifications"][0]["question"], "Since when?");
    assert!(shown["next_steps"].as_array().unwrap().contains(&json!("Renew it")));
}

#[test]
fn every_handoff_carries_the_git_state_it_was_made_in() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    repo.start("worker", "The login");
    repo.git(["checkout", "-qb", "topic"]).ok();
    repo.commit("b", "b\n", "b");
    repo.write("b", "changed\n");
    repo.write("c", "new\n");
    let stored = repo.json(["handoff"]);
    let head = repo.head();
    let state = repo.json(["show", &id(&stored)])["git_state"].clone();
    assert_eq!(
        state,
        json!({"commit": head, "branch": "topic", "ahead": null, "behind": null, "modified": 1, "added": 1, "deleted": 0,
               "dirty": true})
    );
    assert!(stored["markdown"].as_str().unwrap().contains("- **Git:** on topic; not committed: 1 modified, 1 new"));
    // it tells of then, wherever the handoff is now
    repo.git(["add", "."]).ok();
    repo.git(["commit", "-qm", "c"]).ok();
    let managed = hand_over(&repo, "progress", "t", &["worker_report.status=PARTIAL"]);
    assert_eq!(repo.json(["show", &id(&stored)])["git_state"]["commit"], json!(head));
    let state = repo.json(["show", &id(&managed)])["git_state"].clone();
    assert_eq!((&state["commit"], &state["dirty"]), (&json!(repo.head()), &json!(false)));
}
