//! Handoffs whose owners stop: they wait again, whoever had them before.

use serde_json::json;

use crate::commands::routes::{CHAIN, begin, by, id, ids, rules};
use crate::support::harness::{Repo, Sandbox};

/// What waits for an agent, and what a session of it has and lost.
#[track_caller]
fn inbox(repo: &Repo<'_>, ai: &str, session: &str) -> (Vec<String>, Vec<String>, Vec<String>) {
    let json = repo.json_with_env(&[("EMPIRICA_SESSION", session), ("EMPIRICA_AI", ai)], ["inbox"]);
    (ids(&json, "waiting"), ids(&json, "working"), ids(&json, "lost"))
}

#[test]
fn what_was_taken_over_waits_again_in_any_order_of_ends() {
    for first_to_end in [0, 1] {
        let place = Sandbox::new();
        let repo = place.repo("work");
        rules(&repo, CHAIN);
        begin(&repo, "lead");
        let handed = id(&by(&repo, "lead", &["handoff", "-m", "Test", "--task-id", "t", "--next", "n"]));
        let (one, two, later) = (begin(&repo, "tester"), begin(&repo, "tester"), begin(&repo, "tester"));
        let run = |session: &str, arguments: &[&str]| repo.json_with_env(&[("EMPIRICA_SESSION", session)], arguments);
        run(&one, &["accept", &handed]);
        run(&two, &["accept", &handed, "--take-over"]);
        let ended = [&one, &two][first_to_end];
        let said = run(ended, &["session", "end"]);
        let waits = said["warning"].as_str().is_some_and(|text| text.contains("waits for tester again"));
        assert_eq!(waits, first_to_end == 1, "only of its owner: {said}");
        if first_to_end == 1 {
            // who was told to stop does not get it back unasked
            assert_eq!(inbox(&repo, "tester", &one), (vec![handed.clone()], vec![], vec![]));
        }
        run([&two, &one][first_to_end], &["session", "end"]);
        assert_eq!(inbox(&repo, "tester", &later), (vec![handed.clone()], vec![], vec![]));
        run(&later, &["accept", &handed]);
        assert_eq!(inbox(&repo, "tester", &later), (vec![], vec![handed], vec![]));
    }
}

#[test]
fn a_resolved_escalation_is_work_as_any_other() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    rules(&repo, "[[route]]\nfrom = \"lead\"\nto = \"tester\"\nrounds = 1\nescalate = \"maria\"\n");
    let lead = begin(&repo, "lead");
    let (one, two, later) = (begin(&repo, "tester"), begin(&repo, "tester"), begin(&repo, "tester"));
    let run = |session: &str, arguments: &[&str]| repo.json_with_env(&[("EMPIRICA_SESSION", session)], arguments);
    let hand = |next: &str| run(&lead, &["handoff", "-m", "Test", "--task-id", "t", "--next", next]);
    let first = id(&hand("a"));
    run(&one, &["accept", &first]);
    run(&one, &["handoff", "--to", "lead", "--next", "again"]);
    let back = hand("b");
    assert_eq!(back["to"], "maria", "{back}");
    let handed = id(&back);
    // another escalation of the task, and its resolution, leave this one to maria
    run(&one, &["accept", &first, "--decision", "ESCALATE"]);
    let maria = begin(&repo, "maria");
    run(&maria, &["accept", &first, "--resolution", "go"]);
    assert_eq!(run(&maria, &["task", "show", "t"])["status"], "escalated");
    // a remark, not a claim, also when it has been resolved
    run(&one, &["accept", &handed, "--question", "what?"]);
    run(&maria, &["accept", &handed, "--resolution", "go on"]);
    assert_eq!(inbox(&repo, "tester", &one).0, std::slice::from_ref(&handed));
    assert_eq!(run(&maria, &["task", "show", "t"])["waits_for"], "tester");
    let told = run(&maria, &["status"])["warning"].clone();
    assert!(!told.as_str().unwrap_or_default().contains("stop work"), "{told}");
    run(&one, &["accept", &handed]);
    assert_eq!(inbox(&repo, "tester", &one).1, std::slice::from_ref(&handed));
    run(&two, &["accept", &handed, "--take-over"]);
    assert_eq!(inbox(&repo, "tester", &one).2, std::slice::from_ref(&handed));
    let said = run(&two, &["session", "end"]);
    assert!(said["warning"].as_str().is_some_and(|text| text.contains("waits for tester again")), "{said}");
    assert_eq!(inbox(&repo, "tester", &later).0, std::slice::from_ref(&handed));
    run(&later, &["accept", &handed]);
}

