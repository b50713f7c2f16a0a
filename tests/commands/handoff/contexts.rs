//! A session's context for its successor: document, size, relevance, working memory.

use serde_json::{Value, json};

use crate::commands::session::collect::{fixture, here};
use crate::support::harness::{Repo, Sandbox};

fn context<'r>(repo: &Repo<'_>, more: impl IntoIterator<Item = &'r str>) -> Value {
    repo.json(["handoff", "--type", "context"].into_iter().chain(more))
}

fn payload(repo: &Repo<'_>, handoff: &Value) -> Value {
    repo.json(["show", handoff["handoff_id"].as_str().expect("an id")])["payload"].clone()
}

#[test]
fn the_document_of_a_transcript_has_every_section() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    let file = place.path().join("t.jsonl");
    std::fs::write(&file, here(&repo, "codex/rollout.jsonl")).expect("a file");
    let file = file.to_str().unwrap();
    // nobody has summed the session up: it is handed over all the same
    let dry = repo.json(["handoff", "--transcript", file, "--to", "claude-code", "--dry-run"]);
    assert_eq!((&dry["stored"], &dry["type"]), (&json!(false), &json!("context")));
    assert_eq!(repo.json(["session", "list"])["total_sessions"], 0);
    let stored = repo.json(["handoff", "--transcript", file, "--to", "claude-code", "--budget", "4000"]);
    let text = stored["markdown"].as_str().unwrap().to_owned();
    let session = stored["session_id"].as_str().unwrap();
    for part in [
        "# Session Handoff Context ",
        "\n## Session Overview\n\n| Field | Value |\n|-------|-------|\n| **Source** | codex (codex) |\n| **Target** | claude-code |\n",
        &format!("| **Session ID** | {session} |\n| **Created** | 2026-03-01T12:00:00.000Z |\n"),
        "\n## Summary\n\n> Add a cache\n",
        "\n## Tool Activity\n\n- **shell** (×7): ls -la · cargo test · false\n",
        "\n## Files Modified\n\n- `src/cache.rs`\n",
        "\n## Pending Tasks\n\n- [ ] test (in progress)\n- [ ] ship\n",
        "\n## Key Decisions\n\n- 💭 Going with an LRU cache.\n- 💭 How large? → 64 MB\n",
        "\n## Recent Messages\n\n**user**, 2026-03-02 09:00 UTC:\n\n> Add a cache\n",
        "\n---\n**You are continuing this session from codex. Pick up exactly where it left off.**\nWait for the user's next message before you change anything.\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(text.trim_end().ends_with("Wait for the user's next message before you change anything."));
    let document = payload(&repo, &stored);
    let keys: Vec<&String> = document.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "handoff_type",
            "session_id",
            "source_agent_type",
            "source_agent_id",
            "target_agent_type",
            "target_agent_id",
            "summary",
            "tool_summaries",
            "files_modified",
            "pending_tasks",
            "decisions",
            "recent_messages",
            "created_at",
        ]
    );
    assert_eq!(
        document["tool_summaries"][0],
        json!({"category": "shell", "count": 7, "samples": ["ls -la", "cargo test", "false"]})
    );
    // it goes in again as it came out
    let again = repo
        .run_with_input(["handoff", "--from", "-", "--session", session, "--json"], document.to_string().as_bytes());
    assert_eq!(payload(&repo, &again.ok().json()), document);
    // reviewers read it with plain git, and it takes the place of nothing
    let notes = repo.git_out(["notes", "--ref", "empirica/handoffs", "show"]);
    assert!(notes.contains(", context") && notes.contains("-- empirica "), "{notes}");
    assert_eq!(repo.json(["handoff", "list"])["total_found"], 2);
    let example = repo.json(["handoff", "--type", "context", "--example"]);
    assert_eq!(example["example"]["handoff_type"], "context");
    repo.fsck();
}

