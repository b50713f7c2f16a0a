//! What is found by meaning, and by whom.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::agents::hook_payloads::At;
use crate::commands::meaning::{endpoint, history, inputs, set_up, texts};
use crate::mcp::server::Client;
use crate::support::harness::{Repo, Sandbox};

const DB: &str = "Which DB is used?";
const LOGIN: &str = "Credentials are checked twice, so the timeout is hit";
const CACHE: &str = "Memoize tokens in Redis";

#[test]
fn a_record_is_found_by_its_meaning() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    history(&repo);
    assert!(texts(&repo, &["database choice"]).is_empty(), "not by its words");
    let server = endpoint(|_| None);
    set_up(&repo, &server);
    assert_eq!(texts(&repo, &["database choice"])[0], DB);
    assert_eq!(texts(&repo, &["auth latency"])[0], LOGIN);
    let asked = server.take();
    assert_eq!(asked.iter().map(inputs).collect::<Vec<_>>(), [["database choice"], ["auth latency"]]);
    let shown = repo.run(["search", "database choice"]).ok();
    assert!(shown.out.contains(DB), "{}", shown.out);
    assert!(shown.err.contains("near in meaning"), "that no record has the words is said: {}", shown.err);
    let found = repo.json(["search", "database choice"]);
    assert_eq!((&found["widened"], &found["hits"][0]["highlights"]), (&json!(true), &json!([])), "{found}");
    assert!(found["hits"][0]["score"].as_f64().expect("a score") > 0.0);
}

#[test]
fn words_and_meaning_are_one_list_and_either_can_be_forced() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    history(&repo);
    let server = endpoint(|_| None);
    set_up(&repo, &server);
    // the axis has the word, the DB the meaning; a record with both is first
    let both = texts(&repo, &["store axis"]);
    assert!(both.contains(&DB.to_owned()) && both[0].contains("axis"), "{both:?}");
    assert_eq!(texts(&repo, &["--lexical", "store axis"]), ["The axis of the plot begins at zero"]);
    assert!(texts(&repo, &["--lexical", "database choice"]).is_empty());
    server.take();
    let all = texts(&repo, &["--semantic", "database choice", "--limit", "99"]);
    assert_eq!((all[0].as_str(), all.len()), (DB, 7), "by meaning alone, all are near to some degree: {all:?}");
    assert_eq!(server.take().len(), 1);
    // what must occur is searched by words, and so are beginnings
    assert!(texts(&repo, &["\"database choice\""]).is_empty());
    assert_eq!(texts(&repo, &["memoiz*"])[0], CACHE);
    assert!(server.take().is_empty(), "neither is sent");
    repo.fails(2, ["search", "--semantic", "--lexical", "x"]);
    for limit in ["9223372036854775807", "18446744073709551615"] {
        assert_eq!(texts(&repo, &["--semantic", "database choice", "--limit", limit]).len(), 7);
    }
    let found = repo.json(["search", "--semantic", "database choice", "--limit", "2"]);
    assert_eq!((found["hits"].as_array().map(Vec::len), &found["total_found"]), (Some(2), &json!(7)));
}

#[test]
fn what_has_all_the_words_is_first_at_every_limit() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    for n in 0..30 {
        repo.json(["finding", &format!("The db of postgres is a store, number {n}")]);
    }
    repo.json(["finding", "The used database, number 99"]);
    let server = endpoint(|_| None);
    set_up(&repo, &server);
    for limit in ["1", "3", "10"] {
        assert_eq!(
            texts(&repo, &["database number 99", "--limit", limit])[0],
            "The used database, number 99",
            "{limit}"
        );
    }
}

#[test]
fn filters_hold_for_what_is_found_by_meaning() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    history(&repo);
    let server = endpoint(|_| None);
    set_up(&repo, &server);
    let found = |arguments: &[&str]| -> BTreeSet<String> {
        texts(&repo, &[&["--semantic", "--limit", "99"], arguments].concat()).into_iter().collect()
    };
    let set = |texts: &[&str]| -> BTreeSet<String> { texts.iter().map(|text| (*text).to_owned()).collect() };
    assert_eq!(found(&["database", "kind:unknown"]), set(&[DB]));
    assert_eq!(found(&["database", "--kind", "deadend"]), set(&[CACHE]));
    assert_eq!(
        found(&["database", "--ai", "codex"]),
        set(&["The axis of the plot begins at zero", "Rounded the price"])
    );
    assert_eq!(found(&["database", "session:latest:codex"]), found(&["database", "ai:codex"]));
    assert_eq!(found(&["database", "--until", "2020-01-01"]), set(&[]));
    assert!(!found(&["database -Redis"]).contains(CACHE));
    assert_eq!(found(&["database", "--type", "progress", "--range", "HEAD"]), set(&[]));
    // a replaced claim is found with --all alone
    let old = repo.json(["search", "kind:deadend"])["hits"][0]["id"].as_str().expect("an id").to_owned();
    repo.json(["retract", &old, "--why", "it works now"]);
    repo.run(["embed"]).ok();
    assert!(!found(&["memoize"]).contains(CACHE));
    assert!(found(&["memoize", "--all"]).contains(CACHE));
}

