//! The gates: goals of a PREFLIGHT, drift and decision of a CHECK, and the exit code of severe drift.

use serde_json::Value;

use crate::support::harness::{Repo, Sandbox};

fn list(json: &Value) -> Vec<Value> {
    json.as_array().expect("a list").clone()
}

fn text<'j>(json: &'j Value, key: &str) -> &'j str {
    json[key].as_str().unwrap_or_else(|| panic!("no text {key}: {json}"))
}

/// A check whose exit code is `code` and which answers all the same.
#[track_caller]
fn check(repo: &Repo<'_>, code: i32, vectors: &str, more: &[&str]) -> Value {
    let json = repo.run(["check", "--json", "-v", vectors].iter().chain(more)).code(code).json();
    assert_eq!(json["ok"], true, "{json}");
    assert_eq!(json["safe_to_proceed"], code == 0, "{json}");
    json
}

#[test]
fn the_seeds_uncertain_preflight_sets_goals_that_are_stored() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Map all 52 commands to handler functions");
    let json = repo.json(["preflight", "-v", "know=0.65,state=0.45,uncertainty=0.65,do=0.9"]);
    assert_eq!((&json["uncertainty_detected"], &json["uncertainty_score"]), (&true.into(), &0.65.into()));
    assert_eq!(json["recommendation"], "investigate");
    assert!(text(&json, "next_step").contains("goals") && text(&json, "next_step").contains("git empirica check"));
    let goals = list(&json["auto_generated_goals"]);
    let texts: Vec<(&str, &str)> = goals.iter().map(|goal| (text(goal, "priority"), text(goal, "rationale"))).collect();
    assert_eq!(
        texts,
        [
            ("high", "KNOW score 0.65 indicates knowledge gaps"),
            ("high", "UNCERTAINTY score 0.65 indicates open questions"),
            ("high", "STATE score 0.45 indicates incomplete environment mapping"),
        ]
    );
    assert!(goals.iter().all(|goal| text(goal, "description").ends_with("map all 52 commands to handler functions")));
    let open = repo.json(["goal", "list", "--open"]);
    for (stored, goal) in list(&open["goals"]).iter().zip(&goals) {
        assert_eq!((&stored["id"], &stored["text"]), (&goal["id"], &goal["description"]));
        assert_eq!(stored["rationale"], goal["rationale"]);
        assert_eq!(list(&stored["criteria"]).len(), 1);
    }
    assert_eq!(open["total_found"], 3);
    // they are goals like others
    repo.json(["goal", "sub", text(&goals[1], "id"), "list the commands"]);
    repo.json(["goal", "done", text(&goals[0], "id"), "--evidence", "all answered"]);
    assert_eq!(repo.json(["goal", "list"])["completion_rate"], 0.33);
}

#[test]
fn a_sure_preflight_sets_none() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    let json = repo.json(["preflight", "-v", "know=0.7,state=0.6,uncertainty=0.6,do=0.1"]);
    assert_eq!((text(&json, "recommendation"), &json["uncertainty_detected"]), ("proceed", &false.into()));
    assert_eq!(list(&json["auto_generated_goals"]), Vec::<Value>::new());
    assert_eq!(repo.json(["goal", "list"])["total_found"], 0);
}

#[test]
fn goals_name_dead_ends_and_sessions_of_other_clones() {
    let place = Sandbox::new();
    let theirs = place.repo("theirs");
    theirs.start("codex", "speed up the login tests");
    let dead_end = theirs.json(["deadend", "Sleeping in the login test", "--why", "slow, and still flaky"]);
    theirs.json(["deadend", "Vendoring openssl", "--why", "license"]);
    theirs.json(["unknown", "Does the login test read the system clock?"]);
    theirs.json(["handoff", "-m", "speed up the login tests"]);
    let repo = place.clone(&theirs, "mine", true);
    repo.start("ada", "fix the flaky login test");
    repo.json(["unknown", "Which timezone?"]);
    let json = repo.json(["preflight", "-v", "know=0.4"]);
    let goal = &json["auto_generated_goals"][0];
    assert_eq!(text(goal, "description"), "Answer \"Which timezone?\" and 1 more before you fix the flaky login test");
    let short = &text(&dead_end, "id")[28..];
    let rationale = text(goal, "rationale");
    assert!(rationale.starts_with("KNOW score 0.40 indicates knowledge gaps"), "{rationale}");
    let expected = format!("dead end {short} of codex: Sleeping in the login test — slow, and still flaky");
    assert!(rationale.contains(&expected) && !rationale.contains("openssl"), "{rationale}");
    assert!(rationale.contains("of codex: speed up the login tests"), "{rationale}");
    assert!(repo.run(["goal", "show", text(goal, "id")]).ok().out.contains(&expected));
}

