//! A claim that a session logs again in the same words, as when the answer of a call was lost, is stored once.

use std::fs;

use crate::repository::surroundings::{formats, id, repo_of};
use crate::support::harness::Sandbox;

#[test]
fn a_claim_in_the_same_words_is_stored_once_until_it_is_written() {
    let place = Sandbox::new();
    for format in formats(&place) {
        let repo = repo_of(&place, &format!("{}-{}", format.hash, format.refs), format);
        repo.start("ada", "t");
        let first = repo.json(["finding", "found", "--impact", "0.5"]);
        let again = repo.json(["finding", "found", "--impact", "0.5"]);
        assert_eq!((again["id"].clone(), again["storage"].clone()), (first["id"].clone(), serde_json::Value::Null));
        let text = repo.run(["finding", "found", "--impact", "0.5"]).ok();
        assert!(text.err.contains("the session logged this before: nothing more was stored"), "{}", text.err);
        assert!(id(&first).ends_with(text.out.trim()), "its id: {}", text.out);
        // what differs in anything is another claim
        for other in [&["found", "--impact", "0.6"][..], &["found"], &["found it", "--impact", "0.5"]] {
            let other = repo.json([&["finding"], other].concat());
            assert_ne!(other["id"], first["id"]);
            assert_eq!(other["storage"], "log");
        }
        let own = repo.json(["session", "start", "--ai", "bob", "--task", "t"]);
        let session = own["session_id"].as_str().expect("an id");
        let other = repo.json(["finding", "found", "--impact", "0.5", "--session", session]);
        assert_ne!(other["id"], first["id"], "another session says so, too");
    }
}

#[test]
fn a_claim_that_was_taken_back_or_is_in_the_notes_can_be_made_again() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    repo.start("ada", "t");
    let first = id(&repo.json(["finding", "found"]));
    // its retract waits in the log beside it
    repo.run(["retract", &first, "--why", "wrong"]).ok();
    let second = id(&repo.json(["finding", "found"]));
    assert_ne!(second, first);
    repo.run(["undo"]).ok();
    let third = id(&repo.json(["finding", "found"]));
    assert_ne!(third, second);
    repo.run(["flush"]).ok();
    let fourth = repo.json(["finding", "found"]);
    assert_ne!(id(&fourth), third);
    fs::write(repo.path.join("file"), "x").expect("written");
    repo.git(["add", "file"]).ok();
    repo.git(["commit", "-qm", "x"]).ok();
    assert_ne!(id(&repo.json(["finding", "found"])), id(&fourth), "on another commit");
}

#[test]
fn what_counts_each_time_is_stored_each_time() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    repo.start("ada", "t");
    for counted in
        [&["evidence", "make test", "--exit", "0"][..], &["activity", "shell", "ls"], &["source", "docs/x.md"]]
    {
        assert_ne!(id(&repo.json(counted)), id(&repo.json(counted)), "{counted:?}");
    }
}
