//! What `resume` and `show` report about a handoff's later state: questions, evidence, matching files, distrusted records.

use std::process::Command;

use serde_json::{Value, json};

use crate::commands::handoff::arrival::{arrival, handed_over, resumed_text};
use crate::support::harness::{Repo, Sandbox, tokens};

#[test]
fn an_answer_from_another_clone_resolves_the_handoffs_question() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    let id = repo.json(["unknown", "Who holds the lock?"])["id"].as_str().unwrap().to_owned();
    repo.run(["unknown", "Why twice?"]).ok();
    repo.hand_over("t");
    let clone = place.clone(&repo, "clone", true);
    clone.start("bob", "answer");
    clone.run(["resolve", &id, "The scheduler does"]).ok();
    clone.run(["session", "end"]).ok();
    let resume = ["resume", "--ai", "ada"];
    for reader in [&clone, &place.clone(&clone, "third", true)] {
        let session = reader.json(resume)["sessions"][0].clone();
        let resolved = json!([{
            "id": id, "question": "Who holds the lock?", "answer": "The scheduler does", "ai_id": "bob",
        }]);
        assert_eq!(session["arrival"]["resolved_unknowns"], resolved);
        assert_eq!(session["remaining_unknowns"], json!(["Why twice?"]));
        assert_eq!(session["next_steps"], json!(["n"]));
        let text = reader.run(resume).ok().out;
        assert!(text.contains("answered: Who holds the lock? → The scheduler does (bob)"), "{text}");
        // the handoff itself stays as it was written
        let shown = reader.json(["show", session["handoff_id"].as_str().unwrap()]);
        assert_eq!(shown["remaining_unknowns"].as_array().unwrap().len(), 2);
        assert_eq!(shown["arrival"]["resolved_unknowns"], resolved);
        let full = reader.json(["resume", "--ai", "ada", "--detail", "full"]);
        let markdown = full["sessions"][0]["full_markdown"].as_str().unwrap().to_owned();
        assert!(markdown.contains("Who holds the lock?") && !markdown.contains("Since Then"), "{markdown}");
    }
}

#[test]
fn long_questions_and_answers_are_shortened_and_their_ids_are_not() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    let long = "why does the nightly import of orders stall ".repeat(30);
    let ask = |n: usize| repo.json(["unknown", &format!("{n} {long}")])["id"].as_str().unwrap().to_owned();
    let ids: Vec<String> = (0..6).map(ask).collect();
    repo.hand_over("t");
    ids.iter().for_each(|id| drop(repo.run(["resolve", id, &long]).ok()));
    for (detail, budget) in [("summary", 400), ("detailed", 800), ("full", 1250)] {
        let text = repo.run(["resume", "--detail", detail]).ok().out;
        assert!(tokens(&text) <= budget && text.contains("answered: 0 why does"), "{text}");
        let output = repo.run(["resume", "--detail", detail, "--json"]).ok().out;
        assert!(tokens(&output) <= budget, "{detail}: {}\n{output}", tokens(&output));
        let session = serde_json::from_str::<Value>(&output).unwrap()["sessions"][0].clone();
        let kept = session["arrival"]["resolved_unknowns"].as_array().unwrap();
        kept.iter().zip(&ids).for_each(|(resolved, id)| assert_eq!(resolved["id"], *id));
        assert!(kept[0]["answer"].as_str().unwrap().ends_with('…') && session["omitted"]["shortened"] == true);
        let omitted = session["omitted"]["resolved_unknowns"].as_u64().unwrap_or(0);
        assert_eq!(kept.len() as u64 + omitted, 6, "{output}");
    }
}

#[test]
fn evidence_is_stale_when_its_files_or_else_the_artifacts_changed() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.commit("lib/dep.rs", "dep\n", "Add dep");
    repo.start("ada", "t");
    repo.commit("a", "a\n", "Add a");
    repo.write("lib/dirty.rs", "not committed\n");
    repo.run(["evidence", "cargo test", "--exit", "0"]).ok();
    repo.run(["evidence", "cargo bench", "--exit", "0", "--file", "lib/dep.rs", "--file", "lib/dirty.rs"]).ok();
    repo.run(["evidence", "cargo fuzz", "--exit", "1", "--file", "a"]).ok();
    repo.hand_over("t");
    let stale = |repo: &Repo<'_>| arrival(repo)["stale_evidence"].clone();
    assert_eq!(stale(&repo), json!([]));
    repo.write("a", "b\n");
    assert_eq!(stale(&repo), json!([{"command": "cargo test", "files": ["a"]}]));
    assert!(resumed_text(&repo).ends_with("evidence older than the code: cargo test."), "{}", resumed_text(&repo));
    repo.write("a", "a\n");
    repo.git(["rm", "-q", "lib/dep.rs"]).ok();
    assert_eq!(stale(&repo), json!([{"command": "cargo bench", "files": ["lib/dep.rs"]}]));
    repo.git(["reset", "-q", "--hard"]).ok();
    repo.write("lib/dirty.rs", "changed\n");
    let expected = json!([
        {"command": "cargo test", "files": ["lib/dirty.rs"]}, {"command": "cargo bench", "files": ["lib/dirty.rs"]},
    ]);
    assert_eq!(stale(&repo), expected);
}