#[test]
fn a_second_preflight_updates_changes_and_keeps_progress() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    let first = repo.json(["preflight", "-v", "know=0.4,state=0.3,do=0.2"]);
    let id = |json: &Value, at: usize| text(&json["auto_generated_goals"][at], "id").to_owned();
    // know, state, do
    repo.json(["goal", "sub", &id(&first, 1), "step"]);
    let second = repo.json(["preflight", "-v", "know=0.4,state=0.35,do=0.3"]);
    assert_eq!(id(&second, 0), id(&first, 0), "the same is set once");
    assert_eq!(id(&second, 1), id(&first, 1), "steps were added to it");
    assert_ne!(id(&second, 2), id(&first, 2));
    let open = repo.json(["goal", "list", "--open"]);
    assert_eq!(open["total_found"], 3);
    let dropped = repo.json(["goal", "show", &id(&first, 2)]);
    assert_eq!(dropped["goal"]["status"], "dropped");
}

#[test]
fn a_stable_check_may_proceed() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    repo.json(["preflight", "-v", "know=0.8,uncertainty=0.3"]);
    let json = check(&repo, 0, "know=0.82,uncertainty=0.3", &["--confidence", "0.7"]);
    let drift = &json["drift_analysis"];
    assert_eq!((&drift["detected"], text(drift, "severity"), text(drift, "type")), (&false.into(), "none", "none"));
    assert_eq!((&drift["window_size"], &drift["assessments_analyzed"]), (&3.into(), &2.into()));
    assert_eq!((text(&json, "decision"), text(&json, "recommendation")), ("proceed", "proceed"));
    let unsure = check(&repo, 0, "know=0.8", &["--confidence", "0.69"]);
    assert_eq!((text(&unsure, "decision"), text(&unsure, "recommendation")), ("investigate", "investigate"));
    let neither = check(&repo, 0, "uncertainty=0.3", &[]);
    assert_eq!(text(&neither, "decision"), "investigate", "there is no confidence to act on");
    // the text has the decision and its reason
    for (arguments, expected) in [
        (
            &["check", "-v", "know=0.8", "--confidence", "0.7"][..],
            "Decision: proceed (confidence 0.7000 is 0.70 or more)",
        ),
        (
            &["check", "-v", "know=0.8", "--confidence", "0.6999"],
            "Decision: investigate (confidence 0.6999 is below 0.70)",
        ),
        (&["check", "-v", "know=0.8"], "Decision: proceed (overall confidence 0.80 is 0.70 or more)"),
        (&["check", "-v", "uncertainty=0.3"], "Decision: investigate (there is no confidence to act on)"),
    ] {
        let out = repo.run(arguments).ok().out;
        assert!(out.contains(expected), "{expected}: {out}");
    }
    // vectors that were not compared are not mentioned
    let alone = check(&repo, 0, "impact=0.3", &[]);
    let drift = &alone["drift_analysis"];
    assert_eq!((text(drift, "severity"), text(drift, "pattern")), ("none", "There is nothing to compare yet"));
    assert!(repo.run(["drift"]).ok().out.contains("no vector that counts is in the newest assessment"));
}

