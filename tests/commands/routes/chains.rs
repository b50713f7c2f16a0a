//! A chain from the first handoff to the last decision: what waits, what is shown to whom, and the times of each stage.

use serde_json::{Value, json};

use crate::commands::routes::{CHAIN, begin, by, id, ids, rules};
use crate::mcp::server::Client;
use crate::support::harness::{Repo, Sandbox, tokens};

/// Runs a command as an agent at a minute after noon.
#[track_caller]
fn at(repo: &Repo<'_>, minute: u32, ai: &str, arguments: &[&str]) -> Value {
    let now = format!("2026-03-01T{:02}:{:02}:00.000Z", 12 + minute / 60, minute % 60);
    repo.json_with_env(&[("EMPIRICA_AI", ai), ("EMPIRICA_NOW", &now)], arguments)
}

/// Lead, tester and validator finish a task: tested after 10 minutes of waiting and 30 of work, validated after 5 and 15.
fn play(repo: &Repo<'_>) -> [String; 2] {
    rules(repo, CHAIN);
    for ai in ["lead", "tester", "validator"] {
        begin(repo, ai);
    }
    at(repo, 0, "lead", &["finding", "the parser recurses"]);
    let first =
        id(&at(repo, 0, "lead", &["handoff", "-m", "Test the parser", "--task-id", "p-1", "--next", "test it"]));
    at(repo, 10, "tester", &["accept", &first]);
    at(repo, 20, "tester", &["finding", "it overflows at 10,000 levels"]);
    let second = id(&at(repo, 40, "tester", &["handoff", "--next", "look at the limit"]));
    at(repo, 45, "validator", &["accept", &second]);
    [first, second]
}

