//! The documentation is complete: `docs/format.md` has every stored and output key, with real
//! examples; links, limits and settings are correct.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::harness::{Repo, Sandbox};

fn page(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name)).expect("a page")
}

/// The words in the page's code spans; fenced examples do not count.
fn words(page: &str) -> BTreeSet<String> {
    let prose: Vec<&str> = prose(page).collect();
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

/// The fields of managed handoffs, which their schema describes.
fn fields(out: &mut BTreeSet<String>) {
    fn look(value: &Value, out: &mut BTreeSet<String>) {
        match value {
            Value::Object(map) => {
                out.extend(
                    map.get("properties").and_then(Value::as_object).into_iter().flat_map(|map| map.keys().cloned()),
                );
                map.values().for_each(|inner| look(inner, out));
            }
            Value::Array(list) => list.iter().for_each(|inner| look(inner, out)),
            _ => {}
        }
    }
    look(&serde_json::from_str(&page("reference/schema/handoff-document.json")).expect("a schema"), out);
}

/// A handoff of which nothing is as it was.
fn arrivals(repo: &Repo<'_>, run: &mut dyn FnMut(&[&str]) -> Value) {
    let id = run(&["unknown", "w?"])["id"].as_str().expect("an id").to_owned();
    ["changed", "removed"].iter().for_each(|name| repo.write(name, "1\n"));
    std::fs::remove_file(repo.path.join("d")).expect("a file");
    run(&["evidence", "just check", "--exit", "0", "--file", "changed"]);
    run(&["handoff", "--artifact", "d", "--artifact", "no such file"]);
    run(&["resolve", &id, "so"]);
    repo.write("changed", "2\n");
    std::fs::remove_file(repo.path.join("removed")).expect("a file");
    run(&["resume", "--detail", "full"]);
    let arrival = run(&["show"])["arrival"].clone();
    for key in ["changed_artifacts", "missing_artifacts", "resolved_unknowns", "stale_evidence"] {
        assert!(arrival[key].as_array().is_some_and(|list| !list.is_empty()), "{key}: {arrival}");
    }
}

/// A handoff taken up by another session, and its metrics.
fn taken_up(run: &mut dyn FnMut(&[&str]) -> Value) {
    let handoff = run(&["handoff", "list"])["handoffs"][0]["handoff_id"].as_str().expect("an id").to_owned();
    let arguments =
        ["--understanding", "u", "--instructions", "i", "--question", "q", "--gap", "g", "--decision", "REFINE"];
    run(&[&["accept", &handoff][..], &arguments].concat());
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

/// A task with a question, a revision, an escalation and a resolution.
fn between_agents(run: &mut dyn FnMut(&[&str]) -> Value) {
    let begin = ["handoff", "--type", "initialization", "--task-id", "n1", "--validate"];
    let arguments = ["--set", "instructions=Do it", "--set", "success_criteria=done", "--dry-run"];
    run(&[&begin[..], &arguments].concat());
    let text = |json: &Value, key: &str| json[key].as_str().expect("a text").to_owned();
    let begun = text(&run(&[&begin[..], &arguments[..4]].concat()), "handoff_id");
    let ran = run(&["accept", &begun, "--question", "q?", "--question", "r?", "--gap", "g"]);
    run(&["answer", ran["question_ids"][0].as_str().expect("a question"), "a"]);
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
fn every_output_and_stored_key_is_documented() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    let (answered, stored) = all_keys(&repo);
    let mut format = words(&page("format.md"));
    fields(&mut format);
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
fn show_of_a_commit_omits_superseded_handoffs() {
    let place = Sandbox::new();
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
    let place = Sandbox::new();
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
    let place = Sandbox::new();
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

/// The sources of the program and its libraries.
fn sources() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut out, mut folders) = (Vec::new(), vec![root.join("src"), root.join("crates")]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.extension() {
                None if path.is_dir() => folders.push(path),
                Some(extension) if extension == "rs" => out.push(fs::read_to_string(path).expect("UTF-8")),
                _ => {}
            }
        }
    }
    out
}

#[test]
fn every_limit_of_the_tables_is_that_of_the_code() {
    let limits = |name: &str| {
        let page = page(name);
        let section = page.split("\n## Limits\n").nth(1).expect("the section");
        section.split("\n## ").next().expect("a text").to_owned()
    };
    let (format, guide) = (limits("format.md"), limits("guide.md"));
    let sources = sources();
    // each constant, in how many files it is declared, and the words of the page
    for (page, code, files, words) in [
        (&format, "FLUSH_BYTES: u64 = 64 * 1024", 1, "before it is flushed | 64 KB |"),
        (&format, "MAX_COMMITS: usize = 200", 1, "commits in a handoff | 200 |"),
        (&format, "COMMITS: usize = 200", 1, "commits in a handoff | 200 |"),
        (&format, "MAX_CHECKPOINT_BYTES: usize = 16 * 1024", 1, "a checkpoint | 16 KiB;"),
        (&format, "MAX_AHEAD_MS: u64 = 24 * 60 * 60 * 1000", 1, "an id counts | 24 hours |"),
        (&format, "MAX_BLOBS: usize = 200", 1, "`uncommitted` | 200 files,"),
        (&format, "LARGEST: u64 = 4 << 20", 1, "4 MiB each, 64 MiB together |"),
        (&format, "ALL: u64 = 64 << 20", 1, "4 MiB each, 64 MiB together |"),
        (&format, "MAX_SIGNATURES: usize = 20", 1, "are checked, the newest | 20 |"),
        (&format, "MAX_SIGNED_BYTES: usize = 64 * 1024", 1, "a signed commit | 64 KiB;"),
        (&format, "MAX_LINE_BYTES: usize = 8 << 20", 1, "the line of a record | 8 MiB;"),
        (&format, "MAX_OBJECT_BYTES: u64 = 64 << 20", 1, "a note, and any other object of the notes | 64 MiB;"),
        (&format, "MAX_FILE_BYTES: u64 = 2 << 20", 1, "`epoch` | 2 MiB;"),
        (&format, "MAX_ENTRIES: usize = 10_000", 1, "in a notes tree again | 10,000 |"),
        (&guide, "SHORTEST: usize = 4", 2, "abbreviation of an id | 4 characters |"),
        (&guide, "MAX_QUERY_CHARS: usize = 4000", 1, "a query | 4,000 characters |"),
        (&guide, "START_BUDGET: usize = 500", 1, "unless `empirica.startBudget` is set | 500 |"),
        (&guide, "MAX_REPLY_CHARS: usize = 9_000", 1, "the answer of an agent's hook | 9,000 characters |"),
        (&guide, "MAX_INPUT_BYTES: u64 = 32 << 20", 1, "the input of an agent's hook | 32 MiB;"),
        (&guide, "LONGEST: usize = 16 << 20", 1, "a row of a transcript | 16 MiB;"),
        (&guide, "ENTRIES: usize = 4096", 1, "in a row of a transcript | 4,096 |"),
        (&guide, "MESSAGES: usize = 10", 1, "| 10 messages,"),
        (&guide, "DECISIONS: usize = 20", 1, "20 decisions,"),
        (&guide, "SUBAGENTS: usize = 200", 1, "200 subagents,"),
        (&guide, "TODOS: usize = 1_000", 1, "1,000 tasks |"),
        (&guide, "MESSAGE: usize = 2_000", 1, "a message 2,000 characters,"),
        (&guide, "DECISION: usize = 300", 1, "a decision 300,"),
        (&guide, "SUMMARY: usize = 20_000", 1, "a summary 20,000 |"),
        (&guide, "MAX_BYTES: u64 = 4 << 20", 1, "checks read | 4 MiB each, 64 MiB together |"),
        (&guide, "MAX_FOLDERS: usize = 200", 1, "checks read | 4 MiB each, in 200 folders |"),
        (&guide, "SESSIONS: usize = 500", 1, "| the newest 500, 200 and 200 |"),
        (&guide, "LISTED: usize = 200", 1, "| the newest 500, 200 and 200 |"),
        (&guide, "ROWS: usize = 500", 1, "list | the newest 500, and the 500 with most sessions |"),
        (&guide, "RECORDS: usize = 10_000", 1, "`report` reads | the newest 10,000 |"),
        (&guide, "NEWEST: usize = 128", 1, "digest of a commit reads | the newest 128 |"),
        (&guide, "HOOK_WAIT: Duration = Duration::from_millis(500)", 1, "locks in a hook | 500 ms |"),
        (&guide, "TIME: Duration = Duration::from_secs(10)", 1, "`empirica.syncTimeout` is set | 10 s |"),
        (&guide, "ROUNDS: u32 = 12", 1, "while the remote changes | 12 |"),
    ] {
        let declaration = format!("const {code};");
        assert_eq!(sources.iter().filter(|text| text.contains(&declaration)).count(), files, "{declaration}");
        assert!(page.contains(words), "{words}");
    }
    for declared in ["const COMMITS: usize = 20_000;", "const MAX_FRAME_BYTES: usize = 16 << 20;"] {
        assert_eq!(sources.iter().filter(|text| text.contains(declared)).count(), 1, "{declared}");
    }
    assert!(page("format.md").contains("newest 20,000"));
    assert!(page("mcp.md").contains("A frame can have 16 MiB."));
}

/// The name by which a link finds a heading.
fn anchor(heading: &str) -> String {
    let plain = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    plain.collect::<String>().to_lowercase().replace(' ', "-")
}

/// The lines of a page that are not in a fenced block.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    page.lines().filter(move |line| {
        let fence = line.starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

#[test]
fn every_link_between_pages_leads_to_a_heading_or_a_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = vec![root.join("README.md"), root.join("CONTRIBUTING.md"), root.join("docs/reference/json.md")];
    let docs = fs::read_dir(root.join("docs")).expect("a folder").map(|entry| entry.expect("an entry").path());
    pages.extend(docs.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    let link = regex::Regex::new(r"\]\(([^()\s]+)\)").expect("a pattern");
    let mut links = 0;
    for path in &pages {
        let text = fs::read_to_string(path).expect("a page");
        let lines: Vec<&str> = prose(&text).collect();
        for target in lines.iter().flat_map(|line| link.captures_iter(line)).map(|found| found[1].to_owned()) {
            if target.contains("://") {
                continue;
            }
            links += 1;
            let (file, name) = target.split_once('#').unwrap_or((&target, ""));
            let file = if file.is_empty() { path.clone() } else { path.parent().expect("a folder").join(file) };
            assert!(file.exists(), "{}: {target}", path.display());
            if !name.is_empty() {
                let there = fs::read_to_string(&file).expect("a page");
                let found = prose(&there).filter_map(|line| line.strip_prefix('#'));
                let found = found.map(|line| anchor(line.trim_start_matches('#').trim())).any(|known| known == name);
                assert!(found, "{}: {target}", path.display());
            }
        }
    }
    assert!(links > 50, "{links} links");
}
