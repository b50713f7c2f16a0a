//! Checks of handoffs before storing, including gaps that receivers reported.

use serde_json::{Value, json};

use crate::commands::handoff::managed::{count, hand_over};
use crate::commands::handoff::protocol::{hand_over_by, id, team};
use crate::support::harness::Sandbox;

fn levels(json: &Value) -> Vec<(String, String)> {
    let checks = json["validation"]["checks"].as_array().expect("checks");
    let text = |check: &Value, key: &str| check[key].as_str().expect("a text").to_owned();
    checks.iter().map(|check| (text(check, "name"), text(check, "level"))).collect()
}

#[track_caller]
fn level(json: &Value, name: &str) -> String {
    levels(json).into_iter().find(|(check, _)| check == name).expect("a check").1
}

#[test]
fn a_handoff_with_an_error_is_not_stored_and_the_exit_code_is_3() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    repo.start("worker", "The login");
    repo.write("src/form.rs", "form\n");
    repo.write("src/other.rs", "other\n");
    repo.git(["add", "."]).ok();
    repo.git(["commit", "-qm", "form"]).ok();
    repo.git(["rm", "-q", "src/other.rs"]).ok();
    let begin = ["handoff", "--type", "progress", "--task-id", "login", "--validate"];
    let with = |sets: &[&str], more: &[&str]| {
        let sets: Vec<String> =
            sets.iter().flat_map(|set| ["--set".to_owned(), format!("worker_report.{set}")]).collect();
        let mut all: Vec<String> = begin.iter().map(|text| text.to_string()).collect();
        all.extend(sets);
        all.extend(more.iter().map(|text| text.to_string()));
        all
    };
    let file = r#"files_modified={"path":"src/form.rs","description":"the form"}"#;
    let ran = repo.run(with(&["status=COMPLETED", file], &["--json"])).code(3);
    let json = ran.json();
    assert_eq!(
        (&json["ok"], &json["stored"], &json["validation"]["passed"]),
        (&json!(false), &json!(false), &json!(false))
    );
    assert_eq!((count(&repo), json["validation"]["checks"].as_array().unwrap().len()), (0, 11));
    for name in ["tests_reported", "validation_steps"] {
        assert_eq!(level(&json, name), "error", "{json}");
    }
    // what git's own diff has and the report has not
    assert_eq!(level(&json, "files_documented"), "pass", "added and deleted again: git knows of no change");
    repo.write("src/new.rs", "new\n");
    let complete =
        ["status=COMPLETED", file, "accomplished=a form", "validation=ran it", "tests={\"added\":1,\"passing\":1}"];
    let ran = repo.run(with(&complete, &[])).code(3);
    assert!(ran.err.contains("error files_documented: changed and not documented: src/new.rs"), "{}", ran.err);
    assert!(ran.err.contains("nothing is stored") && count(&repo) == 0);
    let documented = [&complete[..], &[r#"files_modified={"path":"src/new.rs","description":"more"}"#]].concat();
    // only in the work tree: a warning stops nothing
    let dry = repo.run(with(&documented, &["--json", "--dry-run"])).ok().json();
    assert_eq!((level(&dry, "files_exist"), &dry["stored"]), ("warning".to_owned(), &json!(false)));
    let stored = repo.run(with(&documented, &["--json"])).ok().json();
    assert_eq!((&stored["stored"], &stored["validation"]["errors"], count(&repo)), (&json!(true), &json!(0), 1));
    // a run that failed contradicts the report
    repo.json(["evidence", "make test", "--exit", "1"]);
    let json = repo.run(with(&documented, &["--json"])).code(3).json();
    assert_eq!(level(&json, "status_given"), "error");
    // without it nothing is checked
    let plain = hand_over(&repo, "progress", "login", &["worker_report.status=PARTIAL"]);
    assert_eq!(plain["validation"], Value::Null);
    // a bare handoff can be checked as well
    let own = repo.run(["handoff", "--validate", "--artifact", "nowhere.md", "--json"]).code(3).json();
    assert_eq!(level(&own, "files_exist"), "error");
    let own = repo.json(["handoff", "--validate", "--next", "Test it"]);
    assert_eq!(
        (level(&own, "instructions_actionable"), level(&own, "status_given")),
        ("pass".into(), "warning".into())
    );
}

#[test]
fn paths_dependencies_and_criteria_are_checked_against_the_repository() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    repo.start("manager", "The login");
    repo.write("app/Cargo.toml", "[dependencies]\nserde = \"1\"\n");
    repo.write("app/src/main.rs", "fn main() {}\n");
    repo.git(["add", "."]).ok();
    repo.git(["commit", "-qm", "app"]).ok();
    let check = |kind: &str, sets: &[&str]| {
        let sets: Vec<&str> = sets.iter().flat_map(|value| ["--set", value]).collect();
        let all =
            [&["handoff", "--type", kind, "--task-id", "t", "--validate", "--dry-run", "--json"], &sets[..]].concat();
        let ran = repo.run(all);
        ran.json()
    };
    let begun = |file: &str| {
        let file = format!("context.relevant_files={file}");
        let json = check("initialization", &["instructions=Add a form", "success_criteria=it works", &file]);
        level(&json, "files_exist")
    };
    assert_eq!(
        (begun("app/src/main.rs"), begun("app"), begun("app/src/none.rs")),
        ("pass".into(), "pass".into(), "error".into())
    );
    assert_eq!((begun("../hub"), begun("/etc/passwd")), ("error".into(), "error".into()));
    let added = |name: &str| {
        let name = format!("context_updates.dependencies_added={name}");
        level(&check("progress", &["worker_report.status=PARTIAL", &name]), "dependencies_present")
    };
    assert_eq!((added("serde"), added("serde 1.0"), added("tokio")), ("pass".into(), "pass".into(), "error".into()));
}

