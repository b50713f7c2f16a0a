//! The page on the format is complete: every key that is stored or answered stands in it, and its examples are real.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::harness::{Place, Repo};

fn page(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name)).expect("a page")
}

/// The words in the page's code spans; fenced examples do not count.
fn words(page: &str) -> BTreeSet<String> {
    let mut fenced = false;
    let prose: Vec<&str> = page
        .lines()
        .filter(|line| {
            let fence = line.starts_with("```");
            fenced ^= fence;
            !fenced && !fence
        })
        .collect();
    let prose = prose.join("\n");
    let spans = prose.split('`').skip(1).step_by(2);
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    spans.flat_map(|span| span.split(move |c| !word(c))).map(str::to_owned).collect()
}

/// The keys of a document, at every depth.
fn keys(value: &Value, out: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                out.insert(key.clone());
                // its keys are the user's own
                if key != "meta" && key != "metadata" {
                    keys(inner, out);
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|inner| keys(inner, out)),
        _ => {}
    }
}

/// What init wrote down, without the names of files, which are no keys.
fn without_names(mut written: Value) -> Value {
    for hooks in written["hooks"].as_array_mut().expect("hooks") {
        hooks["files"] = Value::Null;
    }
    written
}

/// A handoff of which nothing is as it was.
fn arrivals(repo: &Repo<'_>, run: &mut dyn FnMut(&[&str]) -> Value) {
    let asked = run(&["unknown", "w?"])["id"].as_str().expect("an id").to_owned();
    ["changed", "removed"].iter().for_each(|name| repo.write(name, "1\n"));
    std::fs::remove_file(repo.path.join("d")).expect("a file");
    run(&["evidence", "just check", "--exit", "0", "--file", "changed"]);
    run(&["handoff", "--artifact", "d", "--artifact", "no such file"]);
    run(&["resolve", &asked, "so"]);
    repo.write("changed", "2\n");
    std::fs::remove_file(repo.path.join("removed")).expect("a file");
    run(&["resume", "--detail", "full"]);
    let arrival = run(&["show"])["arrival"].clone();
    for key in ["changed_artifacts", "missing_artifacts", "resolved_unknowns", "stale_evidence"] {
        assert!(arrival[key].as_array().is_some_and(|list| !list.is_empty()), "{key}: {arrival}");
    }
}

/// A handoff that another session takes up, and what is measured of it.
fn taken_up(run: &mut dyn FnMut(&[&str]) -> Value) {
    let handoff = run(&["handoff", "list"])["handoffs"][0]["handoff_id"].as_str().expect("an id").to_owned();
    let said = ["--understanding", "u", "--instructions", "i", "--question", "q", "--gap", "g", "--decision", "REFINE"];
    run(&[&["accept", &handoff][..], &said].concat());
    between_agents(run);
    run(&["unknown", "V?"]);
    run(&["log", "--handoffs"]);
    let json = run(&["metrics"]);
    assert!(json["duplicate_pairs"][0]["earlier"]["text"].is_string(), "{json}");
    let json = run(&["metrics", &handoff]);
    assert!(json["receivers"][0]["paths"][0]["path"].is_string() && json["acknowledgements"][0].is_object(), "{json}");
    run(&["metrics", "--ai", "nobody"]);
    run(&["report", "--html", "page.html"]);
}

/// A task that is asked about, written anew, escalated and resolved.
fn between_agents(run: &mut dyn FnMut(&[&str]) -> Value) {
    let begin = ["handoff", "--type", "initialization", "--task-id", "n1", "--validate"];
    let said = ["--set", "instructions=Do it", "--set", "success_criteria=done", "--dry-run"];
    run(&[&begin[..], &said].concat());
    let text = |json: &Value, key: &str| json[key].as_str().expect("a text").to_owned();
    let begun = text(&run(&[&begin[..], &said[..4]].concat()), "handoff_id");
    let asked = run(&["accept", &begun, "--question", "q?", "--question", "r?", "--gap", "g"]);
    run(&["answer", asked["question_ids"][0].as_str().expect("a question"), "a"]);
    let again = text(&run(&["handoff", "--regenerate", &begun]), "handoff_id");
    run(&["show", &again]);
    run(&["accept", &again, "--decision", "ESCALATE"]);
    run(&["accept", &again, "--resolution", "so"]);
    run(&["task", "list", "--open"]);
    run(&["collect", &crate::commands::session::collect::fixture("claude-code/session.jsonl")]);
    let context = run(&[
        "handoff",
        "--transcript",
        &crate::commands::session::collect::fixture("codex/rollout.jsonl"),
        "--to",
        "bob",
        "--budget",
        "250",
    ]);
    run(&["show", context["handoff_id"].as_str().expect("an id")]);
    run(&["handoff", "--type", "context", "-m", "We learned to search", "--to", "bob"]);
    run(&["handoff", "--type", "context", "--to", "bob", "--incremental", "--finding", "more"]);
    run(&["session", "start", "--ai", "carl", "--from", "c0dex"]);
    run(&["session", "show", "c0dex"]);
    run(&["session", "end", "--ai", "carl"]);
    run(&["task", "show", "n1"]);
}