#[test]
fn a_task_goes_from_hand_to_hand() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    let [first, second] = play(&repo);
    let shown = at(&repo, 60, "lead", &["task", "show", "p-1"]);
    let link = |at: usize| {
        let link = &shown["chain"][at];
        let rule = link["route"]["rule"].clone();
        json!([
            link["from"],
            link["owner"]["ai_id"],
            rule,
            link["waited_seconds"],
            link["worked_seconds"],
            link["is_open"]
        ])
    };
    assert_eq!(link(0), json!(["lead", "tester", "test", 600, 1800, false]));
    assert_eq!(link(1), json!(["tester", "validator", "validate", 300, 900, true]));
    assert_eq!((&shown["chain"][0]["ended_by"], &shown["status"]), (&json!(second), &json!("open")));
    let handed = at(&repo, 60, "lead", &["show", &second]);
    assert_eq!((&handed["continues"], &handed["task_id"]), (&json!(first), &json!("p-1")));
    assert_eq!(handed["task"], "Test the parser", "a chain keeps its title");

    at(&repo, 60, "validator", &["accept", &second, "--decision", "COMPLETE"]);
    let done = at(&repo, 90, "lead", &["task", "show", "p-1"]);
    assert_eq!((&done["status"], &done["chain"][1]["worked_seconds"]), (&json!("complete"), &json!(900)));
    let text = repo.run(["task", "show", "p-1"]).ok().out;
    for line in [
        "lead → tester → validator\n",
        "1. 2026-03-01 12:00 UTC  lead → tester (rule 'test'): waited 10 min, tester worked 30 min\n",
        "2. 2026-03-01 12:40 UTC  tester → validator (rule 'validate'): waited 5 min, validator worked 15 min, validator decided COMPLETE\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn where_chains_stall_is_measured_and_drawn() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    play(&repo);
    at(&repo, 50, "lead", &["handoff", "-m", "Test the lexer", "--task-id", "p-2", "--next", "test it"]);
    let metrics = at(&repo, 120, "lead", &["metrics"]);
    let stages = &metrics["stages"];
    let tester = &stages["agents"][1];
    let validator = &stages["agents"][0];
    assert_eq!((&validator["ai_id"], &tester["ai_id"]), (&json!("validator"), &json!("tester")), "{stages}");
    assert_eq!(
        (&tester["received"], &tester["claimed"], &tester["waiting"], &tester["working"]),
        (&json!(2), &json!(1), &json!(1), &json!(0))
    );
    assert_eq!((&tester["wait_median_seconds"], &tester["work_median_seconds"]), (&json!(600.0), &json!(1800.0)));
    assert_eq!((&validator["working"], &validator["stalled_seconds"]), (&json!(1), &json!(4500)));
    let stalled: Vec<(&Value, &Value, &Value)> = stages["stalled"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| (&one["task_id"], &one["claimed"], &one["seconds"]))
        .collect();
    assert_eq!(stalled, [(&json!("p-1"), &json!(true), &json!(4500)), (&json!("p-2"), &json!(false), &json!(4200))]);
    let only = at(&repo, 120, "lead", &["metrics", "--ai", "tester"]);
    assert_eq!(only["stages"]["agents"].as_array().map(Vec::len), Some(1));
    let text = repo.run_with_env(&[("EMPIRICA_NOW", "2026-03-01T14:00:00Z")], ["metrics"]).ok().out;
    assert!(text.contains("  p-1: validator has worked for 1 h 15 min ("), "{text}");
    assert!(text.contains("  p-2: has waited for tester 1 h 10 min ("), "{text}");

    let now = ("EMPIRICA_NOW", "2026-03-01T14:00:00Z");
    repo.run_with_env(&[now], ["report", "--html", "page.html"]).ok();
    let page = std::fs::read_to_string(repo.path.join("page.html")).expect("a page");
    for part in [
        "<h2 id=\"tasks-heading\">Tasks (2)</h2>",
        "<li class=\"waits\"><b><bdi>tester</bdi></b><span>rule <bdi>test</bdi>, <bdi>has waited 1 h 10 min</bdi></span>",
        "<li class=\"works\"><b><bdi>validator</bdi></b>",
        "<li class=\"done\"><b><bdi>tester</bdi></b><span>rule <bdi>test</bdi>, <bdi>waited 10 min, tester worked 30 min</bdi>",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn the_receiver_gets_as_much_as_the_rule_says() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    begin(&repo, "lead");
    begin(&repo, "tester");
    for n in 0..60 {
        let text = format!("finding number {n} of the parser and all that follows from it for the lexer");
        by(&repo, "lead", &["finding", &text]);
    }
    for (how, most) in [("", 400), ("detail = \"detailed\"", 800), ("detail = \"full\"\nbudget = 300", 300)] {
        rules(&repo, &format!("[[route]]\nfrom = \"lead\"\nto = \"tester\"\n{how}\n"));
        let handed = id(&by(&repo, "lead", &["handoff", "--next", "test it", "--task-id", &format!("t {how}")]));
        let taken = repo.run_with_env(&[("EMPIRICA_AI", "tester")], ["accept", &handed]).ok();
        assert!((most / 2..=most).contains(&tokens(&taken.out)), "{how}: {} tokens", tokens(&taken.out));
        assert!(taken.out.contains("Next steps:\n- test it") && taken.out.contains("Left out: "), "{}", taken.out);
        let json = by(&repo, "tester", &["accept", &handed]);
        assert_eq!(json["handoff"]["next_steps"], json!(["test it"]), "{json}");
        assert_eq!(json["handoff"].get("assessments").is_some(), how.contains("full"), "{how}: {json}");
    }
    let plain = id(&by(&repo, "lead", &["handoff", "--next", "n", "--to", "tester"]));
    let taken = repo.run_with_env(&[("EMPIRICA_AI", "tester")], ["accept", &plain]).ok();
    assert_eq!(taken.out.trim_end().len(), 8, "whom the sender named asks for it: {}", taken.out);
}

/// The context that a hook gives an agent at the start of a session.
fn started(repo: &Repo<'_>, session: &str) -> String {
    let payload = json!({"session_id": session, "cwd": repo.path, "source": "startup"}).to_string();
    let ran = repo.run_with_input(["hook", "agent", "claude-code", "SessionStart"], payload.as_bytes()).ok();
    assert_eq!(ran.err, "");
    let json = if ran.out.is_empty() { json!({}) } else { ran.json() };
    json["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_session_begins_with_what_waits_for_its_agent() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    rules(&repo, "[[route]]\nfrom = \"lead\"\nto = \"claude-code\"\n");
    begin(&repo, "lead");
    assert!(!started(&repo, "before").contains("for you"));
    let handed = id(&by(&repo, "lead", &["handoff", "-m", "Test it", "--task-id", "t-0", "--next", "n"]));
    let text = started(&repo, "one");
    let short = &handed[handed.len() - 8..];
    assert!(
        text.contains("1 handoff for you: claim one with git empirica accept <id>; git empirica inbox lists them.\n"),
        "{text}"
    );
    let own = text.find("1 handoff for you").expect("told");
    let quoted = text.find("\nWaiting for you:\n").expect("listed");
    assert!(own < text.find("<records-").expect("a fence") && text.find("<records-").expect("a fence") < quoted);
    assert!(text.contains(&format!("- {short} from lead, 0 s ago: Test it (t-0)\n")), "{text}");

    for n in 1..9 {
        by(&repo, "lead", &["handoff", "-m", &format!("Test {n}"), "--task-id", &format!("t-{n}"), "--next", "n"]);
    }
    let many = started(&repo, "two");
    assert!(many.contains("9 handoffs for you") && tokens(&many) <= 500, "{many}");
    assert_eq!(many.matches(" from lead, 0 s ago: ").count(), 3, "the oldest: {many}");

    // by hand, over MCP, and on the screen
    let session = by(&repo, "claude-code", &["session", "start"]);
    assert_eq!((&session["total_waiting"], &session["inbox"][0]["handoff_id"]), (&json!(9), &json!(handed)));
    for session in by(&repo, "claude-code", &["session", "list", "--active"])["sessions"].as_array().expect("a list") {
        by(&repo, "claude-code", &["session", "end", "--session", session["session_id"].as_str().expect("an id")]);
    }
    let mut client = Client::new(&repo, &[]);
    let begun = client.ok("bootstrap_session", json!({"ai_id": "claude-code"}));
    assert_eq!((&begun["total_waiting"], &begun["inbox"][8]["task"]), (&json!(9), &json!("Test 8")));
    let taken = client.ok("accept_handoff", json!({"handoff_id": handed}));
    assert_eq!(taken["handoff"]["task"], "Test it", "{taken}");
    client.end();
    let status = by(&repo, "claude-code", &["status"]);
    assert_eq!(
        (&status["total_waiting"], &status["next_commands"][1]["command"]),
        (&json!(8), &json!("git empirica inbox"))
    );
    assert_eq!(by(&repo, "other", &["status"])["total_waiting"], 0);
}

#[test]
fn what_waits_is_not_told_unasked_if_nobody_trusted_made_it() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    rules(&repo, "[[route]]\nfrom = \"lead\"\nto = \"claude-code\"\n");
    begin(&repo, "lead");
    let handed = id(&by(&repo, "lead", &["handoff", "-m", "Test it", "--task-id", "t", "--next", "n"]));
    let other = place.clone(&repo, "other", true);
    other.git(["config", "empirica.inject", "mine"]).ok();
    assert!(!started(&other, "one").contains("for you"));
    assert_eq!(by(&other, "claude-code", &["session", "start"])["total_waiting"], 0);
    assert_eq!(ids(&by(&other, "claude-code", &["inbox"]), "waiting"), [handed], "who asks is told");
}

