//! Every command that changes something: `--dry-run` changes nothing and says what the command then does, and a second run
//! changes nothing, is refused, or logs a record of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use clap::CommandFactory;
use git_empirica::cli::Cli;
use serde_json::Value;

use crate::commands::session::collect::fixture;
use crate::repository::surroundings::{add_hub, formats, id, repo_of};
use crate::setup::init::listing;
use crate::support::harness::{Repo, RunOutput, Sandbox};
use crate::sync::team::{clones, hub};

/// Commands with `--dry-run` whose second run changes nothing.
const DRY: [&str; 8] = ["collect", "deinit", "import", "init", "instructions", "redact", "setup", "sync"];

/// Commands with `--dry-run` of which each run stores a record: a handoff supersedes the session's earlier one.
const DRY_RECORDS: [&str; 1] = ["handoff"];

/// What a second run of a command does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Again {
    /// It stores a record of its own, as what it says counts each time.
    Stores,
    /// It has nothing to do, or the session said the same before: all is as after the first.
    Nothing,
    /// It is refused, and changes nothing.
    Refused,
}

/// Commands without `--dry-run`, and what a second run does; `{name}` is the id of a record.
const OTHERS: [(&[&str], Again); 29] = [
    (&["accept", "{handoff}"], Again::Stores),
    (&["activity", "shell", "ls"], Again::Stores),
    (&["answer", "{question}", "so"], Again::Stores),
    (&["check", "-v", "know=0.6"], Again::Stores),
    (&["checkpoint", "-v", "know=0.6"], Again::Stores),
    (&["confirm", "{finding}"], Again::Stores),
    (&["deadend", "D", "--why", "W"], Again::Nothing),
    (&["decision", "D", "--why", "W"], Again::Nothing),
    (&["embed"], Again::Nothing),
    (&["evidence", "cargo test", "--exit", "0"], Again::Stores),
    (&["finding", "F"], Again::Nothing),
    (&["flush"], Again::Nothing),
    (&["goal", "add", "G"], Again::Nothing),
    (&["goal", "done", "{goal}"], Again::Refused),
    (&["goal", "drop", "{goal}", "--why", "W"], Again::Refused),
    (&["goal", "sub", "{goal}", "S"], Again::Nothing),
    (&["goal", "take", "{goal}"], Again::Nothing),
    (&["handoff", "sign", "{handoff}"], Again::Stores),
    (&["mistake", "M"], Again::Nothing),
    (&["postflight", "-v", "know=0.8"], Again::Stores),
    (&["preflight", "-v", "know=0.6"], Again::Stores),
    (&["replace", "{finding}", "N"], Again::Refused),
    (&["resolve", "{unknown}", "A"], Again::Refused),
    (&["retract", "{finding}", "--why", "W"], Again::Refused),
    (&["session", "end"], Again::Refused),
    (&["session", "start", "--task", "t"], Again::Stores),
    (&["source", "docs/x.md"], Again::Stores),
    (&["undo"], Again::Stores),
    (&["unknown", "U"], Again::Nothing),
];

/// Commands that change nothing, or only a file that they are given.
const READ: [&str; 28] = [
    "calibration",
    "checkpoint list",
    "checkpoint show",
    "demo",
    "diff",
    "doctor",
    "export",
    "goal list",
    "goal show",
    "handoff list",
    "inbox",
    "log",
    "metrics",
    "query",
    "report",
    "resume",
    "route",
    "route check",
    "search",
    "session list",
    "session show",
    "show",
    "similar",
    "status",
    "task list",
    "task show",
    "why",
    "bootstrap",
];

/// Servers and what git and agents call.
const CALLED: [&str; 2] = ["hook", "mcp"];

/// Every command by its name, and whether it has `--dry-run`.
fn commands(command: &clap::Command, path: &str, out: &mut BTreeMap<String, bool>) {
    for sub in command.get_subcommands() {
        let path = format!("{path} {}", sub.get_name()).trim().to_owned();
        commands(sub, &path, out);
        if !sub.has_subcommands() || !sub.is_subcommand_required_set() {
            out.insert(path, sub.get_arguments().any(|argument| argument.get_long() == Some("dry-run")));
        }
    }
}

/// The name of the command that arguments call.
fn called(arguments: &[&str], all: &BTreeMap<String, bool>) -> String {
    let two = arguments[..arguments.len().min(2)].join(" ");
    if all.contains_key(&two) { two } else { arguments[0].to_owned() }
}

