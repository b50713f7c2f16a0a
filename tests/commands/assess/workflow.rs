//! Handoffs composed from the journal, the assessments and git, and superseding an
//! older one.

use serde_json::{Value, json};

use crate::support::harness::{Repo, Sandbox};

const HANDOFFS: &str = "refs/notes/empirica/handoffs";

fn id(json: &Value, key: &str) -> String {
    json[key].as_str().unwrap_or_else(|| panic!("no {key}: {json}")).to_owned()
}

/// Writes a handoff and reads it back whole.
#[track_caller]
fn handed_over(repo: &Repo<'_>, flags: &[&str]) -> Value {
    let outcome = repo.json([&["handoff"], flags].concat());
    repo.json(["show", &id(&outcome, "handoff_id"), "--format", "json"])
}

/// The value of every ref.
fn refs(repo: &Repo<'_>) -> String {
    repo.git_out(["for-each-ref"])
}

/// Everything that waits in the logs.
fn waiting(repo: &Repo<'_>) -> String {
    std::fs::read_to_string(repo.path.join(".git/empirica/wal/main")).unwrap_or_default()
}

#[test]
fn a_bare_handoff_draws_everything_from_the_journal_the_assessments_and_git() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    repo.start("ada", "Fix the login");
    repo.json(["preflight", "-v", "know=0.5,uncertainty=0.6,context=0.4", "--reasoning", "New here"]);
    let question = id(&repo.json(["unknown", "Which port?"]), "id");
    repo.json(["unknown", "Who owns it?"]);
    repo.json(["finding", "Tokens expire early"]);
    repo.json(["finding", "We found the cause"]);
    repo.json(["resolve", &question, "8080"]);
    repo.json(["deadend", "Retry", "--why", "It hides the cause"]);
    repo.json(["decision", "Use UTC", "--why", "One clock", "--alternative", "Local time", "--alternative", "Ticks"]);
    repo.json(["mistake", "Ran on prod", "--prevention", "Check the host"]);
    repo.json(["evidence", "cargo test", "--exit", "1"]);
    repo.json(["evidence", "cargo test", "--exit", "0", "--file", "src/a.rs"]);
    repo.json(["evidence", "npm test", "--exit", "3"]);
    repo.json(["activity", "grep", "looked"]);
    repo.json(["activity", "grep", "again"]);
    repo.json(["activity", "edit", "changed", "--file", "src/edited.rs"]);
    repo.json(["source", "https://example.com/rfc"]);
    let goal = id(&repo.json(["goal", "add", "Log in"]), "id");
    let step = id(&repo.json(["goal", "sub", &goal, "Parse"]), "id");
    repo.json(["goal", "sub", &goal, "Check"]);
    repo.json(["goal", "done", &step]);
    let commit = repo.commit("src/a.rs", "fn a() {}\n", "Fix expiry");
    repo.write("loose.txt", "not committed\n");
    repo.json(["postflight", "-v", "know=0.8,uncertainty=0.3,context=0.4", "--no-handoff"]);
    let h = handed_over(&repo, &[]);

    assert_eq!(h["task"], "Fix the login");
    assert_eq!(h["key_findings"], json!(["Tokens expire early", "We found the cause"]));
    assert_eq!(h["remaining_unknowns"], json!(["Who owns it?"]));
    assert_eq!(
        h["knowledge_gaps_filled"],
        json!([
            {"gap": "Domain knowledge", "before": "KNOW: 0.50", "after": "KNOW: 0.80", "confidence_change": 0.3},
            {"gap": "Task uncertainty", "before": "UNCERTAINTY: 0.60", "after": "UNCERTAINTY: 0.30", "confidence_change": 0.3},
            {"gap": "Which port?", "before": "Unknown", "after": "8080", "confidence_change": null},
            {"gap": "Investigation finding", "before": "Unknown", "after": "We found the cause", "confidence_change": null},
        ])
    );
    let failed = &h["dead_ends"][0];
    assert_eq!((&failed["approach"], &failed["why"]), (&json!("Retry"), &json!("It hides the cause")));
    assert!(failed["claim_id"].is_string(), "{failed}");
    assert_eq!(h["decisions"][0]["alternatives"], json!(["Local time", "Ticks"]));
    let mistake = &h["mistakes"][0];
    assert_eq!((&mistake["text"], &mistake["prevention"]), (&json!("Ran on prod"), &json!("Check the host")));
    let evidence = h["evidence"].as_array().expect("a list");
    assert_eq!(evidence.len(), 2, "only the last run of a command counts: {evidence:?}");
    assert!(evidence.iter().any(|e| e["command"] == "cargo test" && e["exit"] == 0 && e["runs"] == 2), "{evidence:?}");
    assert!(evidence.iter().any(|e| e["command"] == "npm test" && e["exit"] == 3), "{evidence:?}");
    assert_eq!(h["goals"][0]["text"], "Log in");
    assert_eq!(h["accomplished"], json!([format!("{} Fix expiry", &commit[..8])]));
    for file in ["src/a.rs", "loose.txt", "src/edited.rs"] {
        assert!(h["artifacts_created"].as_array().is_some_and(|all| all.contains(&json!(file))), "{file}: {h}");
    }
    assert!(!h["artifacts_created"].as_array().is_some_and(|all| all.contains(&json!("README.md"))), "{h}");
    for tool in ["grep ×2", "edit", "cargo", "npm", "https://example.com/rfc"] {
        assert!(h["investigation_tools"].as_array().is_some_and(|all| all.contains(&json!(tool))), "{tool}: {h}");
    }
    assert_eq!(h["epistemic_deltas"]["know"], 0.3);
    assert_eq!(h["epistemic_deltas"]["overall_confidence"], 0.15, "the mean of know and context");
    assert_eq!(h["calibration_status"], "well_calibrated");
    let note = repo.note(HANDOFFS, &commit);
    for text in
        ["- Avoid: Retry — It hides the cause\n", "rejected: Local time; Ticks", "FAILED: npm test (exit 3)", "1/2"]
    {
        assert!(note.contains(text), "{text:?}:\n{note}");
    }
    let whole = repo.run(["show"]).ok().out;
    for text in ["## Dead Ends\n", "rejected: Local time; Ticks", "**FAILED**: npm test (exit 3)", "1/2"] {
        assert!(whole.contains(text), "{text:?}:\n{whole}");
    }
}

