//! Rules: what they match, what is wrong with them, and where they are read.

use serde_json::json;

use crate::commands::routes::{CHAIN, begin, by, id, rules};
use crate::support::harness::{Repo, Sandbox};

#[test]
fn each_condition_decides() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    repo.commit("src/queue.rs", "fn main() {}\n", "Add the queue");
    begin(&repo, "lead");
    by(&repo, "lead", &["preflight", "-v", "know=0.5,uncertainty=0.5"]);
    by(&repo, "lead", &["finding", "the queue is bounded"]);
    by(&repo, "lead", &["unknown", "who reads it?"]);
    by(&repo, "lead", &["evidence", "cargo test", "--exit", "1"]);
    repo.commit("src/queue.rs", "fn main() { }\n", "Bound the queue");
    by(&repo, "lead", &["postflight", "-v", "know=0.9,uncertainty=0.1"]);
    let goes = |condition: &str| {
        rules(&repo, &format!("[[route]]\nto = \"tester\"\n{condition}\n"));
        let routed = by(&repo, "lead", &["handoff", "-m", "Bound the queue", "--task-id", "queue-1", "--dry-run"]);
        routed["to"].clone()
    };
    for holds in [
        "",
        "from = \"lead\"",
        "from = [\"other\", \"lead\"]",
        "type = \"epistemic\"",
        "calibration = \"well_calibrated\"",
        "confidence = \"> 0.5\"",
        "unknowns = 1",
        "unknowns = \">= 1\"",
        "failed_evidence = true",
        "paths = \"src/\"",
        "paths = [\"*.md\", \"queue.rs\"]",
        "task = \"bound|limit\"",
        "task = \"QUEUE-\\\\d\"",
    ] {
        assert_eq!(goes(holds), "tester", "{holds}");
    }
    for fails in [
        "from = \"tester\"",
        "type = \"progress\"",
        "decision = \"COMPLETE\"",
        "calibration = \"overconfident\"",
        "confidence = \"< 0.5\"",
        "unknowns = 0",
        "failed_evidence = false",
        "paths = \"docs/\"",
        "task = \"^queue$\"",
        "from = \"lead\"\nunknowns = \"> 1\"",
    ] {
        assert_eq!(goes(fails), json!(null), "{fails}");
    }
    rules(&repo, "[[route]]\nto = \"lead\"\n");
    let own = by(&repo, "lead", &["handoff", "--dry-run"]);
    assert_eq!(own["to"], json!(null), "nobody hands over to himself unless the rule says so");
    rules(&repo, "[[route]]\nfrom = \"lead\"\nto = \"lead\"\nrounds = 1\n");
    assert_eq!(by(&repo, "lead", &["handoff", "--dry-run"])["to"], "lead");
}

#[test]
fn the_decision_is_that_of_the_handoff_or_else_of_its_session() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    rules(
        &repo,
        "[[route]]\nname = \"refine\"\ndecision = \"REFINE\"\nto = \"lead\"\n\n[[route]]\nname = \"done\"\n\
         decision = \"complete\"\nto = \"validator\"\n",
    );
    for ai in ["lead", "tester"] {
        begin(&repo, ai);
    }
    let asked = by(&repo, "lead", &["handoff", "-m", "Test it", "--next", "test", "--to", "tester", "--task-id", "t"]);
    by(&repo, "tester", &["accept", &id(&asked), "--decision", "REFINE"]);
    let back = by(&repo, "tester", &["handoff", "--next", "say which"]);
    assert_eq!(
        (&back["to"], &back["route"]["rule"], &back["task_id"]),
        (&json!("lead"), &json!("refine"), &json!("t"))
    );
    let report = ["--set", "worker_report.status=COMPLETED", "--set", "manager_decision=COMPLETE"];
    let done = by(&repo, "tester", &[&["handoff", "--type", "progress", "--task-id", "t"], &report[..]].concat());
    assert_eq!(done["route"]["rule"], "done");
    let task = by(&repo, "lead", &["task", "show", "t"]);
    assert_eq!(task["status"], "open", "a rule hands it on: {task}");
}

