//! The index changes no answer: updated, rebuilt, in memory, or unwritable.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::harness::{Repo, Sandbox, each};
use crate::sync::team::{clones, hub, sync};

/// The folder of the index.
pub fn folder(repo: &Repo<'_>) -> PathBuf {
    let common = repo.git_out(["rev-parse", "--path-format=absolute", "--git-common-dir"]);
    PathBuf::from(common).join("empirica")
}

/// Removes the index, and with it the lists that let a session be read without it.
pub fn remove(repo: &Repo<'_>) {
    let folder = folder(repo);
    for name in ["index.db", "index.stamp", "index.lock", "index.new"] {
        let path = folder.join(name);
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
    }
    forget_lists(repo);
}

/// Removes the lists that let a session be read without the index.
pub fn forget_lists(repo: &Repo<'_>) {
    let _ = fs::remove_dir_all(folder(repo).join("sessions"));
}

/// Every record of the data refs, as git and a JSON parser read them.
pub fn records(repo: &Repo<'_>) -> Vec<Value> {
    let mut all: Vec<Value> = ["journal", "checkpoints", "handoffs"]
        .iter()
        .flat_map(|namespace| repo.lines(namespace))
        .filter_map(|line| serde_json::from_str(&line).ok())
        .collect();
    all.sort_by_key(|record| record["id"].to_string());
    all.dedup_by_key(|record| record["id"].to_string());
    all
}

/// The ids of the records of a kind.
pub fn ids(records: &[Value], kind: &str) -> Vec<String> {
    let found = records.iter().filter(|record| record["kind"] == kind);
    found.filter_map(|record| record["id"].as_str().map(str::to_owned)).collect()
}

/// The sessions that records belong to, each once.
pub fn sessions(records: &[Value]) -> Vec<String> {
    let mut all: Vec<String> = records.iter().filter_map(|r| r["session"].as_str().map(str::to_owned)).collect();
    all.sort();
    all.dedup();
    all
}

/// Reading commands whose answer depends on no single record.
const GENERAL: [&str; 48] = [
    "session list",
    "session list --active",
    "session list --ai ada",
    "session show latest",
    "session show latest:bob",
    "handoff list",
    "handoff list --ai bob",
    "handoff list --session latest",
    "goal list",
    "goal list --open --ai ada",
    "checkpoint list",
    "checkpoint list --ai bob",
    "checkpoint show",
    "calibration",
    "calibration --ai ada",
    "metrics",
    "metrics --ai bob --by week",
    "metrics --since 2026-02-01 --until 2026-04-01 --limit 1",
    "status",
    "bootstrap",
    "bootstrap --ai ada --budget 500",
    "log",
    "log --handoffs",
    "log --handoffs --checkpoints --journal --all",
    "log --oneline -n 2",
    "query",
    "query --ai ada --limit 1",
    "query --task it|task --limit 0",
    "query --path src --type epistemic",
    "query --since 2026-02-01 --until 2026-03-02 --calibration not-assessable",
    "query --range HEAD",
    "query --format markdown",
    "query --format table --ai bob",
    "query --format jsonl",
    "resume",
    "resume --last 5 --detail full",
    "resume --last 3 --detail summary",
    "resume --last 3 --detail detailed --ai ada",
    "resume --session latest",
    "show",
    "show HEAD",
    "diff",
    "drift",
    "export --jsonl",
    "task list",
    "task list --open",
    "task show login",
    "handoff list --unacknowledged",
];

/// Reading commands.
fn particular(records: &[Value]) -> Vec<String> {
    let mut out = Vec::new();
    for session in sessions(records) {
        for command in
            ["session show", "show", "resume --session", "query --session", "goal list --session", "drift --session"]
        {
            out.push(format!("{command} {session}"));
        }
        out.push(format!("calibration --session {session}"));
        out.push(format!("session show {}", &session[..8]));
    }
    for id in ids(records, "handoff") {
        out.extend([format!("show {id}"), format!("metrics {id}"), format!("show {}", &id[28..])]);
        out.push(format!("show {id} --format compact"));
    }
    for id in ids(records, "goal") {
        out.push(format!("goal show {id}"));
    }
    for kind in ["checkpoint", "assessment"] {
        out.extend(ids(records, kind).iter().map(|id| format!("checkpoint show {id}")));
    }
    out
}