#[test]
fn a_question_that_another_session_resolves_is_a_gap_filled() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    let first = repo.start("ada", "Ask");
    let question = id(&repo.json(["unknown", "Which port?"]), "id");
    repo.json(["session", "end"]);
    repo.start("bob", "Answer");
    repo.json(["resolve", &question[28..], "8080"]);
    let h = handed_over(&repo, &["--session", &first]);
    assert_eq!(h["remaining_unknowns"], json!([]));
    assert_eq!(h["knowledge_gaps_filled"][0]["gap"], "Which port?");
    assert_eq!(h["knowledge_gaps_filled"][0]["after"], "8080");
    assert_eq!(repo.json(["session", "show", &first])["unknowns"], json!([]));
}

#[test]
fn flags_add_to_the_journal_or_override_it() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    let session = repo.start("ada", "The session's task");
    repo.json(["finding", "From the journal"]);
    let h = handed_over(
        &repo,
        &[
            "-m",
            "Another task",
            "--finding",
            "From a flag",
            "--unknown",
            "Open",
            "--accomplished",
            "Did it",
            "--context",
            "Mind the gap",
            "--next",
            "Own step",
            "--artifact",
            "elsewhere.md",
        ],
    );
    assert_eq!(h["task"], "Another task");
    assert_eq!(h["key_findings"], json!(["From the journal", "From a flag"]));
    assert_eq!(h["remaining_unknowns"], json!(["Open"]));
    assert_eq!(h["accomplished"], json!(["Did it"]));
    assert_eq!(h["next_session_context"], "Mind the gap");
    assert_eq!(h["next_steps"], json!(["Own step"]));
    assert_eq!(h["artifacts_created"], json!(["elsewhere.md"]));
    let findings = repo.json(["session", "show", &session])["findings"].clone();
    assert_eq!(findings[1]["text"], "From a flag", "a flag's finding is in the journal as well");
}