#[test]
fn ignored_files_and_new_folders_are_compared_as_far_as_recorded() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.commit(".gitignore", "out/\n", "Ignore out");
    repo.start("ada", "t");
    repo.write("out/report", "1\n");
    repo.write("fresh/a", "a\n");
    repo.write("huge", &"x".repeat((4 << 20) + 1));
    let named = ["--artifact", "out/report", "--artifact", "the wiki page", "--artifact", "../elsewhere"];
    repo.json(["handoff", "-m", "t"].into_iter().chain(named));
    let arrived = arrival(&repo);
    assert_eq!((&arrived["changed_artifacts"], &arrived["missing_artifacts"]), (&json!([]), &json!([])));
    // the new folder, the huge file, paths outside the work tree
    assert_eq!(arrived["unjudged_artifacts"], 4, "{arrived}");
    repo.write("out/report", "2\n");
    std::fs::remove_dir_all(repo.path.join("fresh")).unwrap();
    std::fs::remove_file(repo.path.join("huge")).unwrap();
    let arrived = arrival(&repo);
    assert_eq!(arrived["changed_artifacts"], json!(["out/report"]));
    assert_eq!(arrived["missing_artifacts"], json!(["fresh/", "huge"]));
    // nothing outside was looked at, and nothing that was never there is missing
    assert_eq!(arrived["unjudged_artifacts"], 2);
}

#[test]
fn at_most_two_hundred_contents_are_recorded_and_the_rest_is_not_judged() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.commit("z", "z\n", "Add z");
    repo.start("ada", "t");
    (0..205).for_each(|n| repo.write(&format!("f{n}"), "1\n"));
    std::fs::remove_file(repo.path.join("z")).unwrap();
    repo.json(["handoff", "-m", "t", "--artifact", "z"]);
    let record: Value = serde_json::from_str(&repo.lines("handoffs")[0]).unwrap();
    let recorded = record["uncommitted"].as_array().unwrap();
    assert_eq!((recorded.len(), recorded.iter().filter(|file| file["blob"].is_string()).count()), (206, 200));
    assert_eq!(recorded[205], json!({"path": "z", "deleted": true}));
    (0..205).for_each(|n| repo.write(&format!("f{n}"), "2\n"));
    let arrived = repo.json(["show"])["arrival"].clone();
    assert_eq!(arrived["changed_artifacts"].as_array().unwrap().len(), 200);
    // what was gone then is not missing now
    assert_eq!((&arrived["missing_artifacts"], &arrived["unjudged_artifacts"]), (&json!([]), &json!(5)));
}

#[test]
fn a_new_folder_is_judged_once_it_is_committed() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    repo.start("ada", "t");
    repo.write("fresh/a", "a\n");
    repo.write("fresh/b", "b\n");
    repo.hand_over("t");
    repo.git(["add", "-A"]).ok();
    repo.git(["commit", "-q", "-m", "Add fresh"]).ok();
    assert_eq!(resumed_text(&repo), "Nothing changed since.");
    repo.write("fresh/a", "changed\n");
    assert_eq!(arrival(&repo)["changed_artifacts"], json!(["fresh/"]));
    repo.git(["commit", "-qam", "Change fresh/a"]).ok();
    assert_eq!(arrival(&repo)["changed_artifacts"], json!(["fresh/"]));
}

#[test]
fn three_hundred_changed_artifacts_stay_within_every_budget_and_are_counted() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    let name = |n: usize| format!("src/a/rather/deep/folder/module_{n}_of_the_generated_code.rs");
    (0..300).for_each(|n| repo.write(&name(n), "1\n"));
    repo.git(["add", "-A"]).ok();
    repo.git(["commit", "-q", "-m", "Generate"]).ok();
    repo.run(["evidence", "cargo test", "--exit", "0"]).ok();
    repo.run(["unknown", "Does it scale?"]).ok();
    repo.run(["handoff", "--next", "Look at the diff"]).ok();
    (0..300).for_each(|n| repo.write(&name(n), "2\n"));
    for (detail, budget) in [("summary", 400), ("detailed", 800), ("full", 1250)] {
        let text = repo.run(["resume", "--detail", detail]).ok().out;
        assert!(tokens(&text) <= budget, "{detail}: {}\n{text}", tokens(&text));
        assert!(text.contains("more); evidence older than the code: cargo test."), "{text}");
        assert!(text.contains("Look at the diff") && text.contains("All of it: git empirica show"), "{text}");
        let output = repo.run(["resume", "--detail", detail, "--json"]).ok().out;
        assert!(tokens(&output) <= budget, "{detail}: {}\n{output}", tokens(&output));
        let session = serde_json::from_str::<Value>(&output).unwrap()["sessions"][0].clone();
        let kept = session["arrival"]["changed_artifacts"].as_array().map_or(0, Vec::len) as u64;
        assert_eq!(kept + session["omitted"]["changed_artifacts"].as_u64().unwrap(), 300, "{output}");
    }
    for budget in [100, 130, 170, 250] {
        for form in [None, Some("--json")] {
            let limit = budget.to_string();
            let output = repo.run(["resume", "--budget", &limit].into_iter().chain(form)).ok().out;
            assert!(tokens(output.trim_end()) <= budget, "{budget}: {}\n{output}", tokens(&output));
        }
    }
    let shown = repo.json(["show"]);
    assert_eq!(shown["arrival"]["changed_artifacts"].as_array().unwrap().len(), 300);
}

