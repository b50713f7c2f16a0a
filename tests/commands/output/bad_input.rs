//! Bad input for every argument: a clear error, the right exit code, one document, nothing stored, and recovery
//! commands that can be run.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::Value;

use crate::support::harness::{Repo, Sandbox};

/// Runs a command that must fail, as text and as JSON, and then every command its error recommends.
#[track_caller]
pub fn refused(repo: &Repo<'_>, code: i32, given: &[&str]) -> Value {
    let text = repo.run(given);
    assert_eq!(text.code, code, "{given:?}: {} {}", text.out, text.err);
    assert!(text.out.is_empty() && text.err.starts_with("error: "), "{given:?}: {} {}", text.out, text.err);
    let json = repo.fails(code, given);
    assert!(!json["error"].as_str().unwrap_or_default().is_empty(), "{json}");
    recover(repo, &json);
    json
}

thread_local! {
    /// The recovery commands that a test, which has a thread of its own, has run.
    static RECOVERED: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
}

/// Runs the recovery commands of an error as the user's shell would, each once and in a copy of the folder; none may be
/// a usage error itself.
#[track_caller]
fn recover(repo: &Repo<'_>, json: &Value) {
    for command in json["recovery_commands"].as_array().expect("a list") {
        let command = filled(command.as_str().expect("a command"));
        if !RECOVERED.with_borrow_mut(|known| known.insert(command.clone())) {
            continue;
        }
        let copy = repo.copied("copy").path;
        let code = repo.place.command("sh", &copy).args(["-c", &command]).output().expect("a shell").status.code();
        assert_ne!(code, Some(2), "{command:?} is a usage error: {json}");
        assert_ne!(code, Some(127), "{command:?} is no command: {json}");
    }
}

/// A command with something in place of each `<…>`.
fn filled(command: &str) -> String {
    let mut out = String::new();
    let mut rest = command;
    while let Some((before, after)) = rest.split_once('<') {
        let (place, after) = after.split_once('>').expect("the placeholder ends");
        out.push_str(before);
        out.push_str(if place == "0..1" { "0.5" } else { "something" });
        rest = after;
    }
    out + rest
}

pub fn says(json: &Value, key: &str, what: &str) -> bool {
    json[key].as_str().is_some_and(|text| text.contains(what))
}

#[track_caller]
fn means(json: &Value, name: &str) {
    assert!(says(json, "suggestion", &format!("Did you mean '{name}'?")), "{json}");
    assert!(json["alternatives"].as_array().is_some_and(|all| all.iter().any(|one| one == name)), "{json}");
}

/// A repository with an active session.
pub fn begun<'p>(place: &'p Sandbox, name: &str) -> Repo<'p> {
    let repo = place.repo(name);
    repo.start("ada", "Work");
    repo
}

/// How many records are stored or wait.
fn stored(repo: &Repo<'_>) -> usize {
    repo.run(["flush"]).ok();
    ["journal", "checkpoints", "handoffs"].iter().map(|namespace| repo.lines(namespace).len()).sum()
}

#[test]
fn out_of_range_duplicate_unknown_or_missing_vectors_store_nothing() {
    let place = Sandbox::new();
    let repo = begun(&place, "a");
    let before = stored(&repo);
    for phase in ["preflight", "check", "postflight", "checkpoint"] {
        for bad in ["know=1.01", "know=-0.01", "know=NaN", "know=inf", "know=-inf", "know=", "know=high", "know=1,5"] {
            let json = refused(&repo, 2, &[phase, "-v", bad]);
            assert!(says(&json, "error", "know") || says(&json, "error", "NAME=VALUE"), "{json}");
        }
        for bad in ["know", "=0.5", "", " ", ","] {
            refused(&repo, 2, &[phase, "-v", bad]);
        }
        assert!(says(&refused(&repo, 2, &[phase, "-v", "know=0.1,know=0.2"]), "error", "twice"));
        assert!(says(&refused(&repo, 2, &[phase, "-v", "know=0.1", "-v", "KNOW=0.1"]), "error", "twice"));
        let json = refused(&repo, 2, &[phase, "-v", "knwo=0.5"]);
        means(&json, "know");
        assert_eq!(json["provided"], "knwo");
        let json = refused(&repo, 2, &[phase, "-v", "zzzzzz=0.5"]);
        assert!(says(&json, "reason", "engagement, know, do"), "{json}");
        refused(&repo, 2, &[phase, "--vectors", "no-such-file"]);
        refused(&repo, 2, &[phase, "-v"]);
    }
    for phase in ["preflight", "check", "postflight"] {
        let json = refused(&repo, 2, &[phase]);
        assert!(says(&json, "error", "no vector"), "{json}");
        assert_eq!(json["recovery_commands"].as_array().map(Vec::len), Some(1));
    }
    assert_eq!(stored(&repo), before, "a refused assessment stores nothing");
}

