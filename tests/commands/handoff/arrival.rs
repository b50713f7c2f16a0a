//! What `resume` and `show` report about the time since a handoff: commits and artifacts, in every kind of repository.

use serde_json::{Value, json};

use crate::support::harness::{Repo, Sandbox};

/// What became of the newest session's handoff.
#[track_caller]
pub fn arrival(repo: &Repo<'_>) -> Value {
    let of = repo.json(["resume", "--detail", "full"])["sessions"][0]["arrival"].clone();
    // both commands say the same, and show says all of it
    let shown = repo.json(["show"])["arrival"].clone();
    for (key, value) in of.as_object().expect("an arrival") {
        assert_eq!(&shown[key], value, "{key}");
    }
    shown
}

/// The text of resume about it.
#[track_caller]
pub fn resumed_text(repo: &Repo<'_>) -> String {
    let text = repo.run(["resume"]).ok().out;
    let at = text.find(" UTC, ").expect("a head");
    text[at..].lines().skip(1).take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// A session that committed `src/a.rs` and `src/b.rs` and handed over.
pub fn handed_over<'p>(place: &'p Sandbox, name: &str) -> Repo<'p> {
    let repo = place.repo(name);
    repo.start("ada", "Write a and b");
    repo.commit("src/a.rs", "a\n", "Add a");
    repo.commit("src/b.rs", "b\n", "Add b");
    repo.hand_over("Write a and b");
    repo
}

#[test]
fn no_change_is_reported_briefly() {
    let place = Sandbox::new();
    let repo = handed_over(&place, "r");
    let expected = json!({
        "commits_since": 0, "reachable": true, "changed_artifacts": [], "moved_artifacts": [], "missing_artifacts": [],
        "unjudged_artifacts": 0, "resolved_unknowns": [], "stale_evidence": [], "claims": [],
        "retracted_claims": [],
    });
    assert_eq!(arrival(&repo), expected);
    assert_eq!(resumed_text(&repo), "Nothing changed since.");
    assert!(repo.run(["show"]).ok().out.contains("\n## Since Then\n\n- nothing changed\n"));
}

#[test]
fn commits_since_and_what_they_changed_removed_and_left_alone() {
    let place = Sandbox::new();
    let repo = handed_over(&place, "r");
    repo.commit("other", "x\n", "Add other");
    let arrived = arrival(&repo);
    assert_eq!((&arrived["commits_since"], &arrived["changed_artifacts"]), (&json!(1), &json!([])));
    assert_eq!(resumed_text(&repo), "Since then: 1 commit.");
    repo.commit("src/a.rs", "a, better\n", "Mend a");
    repo.git(["rm", "-q", "src/b.rs"]).ok();
    repo.git(["commit", "-q", "-m", "Remove b"]).ok();
    let arrived = arrival(&repo);
    assert_eq!(arrived["commits_since"], 3);
    assert_eq!(arrived["changed_artifacts"], json!(["src/a.rs"]));
    assert_eq!(arrived["missing_artifacts"], json!(["src/b.rs"]));
    assert_eq!(resumed_text(&repo), "Since then: 3 commits; changed: src/a.rs; gone: src/b.rs.");
    let shown = repo.run(["show"]).ok().out;
    assert!(shown.contains("- 3 commits\n- changed: src/a.rs\n- gone: src/b.rs\n"), "{shown}");
    // a change that was taken back is none
    repo.commit("src/a.rs", "a\n", "Back to the first a");
    assert_eq!(arrival(&repo)["changed_artifacts"], json!([]));
}

#[test]
fn changes_of_the_work_tree_count_before_they_are_committed() {
    let place = Sandbox::new();
    let repo = handed_over(&place, "r");
    repo.write("src/a.rs", "not committed\n");
    std::fs::remove_file(repo.path.join("src/b.rs")).unwrap();
    let arrived = arrival(&repo);
    assert_eq!(arrived["commits_since"], 0);
    assert_eq!(arrived["changed_artifacts"], json!(["src/a.rs"]));
    assert_eq!(arrived["missing_artifacts"], json!(["src/b.rs"]));
    assert_eq!(resumed_text(&repo), "Since then: no commit; changed: src/a.rs; gone: src/b.rs.");
    // whatever the reader's HEAD is
    let below = place.at("r/src");
    assert_eq!(arrival(&below)["changed_artifacts"], json!(["src/a.rs"]));
}