/// Runs every command that answers; returns the keys of the answers and of the records they stored.
fn all_keys(repo: &Repo<'_>) -> (BTreeSet<String>, BTreeSet<String>) {
    let mut answered = BTreeSet::new();
    let mut run = |arguments: &[&str]| -> Value {
        let json = repo.json(arguments);
        keys(&json, &mut answered);
        json
    };
    run(&["resume"]);
    run(&["calibration"]);
    run(&["session", "start", "--ai", "ada", "--task", "t", "--type", "fix", "--external-id", "x1"]);
    run(&["drift"]);
    run(&["preflight", "-v", "know=0.5,context=0.2,uncertainty=0.7", "--reasoning", "r", "--cycle", "1", "--tag", "a"]);
    let finding = run(&["finding", "We learned it", "--impact", "0.7", "--as", "pattern"]);
    let unknown = run(&["unknown", "u?", "--led-from", finding["id"].as_str().expect("an id")]);
    run(&["resolve", unknown["id"].as_str().expect("an id"), "yes"]);
    run(&["unknown", "v?"]);
    run(&["deadend", "a", "--why", "b"]);
    run(&["mistake", "m", "--prevention", "p"]);
    run(&["decision", "d", "--why", "w", "--alternative", "x"]);
    run(&["source", "docs/a.md"]);
    for _ in 0..2 {
        run(&["evidence", "cargo test", "--exit", "1", "--file", "a"]);
    }
    run(&["activity", "edit", "e", "--file", "a"]);
    let goal = run(&["goal", "add", "g", "--criterion", "c"])["id"].as_str().expect("an id").to_owned();
    let step = run(&["goal", "sub", &goal, "s"])["id"].as_str().expect("an id").to_owned();
    run(&["goal", "done", &step, "--evidence", "e"]);
    run(&["goal", "list"]);
    run(&["goal", "show", &goal]);
    run(&["check", "-v", "know=0.7,uncertainty=0.4", "--confidence", "0.8", "--scope", "0.5", "--meta", "own=1"]);
    repo.run(["init"]).ok();
    repo.commit("b", "b\n", "Add b");
    repo.git(["commit", "-q", "--amend", "-m", "Add b, said better"]).ok();
    run(&["log", "--handoffs"]);
    run(&["checkpoint", "--trigger", "pre_compact", "--reasoning", "r", "--tag", "b", "--meta", "own=1"]);
    repo.write("b", "b, changed\n");
    run(&["diff"]);
    run(&["checkpoint", "--trigger", "post_compact"]);
    run(&["check", "-v", "know=0.5,uncertainty=0.4"]);
    repo.git(["checkout", "-q", "b"]).ok();
    run(&["checkpoint", "--phase", "act"]);
    run(&["checkpoint", "list"]);
    run(&["checkpoint", "show"]);
    run(&["postflight", "-v", "know=0.8,context=0.8,uncertainty=0.3", "--next", "n"]);
    run(&["handoff", "--accomplished", "it"]);
    run(&["handoff", "list"]);
    run(&["session", "show"]);
    run(&["session", "list"]);
    run(&["status"]);
    for format in ["markdown", "json", "compact"] {
        run(&["show", "--format", format]);
    }
    run(&["show", "HEAD"]);
    run(&["show", finding["id"].as_str().expect("an id")]);
    for detail in ["summary", "detailed", "full"] {
        run(&["resume", "--detail", detail]);
    }
    run(&["resume", "--budget", "250"]);
    for budget in ["100", "300", "9000"] {
        run(&["bootstrap", "--budget", budget]);
    }
    run(&["log", "--handoffs", "--checkpoints", "--journal"]);
    run(&["query"]);
    run(&["search", "learned"]);
    run(&["search", "--plan", "kind:unknown"]);
    assert!(run(&["similar", "t g"])["sessions"].is_array());
    run(&["similar", "learned a"]);
    assert!(run(&["checkpoint", "--search", "learned"])["semantic_context"]["results"][0]["id"].is_string());
    let json = run(&["calibration"]);
    assert!(json["overall"]["vectors"][0]["vector"].is_string(), "an entry of each list is there: {json}");
    run(&["flush"]);
    repo.git(["init", "-q", "--bare", "../hub.git"]).ok();
    run(&["sync", "../hub.git"]);
    repo.git(["remote", "add", "hub", "../hub.git"]).ok();
    assert!(run(&["status"])["unsynced"]["remotes"][0]["remote"].is_string());
    repo.git(["remote", "remove", "hub"]).ok();
    let lock = repo.path.join(".git/refs/notes/empirica/data/journal.lock");
    fs::write(&lock, "").expect("a lock");
    run(&["finding", "f"]);
    repo.git(["config", "empirica.lockTimeout", "50ms"]).ok();
    assert_eq!(run(&["flush"])["degraded_mode"], true);
    assert!(run(&["status"])["waiting"]["reason"].is_string());
    fs::remove_file(&lock).expect("a lock");
    repo.git(["config", "--unset", "empirica.lockTimeout"]).ok();
    run(&["session", "end", "--reason", "done"]);
    run(&["session", "start", "--ai", "bob"]);
    taken_up(&mut run);
    run(&["goal", "take", "latest:ada"]);
    run(&["goal", "drop", &goal, "--why", "w"]);
    run(&["flush"]);
    repo.git(["config", "core.hooksPath", "elsewhere"]).ok();
    run(&["init"]);
    run(&["doctor"]);
    run(&["deinit"]);
    repo.git(["config", "--unset", "core.hooksPath"]).ok();
    repo.write(".git/hooks/pre-push", "#!/bin/sh\n");
    run(&["init"]);
    repo.write("AGENTS.md", "<!-- git-empirica:begin -->\nolder\n<!-- git-empirica:end -->\n");
    run(&["instructions", "--agent", "codex"]);
    repo.write(".opencode/plugins/git-empirica.ts", "// git-empirica: older\n");
    let older = "{\"version\": 1, \"hooks\": {\"stop\": [{\"command\": \"git-empirica hook agent cursor stop\"}]}}";
    repo.write(".cursor/hooks.json", older);
    run(&["init", "--agents", "opencode,cursor"]);
    run(&["instructions", "--write"]);
    let written = fs::read(repo.path.join(".git/empirica/init.json")).expect("a file");
    run(&["deinit"]);
    repo.git(["switch", "-q", "-c", "side"]).ok();
    repo.commit("c", "c\n", "Add c");
    run(&["handoff"]);
    repo.git(["switch", "-q", "main"]).ok();
    repo.commit("d", "d\n", "Add d");
    repo.git(["cherry-pick", "side"]).ok();
    assert_eq!(run(&["repair"])["repairs"][0]["state"], "would_attach");
    repo.git(["revert", "--no-edit", "HEAD"]).ok();
    repo.git(["cherry-pick", "side"]).ok();
    assert_eq!(run(&["repair"])["repairs"][0]["state"], "ambiguous");
    arrivals(repo, &mut run);
    let all = repo.run(["export", "--jsonl"]).ok().out;
    assert!(all.contains(",\"shelf\":\""), "{all}");
    let mut exported: Vec<Value> = all.lines().map(|line| serde_json::from_str(line).expect("a line")).collect();
    exported.iter_mut().for_each(|line| line["record"] = Value::Null);
    repo.git(["init", "-q", "../restored"]).ok();
    fs::write(repo.path.join("../all.jsonl"), &all).expect("a file");
    let restored = repo.place.at("restored").json(["import", "--jsonl", "../all.jsonl"]);
    assert!(restored["kinds"][0]["count"].is_u64(), "{restored}");
    run(&["setup", "--dry-run"]);
    run(&["demo"]);
    exported.iter().chain([&restored]).for_each(|json| keys(json, &mut answered));
    keys(&without_names(serde_json::from_slice(&written).expect("a document")), &mut answered);
    keys(&repo.fails(2, ["preflight", "-v", "knwo=0.5"]), &mut answered);

    let mut stored = BTreeSet::new();
    for namespace in ["journal", "checkpoints", "handoffs"] {
        for line in repo.lines(namespace) {
            let record: Value = serde_json::from_str(&line).expect("a record");
            stored.insert(record["kind"].as_str().expect("a kind").to_owned());
            keys(&record, &mut stored);
        }
    }
    (answered, stored)
}

