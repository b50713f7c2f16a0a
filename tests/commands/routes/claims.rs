//! Who takes up a handoff: one session at a time, the others are told.

use serde_json::{Value, json};

use crate::commands::routes::{CHAIN, begin, by, id, ids, rules};
use crate::support::harness::{RunOutput, Sandbox};

#[test]
fn of_two_that_accept_at_once_one_has_it_and_the_other_is_told() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    rules(&repo, CHAIN);
    begin(&repo, "lead");
    let sessions: Vec<String> = (0..6).map(|_| begin(&repo, "tester")).collect();
    for turn in 0..crate::support::harness::each(3) {
        let task = format!("t-{turn}");
        let handed = id(&by(&repo, "lead", &["handoff", "-m", "Test", "--task-id", &task, "--next", "n"]));
        let accept = |session: &String| {
            let mut command = repo.program();
            command.args(["accept", &handed, "--json", "--session", session]).env("EMPIRICA_AI", "tester");
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().expect("starts")
        };
        let running: Vec<_> = sessions.iter().map(accept).collect();
        let ended: Vec<RunOutput> =
            running.into_iter().map(|child| RunOutput::new(child.wait_with_output().expect("ends"))).collect();
        let won: Vec<usize> = (0..6).filter(|at| ended[*at].code == 0).collect();
        assert_eq!(won.len(), 1, "{turn}");
        for (at, lost) in ended.iter().enumerate().filter(|(at, _)| *at != won[0]) {
            let json = lost.json();
            let title = format!("cannot accept handoff {}: another session owns it", &handed[28..]);
            assert_eq!((lost.code, &json["error"]), (1, &json!(title)), "{at}");
            let reason = json["reason"].as_str().expect("a text");
            assert!(reason.contains(&sessions[won[0]][..8]), "{reason}");
        }
        let shown = by(&repo, "lead", &["task", "show", &task]);
        assert_eq!(shown["chain"][0]["owner"]["session_id"], json!(sessions[won[0]]));
        assert_eq!(shown["chain"][0]["rivals"], json!([]));
    }
}

#[test]
fn who_has_it_may_say_more_and_others_may_take_it_over() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    rules(&repo, CHAIN);
    begin(&repo, "lead");
    let (first, second) = (begin(&repo, "tester"), begin(&repo, "tester"));
    let handed = id(&by(&repo, "lead", &["handoff", "-m", "Test", "--task-id", "t", "--next", "n"]));
    let accept = |session: &str, more: &[&str]| {
        repo.run_with_env(&[("EMPIRICA_SESSION", session)], [&["accept", &handed], more].concat())
    };
    accept(&first, &[]).ok();
    accept(&first, &["--question", "which cases?"]).ok();
    let refused = accept(&second, &["--question", "mine?"]).code(1);
    assert!(refused.err.contains(&format!("git empirica accept {} --take-over", &handed[28..])), "{}", refused.err);
    accept(&second, &["--take-over"]).ok();
    let held = |session: &str| {
        let inbox = repo.json_with_env(&[("EMPIRICA_SESSION", session), ("EMPIRICA_AI", "tester")], ["inbox"]);
        (ids(&inbox, "working"), ids(&inbox, "lost"))
    };
    assert_eq!(held(&second), (vec![handed.clone()], vec![]));
    assert_eq!(held(&first), (vec![], vec![handed.clone()]));
    let both = by(&repo, "tester", &["inbox"]);
    assert_eq!((&both["working"][0]["session_id"], &both["lost"][0]["session_id"]), (&json!(second), &json!(first)));
    accept(&first, &[]).code(1);
    let warned = by(&repo, "tester", &["status"]);
    let warning = warned["warning"].as_str().expect("a warning");
    assert!(
        warning.contains(&format!(
            "tester, session {}: tester (session {}) owns handoff {}",
            &first[..8],
            &second[..8],
            &handed[28..]
        )),
        "{warning}"
    );
    assert!(warning.contains("stop work on it"), "{warning}");

    // what the first hands over now does not continue the task
    let own = repo.json_with_env(&[("EMPIRICA_SESSION", &first)], ["handoff", "--next", "n"]);
    assert!(own["warning"].as_str().is_some_and(|text| text.contains("does not continue the task 't'")), "{own}");
    assert_eq!((&own["task_id"], &own["to"]), (&json!(null), &json!(null)), "no rule hands it on");
    let next = repo.json_with_env(&[("EMPIRICA_SESSION", &second)], ["handoff", "--next", "n"]);
    assert_eq!((&next["task_id"], &next["to"]), (&json!("t"), &json!("validator")));
    // and the first may take it back
    accept(&first, &["--take-over"]).ok();
}

