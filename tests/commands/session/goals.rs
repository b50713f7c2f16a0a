//! Goals: criteria, steps, progress, completion rate, evidence, owners.

use serde_json::Value;

use crate::support::harness::{Repo, Sandbox};

fn id(json: &Value) -> String {
    json["id"].as_str().unwrap_or_else(|| panic!("no id: {json}")).to_owned()
}

fn texts(json: &Value) -> Vec<&str> {
    json.as_array().expect("a list").iter().map(|text| text.as_str().expect("a text")).collect()
}

/// Two goals of ada's, one of them with four steps of which two are done; the ids of the goals.
fn two(repo: &Repo<'_>) -> (String, String) {
    repo.start("ada", "Login");
    let first = id(&repo.json(["goal", "add", "Green login", "--criterion", "tests pass", "--criterion", "no sleep"]));
    let steps: Vec<String> =
        ["one", "two", "three", "four"].iter().map(|step| id(&repo.json(["goal", "sub", &first, step]))).collect();
    repo.json(["goal", "done", &steps[0], "--evidence", "ran it\ntwice"]);
    repo.json(["goal", "done", &steps[1]]);
    (first, id(&repo.json(["goal", "add", "Fast login"])))
}

#[test]
fn progress_evidence_and_completion_rate_are_in_text_and_json() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let (first, second) = two(&repo);
    let goal = repo.json(["goal", "show", &first])["goal"].clone();
    assert_eq!(
        (&goal["progress"], &goal["subtasks"][0]["evidence"]),
        (&"2/4 subtasks".into(), &"ran it\ntwice".into())
    );
    let text = repo.run(["goal", "show", &first]).ok().out;
    for expected in ["(2/4 subtasks)", "done    one\n    evidence: ran it\n    twice\n", "  criterion: no sleep\n"] {
        assert!(text.contains(expected), "{expected:?}: {text}");
    }
    repo.json(["goal", "drop", &second, "--why", "not needed"]);
    assert!(repo.run(["goal", "show", &second]).ok().out.ends_with("  why: not needed\n"));
    assert_eq!(repo.json(["goal", "list"])["completion_rate"], 0.0);
    assert!(repo.run(["goal", "list"]).ok().err.contains("0 of 1 goal done."));
    repo.json(["goal", "done", &first]);
    assert_eq!(repo.json(["goal", "list"])["completion_rate"], 1.0);
}

#[test]
fn a_late_claim_names_the_owner_and_a_third_session_takes_over_in_another_clone() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let (first, second) = two(&repo);
    repo.json(["session", "end"]);
    let bob = repo.start("bob", "Login, on");
    repo.json(["goal", "take", "latest:ada"]);
    repo.fails(1, ["goal", "take", "latest:bob"]);
    let own = repo.fails(1, ["goal", "take", "latest:ada"]);
    assert!(own["suggestion"].as_str().is_some_and(|text| text.starts_with("They are this session's own")), "{own}");
    repo.json(["flush"]);
    let clone = place.clone(&repo, "clone", true);
    let cy = clone.start("cy", "Login, on and on");
    let late = clone.fails(1, ["goal", "take", "latest:ada"]);
    assert_eq!(late["reason"], format!("those it had are with {} now", &bob[..8]));
    assert_eq!(texts(&late["recovery_commands"])[0], format!("git empirica goal take {}", &bob[..8]));
    let taken = clone.json(["goal", "take", &bob[..8]]);
    assert_eq!(taken["goals"].as_array().map(Vec::len), Some(2));
    // those of the agent that has them now, not of the one that set them
    for (ai, count) in [("cy", 2), ("bob", 0), ("ada", 0)] {
        assert_eq!(clone.json(["goal", "list", "--ai", ai])["total_found"], count, "{ai}");
    }
    clone.json(["goal", "done", &first, "--evidence", "all green"]);
    clone.json(["goal", "done", &second]);
    // bob had them, too, and none is open any more
    assert_eq!(clone.fails(1, ["goal", "take", &bob])["reason"], "it had none, or all are closed");
    // it comes back to where they were set
    clone.json(["flush"]);
    let namespace = "refs/notes/empirica/data/journal";
    repo.git(["fetch", "-q", "../clone", &format!("+{namespace}:{namespace}")]).ok();
    let goal = repo.json(["goal", "show", &first])["goal"].clone();
    assert_eq!((&goal["status"], &goal["evidence"]), (&"done".into(), &"all green".into()));
    assert_eq!((&goal["session_id"], &goal["progress"]), (&cy.as_str().into(), &"2/4 subtasks".into()));
}

#[test]
fn suggested_goals_close_with_their_session_and_become_goals_when_somebody_takes_them() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let open = || repo.json(["goal", "list", "--open"])["total_found"].clone();
    for ended in 0..3 {
        repo.start("ada", "Fix the login");
        let json = repo.json(["preflight", "-v", "know=.3,state=.2,uncertainty=.9,completion=0,change=0,impact=0"]);
        assert_eq!(json["auto_generated_goals"].as_array().map(Vec::len), Some(3), "{json}");
        assert_eq!(open(), 3 + ended);
        repo.json(["goal", "add", "Ship it"]);
        let handed = repo.json(["handoff", "-m", "Fix the login", "--finding", "x"]);
        assert!(!handed["markdown"].to_string().contains("Map the present state"), "{handed}");
        repo.json(["session", "end"]);
        assert_eq!(open(), ended + 1, "those that ada set stay open");
    }
    let all = repo.json(["goal", "list"]);
    let suggested = &all["goals"][10];
    assert_eq!((&suggested["status"], &suggested["vector"]), (&"dropped".into(), &"state".into()), "{suggested}");
    let closed = id(suggested);
    let shown = repo.json(["goal", "show", &closed])["goal"].clone();
    assert_eq!(
        (&shown["status"], &shown["evidence"]),
        (&"dropped".into(), &"suggested, and closed with its session".into())
    );
    for view in [&["bootstrap"][..], &["session", "show", "latest"], &["resume"], &["log"]] {
        let output = repo.run(view).ok().out;
        assert!(!output.contains("open: Map the present") && !output.contains("open   Map"), "{view:?}: {output}");
    }
    // a session's closed suggestions are offered one by one; one that is taken is a goal like any other
    let bob = repo.start("bob", "Go on");
    repo.json(["goal", "take", "latest:ada"]);
    let none = repo.fails(1, ["goal", "take", "latest:ada"]);
    assert!(texts(&none["recovery_commands"])[0].starts_with("git empirica goal take "), "{none}");
    let taken = repo.json(["goal", "take", &closed[closed.len() - 8..]]);
    assert_eq!((&taken["goals"][0]["status"], &taken["goals"][0]["session_id"]), (&"open".into(), &bob.into()));
    repo.json(["session", "end"]);
    assert_eq!(open(), 4, "it is the project's now");
    repo.start("cy", "late");
    repo.json(["goal", "done", &closed]);
    repo.fails(1, ["goal", "take", &closed]);
}