#[test]
fn a_context_is_drawn_from_the_journal_and_keeps_explicit_values() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    repo.start("ada", "The login");
    repo.json(["activity", "shell", "npm test", "--file", "a.js"]);
    repo.json(["activity", "edit", "Add the form", "--file", "src/form.js"]);
    repo.json(["goal", "add", "Renew the cookie"]);
    repo.json(["decision", "Cookies", "--why", "tokens leak"]);
    repo.json(["finding", "Days begin at six"]);
    repo.json(["unknown", "Who clears it?"]);
    repo.json(["deadend", "Local storage", "--why", "scripts read it"]);
    let stored = context(&repo, ["--to", "bob", "--context", "The form is there", "--next", "Test the form"]);
    let document = payload(&repo, &stored);
    assert_eq!(document["summary"], "The login\nThe form is there");
    assert_eq!(document["pending_tasks"], json!(["Renew the cookie", "Test the form"]));
    assert_eq!(document["decisions"], json!(["Cookies — tokens leak"]));
    assert_eq!(document["files_modified"], json!(["src/form.js"]));
    assert_eq!((&document["recent_messages"], &document["target_agent_id"]), (&json!([]), &json!("bob")));
    for part in [
        "## What Was Learned\n\n- Days begin at six\n",
        "## Open Questions\n\n- Who clears it?\n",
        "## Known Failures\n\n- Local storage — scripts read it\n",
    ] {
        assert!(stored["markdown"].as_str().unwrap().contains(part), "{part}: {stored}");
    }
    let given = context(&repo, ["--set", "summary=Half done", "--set", "decisions=None yet"]);
    let document = payload(&repo, &given);
    assert_eq!((&document["summary"], &document["decisions"]), (&json!("Half done"), &json!(["None yet"])));
    assert!(given["markdown"].as_str().unwrap().contains("| **Target** | any agent |"));
    repo.fails(2, ["handoff", "--type", "context", "--set", "tool_summaries=x"]);
    repo.fails(2, ["handoff", "--type", "progress", "--task-id", "t", "--detail", "full"]);
    // resume and log show it, beside the epistemic one that is still in force
    repo.json(["handoff"]);
    assert_eq!(repo.json(["handoff", "list"])["total_found"], 3);
    assert!(repo.run(["resume"]).ok().out.contains("The login"));
}

#[test]
fn a_document_keeps_to_its_size_and_names_omissions() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    repo.start("ada", "The login");
    for n in 0..60 {
        repo.json([
            "activity",
            "edit",
            &format!("Change number {n} of many"),
            "--file",
            &format!("src/module_{n}/file_{n}.rs"),
        ]);
        repo.json(["decision", &format!("Decision number {n} of them all"), "--why", "it is one of many"]);
    }
    let mut sizes = Vec::new();
    for (arguments, most) in [
        (vec!["--detail", "summary"], 400),
        (vec!["--detail", "detailed"], 800),
        (vec![], 1250),
        (vec!["--budget", "1500"], 1500),
    ] {
        let stored = context(&repo, arguments);
        let text = stored["markdown"].as_str().unwrap();
        let tokens = git_empirica::text::tokens::estimate(text);
        assert!(tokens <= most, "{tokens} of {most}");
        assert!(text.contains("Left out so that it fits: "), "{text}");
        assert!(text.contains("Pick up exactly where it left off."));
        let shown = repo.json(["show", stored["handoff_id"].as_str().unwrap()]);
        assert!(!shown["left_out"].as_array().unwrap().is_empty());
        sizes.push(tokens);
    }
    assert!(sizes.is_sorted(), "{sizes:?}");
    let all = context(&repo, ["--budget", "100000"]);
    assert_eq!(repo.json(["show", all["handoff_id"].as_str().unwrap()])["left_out"], json!([]));
    assert_eq!(payload(&repo, &all)["decisions"].as_array().unwrap().len(), 60);
}

