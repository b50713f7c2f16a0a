//! Events that lose no record: gc, amend, clones, lost state, no git, no writable place.

use std::fs;

use serde_json::Value;

use crate::support::harness::{Repo, Sandbox};

const LISTINGS: [&[&str]; 8] = [
    &["session", "list"],
    &["handoff", "list"],
    &["checkpoint", "list"],
    &["goal", "list"],
    &["query"],
    &["log", "--handoffs", "--checkpoints", "--journal"],
    &["resume", "--last", "5", "--detail", "full"],
    &["show"],
];

/// All listings, as they are now.
#[track_caller]
fn listings(repo: &Repo<'_>) -> Vec<Value> {
    LISTINGS.iter().map(|arguments| repo.json(arguments.iter())).collect()
}

/// Two sessions with all kinds of records on two commits; returns the handoffs' ids.
fn fill(repo: &Repo<'_>) -> Vec<String> {
    let mut out = Vec::new();
    for ai in ["a", "b"] {
        repo.start(ai, "a task");
        let run = |arguments: &[&str]| drop(repo.run(arguments.iter().copied().chain(["--ai", ai])).ok());
        run(&["preflight", "-v", "know=0.5,uncertainty=0.5"]);
        run(&["finding", &format!("what {ai} learned")]);
        run(&["unknown", &format!("what {ai} doubts")]);
        run(&["goal", "add", &format!("what {ai} wants")]);
        run(&["checkpoint"]);
        run(&["postflight", "-v", "know=0.8,uncertainty=0.3", "--no-handoff"]);
        let json = repo.json(["handoff", "--ai", ai, "--next", &format!("what {ai} would do")]);
        out.push(json["handoff_id"].as_str().expect("an id").to_owned());
        repo.commit("f", ai, "Work");
    }
    out
}

#[track_caller]
fn lists_whole(repo: &Repo<'_>, ids: &[String]) {
    let (query, list) = (repo.json(["query"]), repo.json(["handoff", "list"]));
    let resume = repo.json(["resume", "--last", "5", "--detail", "full"]);
    for id in ids {
        assert!(query["reports"].to_string().contains(id.as_str()), "{query}");
        assert!(list["handoffs"].to_string().contains(id.as_str()), "{list}");
    }
    let reports = query["reports"].as_array().expect("a list");
    for (ai, id) in ["a", "b"].iter().zip(ids) {
        let whole = repo.run(["show", id]).ok().out;
        for part in ["learned", "doubts", "wants", "would do"] {
            let text = format!("what {ai} {part}");
            assert!(resume.to_string().contains(&text), "{text}: {resume}");
            assert!(whole.contains(&text), "{text}: {whole}");
        }
        for part in ["learned", "doubts"] {
            let text = format!("what {ai} {part}");
            assert!(reports.iter().any(|r| r.to_string().contains(&text)), "{text}: {query}");
        }
    }
}

#[test]
fn deleting_the_state_folder_changes_no_listing() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    fill(&repo);
    repo.json(["flush"]);
    let before = listings(&repo);
    for _ in 0..2 {
        fs::remove_dir_all(repo.path.join(".git/empirica")).expect("it is there");
        for (now, then) in listings(&repo).iter().zip(&before) {
            assert_eq!(now, then);
        }
    }
    // and work continues in the active sessions
    fs::remove_dir_all(repo.path.join(".git/empirica")).expect("it is there");
    repo.json(["finding", "later", "--ai", "a"]);
    assert!(repo.run(["session", "show", "latest:a"]).ok().out.contains("later"));
}

#[test]
fn gc_after_many_writes_keeps_everything() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let ids = fill(&repo);
    for n in 0..30 {
        repo.run(["finding", &format!("fact number {n}"), "--ai", "a"]).ok();
        if n % 5 == 0 {
            repo.run(["flush"]).ok();
        }
    }
    let before = listings(&repo);
    repo.git(["reflog", "expire", "--expire=now", "--all"]).ok();
    repo.git(["gc", "-q", "--prune=now"]).ok();
    assert_eq!(listings(&repo), before);
    lists_whole(&repo, &ids);
    repo.json(["flush"]);
    let journal = repo.lines("journal").join("\n");
    for n in 0..30 {
        assert!(journal.contains(&format!("fact number {n}\"")), "{n}");
    }
    repo.fsck();
}

