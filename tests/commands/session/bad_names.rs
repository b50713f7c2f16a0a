//! Invalid names: of sessions, records, revisions, patterns and dates.

use crate::commands::output::bad_input::{begun, refused, says};
use crate::support::harness::{Repo, Sandbox};

/// Writes records of two sessions whose ids begin alike into the journal's note of HEAD, as another clone's would come.
fn twins(repo: &Repo<'_>) {
    let line = |at: u32, session: &str| {
        format!(
            "{{\"v\":1,\"id\":\"019ca945-0a03-7ba9-9fc4-0000{at:04}beef\",\"kind\":\"session_start\",\"session\":\"{session}\",\"ai\":\"twin\",\"at\":\"2026-03-01T10:00:00.000Z\",\"commit\":null,\"tree\":null,\"worktree\":\"main\",\"place\":\"elsewhere\"}}\n"
        )
    };
    let note = line(1, "abcd1111-0000-4000-8000-000000000001") + &line(2, "abcd2222-0000-4000-8000-000000000002");
    repo.write("note", &note);
    repo.git(["notes", "--ref", "refs/notes/empirica/data/journal", "add", "-F", "note", "HEAD"]).ok();
}

#[test]
fn unusable_session_names_have_distinct_errors() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    twins(&repo);
    repo.start("ada", "Work");
    let takers: [&[&str]; 7] = [
        &["finding", "F", "--session"],
        &["handoff", "list", "--session"],
        &["resume", "--session"],
        &["session", "show"],
        &["goal", "take"],
        &["checkpoint", "list", "--session"],
        &["session", "end", "--session"],
    ];
    for taker in takers {
        let given = |name| [taker, &[name]].concat();
        let json = refused(&repo, 1, &given("abcd"));
        assert!(says(&json, "error", "2 sessions"), "{json}");
        assert_eq!(json["provided"], "abcd");
        assert_eq!(json["alternatives"].as_array().map(Vec::len), Some(2), "{json}");
        for name in ["ffffffff", "abc", "%", "", " ", "latest:x:y:z", "latest:nobody", "latest:", "nobody", "é"] {
            let json = refused(&repo, 1, &given(name));
            assert_eq!(json["provided"], name.trim(), "{taker:?}: {json}");
            assert!(says(&json, "suggestion", "latest:<ai>"), "{json}");
            let commands = json["recovery_commands"].as_array().expect("a list");
            assert_eq!(commands, &["git empirica session list"], "{name}: {json}");
        }
        // a name that looks like an option is never taken for one by git
        assert_eq!(repo.run(given("--exec=touch pwned")).code, 2, "{taker:?}");
        assert!(!repo.path.join("pwned").exists());
    }
    let json = repo.json(["session", "show", "abcd1"]);
    assert_eq!(json["session_id"], "abcd1111-0000-4000-8000-000000000001");
    let json = refused(&repo, 1, &["show", "abcd"]);
    assert!(says(&json, "error", "2 sessions"), "an ambiguous name is not an unknown one: {json}");
}

#[test]
fn an_abbreviation_that_a_session_and_a_handoff_have_is_refused_with_both() {
    let place = Sandbox::new();
    let one = place.repo("one");
    let session = one.start("ada", "Work");
    let handoff = one.json(["handoff", "--next", "Go"])["handoff_id"].as_str().expect("an id").to_owned();
    let renamed = format!("{}abcd3333", &handoff[..28]);
    let exported = one.run(["export", "--jsonl"]).ok().out.replace(&handoff, &renamed);
    let alone = "abcd4444-0000-4000-8000-000000000004";
    for (name, lines, sessions) in [
        ("one-session", exported.replace(&session, alone), &["abcd4444"][..]),
        ("two-sessions", exported, &["abcd1111", "abcd2222"]),
    ] {
        let repo = place.clone(&one, name, false);
        if sessions.len() > 1 {
            twins(&repo);
        }
        repo.run_with_input(["import", "--jsonl", "-"], lines.as_bytes()).ok();
        for taker in [&["session", "start", "--ai", "bob", "--from"][..], &["show"], &["diff"], &["search", "--like"]] {
            let json = refused(&repo, 1, &[taker, &["abcd"]].concat());
            for id in sessions.iter().chain(&["abcd3333"]) {
                assert!(says(&json, "reason", id) && json["alternatives"].to_string().contains(id), "{id}: {json}");
            }
        }
        let started = repo.json(["session", "start", "--ai", "bob", "--from", &renamed]);
        assert_eq!(started["from"]["handoff_id"], *renamed, "the whole id is not ambiguous: {started}");
        repo.git(["branch", "abcd"]).ok();
        let json = refused(&repo, 1, &["show", "abcd"]);
        assert!(says(&json, "reason", "session abcd") && says(&json, "reason", "commit "), "{json}");
        assert!(json["alternatives"].to_string().contains(&repo.head()), "{json}");
    }
}

#[test]
fn unusable_record_names_have_distinct_errors() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    twins(&repo);
    repo.start("ada", "Work");
    let finding = repo.json(["finding", "F"])["id"].as_str().expect("an id").to_owned();
    for taker in [
        &["resolve", "?", "A"][..],
        &["goal", "sub", "?", "T"],
        &["goal", "done", "?"],
        &["goal", "drop", "?"],
        &["goal", "show", "?"],
        &["checkpoint", "show", "?"],
        &["finding", "F", "--led-from", "?"],
        &["show", "?"],
    ] {
        let given = |name| -> Vec<&str> { taker.iter().map(|word| if *word == "?" { name } else { *word }).collect() };
        for name in ["ffffffff", "fff", "%", "nobody", "../../etc", "é"] {
            refused(&repo, 1, &given(name));
        }
        if !matches!(taker[0], "finding" | "show") {
            let json = refused(&repo, 1, &given(&finding));
            assert!(says(&json, "error", "cannot find"), "a finding is no {}: {json}", taker[0]);
        }
        let ran = repo.run(given("--exec=touch pwned"));
        assert_eq!(ran.code, 2, "{taker:?}: {}", ran.err);
    }
    let json = refused(&repo, 1, &["show", "beef"]);
    assert!(says(&json, "error", "2 records"), "{json}");
    refused(&repo, 1, &["finding", "F", "--led-from", "beef"]);
}

#[test]
fn revisions_patterns_and_dates_without_sense_are_refused() {
    let place = Sandbox::new();
    let repo = begun(&place, "a");
    repo.json(["handoff"]);
    for bad in ["(", "[", "*", "a{99999999}"] {
        assert_eq!(refused(&repo, 2, &["query", "--task", bad])["provided"], bad);
    }
    for bad in ["", "soon", "blah", "%"] {
        for flag in ["--since", "--until"] {
            refused(&repo, 2, &["query", flag, bad]);
        }
    }
    refused(&repo, 1, &["log", "no-such-revision"]);
    refused(&repo, 1, &["log", "HEAD~99..HEAD"]);
    for option in ["--exec=touch pwned", "--output=pwned", "-Opwned"] {
        assert_eq!(repo.run(["log", option]).code, 2, "{option}");
        assert_eq!(repo.run(["show", option]).code, 2, "{option}");
        assert_eq!(repo.run(["log", "HEAD", "--", option]).code, 0, "a path may be called {option}");
    }
    assert!(!repo.path.join("pwned").exists());
}