/// A session that hands over work that is not committed: `a` is changed, `new` is new.
fn uncommitted<'p>(repo: Repo<'p>) -> Repo<'p> {
    repo.commit("a", "committed\n", "Add a");
    repo.start("ada", "Change a");
    repo.write("a", "changed\n");
    repo.write("new", "new\n");
    repo.hand_over("Change a");
    repo
}

#[test]
fn work_handed_over_uncommitted_is_unchanged_if_committed_as_is() {
    let place = Sandbox::new();
    for (repo, commits_since) in [(place.repo("without hooks"), 1), (place.set_up("with hooks"), 0)] {
        let repo = uncommitted(repo);
        assert_eq!(resumed_text(&repo), "Nothing changed since.");
        repo.git(["add", "-A"]).ok();
        repo.git(["commit", "-q", "-m", "Change a, add new"]).ok();
        let arrived = arrival(&repo);
        assert_eq!(arrived["commits_since"], commits_since);
        for key in ["changed_artifacts", "missing_artifacts"] {
            assert_eq!(arrived[key], json!([]), "{key}");
        }
        assert_eq!(arrived["unjudged_artifacts"], 0);
        repo.commit("a", "changed again\n", "Change a again");
        std::fs::remove_file(repo.path.join("new")).unwrap();
        let arrived = arrival(&repo);
        assert_eq!(arrived["changed_artifacts"], json!(["a"]));
        assert_eq!(arrived["missing_artifacts"], json!(["new"]));
    }
}

#[test]
fn lost_or_changed_uncommitted_work_is_reported() {
    let place = Sandbox::new();
    let repo = uncommitted(place.repo("r"));
    repo.git(["checkout", "-q", "a"]).ok();
    repo.write("new", "newer\n");
    assert_eq!(arrival(&repo)["changed_artifacts"], json!(["new", "a"]));
    // a commit of the one says nothing of the other: with hooks the handoff goes to it
    let repo = uncommitted(place.set_up("hooks"));
    repo.git(["add", "new"]).ok();
    repo.git(["commit", "-q", "-m", "Add new"]).ok();
    assert_eq!(resumed_text(&repo), "Nothing changed since.");
    repo.git(["checkout", "-q", "a"]).ok();
    assert_eq!(arrival(&repo)["changed_artifacts"], json!(["a"]));
}

#[test]
fn changed_content_in_the_handoffs_commit_counts_as_its_work() {
    let place = Sandbox::new();
    let repo = uncommitted(place.set_up("r"));
    repo.commit("a", "changed once more before the commit\n", "Change a");
    assert_eq!(arrival(&repo)["changed_artifacts"], json!([]));
}

#[test]
fn git_filters_do_not_make_a_change() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.commit(".gitattributes", "*.txt text eol=crlf\n", "CRLF for texts");
    repo.start("ada", "t");
    repo.write("a.txt", "one\r\ntwo\r\n");
    repo.hand_over("t");
    repo.git(["add", "-A"]).ok();
    repo.git(["commit", "-q", "-m", "Add a"]).ok();
    assert_ne!(repo.git_out(["rev-parse", "HEAD:a.txt"]), repo.git_out(["hash-object", "--no-filters", "a.txt"]));
    assert_eq!(arrival(&repo)["changed_artifacts"], json!([]));
    repo.write("a.txt", "one\r\nthree\r\n");
    assert_eq!(arrival(&repo)["changed_artifacts"], json!(["a.txt"]));
}

#[test]
fn another_clone_sees_which_work_was_uncommitted() {
    let place = Sandbox::new();
    let repo = uncommitted(place.repo("r"));
    let clone = place.clone(&repo, "clone", true);
    let arrived = arrival(&clone);
    assert_eq!(arrived["commits_since"], 0);
    assert_eq!(arrived["changed_artifacts"], json!(["a"]), "the committed one is not what was handed over");
    assert_eq!(arrived["missing_artifacts"], json!(["new"]));
    repo.git(["add", "-A"]).ok();
    repo.git(["commit", "-q", "-m", "Change a, add new"]).ok();
    clone.git(["pull", "-q"]).ok();
    let arrived = arrival(&clone);
    assert_eq!(arrived["commits_since"], 1);
    assert_eq!((&arrived["changed_artifacts"], &arrived["missing_artifacts"]), (&json!([]), &json!([])));
}

