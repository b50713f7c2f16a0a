//! `why`: what is known of a file, or of lines in it.

use serde_json::{Value, json};

use crate::commands::code::anchors::{id, lines};
use crate::support::harness::{Repo, Sandbox};

/// The ids and relations of what is known.
fn known(repo: &Repo<'_>, place: &str) -> Vec<(String, String)> {
    let answer = repo.json(["why", place]);
    let known = answer["known"].as_array().expect("a list");
    known.iter().map(|one| (id(one), one["relation"].as_str().expect("a word").to_owned())).collect()
}

fn about(id: &str) -> (String, String) {
    (id.to_owned(), "about".to_owned())
}

#[test]
fn claims_about_the_lines_come_first_then_those_of_their_commits_then_handoffs() {
    let sandbox = Sandbox::new();
    let repo = sandbox.set_up("r");
    repo.commit("src/a.rs", &lines("line"), "Add a file");
    let session = repo.start("ada", "Learn");
    let finding = id(&repo.json(["finding", "needs a retry", "--at", "src/a.rs:10-12"]));
    let dead_end = id(&repo.json(["deadend", "a mutex", "--why", "slow", "--at", "src/a.rs:11"]));
    let elsewhere = id(&repo.json(["finding", "needs a rest", "--at", "src/a.rs:2"]));
    let whole = id(&repo.json(["mistake", "one file", "--at", "src/a.rs"]));
    let other = id(&repo.json(["finding", "another file", "--at", "README.md:1"]));
    // of the commit that makes line 15, whose digest has it
    let decision = id(&repo.json(["decision", "count from one", "--why", "people do"]));
    repo.commit("src/a.rs", &lines("line").replace("line 15", "LINE 15"), "Count from one");
    let handoff = id(&json!({"id": repo.json(["handoff", "--session", &session])["handoff_id"]}));
    let of_line = known(&repo, "src/a.rs:11");
    assert_eq!(of_line[..2], [about(&dead_end), about(&finding)]);
    assert!(!of_line.contains(&about(&elsewhere)) && of_line.contains(&about(&whole)), "{of_line:?}");
    let of_line = known(&repo, "src/a.rs:15");
    assert!(of_line.contains(&(decision.clone(), "commit".to_owned())), "{of_line:?}");
    assert_eq!(of_line.last(), Some(&(handoff.clone(), "handoff".to_owned())));
    let of_file = known(&repo, "src/a.rs");
    let about_it: Vec<&String> = of_file.iter().filter(|(_, how)| how == "about").map(|(id, _)| id).collect();
    assert_eq!(about_it, [&dead_end, &elsewhere, &finding, &whole]);
    assert!(of_file.contains(&(decision, "commit".to_owned())), "{of_file:?}");
    assert!(of_file.iter().all(|(id, _)| *id != other), "{of_file:?}");
    let text = repo.run(["why", "src/a.rs:11"]).ok().unfenced();
    let first: Vec<&str> = text.lines().take(2).collect();
    assert!(
        first[0].starts_with("dead end ") && first[0].contains(" · src/a.rs:11 · ada · 2026-03-01 12:00 UTC · on "),
        "{text}"
    );
    assert_eq!(first[1], "  a mutex — slow");
    // from a folder, by an absolute path
    let below = sandbox.at(repo.path.join("src"));
    assert_eq!(known(&below, "a.rs:11"), known(&repo, "src/a.rs:11"));
    assert_eq!(known(&repo, &format!("{}/src/a.rs:11", repo.path.display())), known(&repo, "src/a.rs:11"));
    // without an index file, and without an index
    let before = known(&repo, "src/a.rs");
    repo.git(["config", "empirica.index", "false"]).ok();
    assert_eq!(known(&repo, "src/a.rs"), before);
}

#[test]
fn what_no_longer_holds_comes_behind_and_what_is_gone_not_at_all() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.commit("src/a.rs", &lines("line"), "Add a file");
    repo.start("ada", "Learn");
    let dead_end = id(&repo.json(["deadend", "a mutex", "--why", "slow", "--at", "src/a.rs:11"]));
    let finding = id(&repo.json(["finding", "needs a retry", "--at", "src/a.rs:5"]));
    let wrong = id(&repo.json(["finding", "wrong", "--at", "src/a.rs:5"]));
    repo.json(["retract", &wrong, "--why", "it is"]);
    repo.write("src/a.rs", &lines("line").replace("line 11", "LINE 11"));
    let about_it = |place: &str| {
        let all = known(&repo, place).into_iter();
        all.filter(|(_, how)| how == "about").map(|(id, _)| id).collect::<Vec<_>>()
    };
    assert_eq!(about_it("src/a.rs"), [finding.clone(), dead_end.clone()]);
    // its place is not known, so it may be here
    assert_eq!(about_it("src/a.rs:5"), [finding.clone(), dead_end.clone()]);
    let newer = id(&repo.json(["replace", &dead_end, "a lock", "--why", "slow", "--at", "src/a.rs:11"]));
    assert_eq!(about_it("src/a.rs"), [newer.clone(), finding.clone()]);
    // a renamed file has what was said of it before, by either name
    repo.git(["mv", "src/a.rs", "src/b.rs"]).ok();
    repo.git(["commit", "-q", "-a", "-m", "Rename it"]).ok();
    assert_eq!(about_it("src/b.rs:5"), std::slice::from_ref(&finding));
    for name in ["src/a.rs", "src/b.rs"] {
        assert_eq!(about_it(name), [newer.clone(), finding.clone()], "{name}");
    }
    repo.git(["rm", "-q", "src/b.rs"]).ok();
    assert_eq!(about_it("src/a.rs"), [newer, finding]);
}

