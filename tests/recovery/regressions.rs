//! Regression tests for lost, hidden or misplaced records.

use std::fs;

use crate::support::harness::{Repo, Sandbox};

fn findings(repo: &Repo<'_>, session: &str) -> String {
    repo.json(["session", "show", session])["findings"].to_string()
}

#[test]
fn concurrently_started_sessions_are_all_stored() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let children: Vec<_> = (0..12)
        .map(|n| repo.program().args(["session", "start", "--ai", &format!("ai{n}")]).spawn().expect("it starts"))
        .collect();
    for mut child in children {
        assert!(child.wait().expect("it ends").success());
    }
    for n in 0..12 {
        let ai = format!("ai{n}");
        let session = repo.json(["finding", "x", "--ai", &ai])["session_id"].clone();
        let shown = repo.json(["session", "show", session.as_str().expect("an id")]);
        assert_eq!(shown["ai_id"], ai, "its own session, not another's");
    }
}

#[test]
fn an_agent_without_a_session_begins_its_own() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let ada = repo.start("ada", "t");
    assert_eq!(repo.json(["drift", "--ai", "bob"])["session_id"], ada);
    assert_ne!(repo.json(["finding", "x", "--ai", "bob"])["session_id"], ada);
}

#[test]
fn a_handoff_with_the_clock_ahead_hides_no_other() {
    let mut place = Sandbox::new();
    let path = place.repo("r").path;
    let later = "2026-03-02T14:00:00.000Z";
    let now = std::mem::replace(&mut place.now, later.into());
    Repo { place: &place, path: path.clone() }.start("a", "t");
    Repo { place: &place, path: path.clone() }.run(["handoff", "-m", "ahead"]).ok();
    place.now = now;
    let repo = Repo { place: &place, path };
    repo.run(["handoff", "-m", "now"]).ok();
    let listed = repo.json(["handoff", "list"]);
    assert_eq!(listed["total_found"], 1, "{listed}");
    assert_eq!(repo.json(["log", "--handoffs"])["total_found"], 1);
}

#[test]
fn a_worktree_may_be_called_main_or_like_a_log_that_was_taken() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let own = repo.start("own", "t");
    for name in ["main", "x.taken-1"] {
        let path = place.path().join("trees").join(name);
        repo.git(["worktree", "add", "-q", "-b", &format!("b-{}", name.len()), path.to_str().expect("UTF-8")]).ok();
        let tree = Repo { place: &place, path };
        assert_eq!(tree.fails(1, ["drift"])["error"], "cannot choose a session: no active session here");
        let other = tree.start("other", "t");
        tree.run(["finding", name]).ok();
        repo.run(["flush"]).ok();
        tree.run(["finding", "after the flush"]).ok();
        assert!(findings(&repo, &other).contains(name) && findings(&repo, &other).contains("after the flush"));
    }
    assert_eq!(repo.json(["finding", "mine"])["session_id"], own);
}

#[test]
fn a_recreated_worktree_has_no_session_of_the_earlier_one() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let path = place.path().join("tree");
    let target = path.to_str().expect("UTF-8").to_owned();
    repo.git(["worktree", "add", "-q", "--detach", &target]).ok();
    Repo { place: &place, path: path.clone() }.start("old", "t");
    repo.git(["worktree", "remove", &target]).ok();
    repo.git(["worktree", "add", "-q", "--detach", &target]).ok();
    let tree = Repo { place: &place, path };
    let active = tree.json(["status"])["sessions"].clone();
    assert_eq!(active.as_array().map(Vec::len), Some(0), "{active}");
}

#[test]
fn a_line_of_another_version_stays_in_the_log() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("a", "t");
    let log = repo.path.join(".git/empirica/wal/main");
    let line = format!("lessons {} {{\"v\":2,\"id\":\"x\"}}", repo.head());
    fs::write(&log, fs::read_to_string(&log).expect("a log") + &format!("\n{line}\n")).expect("a log");
    repo.run(["flush"]).ok();
    repo.run(["flush"]).ok();
    assert!(fs::read_to_string(&log).expect("a log").contains(&line));
    assert_eq!(repo.lines("journal").len(), 1);
}

#[test]
fn records_of_an_unborn_branch_that_was_left_stay_where_they_are() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.git(["switch", "-q", "--orphan", "loose"]).ok();
    repo.start("a", "t");
    let id = repo.json(["handoff"])["handoff_id"].clone();
    repo.git(["switch", "-q", "main"]).ok();
    let commit = repo.commit("f", "x\n", "Unrelated");
    assert_eq!(repo.json(["handoff", "list"])["handoffs"][0]["handoff_id"], id, "it is not lost");
    assert_eq!(repo.json(["show", &commit])["handoffs"].as_array().map(Vec::len), Some(0), "nor put on another's work");
}