#[test]
fn a_bare_repository_is_judged_by_head() {
    let place = Sandbox::new();
    let repo = handed_over(&place, "r");
    repo.commit("src/a.rs", "a, better\n", "Mend a");
    repo.git(["rm", "-q", "src/b.rs"]).ok();
    repo.git(["commit", "-q", "-m", "Remove b"]).ok();
    repo.git(["clone", "-q", "--bare", ".", "../bare.git"]).ok();
    let bare = place.at("bare.git");
    bare.git(["fetch", "-q", "origin", "refs/notes/empirica/*:refs/notes/empirica/*"]).ok();
    let arrived = arrival(&bare);
    assert_eq!(arrived["commits_since"], 2);
    assert_eq!(arrived["changed_artifacts"], json!(["src/a.rs"]));
    assert_eq!(arrived["missing_artifacts"], json!(["src/b.rs"]));
}

#[test]
fn a_detached_head_before_the_handoff_has_not_its_commit() {
    let place = Sandbox::new();
    let repo = handed_over(&place, "r");
    repo.git(["checkout", "-q", "HEAD~2"]).ok();
    let arrived = arrival(&repo);
    assert_eq!((&arrived["commits_since"], &arrived["reachable"]), (&json!(0), &json!(false)));
    assert_eq!(arrived["missing_artifacts"], json!(["src/a.rs", "src/b.rs"]));
    repo.git(["checkout", "-q", "main~0"]).ok();
    assert_eq!(resumed_text(&repo), "Nothing changed since.");
}

#[test]
fn a_commit_that_is_on_no_branch_any_more_names_repair() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.git(["switch", "-q", "-c", "side"]).ok();
    repo.start("ada", "t");
    repo.commit("a", "a\n", "Add a");
    repo.hand_over("t");
    repo.git(["switch", "-q", "main"]).ok();
    repo.git(["branch", "-q", "-D", "side"]).ok();
    repo.commit("b", "b\n", "Add b");
    let arrived = arrival(&repo);
    assert_eq!((&arrived["commits_since"], &arrived["reachable"]), (&json!(1), &json!(false)));
    assert_eq!(arrived["missing_artifacts"], json!(["a"]));
    let answer = resumed_text(&repo);
    assert!(answer.contains("HEAD has 1 other commit; gone: a."), "{answer}");
    assert!(answer.contains("not in HEAD's history") && answer.contains("git empirica doctor"), "{answer}");
}

#[test]
fn a_rebase_without_hooks_loses_the_commit_and_not_the_content_until_repair() {
    let place = Sandbox::new();
    let repo = handed_over(&place, "r");
    let after = repo.head();
    repo.git(["reset", "-q", "--hard", "HEAD~2"]).ok();
    repo.commit("first", "x\n", "Come first");
    repo.git(["cherry-pick", &format!("{after}~1"), &after]).ok();
    let arrived = arrival(&repo);
    assert_eq!((&arrived["commits_since"], &arrived["reachable"]), (&json!(3), &json!(false)));
    assert_eq!((&arrived["changed_artifacts"], &arrived["missing_artifacts"]), (&json!([]), &json!([])));
    repo.run(["repair", "--apply"]).ok();
    let arrived = arrival(&repo);
    assert_eq!((&arrived["commits_since"], &arrived["reachable"]), (&json!(0), &json!(true)));
    assert_eq!(resumed_text(&repo), "Nothing changed since.");
}