#[test]
fn hostile_names_are_data() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    let names = ["a\n## Forged", "b\x1b[31mred", "-- c; missing: everything", "d`<script>", "e\u{202e}f"];
    names.iter().for_each(|name| repo.write(name, "1\n"));
    let mut odd = std::ffi::OsString::from("caf");
    // a byte that begins no character
    odd.push(no_utf8());
    std::fs::write(repo.path.join(&odd), "1\n").unwrap();
    repo.git(["add", "-A"]).ok();
    repo.git(["commit", "-q", "-m", "Add names"]).ok();
    repo.hand_over("t");
    assert_eq!(arrival(&repo)["unjudged_artifacts"], 1, "a name that is no UTF-8 cannot be found again");
    names.iter().for_each(|name| repo.write(name, "2\n"));
    std::fs::write(repo.path.join(&odd), "2\n").unwrap();
    let arrived = arrival(&repo);
    let mut changed: Vec<&str> =
        arrived["changed_artifacts"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    changed.sort_unstable();
    let mut all = names.to_vec();
    all.sort_unstable();
    assert_eq!(changed, all);
    for ran in [repo.run(["resume", "--detail", "full"]).ok(), repo.run(["show"]).ok()] {
        let forged = ran.out.lines().any(|line| line.starts_with("## Forged"));
        assert!(!forged && !ran.out.contains(['\x1b', '\u{202e}']) && !ran.out.contains("<script>`"), "{}", ran.out);
        assert!(ran.out.contains("'a ## Forged'"), "{}", ran.out);
    }
}

/// A name that is not UTF-8.
fn no_utf8() -> std::ffi::OsString {
    use std::os::unix::ffi::OsStringExt;
    std::ffi::OsString::from_vec(vec![0xe9, b'.', b't'])
}

#[test]
fn an_artifact_behind_a_link_or_outside_is_never_read() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    std::fs::write(place.path().join("secret"), "s\n").unwrap();
    repo.start("ada", "t");
    std::os::unix::fs::symlink(place.path(), repo.path.join("link")).unwrap();
    repo.git(["add", "link"]).ok();
    repo.git(["commit", "-q", "-m", "Add a link"]).ok();
    let out = Command::new("mkfifo").arg(repo.path.join("pipe")).status().unwrap();
    assert!(out.success());
    let absolute = place.path().join("secret");
    let named = [
        "--artifact",
        "link/secret",
        "--artifact",
        absolute.to_str().unwrap(),
        "--artifact",
        "pipe",
        "--artifact",
        ".git/config",
    ];
    repo.json(["handoff", "-m", "t"].into_iter().chain(named));
    let record: Value = serde_json::from_str(&repo.lines("handoffs")[0]).unwrap();
    let blobs = record["uncommitted"].as_array().cloned().unwrap_or_default();
    assert!(blobs.iter().all(|file| file.get("blob").is_none()), "{blobs:?}");
    assert_eq!(arrival(&repo)["changed_artifacts"], json!([]));
}

#[test]
fn a_summary_without_a_handoff_has_no_arrival() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    repo.run(["finding", "f"]).ok();
    let session = repo.json(["resume"])["sessions"][0].clone();
    assert_eq!((&session["source"], &session["arrival"]), (&json!("summary"), &Value::Null));
    assert!(!repo.run(["resume"]).ok().out.contains("since"));
}

#[test]
fn without_git_on_path_resume_answers_and_names_unknowns() {
    let place = Sandbox::new();
    let repo = handed_over(&place, "r");
    repo.write("src/a.rs", "changed\n");
    let ran = repo.run_with_env(&[("PATH", "/nonexistent")], ["resume", "--json"]).ok();
    let json = ran.json();
    let arrived = &json["sessions"][0]["arrival"];
    assert_eq!((&arrived["changed_artifacts"], &arrived["unjudged_artifacts"]), (&Value::Null, &json!(2)));
    assert_eq!((&arrived["commits_since"], &arrived["reachable"]), (&json!(0), &json!(true)));
    assert!(ran.out.contains("cannot list changes since the handoff"), "{}", ran.out);
}