#[test]
fn what_was_decided_on_commits_before_renames_is_found() {
    let sandbox = Sandbox::new();
    let repo = sandbox.set_up("r");
    repo.start("ada", "Learn");
    let decide = |text: &str| id(&repo.json(["decision", text, "--why", "it is so"]));
    let first = decide("count from one");
    repo.commit("a.rs", &lines("line"), "Add a file");
    repo.git(["mv", "a.rs", "b.rs"]).ok();
    let second = decide("name it b");
    repo.commit("b.rs", &lines("line").replace("line 15", "LINE 15"), "Rename and change it");
    repo.git(["mv", "b.rs", "c.rs"]).ok();
    repo.git(["commit", "-q", "-m", "Rename it again"]).ok();
    let of_commits = |filters: bool| {
        let write = ["commit-graph", "write", "--reachable", "--changed-paths"];
        repo.git(if filters { &write[..] } else { &["version"] }).ok();
        let all = known(&repo, "c.rs").into_iter().filter(|(_, how)| how == "commit");
        all.map(|(id, _)| id).collect::<std::collections::BTreeSet<_>>()
    };
    for filters in [false, true] {
        assert_eq!(of_commits(filters), [first.clone(), second.clone()].into(), "{filters}");
    }
}

/// Of many claims about a file, the most urgent ones are compared first, then the newest.
#[test]
fn no_number_of_findings_hides_an_earlier_dead_end() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.commit("a.rs", &lines("line"), "Add a file");
    repo.start("ada", "Learn");
    let dead_end = id(&repo.json(["deadend", "a mutex", "--why", "slow", "--at", "a.rs:11"]));
    let first = id(&repo.json(["finding", "finding", "--at", "a.rs:3"]));
    let mut last = String::new();
    for n in 0..200 {
        last = id(&repo.json(["finding", &format!("finding {n}"), "--at", "a.rs:3"]));
    }
    let of_file = known(&repo, "a.rs");
    assert_eq!(of_file[..2], [about(&dead_end), about(&last)]);
    assert!(!of_file.contains(&about(&first)));
    // lines may have moved: no claim about them is left out
    assert_eq!(known(&repo, "a.rs:11"), [about(&dead_end)]);
    repo.json(["retract", &dead_end, "--why", "it is fast"]);
    assert_eq!(known(&repo, "a.rs")[0], about(&last));
}

#[test]
fn the_answer_keeps_within_its_budget() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.commit("a.rs", &lines("line"), "Add a file");
    repo.start("ada", "Learn");
    for n in 0..40 {
        repo.json(["finding", &format!("finding {n}: {}", "word ".repeat(20)), "--at", "a.rs:3"]);
    }
    for (budget, json) in [("100", false), ("100", true), ("600", false), ("600", true)] {
        let words = ["why", "a.rs", "--budget", budget];
        let output = repo.run(words.into_iter().chain(json.then_some("--json"))).ok().out;
        let most: usize = budget.parse().expect("a number");
        assert!(crate::support::harness::tokens(&output) < most + 150, "{budget} {json}: {output}");
        if json {
            let answer: Value = serde_json::from_str(&output).expect("JSON");
            let shown = answer["known"].as_array().expect("a list").len();
            assert_eq!(answer["omitted"], json!(40 - shown));
            assert!(shown > 0);
        } else {
            assert!(output.contains("Left out: "), "{output}");
        }
    }
}

#[test]
fn a_place_that_is_none_is_refused_and_one_of_which_nothing_is_known_is_answered() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.commit("src/a.rs", &lines("line"), "Add a file");
    repo.write("bin", "a\0b\n");
    for (place, cause) in [
        ("src/a.rs:21", "the file has 20 lines"),
        ("src/a.rs:12-10", "the range ends before it begins"),
        ("src/a.rs:0", "lines are counted from 1"),
        ("src/b.rs", "there is no such file"),
        ("src/b.rs:3", "there is no such file"),
        ("src", "it is a folder"),
        ("../r/src/a.rs", "it is not a file of this work tree"),
        (".git/config", "it is not a file of this work tree"),
        ("bin:1", "the file is not text, larger than 4 MiB, or cannot be read"),
    ] {
        let error = repo.fails(2, ["why", place]);
        assert_eq!(error["error"], json!(format!("cannot look up '{place}': {cause}")));
    }
    repo.write("new", "x\n");
    for place in ["src/a.rs", "src/a.rs:3", "new", "new:1", "bin"] {
        let answer = repo.json(["why", place]);
        assert_eq!((&answer["known"], &answer["warnings"]), (&json!([]), &Value::Null), "{place}: {answer}");
    }
    assert!(repo.run(["why", "new"]).ok().err.contains("Nothing is known of new."));
    // before the first commit, and in a bare repository
    let unborn = sandbox.repo("unborn");
    unborn.git(["checkout", "-q", "--orphan", "empty"]).ok();
    unborn.write("a", "x\n");
    assert_eq!(unborn.json(["why", "a:1"])["known"], json!([]));
    repo.git(["clone", "-q", "--bare", ".", "../bare.git"]).ok();
    let bare = sandbox.at("bare.git");
    assert_eq!(bare.json(["why", "src/a.rs:3"])["known"], json!([]));
    bare.fails(2, ["why", "src/a.rs:33"]);
}

#[test]
fn uncommitted_lines_have_no_commit() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.commit("a", &lines("line"), "Add a file");
    repo.start("ada", "Learn");
    repo.json(["decision", "count from one", "--why", "people do"]);
    assert_eq!(known(&repo, "a:3").len(), 1);
    repo.write("a", &lines("line").replace("line 3\n", "LINE 3\n"));
    assert!(known(&repo, "a:3").is_empty());
    assert_eq!(known(&repo, "a:2-4").len(), 1);
}