#[test]
fn a_gap_is_remembered_until_a_handoff_of_the_type_says_it() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    team(&repo);
    let begin = |task: &str, text: &str| {
        let text = format!("instructions={text}");
        let task = format!("--task-id={task}");
        repo.run(["handoff", "--ai", "manager", "--type", "initialization", &task, "--set", &text, "--json"]).ok()
    };
    let first = begin("one", "Add a form").json();
    repo.json(["accept", &id(&first), "--ai", "worker", "--gap", "Which database the tests use"]);
    let second = begin("two", "Add a page").json();
    let warned = |json: &Value| json["warnings"].to_string();
    assert!(warned(&second).contains("worker missed in handoff"), "{second}");
    assert!(warned(&second).contains("Which database the tests use"), "{second}");
    // another type has no such checks
    let other = hand_over_by(&repo, "worker", "progress", &["worker_report.status=PARTIAL"]);
    assert!(!warned(&other).contains("missed"), "{other}");
    let check = [
        "handoff",
        "--ai",
        "manager",
        "--type",
        "initialization",
        "--task-id=x",
        "--validate",
        "--dry-run",
        "--json",
        "--set",
        "success_criteria=done",
        "--set",
    ];
    let checked = repo.run([&check[..], &["instructions=Add a door"]].concat()).json();
    assert_eq!(level(&checked, "gaps_covered"), "warning");
    let checked =
        repo.run([&check[..], &["instructions=Add a door; tests use the database of the fixtures"]].concat()).json();
    assert_eq!(level(&checked, "gaps_covered"), "pass");
    let third = begin("three", "Add a window. The tests use the database in fixtures").json();
    assert!(!warned(&third).contains("missed"), "{third}");
    let fourth = begin("four", "Add a roof").json();
    assert!(!warned(&fourth).contains("missed"), "it was said since: {fourth}");
    // a later one that is taken up without question or gap ends it as well
    repo.json(["accept", &id(&fourth), "--ai", "worker", "--gap", "Who pays"]);
    let fifth = begin("five", "Add a wall").json();
    assert!(warned(&fifth).contains("Who pays"), "{fifth}");
    repo.json(["accept", &id(&fifth), "--ai", "worker", "--understanding", "A wall"]);
    assert!(!warned(&begin("six", "Add a lamp").json()).contains("Who pays"));
}

#[test]
fn gaps_of_every_origin_are_found() {
    let place = Sandbox::new();
    let one = place.repo("one");
    one.git(["init", "-q", "--bare", "../hub.git"]).ok();
    one.git(["remote", "add", "origin", "../hub.git"]).ok();
    one.git(["push", "-q", "origin", "main"]).ok();
    one.start("manager", "The login");
    let begin = |text: &str| {
        let text = format!("instructions={text}");
        one.json(["handoff", "--type", "initialization", "--task-id=t", "--set", &text])
    };
    let missed = |json: &Value| json["warnings"].to_string().contains("missed in handoff");
    let first = begin("Add a form");
    // nobody missed anything: that is remembered from handoff to handoff
    (0..3).for_each(|_| assert!(!missed(&begin("Add a page"))));
    one.json(["sync"]);
    let two = place.clone(&place.at("hub.git"), "two", false);
    two.json(["sync"]);
    two.start("worker", "The login");
    two.json(["accept", &id(&first), "--gap", "Which database"]);
    two.json(["sync"]);
    assert!(!missed(&begin("Add a door")), "it is not here yet");
    one.json(["sync"]);
    assert!(missed(&begin("Add a wall")));
    // by plain git as well
    let other = one.json(["accept", &id(&first), "--gap", "Who pays"]);
    assert!(begin("Add a roof")["warnings"].to_string().contains("Who pays"), "{other}");
}
