//! Records from before the first commit: nothing is committed for the user, and that commit gets them.

use std::fs;

use crate::support::harness::{Repo, Sandbox};

const MARKDOWN: &str = "refs/notes/empirica/handoffs";

/// A session, a finding and a handoff on an unborn HEAD; returns the handoff's id.
#[track_caller]
fn hand_over(repo: &Repo<'_>) -> String {
    assert_ne!(repo.git(["rev-parse", "--verify", "-q", "HEAD"]).code, 0, "HEAD is unborn");
    repo.start("a", "the very first task");
    repo.json(["finding", "an early fact"]);
    let json = repo.json(["handoff", "--next", "commit something"]);
    json["handoff_id"].as_str().expect("an id").to_owned()
}

/// The handoff is at home on the commit, for this program and for plain git.
#[track_caller]
fn attached(repo: &Repo<'_>, id: &str, commit: &str) {
    let log = repo.json(["log", "--handoffs"]);
    let found: Vec<&str> =
        log["commits"].as_array().expect("a list").iter().filter_map(|c| c["commit"].as_str()).collect();
    assert_eq!(found, [commit], "{log}");
    assert_eq!(log["commits"][0]["handoffs"][0]["handoff_id"], id);
    let note = repo.note("refs/notes/empirica/data/handoffs", commit);
    assert!(note.contains(r#""kind":"attach""#) && note.contains(id), "{note}");
    let plain = repo.git_out(["log", "--notes=empirica/handoffs", "-1", commit]);
    assert!(plain.contains("an early fact") && plain.contains("- All: "), "{plain}");
    assert_eq!(repo.json(["handoff", "list"])["total_found"], 1, "attached, not doubled");
    repo.fsck();
}

#[test]
fn everything_works_and_nothing_is_committed_or_unstaged() {
    let place = Sandbox::new();
    let repo = place.init("r");
    repo.write("staged", "x\n");
    repo.git(["add", "staged"]).ok();
    let id = hand_over(&repo);
    assert_eq!(repo.json(["handoff", "list"])["handoffs"][0]["handoff_id"], id);
    assert!(repo.run(["resume"]).ok().out.contains("commit something"));
    assert!(repo.run(["show"]).ok().out.contains("an early fact"));
    repo.run(["log", "--handoffs"]).ok();
    repo.run(["status"]).ok();
    repo.json(["preflight", "-v", "know=0.5"]);
    repo.json(["checkpoint"]);
    assert_ne!(repo.git(["rev-parse", "--verify", "-q", "HEAD"]).code, 0);
    assert_eq!(repo.git_out(["for-each-ref", "refs/heads"]), "");
    assert_eq!(repo.git_out(["status", "--porcelain"]), "A  staged");
}

#[test]
fn the_first_commit_gets_the_records() {
    let place = Sandbox::new();
    let repo = place.init("r");
    let id = hand_over(&repo);
    let first = repo.commit("f", "x\n", "First");
    attached(&repo, &id, &first);
    repo.commit("f", "y\n", "Second");
    attached(&repo, &id, &first);
}

#[test]
fn the_first_commit_gets_them_even_if_others_follow_immediately() {
    let place = Sandbox::new();
    let repo = place.init("r");
    let id = hand_over(&repo);
    let first = repo.commit("f", "x\n", "First");
    repo.commit("f", "y\n", "Second");
    attached(&repo, &id, &first);
}

#[test]
fn an_amended_first_commit_gets_the_records() {
    let place = Sandbox::new();
    let repo = place.init("r");
    let id = hand_over(&repo);
    repo.commit("f", "x\n", "First");
    repo.git(["commit", "-q", "--amend", "-m", "First, in better words"]).ok();
    attached(&repo, &id, &repo.head());
}

#[test]
fn an_orphan_branch_of_an_old_repository_gets_the_records() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.commit("g", "x\n", "Old");
    repo.git(["switch", "-q", "--orphan", "fresh"]).ok();
    let id = hand_over(&repo);
    let first = repo.commit("f", "x\n", "Fresh");
    attached(&repo, &id, &first);
}

#[test]
fn after_a_pull_into_the_empty_repository_the_own_commit_gets_the_records() {
    let place = Sandbox::new();
    let (origin, repo) = (place.repo("origin"), place.init("r"));
    let id = hand_over(&repo);
    repo.git(["pull", "-q", origin.path.to_str().expect("UTF-8"), "main"]).ok();
    assert_eq!(repo.json(["handoff", "list"])["total_found"], 1);
    assert_eq!(repo.note(MARKDOWN, &repo.head()), "", "the pulled commit is not this session's work");
    let own = repo.commit("f", "x\n", "Own");
    attached(&repo, &id, &own);
}

#[test]
fn without_a_reflog_the_root_gets_the_records() {
    let mut place = Sandbox::new();
    // before the commit, by the clock
    place.now = "2026-03-01T10:00:00.000Z".into();
    let repo = place.init("r");
    repo.git(["config", "core.logAllRefUpdates", "false"]).ok();
    let id = hand_over(&repo);
    let first = repo.commit("f", "x\n", "First");
    repo.commit("f", "y\n", "Second");
    attached(&repo, &id, &first);
}

#[test]
fn another_worktrees_unborn_records_stay() {
    let place = Sandbox::new();
    let main = place.init("main");
    let id = hand_over(&main);
    let path = place.path().join("other");
    let tree = main.git_out(["hash-object", "-t", "tree", "-w", "/dev/null"]);
    let passing = main.git_out(["commit-tree", "-m", "passing", &tree]);
    main.git(["worktree", "add", "-q", "--detach", path.to_str().expect("UTF-8"), &passing]).ok();
    let other = place.at("other");
    other.git(["checkout", "-q", "--orphan", "side"]).ok();
    other.start("b", "elsewhere");
    let theirs = other.json(["handoff", "--finding", "a side fact"])["handoff_id"].as_str().expect("an id").to_owned();

    let first = main.commit("f", "x\n", "First");
    main.json(["handoff", "list"]);
    let note = main.note(MARKDOWN, &first);
    assert!(note.contains("an early fact") && !note.contains("a side fact"), "{note}");

    let side = other.commit("g", "x\n", "Side");
    other.json(["handoff", "list"]);
    let note = other.note(MARKDOWN, &side);
    assert!(note.contains("a side fact") && !note.contains("an early fact"), "{note}");
    let log = other.json(["log", "--all"]);
    let placements: Vec<(&str, &str)> = log["commits"]
        .as_array()
        .expect("a list")
        .iter()
        .flat_map(|c| c["handoffs"].as_array().expect("a list").iter().map(move |h| (c, h)))
        .filter_map(|(c, h)| Some((h["handoff_id"].as_str()?, c["commit"].as_str()?)))
        .collect();
    assert_eq!(placements.len(), 2, "{log}");
    assert!(placements.contains(&(&id, &first)) && placements.contains(&(&theirs, &side)), "{log}");
}

#[test]
fn records_before_the_first_commit_survive_a_lost_state_folder() {
    let place = Sandbox::new();
    let repo = place.init("r");
    let id = hand_over(&repo);
    fs::remove_dir_all(repo.path.join(".git/empirica")).expect("it is there");
    assert_eq!(repo.json(["handoff", "list"])["handoffs"][0]["handoff_id"], id);
    repo.commit("f", "x\n", "First");
    assert_eq!(repo.json(["handoff", "list"])["handoffs"][0]["handoff_id"], id);
    assert!(repo.run(["resume"]).ok().out.contains("commit something"));
}