#[test]
fn what_was_handed_on_is_no_longer_claimed_in_any_version() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    begin(&repo, "lead");
    let tester = begin(&repo, "tester");
    let run = |arguments: &[&str]| repo.json_with_env(&[("EMPIRICA_SESSION", &tester)], arguments);
    for next in ["one", "two"] {
        let handed =
            id(&by(&repo, "lead", &["handoff", "-m", "Test", "--task-id", "t", "--to", "tester", "--next", next]));
        run(&["accept", &handed]);
    }
    assert_eq!(inbox(&repo, "tester", &tester).1.len(), 1, "two versions are one handoff");
    run(&["handoff", "--to", "val", "--next", "x"]);
    assert_eq!(inbox(&repo, "tester", &tester), (vec![], vec![], vec![]));
    let ended = run(&["session", "end"]);
    assert!(!ended["warning"].as_str().unwrap_or_default().contains("waits"), "{ended}");
    let next = begin(&repo, "tester");
    assert_eq!(inbox(&repo, "tester", &next).0, Vec::<String>::new());
}

#[test]
fn who_answers_what_another_session_owns_is_told() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    begin(&repo, "lead");
    let (one, two) = (begin(&repo, "tester"), begin(&repo, "tester"));
    let run = |session: &str, arguments: &[&str]| repo.json_with_env(&[("EMPIRICA_SESSION", session)], arguments);
    let handed = id(&by(&repo, "lead", &["handoff", "-m", "Test", "--task-id", "t", "--to", "tester", "--next", "n"]));
    run(&one, &["accept", &handed]);
    let said = run(&two, &["handoff", "--task-id", "t", "--to", "val", "--next", "b"]);
    let told = format!("tester (session {}) owns handoff {}", &one[..8], &handed[28..]);
    assert!(said["warning"].as_str().is_some_and(|text| text.contains(&told)), "{said}");
    assert_eq!(inbox(&repo, "tester", &one).1, [handed]);
}

#[test]
fn an_old_handoff_stays_in_the_inbox_whatever_came_later() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    begin(&repo, "lead");
    let old = id(&by(&repo, "lead", &["handoff", "-m", "Old", "--task-id", "old", "--to", "tester", "--next", "n"]));
    for n in 0..8 {
        let task = format!("t{n}");
        let handed =
            id(&by(&repo, "lead", &["handoff", "-m", "New", "--task-id", &task, "--to", "tester", "--next", "n"]));
        repo.json(["accept", &handed, "--decision", "COMPLETE", "--ai", "maria"]);
    }
    let tester = begin(&repo, "tester");
    let json = repo.json_with_env(&[("EMPIRICA_SESSION", &tester)], ["inbox"]);
    assert_eq!((ids(&json, "waiting"), &json["total_waiting"]), (vec![old], &json!(1)));
}

#[test]
fn a_session_that_goes_on_after_its_end_is_told_what_it_gave_up() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    begin(&repo, "lead");
    let tester = begin(&repo, "tester");
    let handed = id(&by(&repo, "lead", &["handoff", "-m", "Test", "--task-id", "t", "--to", "tester", "--next", "n"]));
    let run = |arguments: &[&str]| repo.json_with_env(&[("EMPIRICA_SESSION", &tester)], arguments);
    run(&["accept", &handed]);
    run(&["session", "end"]);
    let said = run(&["handoff", "--next", "more"]);
    let told = format!("the session gave up handoff {} when it ended; accept it again", &handed[28..]);
    assert!(said["warning"].as_str().is_some_and(|text| text.contains(&told)), "{said}");
    run(&["accept", &handed]);
    let said = run(&["handoff", "--next", "more"]);
    assert_eq!(said["task_id"], "t", "{said}");
}