#[test]
fn every_key_that_is_answered_or_stored_stands_in_the_page() {
    let place = Place::new();
    let repo = place.repo("project");
    let (answered, stored) = all_keys(&repo);
    let format = words(&page("format.md"));
    let known: BTreeSet<String> = format.union(&words(&page("reference/json.md"))).cloned().collect();
    assert_eq!(answered.difference(&known).collect::<Vec<_>>(), Vec::<&String>::new(), "answered");
    assert_eq!(stored.difference(&format).collect::<Vec<_>>(), Vec::<&String>::new(), "stored");
    assert!(stored.contains("uncommitted") && stored.contains("blob") && stored.contains("deleted"), "{stored:?}");
    for kind in [
        "accept",
        "transcript",
        "answer",
        "supersede",
        "digest",
        "attach",
        "goal_take",
        "goal_drop",
        "session_end",
        "dead_end",
        "assessment",
    ] {
        assert!(stored.contains(kind), "{kind} was not tried");
    }
}

#[test]
fn every_example_in_the_page_is_one_document_a_line() {
    let page = page("format.md") + &page("reference/json.md");
    let mut examples = 0;
    for fence in page.split("```json\n").skip(1) {
        let body = fence.split("\n```").next().expect("an end");
        for line in body.lines() {
            let json: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            assert!(json["ok"].is_boolean(), "{line}");
            examples += 1;
        }
    }
    assert!(examples >= 20, "{examples} examples");
}