/// The answers of reading commands, as text and as JSON (in the short form as one of them), each with its exit code. The first one may
/// repair something.
pub fn answers(repo: &Repo<'_>, general: &[&str], records: &[Value]) -> Vec<(String, i32, String)> {
    repo.run(["status"]);
    forget_lists(repo);
    let mut out = Vec::new();
    for (nth, command) in general.iter().map(|command| (*command).to_owned()).chain(particular(records)).enumerate() {
        for json in [None, Some("--json")].into_iter().skip(nth % each(2)).step_by(each(2)) {
            let is_itself = command.contains("export") || command.contains("--format");
            let json = json.filter(|_| !is_itself);
            let ran = repo.run(command.split(' ').chain(json));
            out.push((format!("{command} {}", json.unwrap_or_default()), ran.code, ran.out));
        }
    }
    out
}

/// Both must be the same.
#[track_caller]
pub fn equal(known: &[(String, i32, String)], now: &[(String, i32, String)], what: &str) {
    assert_eq!(known.len(), now.len());
    for (a, b) in known.iter().zip(now) {
        assert_eq!(a, b, "{what}");
    }
}

/// Two agents in two clones that work on each other's goals and questions; the first clone.
fn history<'p>(place: &'p Sandbox) -> Repo<'p> {
    let hub = hub(place);
    let mut both = clones(place, &hub, 2);
    both.iter().for_each(|repo| drop(repo.run(["init"]).ok()));
    let [one, two] = [&both[0], &both[1]];
    one.start("ada", "Find it");
    one.json(["preflight", "-v", "know=0.4,uncertainty=0.6"]);
    one.json(["finding", "It was the cache"]);
    let open = one.json(["unknown", "Which lock?"])["id"].as_str().expect("an id").to_owned();
    let goal = one.json(["goal", "add", "Mend it"])["id"].as_str().expect("an id").to_owned();
    one.json(["goal", "add", "Test it"]);
    one.json(["goal", "sub", &goal, "Step one"]);
    one.json(["deadend", "Turn it off", "--why", "It came back"]);
    one.json(["checkpoint", "-v", "know=0.5"]);
    let handoff = one.hand_over("Find it, half");
    let begun = ["handoff", "--type", "initialization", "--task-id", "login", "--set", "instructions=Mend it"];
    let begun = one.json(begun)["handoff_id"].as_str().expect("an id").to_owned();
    sync(one);
    sync(two);
    two.start("bob", "Mend task");
    two.json(["accept", &handoff, "--decision", "CONTINUE", "--understanding", "The cache is it"]);
    let answer = two.json(["accept", &begun, "--question", "How?", "--gap", "The lock"]);
    let question = answer["question_ids"][0].as_str().expect("a question");
    two.json(["answer", question, "Slowly"]);
    two.json(["handoff", "--regenerate", &begun]);
    two.json(["resolve", &open, "The inner one"]);
    two.json(["goal", "take", "latest:ada"]);
    two.json(["goal", "done", &goal, "--evidence", "It runs"]);
    two.json(["preflight", "-v", "know=0.6,uncertainty=0.3"]);
    two.commit("src/mended.rs", "fn main() {}\n", "Mend it");
    two.json(["postflight", "-v", "know=0.9,uncertainty=0.1", "--task", "Mend task"]);
    two.git(["commit", "-q", "--amend", "-m", "Mend it well"]).ok();
    sync(two);
    one.commit("b", "b2\n", "Meanwhile");
    one.json(["finding", "Nothing else"]);
    one.hand_over("Find it, whole");
    one.json(["postflight", "-v", "know=0.8,uncertainty=0.2"]);
    sync(one);
    one.json(["finding", "It waits in the log"]);
    both.swap_remove(0)
}

#[test]
fn every_reading_command_answers_the_same_with_and_without_the_index() {
    let place = Sandbox::new();
    let repo = history(&place);
    let stored = records(&repo);
    let general: Vec<&str> = GENERAL.into_iter().step_by(each(2)).collect();
    let grown = answers(&repo, &general, &stored);
    let failed: Vec<_> = grown.iter().filter(|(_, code, _)| ![0, 3].contains(code)).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(folder(&repo).join("index.db").exists());
    remove(&repo);
    equal(&grown, &answers(&repo, &general, &stored), "made anew");
    assert!(folder(&repo).join("index.db").exists());
    let few: Vec<&str> = GENERAL.into_iter().step_by(5).collect();
    let grown = answers(&repo, &few, &[]);
    remove(&repo);
    repo.git(["config", "empirica.index", "false"]).ok();
    equal(&grown, &answers(&repo, &few, &[]), "in memory");
    assert!(!folder(&repo).join("index.db").exists());
    repo.git(["config", "--unset", "empirica.index"]).ok();
    for name in ["index.db", "index.lock", "index.new", "index.stamp"] {
        remove(&repo);
        let path = folder(&repo).join(name);
        fs::create_dir_all(path.join("in the way")).expect("a folder");
        equal(&grown, &answers(&repo, &few, &[]), name);
    }
}