#[test]
fn an_incremental_context_has_only_changes_for_that_receiver() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    repo.start("ada", "The login");
    repo.json(["decision", "Cookies", "--why", "tokens leak"]);
    repo.json(["activity", "edit", "The form", "--file", "form.js"]);
    let first = context(&repo, ["--to", "bob", "--incremental"]);
    assert_eq!(payload(&repo, &first)["decisions"], json!(["Cookies — tokens leak"]), "everything is new to bob");
    repo.json(["decision", "Renew daily", "--why", "they expire"]);
    repo.json(["activity", "shell", "npm test"]);
    let second = context(&repo, ["--to", "bob", "--incremental"]);
    let document = payload(&repo, &second);
    assert_eq!(document["decisions"], json!(["Renew daily — they expire"]));
    assert_eq!(document["tool_summaries"], json!([{"category": "shell", "count": 1, "samples": ["npm test"]}]));
    assert_eq!(repo.json(["show", second["handoff_id"].as_str().unwrap()])["since"], first["handoff_id"]);
    let other = context(&repo, ["--to", "carl", "--incremental"]);
    assert_eq!(payload(&repo, &other)["decisions"].as_array().unwrap().len(), 2, "carl knows nothing yet");
    repo.fails(2, ["handoff", "--type", "context", "--incremental"]);
    let json = repo.fails(2, ["handoff", "--to", "bob", "--incremental"]);
    assert!(json["reason"].as_str().unwrap().contains("would be hidden"), "{json}");
    // the receiver did not get omitted entries, and another type gave it others
    for n in 0..30 {
        repo.json(["decision", &format!("Choice number {n} of many"), "--why", "it is one of them"]);
    }
    context(&repo, ["--to", "dora", "--budget", "300"]);
    repo.json(["decision", "The last choice", "--why", "so"]);
    let fourth = context(&repo, ["--to", "dora", "--incremental", "--budget", "5000"]);
    assert_eq!(payload(&repo, &fourth)["decisions"].as_array().unwrap().len(), 33);
    let begin =
        ["handoff", "--type", "initialization", "--task-id", "t", "--to", "emil", "--set", "instructions=Do it"];
    repo.json(begin);
    let fifth = context(&repo, ["--to", "emil", "--incremental", "--budget", "5000"]);
    assert_eq!(payload(&repo, &fifth)["decisions"].as_array().unwrap().len(), 33);
    // files of git since the commit of then
    repo.commit("late.txt", "x\n", "Late");
    let sixth = context(&repo, ["--to", "emil", "--incremental"]);
    assert_eq!(payload(&repo, &sixth)["files_modified"], json!(["late.txt"]));
    // of a transcript what was added since
    let file = place.path().join("t.jsonl");
    let whole = here(&repo, "codex/rollout.jsonl");
    let lines: Vec<&str> = whole.lines().collect();
    let hand_over = |upto: usize| {
        std::fs::write(&file, lines[..upto].join("\n") + "\n").expect("a file");
        let stored = repo.json(["handoff", "--transcript", file.to_str().unwrap(), "--to", "bob", "--incremental"]);
        payload(&repo, &stored)
    };
    let (before, after) = (hand_over(24), hand_over(lines.len()));
    let count = |document: &Value, category: &str| {
        let tools = document["tool_summaries"].as_array().unwrap();
        tools.iter().find(|tool| tool["category"] == category).map_or(0, |tool| tool["count"].as_u64().unwrap())
    };
    assert!(count(&before, "edit") > 0 && count(&after, "edit") > 0);
    assert_eq!(count(&before, "edit") + count(&after, "edit"), 4, "{before} {after}");
    assert_eq!(count(&before, "shell") + count(&after, "shell"), 7);
}