#[test]
fn vectors_from_a_file_are_checked_like_arguments() {
    let place = Sandbox::new();
    let repo = begun(&place, "a");
    for (content, what) in [
        ("{\"know\": 1.5}", "know"),
        ("{\"know\": \"0.5\"}", "know"),
        ("{\"know\": null}", "know"),
        ("{\"know\"", "JSON"),
        ("{\"knwo\": 0.5}", "knwo"),
        ("know=2", "know"),
        ("", "no vector"),
        ("{}", "no vector"),
    ] {
        repo.write("v", content);
        let json = refused(&repo, 2, &["preflight", "--vectors", "v"]);
        assert!(says(&json, "error", what), "{content:?}: {json}");
    }
    std::fs::write(repo.path.join("v"), b"know=0.5\xff").expect("a file");
    assert!(says(&refused(&repo, 2, &["preflight", "--vectors", "v"]), "error", "UTF-8"));
    repo.write("v", "{\"know\": 0.5, \"do\": 1}");
    assert_eq!(repo.json(["preflight", "--vectors", "v"])["vectors"]["do"], 1.0);
}

#[test]
fn numbers_out_of_range_are_usage_errors_that_name_the_argument() {
    let place = Sandbox::new();
    let repo = begun(&place, "a");
    for given in [
        &["check", "-v", "know=0.5", "--confidence", "2"][..],
        &["check", "-v", "know=0.5", "--confidence", "NaN"],
        &["check", "-v", "know=0.5", "--confidence=-0.1"],
        &["preflight", "-v", "know=0.5", "--scope", "1.5"],
        &["preflight", "-v", "know=0.5", "--cycle", "0"],
        &["preflight", "-v", "know=0.5", "--meta", "nokey"],
        &["preflight", "-v", "know=0.5", "--meta", "=v"],
        &["finding", "F", "--impact", "-1"],
        &["finding", "F", "--impact=-1"],
        &["finding", "F", "--impact", "inf"],
        &["finding", "F", "--impact", ""],
        &["finding", "F", "--as", "patern"],
        &["evidence", "true", "--exit", "99999999999"],
        &["evidence", "true", "--exit", ""],
        &["evidence", "true"],
        &["checkpoint", "--round", "-1"],
        &["checkpoint", "--round", "99999999999"],
        &["checkpoint", "--phase", "preflite"],
        &["checkpoint", "--trigger", "pre-compact"],
        &["goal", "add", "G", "--priority", "hihg"],
        &["resume", "--last", "0"],
        &["resume", "--last", "6"],
        &["resume", "--last", "all"],
        &["resume", "--budget", "10"],
        &["resume", "--budget", "-1"],
        &["resume", "--detail", "ful"],
        &["resume", "--last", "2", "--session", "latest"],
        &["show", "--format", "yaml"],
        &["log", "-n", "-1"],
        &["log", "-n", "many"],
        &["query", "--limit", "-1"],
        &["query", "--limit", "many"],
        &["completions", "nosh"],
    ] {
        refused(&repo, 2, given);
    }
    means(&repo.fails(2, ["finding", "F", "--as", "patern"]), "pattern");
    means(&repo.fails(2, ["resume", "--detail", "ful"]), "full");
    assert_eq!(repo.lines("journal").len(), 0);
}