#[test]
fn missing_parts_of_a_handoff_are_named_with_a_working_command() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    repo.json(["session", "start", "--ai", "ada"]);
    let outcome = repo.json(["handoff", "--next", "Begin"]);
    let lacks = |outcome: &Value| -> Vec<String> {
        outcome["missing"].as_array().expect("a list").iter().map(|one| id(one, "missing")).collect()
    };
    assert_eq!(lacks(&outcome), ["task", "findings", "unknowns", "context", "artifacts"]);
    for one in outcome["missing"].as_array().expect("a list") {
        let command = id(one, "command").replace("<path>", "x.rs");
        let ran = place.command("sh", &repo.path).args(["-c", &command]).output().expect("a shell");
        assert!(ran.status.success(), "{command}: {}", String::from_utf8_lossy(&ran.stderr));
    }
    assert_eq!(lacks(&repo.json(["handoff"])), Vec::<String>::new(), "each was added, and all is carried over");
}

#[test]
fn a_newer_handoff_supersedes_the_earlier_ones_and_their_records_stay() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    repo.start("ada", "Work");
    repo.json(["finding", "F"]);
    let first = id(
        &repo.json(["handoff", "--context", "Carried", "--next", "Carried step", "--accomplished", "Carried deed"]),
        "handoff_id",
    );
    let old_commit = repo.head();
    repo.commit("b", "b\n", "More");
    let second = handed_over(&repo, &["--accomplished", "New deed"]);
    assert_eq!(second["next_session_context"], "Carried");
    assert_eq!(second["next_steps"][0], "Carried step");
    assert_eq!(second["accomplished"][0], "Carried deed");
    assert_eq!(second["accomplished"][1], "New deed");
    let newest = id(&second, "handoff_id");
    let third = handed_over(&repo, &["--next", "Said anew"]);
    assert_eq!(third["next_steps"], json!(["Said anew"]), "what is said anew is not carried over");
    let last = id(&third, "handoff_id");

    let one = |json: Value, list: &str, key: &str| -> Vec<String> {
        json[list].as_array().expect("a list").iter().map(|row| id(row, key)).collect()
    };
    assert_eq!(one(repo.json(["handoff", "list"]), "handoffs", "handoff_id"), [&last[..]]);
    assert_eq!(one(repo.json(["resume", "--last", "5"]), "sessions", "handoff_id"), [&last[..]]);
    assert_eq!(one(repo.json(["query"]), "reports", "handoff_id"), [&last[..]]);
    let log = repo.json(["log"]);
    assert_eq!(log["commits"].as_array().map(Vec::len), Some(1), "{log}");
    assert_eq!(log["commits"][0]["handoffs"][0]["handoff_id"], *last);
    assert_eq!(repo.json(["show", &first])["handoff_id"], *first, "the record stays");
    assert_eq!(repo.lines("handoffs").iter().filter(|line| line.contains("\"kind\":\"handoff\"")).count(), 3);
    let old_note = repo.note(HANDOFFS, &old_commit);
    assert!(
        old_note.contains(&format!("superseded by {}", &newest[28..])) && !old_note.contains("- Next: "),
        "{old_note}"
    );
    let note = repo.note(HANDOFFS, "HEAD");
    assert_eq!((note.matches("-- empirica ").count(), note.matches("superseded").count()), (1, 0), "{note}");
    assert!(note.contains("- Next: Said anew\n") && note.contains(&last[28..]), "{note}");
    repo.fsck();
}