#[test]
fn show_of_a_commit_leaves_out_a_handoff_that_a_newer_one_took_the_place_of() {
    let place = Place::new();
    let repo = place.repo("project");
    repo.start("ada", "t");
    repo.json(["handoff", "-m", "first"]);
    let newer = repo.json(["handoff", "-m", "second"]);
    let shown = repo.json(["show", "HEAD"]);
    let ids: Vec<&Value> = shown["handoffs"].as_array().expect("a list").iter().map(|h| &h["handoff_id"]).collect();
    assert_eq!(ids, [&newer["handoff_id"]]);
}

#[test]
fn a_dry_run_of_setup_makes_no_folder() {
    let place = Place::new();
    let repo = place.repo("project");
    let bin = place.path().join("prefix/bin");
    fs::create_dir_all(&bin).expect("a folder");
    let program = bin.join("git-empirica");
    // by another process: a program that is open for writing here, or in a child that was just begun, cannot be started
    let copied = std::process::Command::new("cp").arg(env!("CARGO_BIN_EXE_git-empirica")).arg(&program).status();
    assert!(copied.expect("cp starts").success());
    let mut command = place.command(&program, &repo.path);
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let out = command.env("PATH", path).args(["setup", "--dry-run", "--json"]).output().expect("it starts");
    let json: Value = serde_json::from_slice(&out.stdout).expect("a document");
    let first = json["files"][0].as_str().expect("a file");
    assert!(first.ends_with("prefix/share/man/man1/git-empirica.1"), "{first}");
    assert!(!place.path().join("prefix/share").exists());
}

#[test]
fn the_examples_of_the_workflow_have_every_key_that_is_answered() {
    let place = Place::new();
    let repo = place.repo("project");
    let first_keys = |json: &Value| json.as_object().expect("keys").keys().cloned().collect::<BTreeSet<String>>();
    let examples = |command: &str| -> Vec<BTreeSet<String>> {
        let body = page(&format!("reference/example/{command}.json"));
        body.lines().map(|line| first_keys(&serde_json::from_str(line).expect("a document"))).collect()
    };
    repo.start("ada", "t");
    for (command, arguments) in [
        ("preflight", &["preflight", "-v", "know=0.5"][..]),
        ("check", &["check", "-v", "know=0.5"]),
        ("check-drift", &["drift"]),
        ("checkpoint", &["checkpoint"]),
        ("diff", &["diff"]),
        ("postflight", &["postflight", "-v", "know=0.5", "--no-handoff"]),
        ("calibration", &["calibration"]),
    ] {
        let keys = first_keys(&repo.json(arguments));
        let examples = examples(command);
        assert!(examples.contains(&keys), "{arguments:?}: {keys:?} is like none of {examples:?}");
    }
}