#[test]
fn a_record_on_a_commit_that_is_gone_is_still_listed() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let ids = fill(&repo);
    let gone = repo.head();
    repo.start("c", "a late task");
    let late = repo.json(["handoff", "--ai", "c", "--next", "the late step"]);
    repo.git(["commit", "-q", "--amend", "-m", "Other words"]).ok();
    repo.git(["reflog", "expire", "--expire=now", "--all"]).ok();
    repo.git(["gc", "-q", "--prune=now"]).ok();
    assert_ne!(repo.git(["cat-file", "-e", &gone]).code, 0, "the commit is gone");
    listings(&repo);
    lists_whole(&repo, &ids);
    let id = late["handoff_id"].as_str().expect("an id");
    for arguments in [&["query"][..], &["handoff", "list"], &["show", id], &["resume", "--session", "latest:c"]] {
        assert!(repo.json(arguments).to_string().contains(id), "{arguments:?}");
    }
    for command in [&["status"][..], &["session", "show", "latest:c"], &["session", "list"]] {
        repo.run(command).ok();
    }
    repo.json(["finding", "more", "--ai", "c"]);
    repo.json(["handoff", "--ai", "c"]);
}

#[test]
fn a_continued_clone_lists_every_handoff_completely() {
    let place = Sandbox::new();
    let origin = place.repo("origin");
    let ids = fill(&origin);
    origin.json(["flush"]);
    let clone = place.clone(&origin, "clone", true);
    clone.commit("g", "x\n", "Further");
    lists_whole(&clone, &ids);

    let tracking = place.clone(&origin, "tracking", false);
    let specs = [
        "+refs/notes/empirica/data/*:refs/notes/empirica/remotes/origin/data/*",
        "+refs/notes/empirica/handoffs*:refs/notes/empirica/remotes/origin/handoffs*",
    ];
    tracking.git(["fetch", "-q", "origin"].into_iter().chain(specs)).ok();
    tracking.commit("g", "x\n", "Further");
    lists_whole(&tracking, &ids);
}

#[test]
fn without_git_on_the_path_records_are_still_kept() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    fs::create_dir(place.path().join("empty")).expect("a folder");
    let empty = place.path().join("empty");
    let set = [("PATH", empty.to_str().expect("UTF-8"))];
    repo.run_with_env(&set, ["session", "start", "--ai", "a", "--task", "t"]).ok();
    repo.run_with_env(&set, ["finding", "kept without git"]).ok();
    let handed = repo.run_with_env(&set, ["handoff", "--next", "install git", "--json"]).ok().json();
    assert!(handed["warning"].as_str().is_some_and(|text| text.contains("git")), "{handed}");
    for command in [&["resume"][..], &["handoff", "list"], &["query"], &["session", "list"], &["show"], &["flush"]] {
        repo.run_with_env(&set, command).ok();
    }
    repo.run_with_env(&set, ["log"]).ok();
    let json = repo.run_with_env(&set, ["log", "--json", "--", "README.md"]).code(128).json();
    assert_eq!(json["ok"], false, "a selection is git's to make");
    assert!(repo.run(["resume"]).ok().out.contains("kept without git"));
}

#[test]
fn without_a_log_in_the_repository_the_users_state_folder_takes_the_record() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    fs::write(repo.path.join(".git/empirica"), "in the way").expect("a file");
    let state = place.path().join("state");
    let set = [("XDG_STATE_HOME", state.to_str().expect("UTF-8"))];
    let started = repo.run_with_env(&set, ["session", "start", "--ai", "a", "--task", "t", "--json"]).ok().json();
    let session = started["session_id"].as_str().expect("an id");
    let found = repo.run_with_env(&set, ["finding", "kept elsewhere", "--session", session, "--json"]).ok().json();
    assert!(found["warning"].as_str().is_some_and(|text| text.contains("state folder")), "{found}");
    assert!(state.join("git-empirica").is_dir());
    assert!(repo.run_with_env(&set, ["session", "show", session]).ok().out.contains("kept elsewhere"));
    let handed = repo.run_with_env(&set, ["handoff", "--session", session, "--json"]).ok().json();
    assert_eq!(handed["degraded_mode"], true, "{handed}");
    assert!(repo.run_with_env(&set, ["resume"]).ok().out.contains("kept elsewhere"));

    // once the place is free, it drains
    fs::remove_file(repo.path.join(".git/empirica")).expect("a file");
    repo.run_with_env(&set, ["flush"]).ok();
    assert!(repo.lines("journal").iter().any(|line| line.contains("kept elsewhere")));
    assert_eq!(repo.json(["handoff", "list"])["total_found"], 1);
}

#[test]
fn without_a_writable_place_it_fails_with_recovery_commands() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    fs::write(repo.path.join(".git/empirica"), "in the way").expect("a file");
    fs::write(place.path().join("state"), "in the way too").expect("a file");
    let state = place.path().join("state");
    let set = [("XDG_STATE_HOME", state.to_str().expect("UTF-8"))];
    let json = repo.run_with_env(&set, ["session", "start", "--ai", "a", "--json"]).code(128).json();
    assert_eq!(json["ok"], false, "{json}");
    let commands = json["recovery_commands"].as_array().expect("a list");
    assert!(!commands.is_empty(), "{json}");
    repo.run_with_env(&set, ["session", "list"]).ok();
}