#[test]
fn an_inbox_has_what_waits_what_is_worked_on_and_nothing_else() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    rules(&repo, CHAIN);
    for ai in ["lead", "tester"] {
        begin(&repo, ai);
    }
    let empty = repo.run_with_env(&[("EMPIRICA_AI", "tester")], ["inbox"]).ok();
    assert_eq!((empty.out.as_str(), empty.err.as_str()), ("", "Nothing waits for tester.\n"));
    let hand = |task: &str| id(&by(&repo, "lead", &["handoff", "-m", task, "--task-id", task, "--next", "n"]));
    let all: Vec<String> = ["one", "two", "three"].map(hand).into();
    let inbox = || by(&repo, "tester", &["inbox"]);
    assert_eq!(ids(&inbox(), "waiting"), all, "oldest first");
    by(&repo, "tester", &["accept", &all[1]]);
    assert_eq!(
        (ids(&inbox(), "waiting"), ids(&inbox(), "working")),
        (vec![all[0].clone(), all[2].clone()], vec![all[1].clone()])
    );
    by(&repo, "tester", &["handoff", "--next", "n"]);
    assert_eq!(ids(&inbox(), "working"), [""; 0], "it handed on");
    // a newer version of a handoff takes its place, a completed task leaves
    let newer = hand("one");
    assert_eq!(ids(&inbox(), "waiting"), [all[2].clone(), newer.clone()]);
    by(&repo, "lead", &["accept", &all[2], "--decision", "COMPLETE"]);
    assert_eq!(ids(&inbox(), "waiting"), [newer]);
    assert_eq!(by(&repo, "lead", &["inbox", "--ai", "tester"])["total_waiting"], 1);
}