#[test]
fn a_moderate_check_recalibrates_and_a_severe_one_stops_with_3() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    repo.json(["preflight", "-v", "know=0.4,uncertainty=0.6"]);
    let json = check(&repo, 0, "know=0.6,uncertainty=0.6", &["--confidence", "0.9"]);
    let drift = &json["drift_analysis"];
    assert_eq!((text(drift, "severity"), text(drift, "type")), ("moderate", "overconfidence"));
    assert_eq!(text(drift, "pattern"), "Confidence increasing faster than evidence supports");
    assert_eq!(drift["vector_deltas"], serde_json::json!({"know": 0.2, "uncertainty": 0.0}));
    assert_eq!((text(&json, "decision"), text(&json, "recommendation")), ("proceed", "recalibrate_before_acting"));
    let json = check(&repo, 3, "know=0.95,uncertainty=0.6", &["--confidence", "0.9"]);
    assert_eq!(text(&json["drift_analysis"], "severity"), "severe");
    assert_eq!((text(&json, "decision"), text(&json, "recommendation")), ("investigate", "stop"));
    // it is stored all the same, and shown again at any time
    assert_eq!(json["round"], 2);
    let again = repo.run(["drift", "--json"]).code(3).json();
    for key in ["drift_analysis", "safe_to_proceed", "decision", "recommendation"] {
        assert_eq!(again[key], json[key], "{key}");
    }
    let wider = repo.run(["drift", "--window", "2", "--json"]).code(3).json();
    assert_eq!(wider["drift_analysis"]["vector_deltas"]["know"], 0.35);
    let ran = repo.run(["drift"]).code(3);
    assert!(ran.out.contains("severe, overconfidence") && ran.out.contains("know +0.45"), "{}", ran.out);
    repo.run(["drift", "--window", "1"]).code(2);
}

#[test]
fn findings_make_a_gain_learning() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    for support in [
        &["finding", "It is UTC"][..],
        &["decision", "Use a fake clock", "--why", "w"],
        &["source", "docs/clock.md"],
        &["evidence", "cargo test", "--exit", "0"],
    ] {
        repo.start("ada", "t");
        repo.json(["preflight", "-v", "know=0.3,uncertainty=0.4"]);
        repo.json(support);
        let json = check(&repo, 0, "know=0.6,uncertainty=0.1", &[]);
        assert_eq!(text(&json["drift_analysis"], "type"), "learning", "{support:?}");
        assert_eq!(json["drift_analysis"]["vector_deltas"]["know"], 0.3);
        // nothing more was learned since
        let json = check(&repo, 0, "know=0.65,uncertainty=0.1", &[]);
        assert_eq!(text(&json["drift_analysis"], "severity"), "minor", "{support:?}");
        repo.json(["session", "end"]);
    }
    // given with the check itself
    repo.start("ada", "t");
    repo.json(["preflight", "-v", "know=0.3"]);
    check(&repo, 0, "know=0.9", &["--finding", "It is UTC"]);
    repo.json(["session", "end"]);
    // neither a question, nor a failure, nor a failed check found a gain
    for nothing in [
        &["unknown", "Why?"][..],
        &["deadend", "a", "--why", "b"],
        &["mistake", "m"],
        &["activity", "read", "r"],
        &["evidence", "cargo test", "--exit", "1"],
    ] {
        repo.start("ada", "t");
        repo.json(["preflight", "-v", "know=0.3"]);
        repo.json(nothing);
        check(&repo, 3, "know=0.9", &[]);
        repo.json(["session", "end"]);
    }
}

#[test]
fn a_large_gain_is_weighed_against_the_findings() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let gain = |records: &[&[&str]]| {
        repo.start("ada", "t");
        repo.json(["preflight", "-v", "know=0.3"]);
        for record in records {
            repo.json(*record);
        }
        let json = check(&repo, 0, "know=0.95", &[]);
        let output = repo.run(["check", "-v", "know=0.95"]).out;
        repo.json(["session", "end"]);
        (text(&json["drift_analysis"], "severity").to_owned(), text(&json, "recommendation").to_owned(), output)
    };
    let (severity, recommendation, _) = gain(&[&["finding", "x"]]);
    assert_eq!((severity.as_str(), recommendation.as_str()), ("moderate", "recalibrate_before_acting"));
    let (severity, ..) = gain(&[&["finding", "x"], &["finding", "x"], &["finding", "x"], &["finding", "y"]]);
    assert_eq!(severity, "moderate", "a text that is repeated is no further claim");
    let (severity, recommendation, _) = gain(&[&["finding", "x"], &["source", "docs/a.md"], &["finding", "y"]]);
    assert_eq!((severity.as_str(), recommendation.as_str()), ("none", "proceed"));
    let (severity, ..) = gain(&[&["evidence", "cargo test", "--exit", "0"]]);
    assert_eq!(severity, "none");
    let (severity, ..) = gain(&[&["finding", "x"], &["evidence", "cargo test", "--exit", "1"]]);
    assert_eq!(severity, "moderate");
}