#[test]
fn every_command_is_known_by_what_it_changes() {
    let mut all = BTreeMap::new();
    commands(&Cli::command(), "", &mut all);
    let with_dry_run: BTreeSet<&str> = all.iter().filter(|(_, dry)| **dry).map(|(name, _)| name.as_str()).collect();
    assert_eq!(with_dry_run, DRY.into_iter().chain(DRY_RECORDS).collect());
    let others: Vec<String> = OTHERS.iter().map(|(arguments, _)| called(arguments, &all)).collect();
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    let known = [&DRY[..], &DRY_RECORDS, &others, &READ, &CALLED].concat();
    let unknown: Vec<&String> = all.keys().filter(|name| !known.contains(&name.as_str())).collect();
    assert!(unknown.is_empty(), "what does a second run of these change? {unknown:?}");
}

/// All that a command could change: refs, records (also pending ones), settings, hooks, the files of the work tree and of
/// the home. The index, and what tells whether it is current, are derived.
fn state(repo: &Repo<'_>) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    let records = repo.run(["export", "--jsonl"]).ok().out;
    out.extend(records.lines().enumerate().map(|(n, line)| (format!("record {n:04}"), line.to_owned())));
    out.insert("refs".into(), repo.git(["for-each-ref"]).out);
    let unflushed = repo.json(["status"])["unflushed"].to_string();
    out.insert("pending".into(), unflushed);
    let home = repo.place.path().join("home");
    for (path, (mode, content)) in listing(&repo.path).into_iter().chain(listing(&home)) {
        let derived = [".git/objects", ".git/logs", ".git/refs", ".git/reftable", ".git/empirica/", ".git/packed-refs"];
        let is_hook = path.contains(".git/empirica/hooks") || path.ends_with("empirica/init.json");
        let is_derived = derived.iter().any(|part| path.contains(part)) && !is_hook;
        if !is_derived && !path.ends_with(".git/index") {
            out.insert(path, format!("{mode:o} {content}"));
        }
    }
    out
}

/// The part of a document that says what is, or would be, done.
fn said(json: &Value, keys: &[&str]) -> BTreeMap<String, Value> {
    keys.iter()
        .map(|key| ((*key).to_owned(), json.pointer(key).cloned().unwrap_or_else(|| panic!("{key}: {json}"))))
        .collect()
}

#[track_caller]
fn same(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>, what: &str) {
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let changed: Vec<_> = keys
        .into_iter()
        .filter(|key| before.get(*key) != after.get(*key))
        .map(|key| (key, before.get(key), after.get(key)))
        .collect();
    assert!(changed.is_empty(), "{what}: {changed:#?}");
}

/// A command: the arguments without `--dry-run`, and the keys of its document that say what it does, with what they have
/// when there is nothing left to do.
struct Case {
    arguments: Vec<String>,
    says: &'static [&'static str],
    nothing: Vec<(&'static str, Value)>,
}