#[test]
fn a_session_hands_over_each_stage_alone() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    rules(&repo, CHAIN);
    for ai in ["lead", "tester"] {
        begin(&repo, ai);
    }
    let hand = |task: &str| id(&by(&repo, "lead", &["handoff", "-m", task, "--task-id", task, "--next", task]));
    let (one, two) = (hand("one"), hand("two"));
    let stage = |of: &str, finding: &str, exit: &str| {
        by(&repo, "tester", &["accept", of]);
        by(&repo, "tester", &["finding", finding]);
        by(&repo, "tester", &["evidence", &format!("test {finding}"), "--exit", exit]);
        by(&repo, "tester", &["handoff", "--next", &format!("after {finding}")])
    };
    let failed = stage(&one, "it leaks", "1");
    assert_eq!(failed["to"], "lead");
    let passed = stage(&two, "it holds", "0");
    assert_eq!(passed["to"], "validator", "the check of the other task does not count");
    let shown = by(&repo, "tester", &["show", &id(&passed)]);
    assert_eq!(shown["key_findings"], json!(["it holds"]), "{shown}");
    assert_eq!(shown["next_steps"][0], "after it holds");
    assert_eq!(shown["since"], failed["handoff_id"]);
    // both stay in force, and a newer one of a stage supersedes only that one
    let again = by(&repo, "tester", &["handoff", "--next", "and more"]);
    let list = by(&repo, "tester", &["handoff", "list"]);
    let listed = ids(&list, "handoffs");
    assert!(listed.contains(&id(&failed)) && listed.contains(&id(&again)) && !listed.contains(&id(&passed)), "{list}");
    let (also, on_commit) = (&id(&failed)[28..], repo.git_out(["log", "--notes=empirica/handoffs", "-1"]));
    assert!(on_commit.contains(&format!("# two (tester, for validator, {}", &id(&again)[28..])), "{on_commit}");
    assert!(on_commit.contains(&format!("- Also: one for lead ({also})\n")), "{on_commit}");
}