#[test]
fn nothing_is_invented_about_a_missing_commit() {
    let place = Sandbox::new();
    let repo = handed_over(&place, "r");
    repo.write("loose", "as it was\n");
    repo.hand_over("once more");
    repo.git(["reset", "-q", "--hard", "HEAD~2"]).ok();
    repo.git(["reflog", "expire", "--expire=now", "--all"]).ok();
    repo.git(["gc", "-q", "--prune=now"]).ok();
    let arrived = arrival(&repo);
    assert_eq!((&arrived["commits_since"], &arrived["reachable"]), (&Value::Null, &json!(false)));
    // what the handoff recorded itself is known: the rest is not
    assert_eq!((&arrived["changed_artifacts"], &arrived["unjudged_artifacts"]), (&json!([]), &json!(2)));
    std::fs::remove_file(repo.path.join("loose")).unwrap();
    assert_eq!(arrival(&repo)["missing_artifacts"], json!(["loose"]));
    let answer = resumed_text(&repo);
    assert!(answer.contains("2 artifacts not compared") && answer.contains("git empirica doctor"), "{answer}");
}

#[test]
fn a_shallow_clone_that_lacks_the_commit_says_so() {
    let place = Sandbox::new();
    let repo = handed_over(&place, "r");
    for n in 0..3 {
        repo.commit("later", &format!("{n}\n"), "Go on");
    }
    let shallow = place.path().join("shallow");
    let from = format!("file://{}", repo.path.display());
    repo.git(["clone", "-q", "--depth=1", &from, shallow.to_str().unwrap()]).ok();
    let shallow = place.at("shallow");
    shallow.git(["fetch", "-q", "--depth=1", "origin", "refs/notes/empirica/*:refs/notes/empirica/*"]).ok();
    let arrived = arrival(&shallow);
    for key in ["commits_since", "reachable", "changed_artifacts", "missing_artifacts"] {
        assert_eq!(arrived[key], Value::Null, "{key}");
    }
    assert_eq!(arrived["unjudged_artifacts"], 2);
    assert!(resumed_text(&shallow).contains("git fetch --unshallow"), "{}", resumed_text(&shallow));
    shallow.git(["fetch", "-q", "--unshallow"]).ok();
    assert_eq!(resumed_text(&shallow), "Since then: 3 commits.");
}

#[test]
fn before_the_first_commit_no_commit_is_reported() {
    let place = Sandbox::new();
    let repo = place.init("r");
    repo.start("ada", "t");
    repo.write("a", "a\n");
    repo.hand_over("t");
    let arrived = arrival(&repo);
    assert_eq!((&arrived["commits_since"], &arrived["reachable"]), (&Value::Null, &Value::Null));
    assert_eq!((&arrived["changed_artifacts"], &arrived["unjudged_artifacts"]), (&json!([]), &json!(0)));
    repo.write("a", "b\n");
    assert_eq!(arrival(&repo)["changed_artifacts"], json!(["a"]));
    assert_eq!(resumed_text(&repo), "Since then: changed: a.");
    repo.commit("a", "a\n", "Begin");
    let arrived = arrival(&repo);
    assert_eq!((&arrived["commits_since"], &arrived["changed_artifacts"]), (&json!(0), &json!([])));
    // on a branch that is not born yet
    repo.git(["switch", "-q", "--orphan", "empty"]).ok();
    let arrived = arrival(&repo);
    assert_eq!((&arrived["commits_since"], &arrived["reachable"]), (&Value::Null, &json!(false)));
    assert_eq!(arrived["missing_artifacts"], json!(["a"]));
}

#[test]
fn sha256_repositories_are_judged_alike() {
    let place = Sandbox::new();
    let path = place.path().join("r");
    std::fs::create_dir(&path).unwrap();
    let repo = place.at("r");
    repo.git(["init", "-q", "-b", "main", "--object-format=sha256"]).ok();
    repo.git(["config", "user.name", "Test"]).ok();
    repo.git(["config", "user.email", "test@example.com"]).ok();
    let repo = uncommitted(repo);
    assert_eq!(resumed_text(&repo), "Nothing changed since.");
    let record: Value = serde_json::from_str(&repo.lines("handoffs")[0]).unwrap();
    assert_eq!(record["uncommitted"][0]["blob"].as_str().unwrap().len(), 64);
    repo.write("new", "newer\n");
    assert_eq!(arrival(&repo)["changed_artifacts"], json!(["new"]));
}