#[test]
fn a_dry_run_shows_the_handoff_and_stores_nothing() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    repo.start("ada", "Work");
    repo.json(["finding", "Known"]);
    let before = (refs(&repo), waiting(&repo));
    assert!(before.1.contains("Known"), "it waits in the log");
    let json = repo.json(["handoff", "--dry-run", "--finding", "Tried", "--next", "Go"]);
    assert!(id(&json, "markdown").contains("- Tried\n"), "{json}");
    assert_eq!(json["storage_location"], Value::Null);
    assert!(repo.run(["handoff", "--dry-run"]).ok().err.contains("nothing is stored"));
    assert_eq!((refs(&repo), waiting(&repo)), before);
    assert_eq!(repo.json(["handoff", "list"])["total_found"], 0);
}

#[test]
fn a_retried_handoff_adds_nothing_and_a_dry_run_shows_the_same() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    repo.start("ada", "Work");
    let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let with_token = |text: &str| format!("{text} with {token}");
    let (finding, unknown, done) = (with_token("Logs in"), with_token("Who logs in"), with_token("Logged in"));
    let mut hand_over = vec!["handoff", "--next", "Go"];
    for (option, texts) in [
        ("--finding", [&*finding, "Plain"]),
        ("--unknown", [&*unknown, "Open"]),
        ("--accomplished", [&*done, "Built"]),
        ("--artifact", ["f", "f"]),
    ] {
        hand_over.extend(texts.iter().flat_map(|text| [option, text]));
    }
    let lists = |json: &Value| {
        let texts = |items: &Value| -> Vec<String> {
            let items = items.as_array().expect("a list").iter();
            items.map(|item| item["text"].as_str().or(item.as_str()).expect("a text").to_owned()).collect()
        };
        ["key_findings", "remaining_unknowns", "accomplished", "artifacts_created"].map(|key| texts(&json[key]))
    };
    let report = |json: &Value| {
        let text = json["markdown"].as_str().expect("a text");
        let lines = text.lines().filter(|line| line.starts_with("- "));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let dry = repo.json(hand_over.iter().chain(&["--dry-run"]));
    let first = repo.json(&hand_over);
    let stored = lists(&repo.json(["show", &id(&first, "handoff_id")]));
    assert_eq!(stored.each_ref().map(Vec::len), [2, 2, 2, 1], "{stored:?}");
    assert_eq!(report(&dry), report(&first));
    for _ in 0..2 {
        let dry = repo.json(hand_over.iter().chain(&["--dry-run"]));
        let again = repo.json(&hand_over);
        assert_eq!(lists(&repo.json(["show", &id(&again, "handoff_id")])), stored);
        assert_eq!((report(&dry), report(&again)), (report(&first), report(&first)));
    }
    repo.run(["flush"]).ok();
    let logged = |kind: &str| repo.lines("journal").iter().filter(|line| line.contains(kind)).count();
    assert_eq!((logged("\"kind\":\"finding\""), logged("\"kind\":\"unknown\"")), (2, 2));
}

#[test]
fn the_thresholds_of_calibration_hold_end_to_end() {
    let place = Sandbox::new();
    for (at, (before, after, calibration)) in [
        ("know=0.5,uncertainty=0.6", "know=0.7,uncertainty=0.4", "well_calibrated"),
        ("know=0.5,uncertainty=0.6", "know=0.5,uncertainty=0.4", "well_calibrated"),
        ("know=0.5,uncertainty=0.7", "know=0.5,uncertainty=0.45", "overconfident"),
        ("know=0.5,uncertainty=0.35", "know=0.75,uncertainty=0.35", "underconfident"),
        ("know=0.6,uncertainty=0.5", "know=0.85,uncertainty=0.2", "well_calibrated"),
        ("know=0.6", "know=0.7,uncertainty=0.35", "not_assessable"),
    ]
    .into_iter()
    .enumerate()
    {
        let repo = place.repo(&format!("r{at}"));
        repo.start("ada", "Work");
        repo.json(["preflight", "-v", before]);
        let json = repo.json(["postflight", "-v", after]);
        assert_eq!(json["calibration_status"], calibration, "{before} → {after}: {json}");
        let h = repo.json(["show", "--format", "json"]);
        assert_eq!(h["next_steps"], json!([]), "numbers alone name nothing to be done");
    }
}