#[test]
fn a_session_that_continues_another_has_its_work() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    begin(&repo, "lead");
    let first = begin(&repo, "tester");
    let handed = id(&by(&repo, "lead", &["handoff", "-m", "Test", "--to", "tester", "--next", "n"]));
    by(&repo, "tester", &["accept", &handed]);
    by(&repo, "tester", &["finding", "half of it works"]);
    let mut last = first;
    for _ in 0..3 {
        last = by(&repo, "tester", &["session", "start", "--from", &last])["session_id"]
            .as_str()
            .expect("an id")
            .to_owned();
    }
    let taken = by(&repo, "tester", &["accept", &handed, "--session", &last]);
    assert_eq!((&taken["session_id"], &taken["claimed"]), (&json!(last), &json!(true)));
    let other = begin(&repo, "tester");
    repo.fails(1, ["accept", &handed, "--session", &other]);
}

#[test]
fn a_newer_version_belongs_to_who_took_up_the_older() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    rules(&repo, CHAIN);
    begin(&repo, "lead");
    for ai in ["tester", "validator"] {
        begin(&repo, ai);
    }
    let hand = |next: &str| id(&by(&repo, "lead", &["handoff", "-m", "Test", "--task-id", "t", "--next", next]));
    let first = hand("one");
    by(&repo, "tester", &["accept", &first, "--question", "which?"]);
    let newer = hand("two");
    assert_eq!(ids(&by(&repo, "tester", &["inbox"]), "waiting"), [""; 0], "it is not waiting again");
    let other = begin(&repo, "tester");
    repo.fails(1, ["accept", &newer, "--session", &other]);
    let revised = id(&by(&repo, "lead", &["handoff", "--regenerate", &newer]));
    assert_eq!(by(&repo, "lead", &["show", &revised])["route"]["rule"], "test");
    repo.fails(1, ["accept", &revised, "--session", &other]);
    // the sender's own word takes nothing up
    let again = id(&by(&repo, "lead", &["handoff", "-m", "Test", "--task-id", "u", "--next", "n"]));
    by(&repo, "lead", &["accept", &again, "--understanding", "mine"]);
    assert_eq!(ids(&by(&repo, "tester", &["inbox"]), "waiting"), std::slice::from_ref(&again));
    let wrong = by(&repo, "validator", &["accept", &again, "--understanding", "just looking"]);
    let warning = wrong["warning"].as_str().expect("a warning");
    assert!(warning.contains("is addressed to tester, not validator: it stays in the inbox of tester"), "{warning}");
    assert_eq!(wrong["claimed"], false);
    assert_eq!(ids(&by(&repo, "tester", &["inbox"]), "waiting"), std::slice::from_ref(&again));
    assert_eq!(by(&repo, "validator", &["accept", &again, "--take-over"])["claimed"], true);
    assert_eq!(ids(&by(&repo, "tester", &["inbox"]), "waiting"), [""; 0]);
}

#[test]
fn what_is_for_anyone_may_be_accepted_by_all() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    begin(&repo, "lead");
    let handed = id(&by(&repo, "lead", &["handoff", "--next", "n"]));
    for ai in ["one", "two"] {
        begin(&repo, ai);
        by(&repo, ai, &["accept", &handed]);
    }
}