#[test]
fn of_fifty_records_those_that_bear_on_the_task_come_first() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    repo.start("ada", "Everything");
    let others = [
        "The invoice rounds up",
        "The grid breaks on phones",
        "Images are too large",
        "The map has no legend",
        "Mails arrive late",
    ];
    let mut count = 0;
    for n in 0..40 {
        repo.json(["finding", &format!("{} in case {n}", others[n % 5])]);
        count += 1;
        if n % 4 == 3 {
            match n / 4 {
                0..3 => repo.json(["finding", &format!("src/net/socket.rs drops frame {n}")]),
                3..6 => repo.json(["decision", &format!("Reconnect after {n} seconds"), "--why", "servers restart"]),
                6..8 => repo.json(["deadend", &format!("Reconnect in a loop, try {n}"), "--why", "it floods"]),
                _ => repo.json(["finding", &format!("Backoff {n} helps the websocket"), "--as", "strategy"]),
            };
            count += 1;
        }
    }
    assert_eq!(count, 50);
    repo.json(["session", "start", "--ai", "bob"]);
    let task = "Make the websocket reconnect stable in src/net/socket.rs";
    let check = |stored: &Value| {
        let shown = repo.json(["show", stored["handoff_id"].as_str().unwrap()]);
        let relevant = shown["relevant"].as_array().unwrap().clone();
        let first: Vec<&str> = relevant.iter().take(10).filter_map(|one| one["text"].as_str()).collect();
        let right = first.iter().filter(|text| ["socket", "Reconnect"].iter().any(|word| text.contains(word))).count();
        assert!(right >= 8, "{right} of 10: {first:?}");
        let sign = |word: &str| {
            relevant.iter().find(|one| one["text"].as_str().unwrap().contains(word)).unwrap()["sign"].clone()
        };
        assert_eq!(
            (sign("in a loop"), sign("Backoff"), sign("after")),
            (json!("failed"), json!("worked"), json!("decided"))
        );
        let text = stored["markdown"].as_str().unwrap();
        assert!(
            text.contains("- **known failure, avoid**: Reconnect in a loop")
                && text.contains("- worked before: Backoff"),
            "{text}"
        );
    };
    check(&context(&repo, ["--ai", "bob", "-m", task, "--to", "carl", "--budget", "5000"]));
    let begin = format!("instructions={task}");
    check(&repo.json(["handoff", "--ai", "bob", "--type", "initialization", "--task-id", "t", "--set", &begin]));
}

#[test]
fn working_memory_shows_patterns_constraints_and_recent_decisions() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    assert_eq!(repo.json(["bootstrap"])["working_memory"]["recent_decisions"], json!([]));
    repo.start("ada", "The login");
    for (word, text) in [
        ("pattern", "Errors are returned"),
        ("constraint", "No new dependency"),
        ("standard", "Lint is clean"),
        ("architecture", "Two crates"),
        ("stack", "Rust"),
        ("preference", "Short names"),
        ("strategy", "Small steps"),
        ("trouble", "The build cache"),
        ("stack", "SQLite"),
    ] {
        repo.json(["finding", text, "--as", word]);
    }
    (0..7).for_each(|n| drop(repo.json(["decision", &format!("Choice {n}"), "--why", "so"])));
    // many later things push none of it out
    (0..260).for_each(|n| drop(repo.run(["finding", &format!("Something else {n}")])));
    let json = repo.json(["bootstrap", "--budget", "4000"]);
    assert_eq!(
        json["working_memory"],
        json!({
            "current_task": "The login",
            "recent_decisions": ["Choice 6 — so", "Choice 5 — so", "Choice 4 — so", "Choice 3 — so", "Choice 2 — so"],
            "established_patterns": ["Errors are returned"], "known_constraints": ["No new dependency"],
            "quality_standards": ["Lint is clean"],
        })
    );
    assert_eq!(
        json["long_term_memory"],
        json!({
            "project_architecture": "Two crates", "technology_stack": "SQLite; Rust", "team_preferences": "Short names",
            "successful_strategies": ["Small steps"], "problematic_areas": ["The build cache"],
        })
    );
    let text = repo.run(["bootstrap"]).ok().out;
    assert!(text.contains("Working memory:\n- task: The login\n- constraint: No new dependency\n"), "{text}");
    assert!(text.contains("Long-term memory:\n- architecture: Two crates\n"), "{text}");
    // a resolution is a pattern from then on
    let tiny = repo.json(["bootstrap", "--budget", "200"]);
    assert!(tiny["token_count"].as_u64().unwrap() <= 200, "{tiny}");
}