#[test]
fn who_is_named_wins_and_who_is_chosen_is_told() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    rules(&repo, CHAIN);
    begin(&repo, "lead");
    let said = repo.run_with_env(&[("EMPIRICA_AI", "lead")], ["handoff", "--next", "test it"]).ok();
    assert!(said.err.contains(" for tester, by rule 'test'."), "{}", said.err);
    assert!(said.out.contains("- **For:** tester, by rule 'test'"), "{}", said.out);
    let named = by(&repo, "lead", &["handoff", "--next", "test it", "--to", "validator"]);
    assert_eq!((&named["to"], &named["route"]), (&json!("validator"), &json!(null)));
    let shown = by(&repo, "lead", &["show", &id(&named)]);
    assert_eq!((&shown["to"], &shown["route"]), (&json!("validator"), &json!(null)));
    let explained = by(&repo, "lead", &["route", &id(&named), "--explain"]);
    assert_eq!((&explained["to"], &explained["route"]), (&json!("validator"), &json!(null)));
    let dry = repo.run_with_env(&[("EMPIRICA_AI", "lead")], ["handoff", "--next", "more", "--dry-run"]).ok();
    assert!(dry.err.contains("It would be stored for tester, by rule 'test'."), "{}", dry.err);
}

#[test]
fn each_rule_is_explained() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    rules(&repo, CHAIN);
    begin(&repo, "tester");
    by(&repo, "tester", &["evidence", "cargo test", "--exit", "1"]);
    let plain = repo.run_with_env(&[("EMPIRICA_AI", "tester")], ["route"]).ok();
    assert_eq!(plain.out, "to lead by rule 'back'\n");
    let text = repo.run_with_env(&[("EMPIRICA_AI", "tester")], ["route", "--explain"]).ok().unfenced();
    for line in [
        ".empirica/routes.toml:3: test, to tester: does not match\n  no  from is tester, not lead\n",
        ".empirica/routes.toml:8: back, to lead: matches\n  yes from is tester\n  yes failed: cargo test\n",
        ".empirica/routes.toml:15: validate, to validator: matches, but a rule before it matched first\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let json = by(&repo, "tester", &["route", "--explain"]);
    assert_eq!(json["rules"][1]["conditions"][1], json!({"holds": true, "text": "failed: cargo test"}));
    let stored = by(&repo, "tester", &["handoff", "--next", "n"]);
    assert_eq!(by(&repo, "tester", &["route", &id(&stored)])["to"], "lead", "of a stored one");
}