#[test]
fn a_goal_taken_over_is_complete_in_its_new_session() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    let goal = repo.json(["goal", "add", "G"])["id"].as_str().expect("an id").to_owned();
    repo.commit("f", "1\n", "One");
    let bob = repo.start("bob", "t");
    repo.run(["goal", "take", "latest:ada", "--ai", "bob"]).ok();
    fs::remove_dir_all(repo.path.join(".git/empirica/sessions")).ok();
    repo.commit("f", "2\n", "Two");
    repo.start("cy", "t");
    repo.run(["goal", "done", &goal, "--ai", "cy", "--evidence", "seen"]).ok();
    repo.commit("f", "3\n", "Three");
    repo.run(["flush"]).ok();
    for _ in 0..2 {
        let markdown = repo.json(["handoff", "--session", &bob])["markdown"].to_string();
        assert!(markdown.contains("done: G"), "{markdown}");
    }
}

#[test]
fn an_answer_that_was_fetched_counts_in_the_next_handoff() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    let unknown = repo.json(["unknown", "Which port?"])["id"].as_str().expect("an id").to_owned();
    repo.run(["flush"]).ok();
    let other = place.clone(&repo, "other", true);
    other.commit("g", "x\n", "Elsewhere");
    other.start("bob", "t");
    other.run(["resolve", &unknown, "8080"]).ok();
    other.run(["flush"]).ok();
    let from = other.path.to_str().expect("UTF-8");
    let spec = "+refs/notes/empirica/data/*:refs/notes/empirica/remotes/other/data/*";
    repo.git(["fetch", "-q", from, spec]).ok();
    let markdown = repo.json(["handoff"])["markdown"].to_string();
    assert!(markdown.contains("Which port? → 8080"), "{markdown}");
}

#[test]
fn a_retried_handoff_duplicates_nothing() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("a", "t");
    for _ in 0..2 {
        repo.run(["handoff", "--finding", "F1", "--unknown", "U1"]).ok();
    }
    let shown = repo.json(["show"]);
    assert_eq!(shown["key_findings"], serde_json::json!(["F1"]));
    assert_eq!(shown["remaining_unknowns"], serde_json::json!(["U1"]));
}

#[test]
fn a_deleted_file_is_no_artifact() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("a", "t");
    repo.write("scratch", "x");
    repo.run(["handoff", "--artifact", "docs/plan.md"]).ok();
    fs::remove_file(repo.path.join("scratch")).expect("a file");
    repo.run(["handoff"]).ok();
    assert_eq!(repo.json(["show"])["artifacts_created"], serde_json::json!(["docs/plan.md"]));
}

#[test]
fn an_external_id_is_no_alias_and_resolves_to_the_active_session() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let first = repo.json(["session", "start", "--ai", "a", "--external-id", "tool-1"])["session_id"].clone();
    repo.run(["session", "end"]).ok();
    let second = repo.json(["session", "start", "--ai", "a", "--external-id", "tool-1"])["session_id"].clone();
    assert_ne!(first, second);
    assert_eq!(repo.json(["finding", "x", "--session", "tool-1"])["session_id"], second);
    repo.json(["session", "start", "--ai", "z", "--external-id", "latest:a"]);
    assert_eq!(repo.json(["finding", "x", "--session", "latest:a"])["session_id"], second);
}

#[test]
fn glued_secrets_are_replaced_and_cost_no_age() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("a", "t");
    let secret = ["secret_key=Ab3dEf9hIj2k", "Lm5nOp8q"].concat();
    repo.run_with_input(["finding", "-"], secret.repeat(400).as_bytes()).ok();
    repo.run(["flush"]).ok();
    assert!(!repo.lines("journal").join("\n").contains("Ab3dEf9hIj2kLm5nOp8q"));
    let token = ["ghp_", "x3Kd92LmQpZ81vNfT4wRyB7sHcJ6gAeU5oXi"].concat();
    let json = repo.json(["check", "-v", "know=0.5", "--meta", &format!("{token}=1")]);
    assert_eq!(json["redacted"][0]["field"], "meta", "{json}");
    assert!(!repo.lines("checkpoints").join("\n").contains(&token));
}

#[test]
fn a_round_at_the_end_of_its_range_is_no_fault() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("a", "t");
    repo.json(["checkpoint", "--round", "4294967295"]);
    assert_eq!(repo.json(["checkpoint"])["round"], 4_294_967_295_u32);
}

#[test]
fn output_of_the_editor_is_not_in_the_document() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("a", "t");
    let ran = repo.run_with_env(&[("GIT_EDITOR", "echo opened; true")], ["handoff", "--edit", "--json"]).ok();
    assert_eq!(ran.json()["ok"], true);
}