#[test]
fn commands_and_flags_that_do_not_exist_get_a_suggestion_and_a_help_that_works() {
    let place = Sandbox::new();
    let repo = begun(&place, "a");
    means(&refused(&repo, 2, &["findng", "x"]), "finding");
    means(&refused(&repo, 2, &["session", "strat"]), "start");
    let json = refused(&repo, 2, &["finding", "F", "--impct", "0.5"]);
    means(&json, "--impact");
    assert_eq!(json["recovery_commands"][0], "git empirica finding -h");
    means(&refused(&repo, 2, &["activity", "shel", "ls"]), "shell");
    assert!(says(&refused(&repo, 2, &["activity", "zzzzzzz", "ls"]), "reason", "shell, read, write"));
    for given in [
        &["session"][..],
        &["goal"],
        &["session", "start", "surplus"],
        &["finding"],
        &["resolve", "abcd1234"],
        &["deadend", "D"],
        &["decision", "D"],
        &["activity", "shell"],
        &["goal", "sub", "abcd1234"],
        &["goal", "take"],
        &["goal", "show"],
        &["finding", "F", "--led-from"],
        &["handoff", "--bogus"],
        &["flush", "x"],
    ] {
        refused(&repo, 2, given);
    }
}

#[test]
fn empty_and_blank_texts_are_refused_wherever_a_text_is_taken() {
    let place = Sandbox::new();
    let repo = begun(&place, "a");
    let unknown = repo.json(["unknown", "Q"])["id"].as_str().expect("an id").to_owned();
    let goal = repo.json(["goal", "add", "G"])["id"].as_str().expect("an id").to_owned();
    let before = stored(&repo);
    for blank in ["", " ", "\n", "\t \r\n", "\u{a0}\u{2003}"] {
        for given in [
            &["finding", blank][..],
            &["unknown", blank],
            &["resolve", &unknown, blank],
            &["deadend", blank, "--why", "W"],
            &["deadend", "D", "--why", blank],
            &["mistake", blank],
            &["mistake", "M", "--prevention", blank],
            &["decision", blank, "--why", "W"],
            &["decision", "D", "--why", blank],
            &["decision", "D", "--why", "W", "--alternative", blank],
            &["source", blank],
            &["evidence", blank, "--exit", "0"],
            &["evidence", "true", "--exit", "0", "--file", blank],
            &["activity", "shell", blank],
            &["activity", "shell", "ls", "--file", blank],
            &["goal", "add", blank],
            &["goal", "add", "G", "--criterion", blank],
            &["goal", "sub", &goal, blank],
            &["goal", "done", &goal, "--evidence", blank],
            &["goal", "drop", &goal, "--why", blank],
            &["preflight", "-v", "know=0.5", "--finding", blank],
            &["preflight", "-v", "know=0.5", "--unknown", blank],
            &["preflight", "-v", "know=0.5", "--task", blank],
            &["check", "-v", "know=0.5", "--reasoning", blank],
            &["postflight", "-v", "know=0.5", "--next", blank],
            &["handoff", "-m", blank],
            &["handoff", "--finding", blank],
            &["handoff", "--unknown", blank],
            &["handoff", "--accomplished", blank],
            &["handoff", "--context", blank],
            &["handoff", "--next", blank],
            &["handoff", "--artifact", blank],
            &["session", "start", "--task", blank],
            &["session", "start", "--ai", blank],
            &["session", "start", "--type", blank],
            &["finding", "F", "--ai", blank],
            &["session", "end", "--reason", blank],
        ] {
            let json = repo.fails(2, given);
            assert!(says(&json, "error", "empty"), "{given:?}: {json}");
            recover(&repo, &json);
        }
    }
    assert_eq!(stored(&repo), before, "nothing of it is stored");
}

#[test]
fn texts_that_are_no_utf8_are_refused_from_every_side() {
    let place = Sandbox::new();
    let repo = begun(&place, "a");
    let mut command = repo.program();
    command.arg("finding").arg(OsStr::from_bytes(b"caf\xe9")).arg("--json");
    let out = command.output().expect("the program starts");
    assert_eq!(out.status.code(), Some(2));
    let json: Value = serde_json::from_slice(&out.stdout).expect("one document");
    assert_eq!(json["ok"], false);
    assert!(says(&json, "error", "UTF-8"), "{json}");
    recover(&repo, &json);
    let ran = repo.run_with_input(["finding", "-", "--json"], b"caf\xe9\n").code(2);
    assert!(says(&ran.json(), "error", "UTF-8"), "{}", ran.out);
    std::fs::write(repo.path.join("latin"), b"caf\xe9\n").expect("a file");
    for given in [&["finding", "@latin"][..], &["handoff", "--context", "@latin"], &["goal", "add", "@latin"]] {
        assert!(says(&refused(&repo, 2, given), "error", "UTF-8"), "{given:?}");
    }
    assert!(says(&refused(&repo, 2, &["finding", "@no-such-file"]), "suggestion", "@@no-such-file"));
    refused(&repo, 2, &["finding", "@."]);
    assert!(!repo.run(["flush"]).ok().out.is_empty());
    assert!(repo.lines("journal").iter().all(|line| !line.contains("\"finding\"")));
}