#[test]
fn a_check_never_ignores_doubts() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    let json = check(&repo, 0, "know=.9,uncertainty=.99", &[]);
    assert_eq!((text(&json, "decision"), text(&json, "recommendation")), ("investigate", "investigate"));
    assert_eq!(text(&json, "decision_reason"), "uncertainty 0.99 is above 0.60");
    assert!(!text(&json, "next_step").starts_with("Act"), "{json}");
    let output = repo.run(["check", "-v", "know=.9", "--confidence", "1"]).ok().out;
    assert!(output.contains("Decision: investigate (uncertainty 0.99 of CHECK 1 is above 0.60)"), "{output}");
    repo.json(["session", "end"]);
    // set before the work only, it holds until replaced
    repo.start("ada", "u");
    repo.json(["preflight", "-v", "know=.9,uncertainty=.61"]);
    let json = check(&repo, 0, "know=.9", &[]);
    assert_eq!(text(&json, "decision_reason"), "uncertainty 0.61 of PREFLIGHT 1 is above 0.60");
    let json = check(&repo, 0, "know=.9,uncertainty=.6", &[]);
    assert_eq!((text(&json, "decision"), text(&json, "recommendation")), ("proceed", "proceed"));
}

#[test]
fn an_answer_by_another_session_counts_as_learned() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let session = repo.start("ada", "t");
    let unknown = repo.json(["unknown", "Which clock?", "--ai", "ada"]);
    repo.json(["preflight", "-v", "know=0.3", "--ai", "ada"]);
    repo.start("codex", "u");
    repo.json(["resolve", text(&unknown, "id"), "UTC", "--ai", "codex"]);
    let json = check(&repo, 0, "know=0.6", &["--session", &session]);
    assert_eq!(text(&json["drift_analysis"], "type"), "learning");
}

#[test]
fn a_fall_is_drift_regardless_of_findings() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    repo.json(["preflight", "-v", "know=0.9,clarity=0.9,context=0.9"]);
    repo.json(["finding", "It is far larger"]);
    let json = check(&repo, 3, "know=0.5,clarity=0.5,context=0.5", &["--confidence", "0.9"]);
    assert_eq!(text(&json["drift_analysis"], "type"), "true_drift");
}

#[test]
fn the_whole_loop_is_resumed_in_another_clone() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "fix the flaky login test");
    let preflight = repo.json(["preflight", "-v", "know=0.5,uncertainty=0.7"]);
    assert_eq!(text(&preflight, "recommendation"), "investigate");
    repo.json(["finding", "The login test reads the system clock"]);
    for goal in list(&preflight["auto_generated_goals"]) {
        repo.json(["goal", "done", text(&goal, "id"), "--evidence", "read the test"]);
    }
    check(&repo, 0, "know=0.85,uncertainty=0.3", &["--confidence", "0.8"]);
    repo.json(["evidence", "cargo test login", "--exit", "0"]);
    let json = repo.json(["postflight", "-v", "know=0.9,uncertainty=0.2", "--next", "watch CI"]);
    assert_eq!(text(&json, "calibration_status"), "well_calibrated");
    let clone = place.clone(&repo, "clone", true);
    let resumed = clone.json(["resume", "--detail", "full"]);
    let session = &resumed["sessions"][0];
    assert_eq!(session["handoff_id"], json["handoff"]["handoff_id"]);
    assert_eq!(list(&session["goals"]).iter().filter(|goal| goal["status"] == "done").count(), 2);
    assert_eq!(session["epistemic_deltas"]["know"], 0.4);
}