#[test]
fn a_plan_hears_of_what_failed_first() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    history(&repo);
    let server = endpoint(|_| None);
    set_up(&repo, &server);
    let found = texts(&repo, &["--plan", "cache the sign-in of the db"]);
    assert_eq!(found[0], CACHE, "{found:?}");
    assert!(found.contains(&DB.to_owned()), "{found:?}");
}

/// A repository with many records of other matters, and two of different sessions that are near to each other; one is about `pool.rs`.
fn neighbours(repo: &Repo<'_>) {
    repo.commit("pool.rs", "one\ntwo\n", "c");
    repo.start("bob", "Speed up the plot");
    for n in 0..12 {
        for filler in ["The graph is fine, case", "Tests are one suite, case", "The invoice has a price, case"] {
            repo.json(["finding", &format!("{filler} {n}")]);
        }
    }
    repo.json(["session", "end"]);
    repo.start("ada", "Which store has the latency");
    repo.json(["finding", "The db is slow to choose: one pool serves it", "--at", "pool.rs"]);
    repo.hand_over("Which store has the latency");
    repo.json(["session", "end"]);
    repo.commit("other.rs", "three\n", "d");
    repo.start("eve", "Choose the pool");
    repo.json(["decision", "Latency of the database decided it: two pools", "--why", "one was slow"]);
    repo.json(["session", "end"]);
}

#[test]
fn assessments_and_mcp_search_by_meaning() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    history(&repo);
    let server = endpoint(|_| None);
    set_up(&repo, &server);
    repo.json(["session", "end"]);
    repo.start("eve", "Cache, cache, cache");
    let state = repo.json(["assess-state", "--semantic-query", "auth latency"]);
    assert_eq!(state["semantic_context"]["results"][0]["text"], LOGIN, "{state}");
    let state = repo.json(["assess-state", "--semantic-search"]);
    let results = state["semantic_context"]["results"].as_array().expect("a list");
    let is_cache = |found: &Value| found["text"].as_str().is_some_and(|text| text.starts_with(CACHE));
    assert!(results.iter().any(is_cache), "near to the task: {results:?}");
    let mut mcp = Client::new(&repo, &[]);
    let found = mcp.ok("search_history", json!({"query": "database choice"}));
    assert_eq!(found["hits"][0]["text"], DB, "{found}");
}

#[test]
fn why_and_the_guard_tell_what_is_near_to_what_is_known_of_a_file() {
    let place = Sandbox::new();
    let repo = place.init("r");
    neighbours(&repo);
    let server = endpoint(|_| None);
    set_up(&repo, &server);
    let known = repo.json(["why", "pool.rs"]);
    let relations: Vec<(&str, &str)> = known["known"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| (one["relation"].as_str().expect("a word"), one["kind"].as_str().expect("a kind")))
        .collect();
    assert_eq!(relations, [("about", "finding"), ("near", "decision")], "{known}");
    let at = At { repo: &repo, agent: "claude-code", session: "near-0001".to_owned() };
    at.tell("SessionStart", json!({"source": "startup"}));
    let file = repo.path.join("pool.rs");
    let call = json!({"tool_name": "Read", "tool_input": {"file_path": file}, "tool_response": {}});
    let told = at.context("PostToolUse", call.clone());
    assert!(told.contains("one pool serves it") && told.contains("two pools"), "{told}");
    assert!(!told.contains("case"), "{told}");
    at.quiet("PostToolUse", call);
    assert!(server.take().is_empty(), "the vectors that are there suffice");
}

#[test]
fn resume_tells_what_others_found_near_to_a_handoff() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    neighbours(&repo);
    let resume = ["resume", "--session", "latest:ada"];
    assert!(repo.json(resume)["sessions"][0].get("related").is_none());
    let server = endpoint(|_| None);
    set_up(&repo, &server);
    let sessions = repo.json(resume);
    let related = sessions["sessions"][0]["related"].as_array().expect("a list");
    let [one] = &related[..] else { panic!("one: {sessions}") };
    let one = one.as_str().expect("a text");
    assert!(one.starts_with("decision ") && one.contains(" by eve: Latency of the database"), "{one}");
    assert!(repo.run(resume).ok().out.contains("Related:\n- decision "));
    assert!(server.take().is_empty(), "the vectors that are there suffice");
}