#[test]
fn the_end_of_a_session_gives_up_what_it_did_not_hand_on() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    rules(&repo, CHAIN);
    begin(&repo, "lead");
    let hand = |task: &str| id(&by(&repo, "lead", &["handoff", "-m", task, "--task-id", task, "--next", "n"]));
    let (one, two) = (hand("one"), hand("two"));
    let first = begin(&repo, "tester");
    by(&repo, "tester", &["accept", &one]);
    by(&repo, "tester", &["handoff", "--next", "n"]);
    by(&repo, "tester", &["accept", &two]);
    let ended = by(&repo, "tester", &["session", "end", "--session", &first]);
    let warning = ended["warning"].as_str().expect("a warning");
    let text = format!("handoff {} waits for tester again: the session ended without handing it on", &two[28..]);
    assert_eq!(warning, text);
    let second = begin(&repo, "tester");
    assert_eq!(ids(&by(&repo, "tester", &["inbox"]), "waiting"), std::slice::from_ref(&two));
    by(&repo, "tester", &["accept", &two]);
    let chain = by(&repo, "tester", &["task", "show", "two"])["chain"][0].clone();
    assert_eq!((&chain["owner"]["session_id"], &chain["rivals"]), (&json!(second), &json!([])));
}

#[test]
fn a_session_that_begins_with_a_handoff_claims_it() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    rules(&repo, CHAIN);
    begin(&repo, "lead");
    let handed = id(&by(&repo, "lead", &["handoff", "-m", "Test", "--task-id", "t", "--next", "n"]));
    let begun = by(&repo, "tester", &["session", "start", "--from", &handed]);
    let inbox = by(&repo, "tester", &["inbox"]);
    assert_eq!((ids(&inbox, "waiting"), ids(&inbox, "working")), (vec![], vec![handed.clone()]));
    let other = by(&repo, "tester", &["session", "start", "--from", &handed]);
    let warning = other["warning"].as_str().expect("a warning");
    assert!(warning.contains(&begun["session_id"].as_str().expect("an id")[..8]), "{warning}");
    let session = begun["session_id"].as_str().expect("an id");
    let next = repo.json_with_env(&[("EMPIRICA_SESSION", session)], ["handoff", "--next", "m"]);
    assert_eq!((&next["task_id"], &next["to"]), (&json!("t"), &json!("validator")));
}

#[test]
fn forged_acknowledgements_take_nothing() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    rules(&repo, CHAIN);
    begin(&repo, "lead");
    let handed = id(&by(&repo, "lead", &["handoff", "-m", "Test", "--task-id", "t", "--next", "n"]));
    let own = begin(&repo, "tester");
    by(&repo, "tester", &["accept", &handed]);
    let line = repo.lines("handoffs").into_iter().find(|line| line.contains("\"kind\":\"accept\"")).expect("a line");
    let real: Value = serde_json::from_str(&line).expect("JSON");
    let forged = line
        .replace(real["id"].as_str().expect("an id"), "00000000-0000-7000-8000-000000000001")
        .replace(&own, "11111111-1111-4111-8111-111111111111");
    let note = repo.note("empirica/data/handoffs", &repo.head()) + &forged + "\n";
    repo.set_note("refs/notes/empirica/data/handoffs", &repo.head(), note.as_bytes());
    let chain = by(&repo, "tester", &["task", "show", "t"])["chain"][0].clone();
    assert_eq!(chain["owner"]["session_id"], json!(own), "nobody accepts what is not yet there");
    let hostile = r#""route":{"rule":"r","detail":"evil","budget":1}"#;
    let routed = by(&repo, "lead", &["handoff", "-m", "Test", "--task-id", "u", "--next", "n"]);
    let line = repo.lines("handoffs").into_iter().find(|line| line.contains(&id(&routed))).expect("a line");
    let forged = line.replace(r#""route":{"rule":"test"}"#, hostile).replace(&id(&routed)[24..], "abcdefabcdef");
    assert!(forged.contains("evil"), "{forged}");
    let note = repo.note("empirica/data/handoffs", &repo.head()) + &forged + "\n";
    repo.set_note("refs/notes/empirica/data/handoffs", &repo.head(), note.as_bytes());
    by(&repo, "tester", &["accept", "efabcdef"]);
}