#[test]
fn an_assessment_closes_reached_suggestions_if_something_was_learned() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    let preflight = repo.json(["preflight", "-v", "know=0.65,state=0.5,do=0.6,uncertainty=0.65"]);
    let goals = list(&preflight["auto_generated_goals"]);
    let of = |vector: &str| {
        let found = goals.iter().find(|goal| text(goal, "rationale").starts_with(&format!("{vector} score")));
        found.expect("a goal")["id"].clone()
    };
    // nothing was learned, then too little, then by overconfidence
    assert_eq!(list(&check(&repo, 0, "know=0.7,uncertainty=0.65", &[])["goals_reached"]).len(), 0);
    let some = check(&repo, 0, "know=0.6999,uncertainty=0.65", &["--finding", "It is UTC"]);
    assert_eq!(list(&some["goals_reached"]).len(), 0);
    assert_eq!(list(&check(&repo, 3, "know=0.7,uncertainty=0.1", &[])["goals_reached"]).len(), 0);
    repo.json(["goal", "sub", of("DO").as_str().expect("an id"), "try it"]);
    repo.json(["finding", "It reads the system clock"]);
    let json = check(&repo, 0, "know=0.7,uncertainty=0.30,do=0.9", &[]);
    let reached = list(&json["goals_reached"]);
    assert_eq!(
        reached.iter().map(|goal| (&goal["id"], text(goal, "evidence"))).collect::<Vec<_>>(),
        [(&of("KNOW"), "CHECK 4: know 0.70"), (&of("UNCERTAINTY"), "CHECK 4: uncertainty 0.30")]
    );
    let open = repo.json(["goal", "list", "--open"]);
    assert_eq!(list(&open["goals"]).iter().map(|goal| goal["id"].clone()).collect::<Vec<_>>(), [of("STATE"), of("DO")]);
    let postflight = repo.json(["postflight", "-v", "know=0.8,state=0.8"]);
    assert_eq!(list(&postflight["goals_reached"]).len(), 1);
    let handoff = repo.json(["show"]);
    assert_eq!(list(&handoff["goals"]).iter().filter(|goal| goal["status"] == "done").count(), 3, "{handoff}");
    // what was investigated is not what was accomplished
    assert_eq!(list(&handoff["accomplished"]), Vec::<Value>::new());
}

#[test]
fn status_shows_it_all_on_one_screen() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    assert!(!repo.run(["status"]).ok().out.contains("Drift"), "nothing was assessed");
    repo.json(["preflight", "-v", "know=0.8"]);
    assert!(repo.run(["status"]).ok().out.contains("  Drift: none yet; it needs two assessments\n"));
    check(&repo, 0, "know=0.95", &[]);
    let mut goals = Vec::new();
    for n in 0..9 {
        goals.push(text(&repo.json(["goal", "add", &format!("Goal {n}")]), "id").to_owned());
        repo.json(["unknown", &format!("Why {n}?")]);
    }
    repo.json(["goal", "done", &goals[0]]);
    let out = repo.run(["status"]).ok().out;
    assert!(out.contains("  Drift: moderate, overconfidence: Confidence increasing faster"), "{out}");
    assert!(out.contains("know               ███████████████████░ 0.95\n"), "{out}");
    assert_eq!((out.matches("  goal ").count(), out.matches("  unknown ").count()), (4, 4), "{out}");
    assert!(out.contains("Why 8?") && !out.contains("Why 0?"), "the newest are named: {out}");
    assert!(out.contains("  and 4 open goals, 5 unknowns, 1 goal done\n"), "{out}");
    assert!(out.lines().count() <= 24, "{out}");
    let session = &repo.json(["status"])["sessions"][0];
    assert_eq!(session["drift_analysis"], repo.json(["drift"])["drift_analysis"]);
    assert_eq!(session["safe_to_proceed"], true);
}

#[test]
fn a_suggested_goal_is_not_reached_while_a_question_is_open() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    let goal = repo.json(["preflight", "-v", "uncertainty=0.8"])["auto_generated_goals"][0]["id"].clone();
    let unknown = repo.json(["unknown", "Which cache?"]);
    let json = check(&repo, 0, "uncertainty=0.2", &["--finding", "It is UTC"]);
    assert_eq!(list(&json["goals_reached"]), Vec::<Value>::new());
    repo.json(["resolve", text(&unknown, "id"), "the cold one"]);
    let answer = check(&repo, 0, "uncertainty=0.2", &["--unknown", "And which clock?"]);
    assert_eq!(list(&answer["goals_reached"]), Vec::<Value>::new(), "asked with the check itself");
    let last = text(&repo.json(["session", "show"])["unknowns"][0], "id").to_owned();
    repo.json(["resolve", &last, "UTC"]);
    assert_eq!(check(&repo, 0, "uncertainty=0.2", &[])["goals_reached"][0]["id"], goal);
}