#[test]
fn steps_that_a_rule_adds_name_the_thing_and_are_counted() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Work");
    repo.json(["preflight", "-v", "know=.5,uncertainty=.5,state=.3"]);
    repo.json(["unknown", "Which clock?"]);
    repo.json(["goal", "add", "Green login"]);
    repo.json(["evidence", "cargo test", "--exit", "101"]);
    // a check that says not to act, and a confident vector all the same
    let check = repo.run(["check", "--json", "-v", "know=.9,uncertainty=.2"]).code(3).json();
    assert_eq!(check["recommendation"], "stop");
    let steps = ["Fix the failing check: cargo test (exit 101)", "Finish: Green login", "Answer: Which clock?"];
    let resumed = || repo.json(["resume"])["sessions"][0].clone();
    assert_eq!((&resumed()["next_steps"], &resumed()["next_steps_by_rule"]), (&json!(steps), &json!(3)));
    repo.json(["handoff", "--next", "Ask the owner"]);
    let shown = repo.json(["show"]);
    assert_eq!(shown["next_steps"], json!(["Ask the owner", steps[0]]));
    assert_eq!(shown["next_steps_by_rule"], 1);
    let detailed = repo.json(["resume", "--detail", "detailed"])["sessions"][0].clone();
    assert_eq!((&detailed["next_steps"], &detailed["next_steps_by_rule"]), (&shown["next_steps"], &json!(1)));
    assert_eq!(resumed()["next_steps"], json!(["Ask the owner"]), "what failed stands among the evidence");
    for view in [&["resume"][..], &["show"], &["log"], &["session", "show"]] {
        let answer = repo.run(view).ok().out;
        for empty in ["Ready for execution", "remaining unknowns\n", "strong epistemic", "Validate assumptions"] {
            assert!(!answer.contains(empty), "{view:?}: {answer}");
        }
    }
}

#[test]
fn filled_gaps_list_resolutions_without_repeating_deltas() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Work");
    repo.json(["preflight", "-v", "know=.5,uncertainty=.5,context=.3"]);
    let question = id(&repo.json(["unknown", "Which port?"]), "id").to_owned();
    repo.json(["resolve", &question, "8080"]);
    repo.json(["postflight", "-v", "know=.8,uncertainty=.2,context=.6", "--finding", "Found that the cache is cold"]);
    let gaps = repo.json(["show"])["knowledge_gaps_filled"].clone();
    assert_eq!(gaps[0]["gap"], "Domain knowledge", "{gaps}");
    assert_eq!((gaps.as_array().map(Vec::len), &gaps[3]["after"]), (Some(5), &json!("8080")));
    let answer = repo.run(["show"]).ok().out;
    let section = answer.split("## Knowledge Gaps Filled\n").nth(1).and_then(|rest| rest.split("\n## ").next());
    assert_eq!(section.map(str::trim), Some("- Which port? → 8080\n- Found that the cache is cold"));
    let resumed = repo.run(["resume", "--detail", "full"]).ok().out;
    assert!(resumed.contains("Which port? → 8080") && !resumed.contains("Domain knowledge"), "{resumed}");
}

#[test]
fn an_empty_repository_resumes_with_a_message() {
    let place = Sandbox::new();
    for repo in [place.init("unborn"), place.repo("empty")] {
        let json = repo.json(["resume"]);
        assert_eq!((&json["sessions"], &json["total_sessions"]), (&json!([]), &json!(0)));
        assert!(id(&json, "message").contains("Nothing to resume from"), "{json}");
        assert!(repo.run(["resume"]).ok().out.contains("Nothing to resume from"));
    }
    let unborn = place.at("unborn");
    unborn.start("ada", "Begin");
    assert!(unborn.json(["handoff", "--next", "Commit"])["commit"].is_null());
    assert_eq!(unborn.json(["resume"])["sessions"][0]["next_steps"][0], "Commit");
}