fn case(line: &[&str], says: &'static [&'static str], nothing: &[(&'static str, Value)]) -> Case {
    Case { arguments: line.iter().map(|word| (*word).to_owned()).collect(), says, nothing: nothing.to_vec() }
}

#[track_caller]
fn document(repo: &Repo<'_>, arguments: &[String]) -> Value {
    RunOutput::new(repo.program().args(arguments).arg("--json").output().expect("it starts")).ok().json()
}

#[test]
fn a_dry_run_says_what_the_command_then_does_and_a_second_run_does_nothing() {
    for format in formats(&Sandbox::new()) {
        // each with a home
        let place = Sandbox::older_git();
        let name = format!("{}-{}", format.hash, format.refs);
        let repo = repo_of(&place, &name, format);
        add_hub(&repo, &name, format);
        crate::setup::init::script(&repo.path.join(".git/hooks/pre-push"), "#!/bin/sh\nexit 0\n");
        repo.start("ada", "t");
        let secret = id(&repo.json(["finding", "what should not have been said"]));
        repo.hand_over("t");
        let python = "refs/notes/empirica/session/python";
        let session = r#"{"session_id":"5b2fa1cb-0000-4000-8000-000000000001","ai_id":"old","created_at":"2026-01-01T00:00:00Z"}"#;
        repo.git(["notes", "--ref", python, "add", "-m", session]).ok();
        let transcript = fixture("codex/rollout.jsonl");
        let none = || serde_json::json!([]);
        let cases = [
            case(&["init"], &["/changes", "/hooks", "/remote"], &[("/changes", none())]),
            case(&["init", "--agents", "codex"], &["/changes", "/agents"], &[("/changes", none())]),
            case(&["instructions", "--write", "--agent", "claude-code"], &["/changes"], &[("/changes", none())]),
            case(&["setup"], &["/files"], &[]),
            case(
                &["collect", &transcript],
                &["/agent", "/transcript_id", "/rows", "/task", "/added", "/files_modified"],
                &[],
            ),
            case(&["import"], &["/read", "/new", "/known", "/kinds"], &[("/new", 0.into())]),
            case(&["redact", &secret], &["/redacted", "/rewritten"], &[("/redacted", none())]),
            case(&["redact", "--secrets"], &["/scrubbed"], &[("/scrubbed", none())]),
            case(
                &["sync"],
                &[
                    "/remotes/0/remote",
                    "/remotes/0/outgoing/records",
                    "/remotes/0/outgoing/kinds",
                    "/remotes/0/incoming/records",
                ],
                &[("/remotes/0/outgoing/records", 0.into()), ("/remotes/0/incoming/records", 0.into())],
            ),
            case(&["deinit"], &["/changes"], &[("/changes", none())]),
        ];
        let tried: BTreeSet<&str> = cases.iter().map(|case| case.arguments[0].as_str()).collect();
        assert_eq!(tried, DRY.into_iter().collect(), "each command that has it");
        for Case { arguments, says, nothing } in &cases {
            let what = format!("{name}: {arguments:?}");
            // what the command before left to be written is no change of this one
            repo.run(["flush"]).ok();
            let before = state(&repo);
            let dry = document(&repo, &[&arguments[..], &["--dry-run".to_owned()]].concat());
            same(&before, &state(&repo), &format!("{what}: the dry run"));
            let first = document(&repo, arguments);
            assert_eq!(said(&dry, says), said(&first, says), "{what}");
            repo.run(["flush"]).ok();
            let after = state(&repo);
            let is_no_change = arguments.iter().any(|word| word == "--secrets");
            assert_eq!(before == after, is_no_change, "{what}: it does something");
            let second = document(&repo, arguments);
            repo.run(["flush"]).ok();
            same(&after, &state(&repo), &format!("{what}: the second run"));
            for (key, value) in nothing {
                assert_eq!(second.pointer(key), Some(value), "{what}: {second}");
            }
            let dry = document(&repo, &[&arguments[..], &["--dry-run".to_owned()]].concat());
            for (key, value) in nothing {
                assert_eq!(dry.pointer(key), Some(value), "{what}: a dry run afterwards: {dry}");
            }
        }
        repo.fsck();
    }
}

/// The dry run fetched what the sync then receives.
#[test]
fn a_sync_after_its_dry_run_tells_what_it_receives() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let pair = clones(&place, &hub, 2);
    let (ada, bob) = (&pair[0], &pair[1]);
    ada.start("ada", "t");
    ada.hand_over("over to you");
    ada.json(["sync"]);
    bob.start("bob", "t");
    let received = |json: Value| json["remotes"][0]["incoming"].clone();
    let dry = received(bob.json(["sync", "--dry-run"]));
    assert_eq!(dry["handoffs"][0]["task"], "over to you", "{dry}");
    assert_eq!(received(bob.json(["sync", "--dry-run"])), dry);
    assert_eq!(received(bob.json(["sync"])), dry);
    assert_eq!(received(bob.json(["sync"]))["records"], 0);
    // also what git fetched
    ada.json(["finding", "one"]);
    ada.json(["sync"]);
    bob.git(["fetch", "-q", "origin"]).ok();
    assert_eq!(received(bob.json(["sync"]))["kinds"], serde_json::json!([{"kind": "finding", "count": 1}]));
}