#[test]
fn a_session_continues_another_and_gets_its_context() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    let first = repo.start("ada", "The login");
    repo.json(["finding", "The cookie is not renewed"]);
    repo.json(["session", "end"]);
    let second = repo.json(["session", "start", "--ai", "bob", "--from", &first[..8]]);
    let from = &second["from"];
    assert_eq!(
        (&from["session_id"], &from["ai_id"], &from["handoff_written"]),
        (&json!(first), &json!("ada"), &json!(true))
    );
    assert_eq!(second["task"], "The login", "it is taken over");
    let handoff = from["handoff_id"].as_str().unwrap();
    let shown = repo.json(["show", handoff]);
    assert_eq!((&shown["type"], &shown["to"], &shown["session_id"]), (&json!("context"), &json!("bob"), &json!(first)));
    // both know of each other, in lists as well
    let id = second["session_id"].as_str().unwrap();
    assert_eq!(repo.json(["session", "show", id])["from"], json!(first));
    let listed = repo.json(["session", "list"])["sessions"].as_array().unwrap().clone();
    let listed = listed.iter().find(|session| session["session_id"] == json!(id)).unwrap();
    assert_eq!((&listed["from"], &listed["from_handoff"]), (&json!(first), &json!(handoff)));
    let source = repo.json(["session", "show", &first]);
    assert_eq!(source["continued_by"], json!([{"session_id": id, "ai_id": "bob", "started_at": second["started_at"]}]));
    // a session that handed over is continued from its handoff
    let own = repo.json(["handoff", "--ai", "bob", "--next", "Go on"]);
    repo.json(["session", "end", "--ai", "bob"]);
    let third = repo.json(["session", "start", "--ai", "carl", "--task", "Mine", "--from", "latest:bob"]);
    assert_eq!((&third["from"]["handoff_id"], &third["from"]["handoff_written"]), (&own["handoff_id"], &json!(false)));
    assert_eq!(third["task"], "Mine");
    let fourth = repo.json(["session", "start", "--ai", "dora", "--from", handoff]);
    assert_eq!((&fourth["from"]["session_id"], &fourth["from"]["handoff_id"]), (&json!(first), &json!(handoff)));
    let json = repo.fails(1, ["session", "start", "--ai", "eve", "--from", "nobody"]);
    assert!(json["error"].as_str().unwrap().contains("cannot find session or handoff"), "{json}");
    // however much there is, what the newcomer is led to has a size
    (0..200).for_each(|n| repo.write(&format!("vendor/file_{n}.txt"), "x\n"));
    let begun = repo.start("gail", "Vendor it");
    repo.git(["add", "."]).ok();
    repo.git(["commit", "-qm", "Vendor"]).ok();
    let led = repo.json(["session", "start", "--ai", "hugo", "--from", &begun]);
    let text = repo.json(["show", led["from"]["handoff_id"].as_str().unwrap()]);
    assert!(text["left_out"][0].as_str().unwrap().ends_with(" files"), "{}", text["left_out"]);
    // one whose transcript was collected has that in its context
    repo.json(["collect", &fixture("gemini/session.jsonl")]);
    let fifth = repo.json(["session", "start", "--ai", "fred", "--from", "9e3"]);
    let text = repo.run(["show", fifth["from"]["handoff_id"].as_str().unwrap()]).ok().out;
    assert!(text.contains("continuing this session from gemini"), "{text}");
}
