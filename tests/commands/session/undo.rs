//! `undo` retracts the last entry of a session, from the log or by a record, and no view shows it again.

use std::process::{Child, Stdio};

use serde_json::Value;

use crate::support::harness::{Repo, Sandbox};

pub const WORD: &str = "zebrafish";

/// Everything that shows what was logged.
pub fn views(repo: &Repo<'_>) -> Vec<(String, String)> {
    let commands: &[&[&str]] = &[
        &["resume"],
        &["resume", "--detail", "full", "--json"],
        &["log", "--journal"],
        &["log", "--json"],
        &["search", "kind:finding"],
        &["search", WORD, "--json"],
        &["search", WORD, "--plan"],
        &["status"],
        &["status", "--json"],
        &["bootstrap", "--json"],
        &["session", "show", "latest"],
        &["session", "list", "--json"],
        &["show", "HEAD"],
        &["handoff", "--dry-run"],
        &["checkpoint", "--json"],
        &["goal", "list"],
        &["metrics", "--json"],
        &["calibration", "--json"],
        &["report", "--html", "-"],
    ];
    let all = commands.iter().map(|words| {
        let ran = repo.run(*words);
        // only a word that search does not find may fail
        assert!(ran.code < 2, "{words:?}: {}", ran.err);
        (words.join(" "), format!("{}{}", ran.out, ran.err))
    });
    all.collect()
}

#[track_caller]
pub fn nowhere(repo: &Repo<'_>) {
    for (command, view) in views(repo) {
        assert!(!view.replace(&format!("\"query\":\"{WORD}\""), "").contains(WORD), "{command}: {view}");
    }
}

fn undone(repo: &Repo<'_>) -> Value {
    repo.json(["undo", "--session", "latest"])
}

#[test]
fn pending_records_are_dropped_and_stored_ones_marked() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Learn");
    repo.json(["finding", "stays"]);
    for flushed in [false, true] {
        let id = repo.json(["finding", &format!("a {WORD} swims")])["id"].as_str().expect("an id").to_owned();
        if flushed {
            repo.json(["flush"]);
        }
        assert!(views(&repo).iter().filter(|(_, text)| text.contains(WORD)).count() > 8);
        // what the views stored themselves, among them the checkpoint that flushes, is no longer waiting
        let second = repo.json(["finding", &format!("another {WORD}")]);
        if flushed {
            repo.json(["flush"]);
        }
        let text = undone(&repo);
        assert_eq!(
            (&text["id"], &text["kind"], &text["dropped"]),
            (&second["id"], &"finding".into(), &(!flushed).into())
        );
        let text = undone(&repo);
        assert_eq!((&text["id"], &text["dropped"]), (&id.as_str().into(), &false.into()), "{text}");
        nowhere(&repo);
        let shown = repo.run(["show", &id]).ok().unfenced();
        assert!(shown.starts_with("No longer holds: ada retracted it on ") && shown.contains(WORD), "{shown}");
        assert_eq!(repo.json(["show", &id])["state"], "retracted");
        repo.json(["flush"]);
        nowhere(&repo);
        // rebuilt, and without the file
        std::fs::remove_dir_all(repo.path.join(".git/empirica/index")).ok();
        std::fs::remove_file(repo.path.join(".git/empirica/index.db")).ok();
        nowhere(&repo);
        repo.git(["config", "empirica.index", "false"]).ok();
        nowhere(&repo);
        repo.git(["config", "--unset", "empirica.index"]).ok();
    }
    let lines = repo.lines("journal");
    let of = |kind: &str| lines.iter().filter(|line| line.contains(&format!("\"kind\":\"{kind}\""))).count();
    assert_eq!((of("retract"), of("finding")), (3, 4), "dropped is gone, marked is kept: {lines:#?}");
    assert_eq!(undone(&repo)["text"], "stays");
    let text = repo.fails(1, ["undo", "--session", "latest"]);
    assert_eq!(text["error"], "cannot undo: nothing is logged");
    repo.fsck();
}

#[test]
fn undoing_an_answer_reopens_the_question() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Ask");
    let unknown = repo.json(["unknown", "why?"])["id"].as_str().expect("an id").to_owned();
    let bob = repo.start("bob", "Answer");
    for flushed in [false, true] {
        repo.json(["resolve", &unknown, "so", "--session", &bob]);
        if flushed {
            repo.json(["flush"]);
        }
        assert_eq!(repo.json(["session", "show", "latest:ada"])["unknowns"], serde_json::json!([]));
        let ran = repo.run(["undo", "--session", &bob]).ok();
        assert!(ran.out.contains(&format!("Unknown {} is open again.", &unknown[28..])), "{}", ran.out);
        assert_eq!(repo.json(["session", "show", "latest:ada"])["unknowns"][0]["text"], "why?");
        assert_eq!(repo.json(["session", "show", "latest:ada"])["resolved"], serde_json::json!([]));
        // and can be answered again, without --again
        assert_eq!(repo.json(["search", "kind:unknown"])["hits"][0]["resolved"], false);
    }
    repo.json(["resolve", &unknown, "for good", "--session", &bob]);
}