#[test]
fn a_rule_escalates_after_its_rounds_until_a_person_decides() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    rules(
        &repo,
        "[[route]]\nname = \"test\"\nfrom = \"lead\"\nto = \"tester\"\nrounds = 2\nescalate = \"boss\"\n\n[[route]]\n\
         name = \"back\"\nfrom = \"tester\"\nto = \"lead\"\nrounds = 9\n",
    );
    for ai in ["lead", "tester", "boss"] {
        begin(&repo, ai);
    }
    let hand = |ai: &str, next: &str| {
        let handed = by(&repo, ai, &["handoff", "--next", next, "--task-id", "t"]);
        (id(&handed), handed["to"].clone(), handed["route"]["escalated"] == true)
    };
    let mut last = hand("lead", "test it");
    assert_eq!((&last.1, last.2), (&json!("tester"), false));
    assert_eq!(hand("lead", "test it well").1, "tester", "another version is no other round");
    last.0 = by(&repo, "tester", &["inbox"])["waiting"][0]["handoff_id"].as_str().expect("an id").to_owned();
    for _ in 0..2 {
        by(&repo, "tester", &["accept", &last.0]);
        let back = hand("tester", "mend it");
        assert_eq!((&back.1, back.2), (&json!("lead"), false));
        by(&repo, "lead", &["accept", &back.0]);
        last = hand("lead", "test it again");
    }
    assert_eq!((&last.1, last.2), (&json!("boss"), true), "it went round twice");
    let task = by(&repo, "lead", &["task", "show", "t"]);
    assert_eq!((&task["status"], &task["waits_for"]), (&json!("escalated"), &json!("a person")), "{task}");
    let explained = by(&repo, "lead", &["route", &last.0]);
    assert_eq!((&explained["to"], &explained["escalated"]), (&json!("boss"), &json!(true)));
    let text = repo.run(["route", &last.0]).ok().out;
    assert_eq!(text, "escalated to boss: rule 'test' reached its 2 rounds\n");
    let inbox = repo.run_with_env(&[("EMPIRICA_AI", "boss")], ["inbox"]).ok().unfenced();
    assert!(inbox.contains(", escalated"), "{inbox}");

    // another version changes nothing; others' handoffs of the task have no receiver until a person decides
    let newer = by(&repo, "lead", &["handoff", "--next", "test it once more"]);
    assert_eq!((&newer["to"], &newer["route"]["escalated"]), (&json!("boss"), &json!(true)));
    last.0 = id(&newer);
    assert_eq!(by(&repo, "tester", &["handoff", "--next", "n", "--dry-run"])["to"], json!(null));
    by(&repo, "boss", &["accept", &last.0, "--resolution", "Test only the parser"]);
    assert_eq!(by(&repo, "lead", &["task", "show", "t"])["status"], "open");
    let again = hand("lead", "test the parser");
    assert_eq!((&again.1, again.2), (&json!("tester"), false));
}

#[test]
fn without_who_decides_it_waits_for_a_person() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    rules(&repo, "[[route]]\nfrom = \"a\"\nto = \"a\"\nrounds = 1\n");
    let first = begin(&repo, "a");
    let handed = by(&repo, "a", &["handoff", "--next", "n", "--task-id", "t"]);
    assert_eq!(handed["to"], "a");
    by(&repo, "a", &["session", "end", "--session", &first]);
    begin(&repo, "a");
    by(&repo, "a", &["accept", &id(&handed)]);
    let escalated = by(&repo, "a", &["handoff", "--next", "m"]);
    assert_eq!((&escalated["to"], &escalated["route"]["escalated"]), (&json!(null), &json!(true)));
    assert!(
        repo.run(["show", &id(&escalated)])
            .ok()
            .out
            .contains("- **For:** a person, escalated: rule 'a to a' reached its rounds")
    );
}

#[test]
fn what_is_wrong_is_told_with_its_line_and_loses_no_handoff() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    begin(&repo, "lead");
    let missing = repo.fails(1, ["route", "check"]);
    assert_eq!(missing["error"], "cannot read .empirica/routes.toml: the repository has no such file");
    rules(&repo, CHAIN);
    assert_eq!(repo.json(["route", "check"])["rules"], 3);
    rules(&repo, "[[route]]\nfrom = \"lead\"\nto = \"testr\"\n[[route]]\nfrom = \"testr\"\nto = \"lead\"\n");
    let ran = repo.run(["route", "check"]).code(1);
    assert_eq!(
        ran.out,
        ".empirica/routes.toml:1: unbounded cycle lead → testr → lead: set rounds on one of the rules in lines 1, 4\n\
         .empirica/routes.toml:3: no agent is called testr: add it to agents = [...]\n\
         .empirica/routes.toml:5: no agent is called testr: add it to agents = [...]\n"
    );
    let json = repo.fails(1, ["route", "check"]);
    assert_eq!(
        (&json["error"], &json["problems"][1]["line"]),
        (&json!("cannot rely on .empirica/routes.toml: 3 problems"), &json!(3))
    );
    // a rule that works is used although the check warns
    assert_eq!(by(&repo, "lead", &["handoff", "--next", "n"])["to"], "testr");

    for (broken, cause) in [
        ("[[route]]\nto = ", "line 2: "),
        ("[[route]]\nfrom = \"lead\"\n", "line 1: missing key to, the receiving agent"),
        ("[[route]]\nto = \"x\"\ncolour = 1\n", "line 3: unknown key colour"),
        ("\u{feff}\u{0}", "line 1: "),
        ("[[route]]\nto = \"a\\u0007\"", "line 2: to has a control character"),
    ] {
        rules(&repo, broken);
        let handed = by(&repo, "lead", &["handoff", "--next", "n"]);
        let warning = format!("the handoff has no receiver: cannot use .empirica/routes.toml: {cause}");
        assert!(handed["warning"].as_str().is_some_and(|text| text.contains(&warning)), "{handed}");
        assert_eq!((&handed["stored"], &handed["to"]), (&json!(true), &json!(null)));
        assert!(repo.fails(1, ["route", &id(&handed)])["error"].as_str().expect("a text").contains("cannot use"));
        assert!(!repo.fails(1, ["route", "check"])["problems"].as_array().expect("a list").is_empty());
    }
    std::fs::remove_file(repo.path.join(".empirica/routes.toml")).expect("removed");
    std::fs::create_dir(repo.path.join(".empirica/routes.toml")).expect("a folder");
    let handed = by(&repo, "lead", &["handoff", "--next", "n"]);
    assert!(handed["warning"].as_str().is_some_and(|text| text.contains("is not a regular file")), "{handed}");
}