#[test]
fn a_handoff_to_someone_begins_a_task() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    let session = begin(&repo, "lead");
    begin(&repo, "tester");
    let plain = by(&repo, "lead", &["handoff", "--next", "n"]);
    assert_eq!(plain["task_id"], json!(null));
    let handed = by(&repo, "lead", &["handoff", "--next", "n", "--to", "tester"]);
    assert_eq!(handed["task_id"], json!(session[..8]));
    by(&repo, "tester", &["accept", &id(&handed)]);
    let back = by(&repo, "tester", &["handoff", "--next", "m", "--to", "lead"]);
    assert_eq!(back["task_id"], handed["task_id"]);
    let chain = by(&repo, "lead", &["task", "show", &session[..8]]);
    assert_eq!(chain["chain"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_handoff_that_goes_back_and_forth_without_accepting_waits_each_time() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    rules(
        &repo,
        "[[route]]\nfrom = \"lead\"\nto = \"tester\"\n\n[[route]]\nfrom = \"tester\"\nto = \"lead\"\nrounds = 2\n",
    );
    for ai in ["lead", "tester"] {
        begin(&repo, ai);
    }
    let mut last = by(&repo, "lead", &["handoff", "--task-id", "t", "-m", "Test", "--next", "n"]);
    for (n, ai) in (0..).zip(["tester", "lead", "tester", "lead"]) {
        assert_eq!(ids(&by(&repo, ai, &["inbox"]), "waiting"), [id(&last)], "{n}");
        let next = by(&repo, ai, &["handoff", "--task-id", "t", "--next", &format!("n{n}")]);
        assert_eq!(next["warning"], json!(null), "{next}");
        assert_eq!(by(&repo, ai, &["show", &id(&next)])["continues"], last["handoff_id"], "{n}");
        assert_eq!(ids(&by(&repo, ai, &["inbox"]), "waiting"), [""; 0], "{n}");
        last = next;
    }
    let chain = by(&repo, "lead", &["task", "show", "t"])["chain"].clone();
    assert_eq!(chain.as_array().map(Vec::len), Some(5));
    let third = by(&repo, "tester", &["handoff", "--task-id", "t", "--next", "m"]);
    assert_eq!(third["route"]["escalated"], true, "the third time it is handed back: {third}");
    // what a person resolves goes on to whom the rule names
    by(&repo, "boss", &["accept", &id(&third), "--resolution", "Ship it"]);
    assert_eq!(ids(&by(&repo, "lead", &["inbox"]), "waiting"), [id(&third)]);
}

#[test]
fn a_new_receiver_gets_what_another_had_claimed() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    rules(&repo, CHAIN);
    for ai in ["lead", "tester", "validator"] {
        begin(&repo, ai);
    }
    let first = by(&repo, "lead", &["handoff", "--task-id", "t", "-m", "Test", "--next", "n"]);
    by(&repo, "tester", &["accept", &id(&first)]);
    by(&repo, "tester", &["evidence", "cargo test", "--exit", "1"]);
    let back = by(&repo, "tester", &["handoff", "--next", "mend it"]);
    by(&repo, "lead", &["accept", &id(&back)]);
    by(&repo, "tester", &["evidence", "cargo test", "--exit", "0"]);
    let on = by(&repo, "tester", &["handoff", "--next", "look at it"]);
    assert_eq!(on["to"], "validator");
    let warning = on["warning"].as_str().expect("a warning");
    assert!(warning.contains(&format!("the handoff replaces {} for lead", &id(&back)[28..])), "{warning}");
    assert_eq!(ids(&by(&repo, "validator", &["inbox"]), "waiting"), [id(&on)]);
    let lost = by(&repo, "lead", &["inbox"]);
    assert_eq!((ids(&lost, "lost"), &lost["lost"][0]["owner"]), (vec![id(&back)], &json!(null)));
    let status = by(&repo, "lead", &["status"]);
    assert!(
        status["warning"].as_str().is_some_and(|text| text.contains("was replaced by one for another agent")),
        "{status}"
    );
    by(&repo, "validator", &["accept", &id(&on)]);
}

#[test]
fn many_waiting_handoffs_are_all_there() {
    let place = Sandbox::new();
    let repo = place.repo("work");
    let lead = begin(&repo, "lead");
    let first = by(&repo, "lead", &["handoff", "--task-id", "t", "-m", "Test", "--next", "n", "--to", "tester"]);
    // each by a session of its own
    let line = repo.lines("handoffs").into_iter().find(|line| line.contains(&id(&first))).expect("a line");
    let mut note = repo.note("empirica/data/handoffs", &repo.head());
    for n in 0..300 {
        let (id, session) =
            (format!("019ca945-1000-7000-8000-{n:012}"), format!("{n:08x}-0000-4000-8000-000000000000"));
        note.push_str(&line.replace(&self::id(&first), &id).replace(&lead, &session));
        note.push('\n');
    }
    repo.set_note("refs/notes/empirica/data/handoffs", &repo.head(), note.as_bytes());
    let inbox = by(&repo, "tester", &["inbox"]);
    assert_eq!((&inbox["total_waiting"], ids(&inbox, "waiting").len()), (&json!(301), 301));
    assert_eq!(by(&repo, "tester", &["task", "show", "t"])["chain"].as_array().map(Vec::len), Some(301));
}