#[test]
fn each_of_two_agents_undoes_only_its_own_records() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "one");
    repo.start("bob", "two");
    repo.json_with_env(&[("EMPIRICA_AI", "ada")], ["finding", "of ada"]);
    repo.json_with_env(&[("EMPIRICA_AI", "bob")], ["finding", "of bob"]);
    assert_eq!(repo.json_with_env(&[("EMPIRICA_AI", "ada")], ["undo"])["text"], "of ada");
    let ran = repo.run_with_env(&[("EMPIRICA_AI", "ada")], ["undo"]).code(1);
    assert!(ran.err.contains("cannot undo: nothing is logged"), "{}", ran.err);
    // without a session here nothing is undone
    let ran = repo.run_with_env(&[("EMPIRICA_AI", "eve")], ["undo"]).code(1);
    assert!(ran.err.contains("no session of yours is active here"), "{}", ran.err);
    assert_eq!(repo.json_with_env(&[("EMPIRICA_AI", "bob")], ["undo"])["text"], "of bob");
}

#[test]
fn a_handoff_is_not_undone_and_an_assessment_is_undone_with_its_suggestions() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Work");
    repo.json(["goal", "add", "Be done"]);
    repo.json(["preflight", "-v", "know=0.3,uncertainty=0.8"]);
    assert_eq!(repo.json(["goal", "list"])["total_found"], 3);
    let output = repo.run(["undo"]).ok().out;
    assert!(output.contains("PREFLIGHT 1") && output.contains("So 2 goals that it suggested."), "{output}");
    assert_eq!(repo.json(["goal", "list"])["total_found"], 1);
    assert_eq!(repo.json(["session", "show"])["assessments"], serde_json::json!([]));
    repo.json(["finding", "told"]);
    let handoff = repo.hand_over("Work");
    let output = repo.fails(1, ["undo"]);
    assert!(output["error"].as_str().expect("a text").contains(&handoff[28..]), "{output}");
    assert_eq!(output["recovery_commands"], serde_json::json!(["git empirica handoff"]));
    // records logged after it can be undone
    repo.json(["deadend", "later", "--why", "w"]);
    assert_eq!(repo.json(["undo"])["kind"], "dead_end");
    repo.fails(1, ["undo"]);
    assert_eq!(repo.json(["goal", "list"])["goals"][0]["text"], "Be done");
}

#[test]
fn a_retraction_travels_with_its_record() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let bare = place.path().join("bare.git");
    repo.git(["init", "-q", "--bare", bare.to_str().expect("a path")]).ok();
    repo.git(["remote", "add", "origin", bare.to_str().expect("a path")]).ok();
    repo.git(["push", "-q", "-u", "origin", "HEAD"]).ok();
    repo.start("ada", "t");
    repo.json(["finding", &format!("a {WORD}")]);
    repo.json(["sync"]);
    let other = place.clone(&repo, "other", false);
    other.git(["remote", "set-url", "origin", bare.to_str().expect("a path")]).ok();
    other.json(["sync"]);
    assert_eq!(other.json(["search", WORD])["total_found"], 1);
    assert_eq!(repo.json(["undo"])["dropped"], false);
    repo.json(["sync"]);
    // the other clone wrote meanwhile
    other.start("bob", "t");
    other.json(["finding", "own"]);
    other.json(["sync"]);
    for clone in [&repo, &other] {
        assert_eq!(clone.json(["search", WORD])["total_found"], 0);
        assert!(!clone.run(["log", "--journal"]).ok().out.contains(WORD));
    }
    // a commit that is amended takes both along
    repo.git(["commit", "-q", "--amend", "--allow-empty", "-m", "again"]).ok();
    repo.json(["flush"]);
    assert!(!repo.run(["log", "--journal"]).ok().out.contains(WORD));
    other.fsck();
}

#[test]
fn concurrent_appends_survive_an_undo() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let (ada, bob) = (repo.start("ada", "t"), repo.start("bob", "t"));
    let run = |words: &[&str], session: &str| -> Child {
        let mut command = repo.program();
        command.args(words).args(["--session", session, "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the program starts")
    };
    let (mut kept, mut gone) = (Vec::new(), Vec::new());
    for round in 0..3 {
        repo.json(["finding", &format!("wrong {round}"), "--session", &ada]);
        let mut others: Vec<Child> = (0..4).map(|n| run(&["finding", &format!("kept {round}.{n}")], &bob)).collect();
        others.push(run(&["undo"], &ada));
        if round % 3 == 2 {
            others.push(repo.program().args(["flush", "--json"]).stdout(Stdio::piped()).spawn().expect("it starts"));
        }
        for child in others {
            let output = child.wait_with_output().expect("it ends");
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
            let text: Value = serde_json::from_str(&text).expect("one document");
            match (text["id"].as_str(), text.get("dropped")) {
                (Some(id), None) => kept.push(id.to_owned()),
                (Some(id), Some(_)) => gone.push(id.to_owned()),
                _ => {}
            }
        }
    }
    assert_eq!((kept.len(), gone.len()), (12, 3));
    repo.json(["flush"]);
    let found = repo.json(["session", "show", &bob])["findings"].to_string();
    assert!(kept.iter().all(|id| found.contains(id.as_str())), "{found}");
    assert_eq!(repo.json(["session", "show", &ada])["findings"], serde_json::json!([]));
    repo.fsck();
}