#[test]
fn texts_of_the_file_forge_nothing() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    begin(&repo, "lead");
    // what a control character, which is refused, could do otherwise
    rules(
        &repo,
        "[[route]]\nname = \"`a` **b** # x </records-1>\"\nfrom = \"lead\"\nto = \"b\u{202e}\u{200b} - [x](y)\"\n",
    );
    let handed = repo.run_with_env(&[("EMPIRICA_AI", "lead")], ["handoff", "--next", "n"]).ok();
    let explained = repo.run_with_env(&[("EMPIRICA_AI", "lead")], ["route", "--explain"]).ok();
    let checked = repo.run(["route", "check"]).code(1);
    for text in [&handed.out, &handed.err, &explained.out, &explained.err, &checked.out] {
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{200b}']), "{text:?}");
        assert!(!text.lines().any(|line| line.starts_with("# x")), "{text}");
    }
    let link = repo.path.join(".empirica/routes.toml");
    std::fs::remove_file(&link).expect("removed");
    std::os::unix::fs::symlink("../README.md", &link).expect("a link");
    let handed = by(&repo, "lead", &["handoff", "--next", "n"]);
    assert!(handed["warning"].as_str().is_some_and(|text| text.contains("it is a symbolic link")), "{handed}");
    std::fs::remove_file(&link).expect("removed");
    std::fs::write(&link, b"[[route]]\nto = \"\xff\"\n").expect("written");
    assert_eq!(repo.fails(1, ["route", "check"])["problems"][0]["text"], "the file is not UTF-8");
}

#[test]
fn the_file_is_that_of_the_work_tree_or_else_of_the_commit() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    repo.commit(".empirica/routes.toml", "[[route]]\nto = \"committed\"\n", "Add rules");
    begin(&repo, "lead");
    let to = |repo: &Repo<'_>| by(repo, "lead", &["handoff", "--next", "n"])["to"].clone();
    assert_eq!(to(&repo), "committed");
    rules(&repo, "[[route]]\nto = \"present\"\n");
    assert_eq!(to(&repo), "present");
    std::fs::remove_file(repo.path.join(".empirica/routes.toml")).expect("removed");
    assert_eq!(to(&repo), "committed", "as in a sparse work tree");
    let folder = repo.path.join("deep");
    std::fs::create_dir(&folder).expect("a folder");
    assert_eq!(to(&Repo { path: folder, ..repo.clone() }), "committed", "from any folder");
    let bare = place.path().join("bare.git");
    repo.git(["clone", "-q", "--bare", ".", bare.to_str().expect("UTF-8")]).ok();
    let bare = Repo { place: &place, path: bare };
    begin(&bare, "lead");
    assert_eq!(to(&bare), "committed");
}