#[test]
fn a_doubled_at_sign_is_literal_and_stdin_is_read_once() {
    let place = Sandbox::new();
    let repo = begun(&place, "a");
    repo.json(["finding", "@@literal"]);
    repo.json(["finding", "@"]);
    repo.write("file", "two\nlines\n\n");
    repo.json(["finding", "@file"]);
    repo.run_with_input(["deadend", "-", "--why", "W"], b"from a pipe\n").ok();
    repo.run(["flush"]).ok();
    let texts: Vec<Value> = repo.lines("journal").iter().map(|l| serde_json::from_str(l).expect("JSON")).collect();
    for text in ["@literal", "@", "two\nlines\n"] {
        assert!(texts.iter().any(|record| record["text"] == text), "{text:?}: {texts:?}");
    }
    assert!(texts.iter().any(|record| record["approach"] == "from a pipe"), "{texts:?}");
    for given in [
        &["deadend", "-", "--why", "-"][..],
        &["decision", "-", "--why", "W", "--alternative", "-"],
        &["preflight", "-v", "know=0.5", "--reasoning", "-", "--task", "-"],
        &["preflight", "--vectors", "-", "--finding", "-"],
        &["postflight", "-v", "know=0.5", "--reasoning", "-", "--context", "-"],
        &["handoff", "-m", "-", "--next", "-"],
    ] {
        let mut given = given.to_vec();
        given.push("--json");
        let ran = repo.run_with_input(&given, b"know=0.5");
        assert_eq!(ran.code, 2, "{given:?}: {} {}", ran.out, ran.err);
        assert!(says(&ran.json(), "error", "standard input"), "{given:?}: {}", ran.out);
    }
}

#[test]
fn a_megabyte_from_standard_input_is_stored_whole() {
    let place = Sandbox::new();
    let repo = begun(&place, "a");
    let mut text: String = (0..30_000).map(|n| format!("line {n} \"quoted\" \\ é\u{1} {}\n", n * 7919)).collect();
    text.push_str("the end");
    assert!(text.len() > 1_000_000);
    let ran = repo.run_with_input(["finding", "-", "--json"], text.as_bytes()).ok();
    let id = ran.json()["id"].as_str().expect("an id").to_owned();
    repo.run(["flush"]).ok();
    let lines = repo.lines("journal");
    let record: Value = lines
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .find(|record| record["id"] == *id)
        .expect("the record");
    assert!(record["text"] == text.as_str(), "it differs");
    assert_eq!(repo.json(["show", &id])["text"], text.as_str());
    let context = text.lines().skip(27_000).collect::<Vec<_>>().join("\n");
    let handoff = repo.run_with_input(["handoff", "--context", "-", "--json"], context.as_bytes()).ok().json();
    assert!(says(&handoff, "markdown", "the end"));
    assert!(repo.run(["resume", "--detail", "full"]).ok().out.len() < 10_000, "a view stays within its budget");
}

#[test]
fn outside_a_repository_every_command_exits_128() {
    let place = Sandbox::new();
    std::fs::create_dir(place.path().join("plain")).expect("a folder");
    let plain = place.at("plain");
    for given in [
        &["status"][..],
        &["session", "start"],
        &["session", "list"],
        &["preflight", "-v", "know=0.5"],
        &["finding", "F"],
        &["goal", "list"],
        &["checkpoint"],
        &["handoff"],
        &["handoff", "list"],
        &["show"],
        &["resume"],
        &["log"],
        &["query"],
        &["flush"],
    ] {
        let json = refused(&plain, 128, given);
        assert!(says(&json, "error", "repository"), "{json}");
    }
    assert!(std::fs::read_dir(&plain.path).expect("a folder").next().is_none(), "nothing is left behind");
}