#[test]
fn a_dry_run_of_a_handoff_stores_nothing_and_a_retry_duplicates_no_claim() {
    let place = Sandbox::new();
    for format in formats(&place) {
        let repo = repo_of(&place, &format!("{}-{}", format.hash, format.refs), format);
        repo.start("ada", "t");
        repo.run(["flush"]).ok();
        let words = ["handoff", "-m", "t", "--finding", "found", "--unknown", "why?", "--next", "n"].map(str::to_owned);
        let before = state(&repo);
        let dry = document(&repo, &[&words[..], &["--dry-run".to_owned()]].concat());
        same(&before, &state(&repo), "the dry run");
        let first = document(&repo, &words);
        let text = |json: &Value| {
            let markdown = json["markdown"].as_str().expect("a text").to_owned();
            // its id is not known before
            markdown
                .lines()
                .skip(1)
                .filter(|line| !line.contains("empirica show"))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(text(&dry), text(&first));
        let second = document(&repo, &words);
        assert_ne!(second["handoff_id"], first["handoff_id"], "each is a record");
        let journal = repo.lines("journal").join("\n");
        for claim in ["\"found\"", "\"why?\""] {
            assert_eq!(journal.matches(claim).count(), 1, "{journal}");
        }
        let listed = repo.json(["handoff", "list"])["handoffs"].clone();
        assert_eq!(listed.as_array().map(Vec::len), Some(1), "it supersedes the first: {listed}");
        assert_eq!(listed[0]["handoff_id"], second["handoff_id"]);
    }
}

#[test]
fn a_command_that_only_reads_changes_nothing() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    repo.start("ada", "t");
    let finding = id(&repo.json(["finding", "found"]));
    let goal = id(&repo.json(["goal", "add", "g"]));
    let one = id(&repo.json(["preflight", "-v", "know=0.5"]));
    let other = id(&repo.json(["checkpoint", "-v", "know=0.6"]));
    let task = ["handoff", "--type", "initialization", "--task-id", "the-task", "--set", "instructions=Do it"];
    let handoff = id(&repo.json(task));
    repo.json(["finding", "still pending"]);
    fs::create_dir_all(repo.path.join(".empirica")).expect("a folder");
    repo.write(".empirica/routes.toml", "agents = [\"eve\", \"bob\"]\n[[route]]\nfrom = \"eve\"\nto = \"bob\"\n");
    let before = state(&repo);
    let given = |name: &str| -> Vec<String> {
        let more: &[&str] = match name {
            "checkpoint show" => &[&other],
            "diff" => &[&one, &other],
            "export" => &["--jsonl"],
            "goal show" => &[&goal],
            "report" => &["--html", "../page.html"],
            "route" => &[&handoff],
            "search" => &["found"],
            "session show" => &["latest"],
            "show" => &[&finding],
            "similar" => &["a task"],
            "task show" => &["the-task"],
            "why" => &["README.md"],
            _ => &[],
        };
        name.split(' ').chain(more.iter().copied()).map(str::to_owned).collect()
    };
    for name in READ {
        let ran = RunOutput::new(repo.program().args(given(name)).output().expect("it starts"));
        assert!(ran.code == 0 || name == "doctor", "{name}: {}", ran.err);
        same(&before, &state(&repo), name);
    }
}

#[test]
fn a_second_run_of_a_command_without_a_dry_run_is_a_record_of_its_own_or_changes_nothing() {
    let place = Sandbox::new();
    let first = place.repo("first");
    first.run(["session", "start", "--ai", "ada", "--task", "t"]).ok();
    let of = |arguments: &[&str]| id(&first.json(arguments));
    let task = ["handoff", "--type", "initialization", "--task-id", "the-task", "--set", "instructions=Do it"];
    let handoff = of(&task);
    let accepted = first.json(["accept", &handoff, "--question", "How?"]);
    let names = [
        ("{finding}", of(&["finding", "found"])),
        ("{unknown}", of(&["unknown", "why?"])),
        ("{goal}", of(&["goal", "add", "g"])),
        ("{handoff}", handoff),
        ("{question}", format!("{}.1", accepted["accept_id"].as_str().expect("an id"))),
    ];
    let gpg = "#!/bin/sh\ncat >/dev/null\necho '[GNUPG:] SIG_CREATED ' >&2\necho '-----BEGIN PGP SIGNATURE-----'\n";
    crate::setup::init::script(&place.path().join("gpg"), gpg);
    first.git(["config", "gpg.program", &place.path().join("gpg").to_string_lossy()]).ok();
    let model = first.path.join(".git/model");
    crate::commands::meaning::kept::model(&model, 1.0);
    first.git(["config", "empirica.embed.model", model.to_str().expect("text")]).ok();
    let mut wrong = Vec::new();
    for (n, (given, again)) in OTHERS.iter().enumerate() {
        let repo = first.copied(&format!("w{n}"));
        let word = |word: &&str| names.iter().fold((*word).to_owned(), |word, (name, id)| word.replace(name, id));
        let arguments: Vec<String> = given.iter().map(word).collect();
        let run = || RunOutput::new(repo.program().args(&arguments).output().expect("it starts"));
        let ran = run();
        assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.err);
        let after = state(&repo);
        let second = run();
        let is_same = after == state(&repo);
        let found = match (second.code, is_same) {
            (0, false) => Again::Stores,
            (0, true) => Again::Nothing,
            (_, true) => Again::Refused,
            (code, false) => panic!("{arguments:?} fails with {code} and changes something: {}", second.err),
        };
        if found != *again {
            wrong.push((*given, found, second.err));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