#[test]
fn every_limit_of_the_table_is_that_of_the_code() {
    let page = page("format.md");
    let section = page.split("\n## Limits\n").nth(1).and_then(|rest| rest.split("\n## ").next()).expect("the section");
    for (file, code, said) in [
        ("../crates/empirica-notes/src/store/log/mod.rs", "FLUSH_BYTES: u64 = 64 * 1024", "flushed | 64 KB |"),
        ("ops/compose.rs", "COMMITS: usize = 200", "commits in a handoff | 200 |"),
        ("epistemics/bound.rs", "MOST: usize = 16 * 1024", "a checkpoint | 16 KiB |"),
        ("ops/alias.rs", "SHORTEST: usize = 4", "abbreviation of an id | 4 characters |"),
        (
            "../crates/empirica-notes/src/model/id.rs",
            "MAX_AHEAD_MS: u64 = 24 * 60 * 60 * 1000",
            "an id counts | 24 hours |",
        ),
        ("ops/sync/push.rs", "TIME: Duration = Duration::from_secs(10)", "with a push | 10 s |"),
        ("ops/hook/agent.rs", "START_BUDGET: usize = 500", "says otherwise | 500 |"),
        ("ops/sync/travel.rs", "ROUNDS: u32 = 12", "others are faster | 12 |"),
        ("ops/sign.rs", "MOST: usize = 20", "are checked, the newest | 20 |"),
        ("ops/sign.rs", "LARGEST: usize = 64 * 1024", "a signed commit | 64 KiB;"),
        (
            "../crates/empirica-notes/src/store/read/origin.rs",
            "COMMITS: usize = 20_000",
            "who committed a record | 20,000;",
        ),
        ("ops/report.rs", "SESSIONS: usize = 500", "| 500, 200 and 200, the newest |"),
        ("ops/report.rs", "LISTED: usize = 200", "| 500, 200 and 200, the newest |"),
        ("ops/report.rs", "RECORDS: usize = 20_000", "reads, the newest | 20,000 |"),
        (
            "../crates/empirica-notes/src/store/mod.rs",
            "HURRY: Duration = Duration::from_millis(500)",
            "in a hook | 500 ms,",
        ),
        (
            "../crates/empirica-notes/src/store/files/mod.rs",
            "ABANDONED: Duration = Duration::from_secs(600)",
            "after | 10 minutes |",
        ),
        ("ops/doctor/refs.rs", "STALE: Duration = Duration::from_secs(60)", "stale after | 60 seconds;"),
        ("epistemics/terms.rs", "LONGEST: usize = 4000", "a query | 4,000 characters |"),
        ("epistemics/wording.rs", "LONGEST: usize = 256", "its first 256 characters"),
        ("mcp/frames.rs", "LONGEST: usize = 16 << 20", "a frame of MCP | 16 MiB;"),
        ("cli/hooks.rs", "MOST: u64 = 32 << 20", "one of its hooks | 32 MiB;"),
        ("wire/hooks.rs", "LONGEST: usize = 9_000", "answers | 9,000 characters |"),
        (
            "../crates/empirica-transcripts/src/read/rows.rs",
            "LONGEST: usize = 16 << 20",
            "a row of a transcript | 16 MiB;",
        ),
        (
            "../crates/empirica-transcripts/src/read/lenient.rs",
            "ENTRIES: usize = 4096",
            "a row of a transcript | 4,096 |",
        ),
        ("../crates/empirica-transcripts/src/summary/fold.rs", "MESSAGES: usize = 10", "| 10 messages,"),
        ("../crates/empirica-transcripts/src/summary/fold.rs", "DECISIONS: usize = 20", "20 decisions,"),
        ("../crates/empirica-transcripts/src/summary/fold.rs", "SUBAGENTS: usize = 200", "200 subagents,"),
        ("../crates/empirica-transcripts/src/summary/fold.rs", "TODOS: usize = 1_000", "1,000 entries"),
        ("../crates/empirica-transcripts/src/text/limits.rs", "MESSAGE: usize = 2_000", "a message 2,000 characters,"),
        ("../crates/empirica-transcripts/src/text/limits.rs", "DECISION: usize = 300", "a decision 300,"),
        ("../crates/empirica-transcripts/src/text/limits.rs", "SUMMARY: usize = 20_000", "a summary 20,000 |"),
        (
            "../crates/empirica-notes/src/git/objects/content.rs",
            "LARGEST: u64 = 4 << 20",
            "checked against | 4 MiB each, 64 MiB together |",
        ),
        (
            "../crates/empirica-notes/src/git/objects/content.rs",
            "ALL: u64 = 64 << 20",
            "checked against | 4 MiB each, 64 MiB together |",
        ),
        ("ops/validate.rs", "LARGEST: u64 = 4 << 20", "checked against | 4 MiB each, in 200 folders |"),
        ("ops/validate.rs", "FOLDERS: usize = 200", "checked against | 4 MiB each, in 200 folders |"),
    ] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(file);
        let text = std::fs::read_to_string(path).expect("a file");
        assert!(text.contains(code), "{file}: {code}");
        assert!(section.contains(said), "{file}: {said}");
    }
}
